// SPDX-License-Identifier: GPL-2.0-only
//! Kernel packages through apt, with a state of its own. Of the system's apt only the mirror's
//! address and settings such as a proxy are read; nothing of it is written, nothing is installed.
//!
//! The folder holds `sources.list` and `apt.conf` (written anew for each refresh), `lists/` (the
//! signed indexes), `status` (no package is installed) and `kernels.json` (what was found).
//! apt verifies the indexes by the distribution's keyring, and packages by the indexes.

mod lock;
mod packages;
mod sources;
mod trouble;

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

pub use lock::Lock;
pub use packages::{Image, Source};
pub use trouble::{Cause, Trouble};

use crate::error::Failure;
use crate::progress::Progress;
use crate::whole;

/// What the indexes of the kernel suites take while they are fetched (measured: 35 MB on Debian).
const INDEX_BYTES: u64 = 64_000_000;

/// How long an index is used before it is fetched again, in seconds: a day.
const FRESH: u64 = 24 * 3600;

/// Settings that the paths below do not carry. The hooks of the system's own updates would touch
/// the system's caches; a suite such as stable-backports may come to mean another release.
const SETTINGS: &str = r#"#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
Acquire::AllowInsecureRepositories "false";
Acquire::AllowWeakRepositories "false";
Acquire::AllowDowngradeToInsecureRepositories "false";
Acquire::AllowReleaseInfoChange "true";
Acquire::Languages "none";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
Acquire::IndexTargets::deb::CNF::DefaultEnabled "false";
Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled "false";
Acquire::Retries "2";
Acquire::http::Timeout "30";
Acquire::https::Timeout "30";
APT::Get::AllowUnauthenticated "false";
APT::Update::Error-Mode "any";
APT::Architecture "amd64";
APT::Architectures { "amd64"; };
"#;

/// The kernels, and the sources of kernels, that apt offered when it was last asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Index {
    /// Seconds since 1970 at which it was fetched.
    pub fetched: u64,
    /// The newest first, one for each release.
    pub images: Vec<Image>,
    /// The newest first, one for each version.
    pub sources: Vec<Source>,
}

impl Index {
    /// Younger than a day; an index from the future is not.
    pub fn is_fresh(&self) -> bool {
        now().checked_sub(self.fetched).is_some_and(|age| age < FRESH)
    }
}

/// A private apt.
pub struct Apt<'a> {
    folder: PathBuf,
    lock: &'a Lock,
}

impl<'a> Apt<'a> {
    /// The private apt under the lab's cache folder; makes its folders. Its commands hold the lock.
    pub fn open(cache: &Path, lock: &'a Lock) -> anyhow::Result<Self> {
        let folder = cache.join("apt");
        let make = || {
            fs::create_dir_all(folder.join("lists/partial"))?;
            fs::create_dir_all(folder.join("archives/partial"))?;
            folder.canonicalize()
        };
        let folder = make().map_err(|e| {
            Failure::machine(format!("cannot make the cache folder {}: {e}", folder.display()))
        })?;
        Ok(Self { folder, lock })
    }

    /// The index of the last refresh, whatever its age.
    pub fn kept(&self) -> Option<Index> {
        read_index(&self.folder)
    }

    /// The same under a cache folder, whoever holds the lock: an index is written whole.
    pub fn last(cache: &Path) -> Option<Index> {
        read_index(&cache.join("apt"))
    }

    /// Fetches the indexes of the distribution's kernel suites and lists the images in them.
    pub fn refresh(&self, progress: &Progress) -> Result<Index, Trouble> {
        let os_release = fs::read_to_string("/etc/os-release").unwrap_or_default();
        let (family, codename) = sources::distribution(&os_release)?;
        let targets = system_targets()?;
        let list = sources::sources_list(family, &codename, &targets, Path::new("/"))?;
        require_room(&self.folder, INDEX_BYTES, "the package index")?;
        self.write("sources.list", list.as_bytes())?;
        self.write("apt.conf", SETTINGS.as_bytes())?;
        self.write("status", b"")?;
        self.update(family, progress)
    }

    fn update(&self, family: sources::Family, progress: &Progress) -> Result<Index, Trouble> {
        let mut update = self.command("apt-get");
        update.args(["-q=2", "update"]);
        self.watch(
            update,
            "cannot fetch the package index",
            "fetching the package index",
            progress,
        )?;
        progress.set("reading the package index");
        let index = Index {
            fetched: now(),
            images: packages::images(family, &self.show(&packages::pattern(family))?),
            sources: packages::sources(&self.show(packages::SOURCES)?),
        };
        let text = serde_json::to_vec_pretty(&index).map_err(anyhow::Error::from)?;
        self.write("kernels.json", &text)?;
        Ok(index)
    }

