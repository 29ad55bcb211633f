// SPDX-License-Identifier: GPL-2.0-only
//! Sources of kernels: which ones there are, and the tree of one in the cache.
//!
//! `linux/VERSION/` holds `source/`, the part of the tree that is built from, as it came;
//! `source.json`, the package that it came from; and the trees to build in. A version appears
//! whole, by a rename; one process at a time may change the folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Result;

use super::tree::{cannot, remove};
use crate::apt::{require_room, Apt, Cause, Index, Lock, Source, Trouble};
use crate::error::Failure;
use crate::kernel::store::Store;
use crate::kernel::version;
use crate::progress::Progress;

/// The series that the patches were made on. Newer ones are tried after it, older ones never: each
/// try is a download.
const SERIES: (u32, u32) = (7, 2);

/// What a source's tree takes of the disk, as far as it is unpacked (measured: 0.54 GB).
const TREE_BYTES: u64 = 600_000_000;
/// What the objects of one kind take at most.
const OBJECT_BYTES: u64 = 600_000_000;

/// In the cache folder.
const FOLDER: &str = "linux";

/// Parts of the tree that no kernel of ours is made of. Kconfig files and makefiles stay, because
/// the whole tree's are read; what is left is a third of it.
const LEFT_OUT: [&str; 16] = [
    "Documentation/*/*",
    "arch/[a-wyz]*/*.[chS]",
    "arch/[a-wyz]*/*.dts*",
    "arch/[a-wyz]*/*_defconfig",
    "arch/xtensa/*.[chS]",
    "tools/testing",
    "tools/perf",
    "sound/*.[ch]",
    "drivers/gpu/*/*.[chS]",
    "drivers/net/*/*.[chS]",
    "drivers/media/*/*.[chS]",
    "drivers/scsi/*/*.[chS]",
    "drivers/infiniband/*/*.[chS]",
    "drivers/staging/*/*.[chS]",
    "drivers/accel/*/*.[chS]",
    "drivers/iio/*/*.[chS]",
];

/// Where sources come from: apt, or a test's own.
pub trait Offer {
    /// The index of the last refresh, whatever its age.
    fn kept(&self) -> Option<Index>;
    /// Fetches a new index.
    fn refresh(&self, progress: &Progress) -> Result<Index, Trouble>;
    /// Fetches a source into an empty folder and says where its archive lies.
    fn fetch(
        &self,
        source: &Source,
        folder: &Path,
        progress: &Progress,
    ) -> Result<PathBuf, Trouble>;
}

/// The private apt of a cache folder, which it shares with the lab's search for kernels.
pub struct Distribution<'a>(pub &'a Path);

impl Distribution<'_> {
    fn with<T>(
        &self,
        progress: &Progress,
        ask: impl FnOnce(&Apt) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        let store = Store::open(self.0, progress)?;
        ask(&Apt::open(self.0, store.lock())?)
    }
}

impl Offer for Distribution<'_> {
    fn kept(&self) -> Option<Index> {
        Apt::last(self.0)
    }

    fn refresh(&self, progress: &Progress) -> Result<Index, Trouble> {
        self.with(progress, |apt| apt.refresh(progress))
    }

    fn fetch(
        &self,
        source: &Source,
        folder: &Path,
        progress: &Progress,
    ) -> Result<PathBuf, Trouble> {
        self.with(progress, |apt| apt.fetch_source(source, folder, progress))
    }
}

/// What apt offers: an index of today is not fetched again; without a network an old one does, or
/// what lies `here`.
pub fn offered(offer: &dyn Offer, here: Vec<Source>, progress: &Progress) -> Result<Vec<Source>> {
    let kept = offer.kept();
    if let Some(index) = kept.as_ref().filter(|index| index.is_fresh()) {
        return Ok(index.sources.clone());
    }
    progress.phase("fetching the package index");
    match offer.refresh(progress) {
        Ok(index) => Ok(index.sources),
        Err(trouble) if trouble.cause == Cause::Unreachable => {
            let old = kept.map_or(here, |index| index.sources);
            if old.is_empty() {
                return Err(trouble.into());
            }
            Ok(old)
        }
        Err(trouble) => Err(trouble.into()),
    }
}

/// The sources to try, one after the other: the one that the user named, or all from the patches'
/// own series on, which comes first.
pub fn candidates(named: Option<&str>, offered: &[Source]) -> Result<Vec<Source>> {
    if let Some(word) = named.filter(|_| !offered.is_empty()) {
        return match offered.iter().find(|source| is_meant(word, source)) {
            Some(source) => Ok(vec![source.clone()]),
            None => Err(Failure::usage(format!(
                "--source {word}: apt offers no such kernel source: it has {}",
                offered.iter().map(|s| s.version.as_str()).collect::<Vec<_>>().join(", ")
            ))),
        };
    }
    let of = |fits: fn(&(u32, u32)) -> bool| {
        let series = |s: &&Source| version::series(&s.version).as_ref().is_some_and(fits);
        offered.iter().filter(series).cloned().collect::<Vec<Source>>()
    };
    let found = [of(|series| *series == SERIES), of(|series| *series > SERIES)].concat();
    if found.is_empty() {
        let instead = match offered {
            [] => String::new(),
            [only] => format!(", only {}", only.version),
            [newest, older @ ..] => {
                format!(", only {} and {} older", newest.version, older.len())
            }
        };
        return Err(Failure::machine(format!(
            "apt offers no package linux-source-* from {}.{} on{instead}: a mirror with Debian's \
             stable-backports or unstable is needed",
            SERIES.0, SERIES.1
        )));
    }
    Ok(found)
}

