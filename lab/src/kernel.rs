// SPDX-License-Identifier: GPL-2.0-only
//! Finds the kernel that a guest boots, and judges it before it is booted.

pub mod build;
mod bzimage;
mod search;
mod store;
pub(crate) mod version;
mod xz;

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::Result;

use crate::apt::Apt;
use crate::btf::{self, Verdict};
use crate::error::Failure;
use crate::progress::Progress;
use build::{built, Built, Kind};

/// A kernel on which sched_ext schedulers load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// What `uname -r` says on it, e.g. `7.2.13+deb14-cloud-amd64`.
    pub release: String,
    /// The bzImage, or an uncompressed ELF file.
    pub file: PathBuf,
    /// SHA-256 of that file, in hexadecimal.
    pub digest: String,
    /// The package and its version, or the path that was given: for reports.
    pub origin: String,
}

/// Which kernel to boot: the word after `--kernel`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The newest sound kernel that apt offers, 6.18 or newer.
    Auto,
    /// The file of the kernel that this machine runs.
    Host,
    /// The newest sound kernel of a series, e.g. `6.18`.
    Series(String),
    /// The debug build of ours, for EEVDF's columns.
    Debug,
    /// A file.
    Path(PathBuf),
}

impl FromStr for Choice {
    type Err = anyhow::Error;

    fn from_str(word: &str) -> Result<Self> {
        match word {
            "auto" => return Ok(Choice::Auto),
            "host" => return Ok(Choice::Host),
            "debug" => return Ok(Choice::Debug),
            _ if word.contains('/') => return Ok(Choice::Path(word.into())),
            _ => {}
        }
        let digits = word.chars().all(|c| c.is_ascii_digit() || c == '.');
        match version::series(word).filter(|_| digits && word.matches('.').count() == 1) {
            Some(series) if series >= version::OLDEST => Ok(Choice::Series(word.into())),
            Some(_) => Err(Failure::usage(format!(
                "--kernel {word}: sched_ext as needed here began with {}.{}: name that series or a \
                 newer one",
                version::OLDEST.0,
                version::OLDEST.1
            ))),
            None if Path::new(word).is_file() => Ok(Choice::Path(word.into())),
            None => Err(Failure::usage(format!(
                "--kernel {word}: neither `auto`, `host`, `debug`, a series such as `6.18`, nor a \
                 file"
            ))),
        }
    }
}

/// Finds a kernel, fetching it through apt where it has to; `cache` is the lab's cache folder. A
/// file is judged where a sched_ext scheduler is to be loaded (`scx`).
pub fn find(choice: &Choice, scx: bool, cache: &Path, progress: &Progress) -> Result<Kernel> {
    let series = match choice {
        Choice::Host => return from_file(&host_file(&running_release()?, Path::new("/"))?, scx),
        Choice::Path(path) => return from_file(path, scx),
        Choice::Debug => return ours(Kind::Debug, cache).map(|b| b.kernel()),
        Choice::Auto => None,
        Choice::Series(word) => version::series(word),
    };
    let store = store::Store::open(cache, progress)?;
    let found = search::search(series, &Apt::open(cache, store.lock())?, &store, progress);
    progress.clear();
    found
}

/// The kernel of this kind that `ballast kernel build` keeps; one that was not built is not built
/// here.
pub fn ours(kind: Kind, cache: &Path) -> Result<Built> {
    let (what, option) = match kind {
        Kind::Patched => ("no patched kernel is built", ""),
        Kind::Debug => ("no debug build of the patched kernel is there", " --debug"),
        Kind::Unpatched => ("no unpatched kernel is built", " --unpatched"),
    };
    built(kind, cache).ok_or_else(|| {
        Failure::machine(format!("{what}: `./ballast kernel build{option}` makes one"))
    })
}

/// Whether sched_ext schedulers load on a kernel, from its file alone.
///
/// An error is one of reading the file; what is wrong inside it is a [`Verdict`].
pub fn judge(vmlinuz: &Path) -> Result<Verdict> {
    Ok(judge_bytes(&read(vmlinuz)?))
}

fn judge_bytes(file: &[u8]) -> Verdict {
    match bzimage::btf(file) {
        Ok(Some(section)) => btf::judge(&section),
        Ok(None) => Verdict::NoBtf,
        Err(why) => Verdict::Unreadable { why },
    }
}

/// The kernel in a file; with `scx` refused where no sched_ext scheduler would load on it.
fn from_file(path: &Path, scx: bool) -> Result<Kernel> {
    let file = read(path)?;
    let name = path.display();
    match judge_bytes(&file) {
        Verdict::Sound => {}
        Verdict::Unreadable { why } => return Err(Failure::usage(format!("kernel {name}: {why}"))),
        _ if !scx => {}
        unsound => {
            return Err(Failure::machine(format!(
                "kernel {name}: {unsound}; no sched_ext scheduler loads on it: take a sound one \
                 with --kernel auto"
            )))
        }
    }
    Ok(Kernel {
        release: bzimage::release(&file).unwrap_or_else(|| "unknown".into()),
        file: path.to_path_buf(),
        digest: store::digest(&file),
        origin: name.to_string(),
    })
}

/// What `uname -r` says.
fn running_release() -> Result<String> {
    let path = "/proc/sys/kernel/osrelease";
    let release = fs::read_to_string(path);
    let release = release.map_err(|e| Failure::machine(format!("cannot read {path}: {e}")))?;
    Ok(release.trim().to_string())
}

/// Where distributions keep the file of an installed kernel; `root` is `/`.
fn host_file(release: &str, root: &Path) -> Result<PathBuf> {
    let places = [
        format!("boot/vmlinuz-{release}"),
        format!("lib/modules/{release}/vmlinuz"),
        format!("usr/lib/modules/{release}/vmlinuz"),
    ]
    .map(|place| root.join(place));
    match places.iter().find(|place| place.exists()) {
        None => Err(Failure::machine(format!(
            "the file of the running kernel {release} is neither {} nor {}: name it with --kernel \
             PATH",
            places[0].display(),
            places[1].display()
        ))),
        Some(place) => match fs::File::open(place) {
            Ok(_) => Ok(place.clone()),
            Err(e) => Err(Failure::machine(format!(
                "the running kernel's file {} cannot be read: {e}; name a readable copy of it with \
                 --kernel PATH",
                place.display()
            ))),
        },
    }
}

/// Larger than any kernel file: what else a path may lead to is not read.
const MAX_FILE: u64 = 2 << 30;

fn read(path: &Path) -> Result<Vec<u8>> {
    let bad = |what: String| Failure::usage(format!("kernel {}: {what}", path.display()));
    let about = fs::metadata(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => bad("there is no such file".into()),
        _ => bad(e.to_string()),
    })?;
    if !about.is_file() || about.len() > MAX_FILE {
        return Err(bad("it is no kernel file: a bzImage or vmlinux is needed".into()));
    }
    fs::read(path).map_err(|e| bad(e.to_string()))
}

#[cfg(test)]
#[path = "kernel/tests.rs"]
mod tests;