    /// What apt knows of the packages that a regular expression finds.
    fn show(&self, pattern: &str) -> Result<String, Trouble> {
        let mut show = self.command("apt-cache");
        let show = show.args(["--all-versions", "show", pattern]).output();
        let show = show.map_err(|e| Failure::machine(format!("cannot run apt-cache: {e}")))?;
        let stderr = String::from_utf8_lossy(&show.stderr);
        if !show.status.success() && !stderr.contains("No packages found") {
            return Err(Trouble::of_apt("cannot read the package index", &stderr));
        }
        Ok(String::from_utf8_lossy(&show.stdout).into_owned())
    }

    /// Downloads a kernel's package into an empty folder, unpacks it there and says where its image
    /// lies.
    pub fn fetch(
        &self,
        image: &Image,
        folder: &Path,
        progress: &Progress,
    ) -> Result<PathBuf, Trouble> {
        let Image { package, version, size, unpacked, .. } = image;
        self.require_room(size + unpacked, &told(package, *size))?;
        let root = self.download(package, version, *size, folder, progress)?;
        find_image(image, &root)
    }

    /// The same for a package of sources: where its archive of the whole tree lies.
    pub fn fetch_source(
        &self,
        source: &Source,
        folder: &Path,
        progress: &Progress,
    ) -> Result<PathBuf, Trouble> {
        let Source { package, version, size, unpacked, .. } = source;
        self.require_room(size + unpacked, &told(package, *size))?;
        let root = self.download(package, version, *size, folder, progress)?;
        find_archive(package, &root)
    }

    /// Downloads a package into an empty folder and unpacks it there.
    fn download(
        &self,
        package: &str,
        version: &str,
        size: u64,
        folder: &Path,
        progress: &Progress,
    ) -> Result<PathBuf, Trouble> {
        let what = told(package, size);
        let mut download = self.command("apt-get");
        download.current_dir(folder);
        download.args(["-q=2", "download", &format!("{package}={version}")]);
        let failed = format!("cannot fetch {package}");
        self.watch(download, &failed, &format!("fetching {what}"), progress)?;
        progress.set(&format!("unpacking {what}"));
        unpack(package, folder, self.lock)
    }

    /// Fails when there is no room for so many bytes beside what apt itself writes.
    fn require_room(&self, bytes: u64, what: &str) -> Result<(), Trouble> {
        Ok(require_room(&self.folder, bytes.saturating_add(16 << 20), what)?)
    }

    /// Runs apt, showing how far it is, and turns its complaints into one line.
    fn watch(
        &self,
        mut command: Command,
        failed: &str,
        doing: &str,
        progress: &Progress,
    ) -> Result<(), Trouble> {
        let no_apt = |e: io::Error| Failure::machine(format!("{failed}: cannot run apt-get: {e}"));
        progress.set(doing);
        let complaints = self.folder.join("complaints");
        let stderr = File::create(&complaints).map_err(no_apt)?;
        command.args(["-o", "APT::Status-Fd=1"]).stdout(Stdio::piped()).stderr(stderr);
        let mut child = command.spawn().map_err(no_apt)?;
        for line in child.stdout.take().into_iter().flat_map(|out| BufReader::new(out).lines()) {
            if let Some(percent) = line.ok().as_deref().and_then(percent) {
                progress.set(&format!("{doing}: {percent:.0} %"));
            }
        }
        let status = child.wait().map_err(no_apt)?;
        let stderr = fs::read(&complaints).map_err(no_apt)?;
        if !status.success() {
            return Err(Trouble::of_apt(failed, &String::from_utf8_lossy(&stderr)));
        }
        Ok(())
    }

    /// A command of apt's on the private state, in English.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let at = |name: &str| self.folder.join(name);
        command.arg("-c").arg(at("apt.conf"));
        for (key, path) in [
            ("Dir::State", self.folder.clone()),
            ("Dir::State::lists", at("lists/")),
            ("Dir::State::status", at("status")),
            ("Dir::Cache", self.folder.clone()),
            ("Dir::Etc::SourceList", at("sources.list")),
            ("Dir::Etc::SourceParts", PathBuf::from("/dev/null")),
            ("Dir::Etc::Preferences", PathBuf::from("/dev/null")),
            ("Dir::Etc::PreferencesParts", PathBuf::from("/dev/null")),
        ] {
            command.arg("-o").arg(format!("{key}={}", path.display()));
        }
        command.env("LC_ALL", "C").stdin(Stdio::null());
        self.lock.pass_to(&mut command);
        command
    }

    fn write(&self, name: &str, bytes: &[u8]) -> anyhow::Result<()> {
        let path = self.folder.join(name);
        whole::write(&path, bytes)
            .map_err(|e| Failure::machine(format!("cannot write {}: {e}", path.display())))
    }
}