/// A version as apt names it, the kernel's part of it, its series, or the package.
fn is_meant(word: &str, source: &Source) -> bool {
    let version = &source.version;
    let upstream = version.rsplit_once('-').map_or(version.as_str(), |(upstream, _)| upstream);
    let series = source.package.strip_prefix("linux-source-").unwrap_or_default();
    [version, upstream, series, &source.package].contains(&word)
}

/// What lies here already, the newest first: what there is without a network. Takes no lock.
pub fn all(cache: &Path) -> Vec<Source> {
    unpacked(&cache.join(FOLDER))
}

fn unpacked(folder: &Path) -> Vec<Source> {
    let names = fs::read_dir(folder).into_iter().flatten().flatten();
    let read = |entry: fs::DirEntry| {
        let text = fs::read(entry.path().join("source.json")).ok()?;
        let source: Source = serde_json::from_slice(&text).ok()?;
        (*entry.file_name() == *source.version).then_some(source)
    };
    let mut all: Vec<Source> = names.filter_map(read).collect();
    all.sort_by(|a, b| version::compare(&b.version, &a.version));
    all
}

/// The folder of sources, whose lock the caller holds.
pub struct Sources<'a> {
    folder: PathBuf,
    lock: &'a Lock,
}

impl<'a> Sources<'a> {
    /// Opens the folder, and sweeps out what an interrupted fetch left.
    pub fn open(cache: &Path, lock: &'a Lock) -> Result<Self> {
        let folder = cache.join(FOLDER);
        fs::create_dir_all(&folder).map_err(|e| cannot(&folder, e))?;
        let sources = Self { folder, lock };
        remove(&sources.unfinished())?;
        Ok(sources)
    }

    fn unfinished(&self) -> PathBuf {
        self.folder.join(".new")
    }

    /// The tree of a source, if this very package was unpacked.
    pub fn kept(&self, source: &Source) -> Option<PathBuf> {
        let folder = self.folder.join(&source.version);
        let text = fs::read(folder.join("source.json")).ok()?;
        let kept: Source = serde_json::from_slice(&text).ok()?;
        (kept == *source).then(|| folder.join("source"))
    }

    /// What building one kind of a source takes, in bytes: to download, and of the disk.
    pub fn price(&self, source: &Source, tree: &str) -> (u64, u64) {
        let (download, unpacked) = match self.kept(source) {
            Some(_) => (0, 0),
            // The package and the archive in it lie beside the tree until that is whole.
            None => (source.size, source.unpacked.saturating_add(TREE_BYTES)),
        };
        let objects = match self.folder.join(&source.version).join(tree).is_dir() {
            true => 0,
            false => OBJECT_BYTES,
        };
        (download, download.saturating_add(unpacked).saturating_add(objects))
    }

    /// Where all of it lies.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Fails when there is no room for so many bytes more.
    pub fn require_room(&self, bytes: u64, what: &str) -> Result<()> {
        require_room(&self.folder, bytes, what)
    }

    /// Fetches a source and unpacks its tree.
    pub fn fetch(
        &self,
        source: &Source,
        offer: &dyn Offer,
        progress: &Progress,
    ) -> Result<PathBuf, Trouble> {
        let (new, place) = (self.unfinished(), self.folder.join(&source.version));
        remove(&new)?;
        fs::create_dir(&new).map_err(|e| cannot(&new, e))?;
        let package = new.join("package");
        fs::create_dir(&package).map_err(|e| cannot(&package, e))?;
        progress.phase(&format!("fetching {}, {:.0} MB", told(source), source.size as f64 / 1e6));
        let archive = offer.fetch(source, &package, progress)?;
        progress.phase("unpacking the source");
        let tree = new.join("source");
        fs::create_dir(&tree).map_err(|e| cannot(&tree, e))?;
        self.unpack(source, &archive, &tree)?;
        remove(&package)?;
        let text = serde_json::to_vec_pretty(source).map_err(anyhow::Error::from)?;
        let about = new.join("source.json");
        fs::write(&about, text).map_err(|e| cannot(&about, e))?;
        remove(&place)?;
        fs::rename(&new, &place).map_err(|e| cannot(&place, e))?;
        Ok(place.join("source"))
    }

    fn unpack(&self, source: &Source, archive: &Path, tree: &Path) -> Result<(), Trouble> {
        let mut tar = Command::new("tar");
        tar.arg("-xf").arg(archive).arg("-C").arg(tree);
        tar.args(["--strip-components=1", "--no-same-owner", "--no-same-permissions"]);
        tar.args(LEFT_OUT.map(|part| format!("--exclude={}/{part}", source.package)));
        tar.env("LC_ALL", "C").stdin(Stdio::null());
        self.lock.pass_to(&mut tar);
        let output = tar.output();
        let output = output.map_err(|e| Failure::machine(format!("cannot run tar: {e}")))?;
        if output.status.success() && tree.join("Makefile").is_file() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&output.stderr);
        if let Some(full) = text.lines().find(|line| line.contains("No space left on device")) {
            let package = &source.package;
            return Err(Failure::machine(format!("no room to unpack {package}: {full}")).into());
        }
        Err(Trouble::corrupt(format!(
            "the package {} is corrupt: {}; nothing was kept",
            told(source),
            text.lines().next().unwrap_or("it holds no kernel's Makefile")
        )))
    }

    /// Removes a source with all that was built in it.
    pub fn discard(&self, version: &str) -> Result<()> {
        remove(&self.folder.join(version))
    }

    /// Keeps this one alone: a source and its objects are large.
    pub fn keep_only(&self, source: &Source) -> Result<()> {
        let all = unpacked(&self.folder);
        let mut others = all.iter().filter(|other| other.version != source.version);
        others.try_for_each(|other| self.discard(&other.version))
    }
}

/// `linux-source-7.2 7.2.13-1`.
pub fn told(source: &Source) -> String {
    format!("{} {}", source.package, source.version)
}
