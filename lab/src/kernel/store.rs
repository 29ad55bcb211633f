// SPDX-License-Identifier: GPL-2.0-only
//! The kernels kept in the cache: `kernels/RELEASE/` holds `verdict.json` and, of a sound kernel,
//! `kernel`, the file to boot. A folder appears whole, by a rename; one process at a time may change the store.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{version, Kernel};
use crate::apt::{Image, Lock};
use crate::btf::{Verdict, RULES};
use crate::error::Failure;
use crate::progress::Progress;

/// What is known of a kernel that was fetched once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// The package that it came from.
    pub image: Image,
    /// SHA-256 of the file to boot.
    pub digest: String,
    /// What was made of its type information.
    pub verdict: Verdict,
    /// The [`RULES`] that judged it.
    pub rules: u32,
}

/// The store, locked until it is dropped.
pub struct Store {
    folder: PathBuf,
    lock: Lock,
}

impl Store {
    /// Opens the store under the lab's cache folder, waiting for its turn, and sweeps out what a
    /// killed process left.
    pub fn open(cache: &Path, progress: &Progress) -> Result<Self> {
        let folder = cache.join("kernels");
        let open = || {
            fs::create_dir_all(&folder)?;
            let folder = folder.canonicalize()?;
            let waiting = || progress.set("waiting for another lab, which is fetching a kernel");
            let lock = Lock::take(&folder.join(".lock"), waiting)?;
            let store = Self { folder, lock };
            store.sweep()?;
            io::Result::Ok(store)
        };
        open().map_err(|e| {
            Failure::machine(format!("cannot use the cache folder {}: {e}", folder.display()))
        })
    }

    /// What the store is locked by.
    pub fn lock(&self) -> &Lock {
        &self.lock
    }

    fn sweep(&self) -> io::Result<()> {
        match fs::remove_dir_all(self.folder.join(".new")) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    }

    /// An empty folder to fetch into.
    pub fn workplace(&self) -> Result<PathBuf> {
        let path = self.folder.join(".new");
        self.sweep().and_then(|()| fs::create_dir(&path)).map_err(|e| self.cannot(&path, e))?;
        Ok(path)
    }

    /// What is kept of a package's kernel: if this very package was judged by today's rules, and
    /// a sound kernel's file is still the one that was judged.
    pub fn kept(&self, image: &Image) -> Option<Kept> {
        let kept = self.read(&image.release)?;
        let same = kept.image.package == image.package && kept.image.version == image.version;
        let whole = || {
            let file = fs::read(self.file(&image.release)).ok()?;
            (digest(&file) == kept.digest).then_some(())
        };
        (same && (kept.verdict != Verdict::Sound || whole().is_some())).then_some(kept)
    }

    /// Every kernel kept, the newest first: what there is without a network.
    pub fn all(&self) -> Vec<Kept> {
        let names = fs::read_dir(&self.folder).into_iter().flatten();
        let mut all: Vec<Kept> =
            names.filter_map(|entry| self.read(entry.ok()?.file_name().to_str()?)).collect();
        all.sort_by(|a, b| version::compare(&b.image.release, &a.image.release));
        all
    }

    fn read(&self, release: &str) -> Option<Kept> {
        let text = fs::read(self.folder.join(release).join("verdict.json")).ok()?;
        let kept: Kept = serde_json::from_slice(&text).ok()?;
        (kept.rules == RULES && kept.image.release == release).then_some(kept)
    }

    /// The kernel of a sound verdict.
    pub fn kernel(&self, kept: &Kept) -> Kernel {
        Kernel {
            release: kept.image.release.clone(),
            file: self.file(&kept.image.release),
            digest: kept.digest.clone(),
            origin: format!("{} {}", kept.image.package, kept.image.version),
        }
    }

    fn file(&self, release: &str) -> PathBuf {
        self.folder.join(release).join("kernel")
    }

    /// Keeps a judged kernel: all of a sound one, of another the verdict.
    pub fn keep(&self, kept: &Kept, file: &[u8]) -> Result<()> {
        let (new, place) = (self.workplace()?, self.folder.join(&kept.image.release));
        let text = serde_json::to_vec_pretty(kept)?;
        let publish = || {
            if kept.verdict == Verdict::Sound {
                fs::write(new.join("kernel"), file)?;
            }
            fs::write(new.join("verdict.json"), text)?;
            if place.exists() {
                fs::remove_dir_all(&place)?;
            }
            fs::rename(&new, &place)
        };
        publish().map_err(|e| self.cannot(&place, e))
    }

    fn cannot(&self, path: &Path, error: io::Error) -> anyhow::Error {
        Failure::machine(format!("cannot write {}: {error}", path.display()))
    }
}

impl Drop for Store {
    /// What a failed fetch left is of no use; if it cannot be removed now, the next store does.
    fn drop(&mut self) {
        let _ = self.sweep();
    }
}

/// SHA-256 in hexadecimal.
pub fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
#[path = "store_tests.rs"]
pub(crate) mod tests;