fn read_index(folder: &Path) -> Option<Index> {
    serde_json::from_slice(&fs::read(folder.join("kernels.json")).ok()?).ok()
}

/// apt's own list of the indexes that this machine uses.
fn system_targets() -> anyhow::Result<String> {
    let ask = |more: &[&str]| {
        let mut command = Command::new("apt-get");
        command.arg("indextargets").args(more).env("LC_ALL", "C").stdin(Stdio::null());
        let output = command.output().map_err(|e| {
            Failure::machine(format!(
                "cannot run apt-get, which finds kernels on Debian and Ubuntu: {e}; install it"
            ))
        })?;
        anyhow::Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    // Where nothing was ever updated, apt lists the indexes only without what they would say.
    let known = ask(&[])?;
    if known.trim().is_empty() {
        return ask(&["--no-release-info"]);
    }
    Ok(known)
}

/// A package and its size, as users are told of it.
fn told(package: &str, size: u64) -> String {
    format!("{package} ({:.1} MB)", size as f64 / 1e6)
}

fn corrupt(package: &str, what: &str) -> Trouble {
    Trouble::corrupt(format!("the package {package} is corrupt: {what}; nothing was kept"))
}

/// Unpacks the downloaded package and says where.
fn unpack(package: &str, folder: &Path, lock: &Lock) -> Result<PathBuf, Trouble> {
    let corrupt = |what: &str| corrupt(package, what);
    let names = fs::read_dir(folder).map_err(|e| corrupt(&e.to_string()))?;
    let file = names
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.extension().is_some_and(|e| e == "deb"))
        .ok_or_else(|| corrupt("apt left no file"))?;
    let root = folder.join("root");
    let mut command = Command::new("dpkg-deb");
    command.arg("-x").arg(&file).arg(&root).env("LC_ALL", "C").stdin(Stdio::null());
    lock.pass_to(&mut command);
    let output = command.output().map_err(|e| {
        Failure::machine(format!("cannot run dpkg-deb, which unpacks kernels: {e}"))
    })?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(match stderr.lines().find(|line| line.contains("No space left on device")) {
            Some(full) => Failure::machine(format!("no room to unpack {package}: {full}")).into(),
            None => corrupt(stderr.lines().next().unwrap_or("dpkg-deb failed")),
        });
    }
    Ok(root)
}

/// A kernel's image is in one of three places.
fn find_image(image: &Image, root: &Path) -> Result<PathBuf, Trouble> {
    let release = &image.release;
    [
        format!("usr/lib/modules/{release}/vmlinuz"),
        format!("lib/modules/{release}/vmlinuz"),
        format!("boot/vmlinuz-{release}"),
    ]
    .into_iter()
    .map(|name| root.join(name))
    .find(|path| path.is_file())
    .ok_or_else(|| corrupt(&image.package, "it holds no kernel image"))
}

/// A tree's archive is named like its package: in `usr/src`, or in a folder there.
fn find_archive(package: &str, root: &Path) -> Result<PathBuf, Trouble> {
    let folder = root.join("usr/src");
    [folder.clone(), folder.join(package)]
        .iter()
        .flat_map(|folder| {
            ["xz", "bz2", "gz"].map(|end| folder.join(format!("{package}.tar.{end}")))
        })
        .find(|path| path.is_file())
        .ok_or_else(|| corrupt(package, "it holds no archive of a kernel's source"))
}

/// Fails when a folder's disk has less room, in bytes, than is needed.
pub fn require_room(folder: &Path, need: u64, what: &str) -> anyhow::Result<()> {
    let free = free_bytes(folder).map_err(|e| {
        Failure::machine(format!("cannot use the folder {}: {e}", folder.display()))
    })?;
    if free < need {
        return Err(Failure::machine(format!(
            "no room for {what} in {}: {} MB needed, {} MB free; make room, or put the cache \
             elsewhere",
            folder.display(),
            need.div_ceil(1_000_000),
            free / 1_000_000
        )));
    }
    Ok(())
}

fn free_bytes(folder: &Path) -> io::Result<u64> {
    use std::os::unix::ffi::OsStrExt;
    let path = std::ffi::CString::new(folder.as_os_str().as_bytes())?;
    // SAFETY: statvfs is plain data, and the path is a C string that outlives the call.
    let (result, about) = unsafe {
        let mut about: libc::statvfs = std::mem::zeroed();
        (libc::statvfs(path.as_ptr(), &mut about), about)
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(about.f_bavail.saturating_mul(about.f_frsize))
}

/// `dlstatus:1:17.1428:Retrieving file 5 of 6`: how far apt is.
fn percent(line: &str) -> Option<f64> {
    line.strip_prefix("dlstatus:")?.split(':').nth(1)?.parse().ok()
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs())
}

#[cfg(test)]
#[path = "apt/tests.rs"]
mod tests;
