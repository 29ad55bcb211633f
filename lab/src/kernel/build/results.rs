// SPDX-License-Identifier: GPL-2.0-only
//! Finished kernels, kept by all that can move a byte of them: `built/KEY/` holds `bzImage`,
//! `kernel` (the file to boot), `config`, `log` and `build.json`. A folder appears whole, by a
//! rename; so do the files of `refused/`, which remember what the patches did not fit.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::recipe::Feature;
use super::tree::{cannot, remove};
use super::Kind;
use crate::apt::Lock;
use crate::error::Failure;
use crate::kernel::{bzimage, store, version, Kernel};
use crate::progress::Progress;
use crate::whole;

/// In the cache folder.
const FOLDER: &str = "built";

/// A kernel that was built.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Built {
    /// Which of the three.
    pub kind: Kind,
    /// What `uname -r` says on it, e.g. `7.2.13-ballast`.
    pub release: String,
    /// The package of its source.
    pub package: String,
    /// That package's version.
    pub version: String,
    /// SHA-256 of that package.
    pub source_sha256: String,
    /// The patches by name; none in the unpatched kind.
    pub patches: Vec<String>,
    /// Scheduler features that the patches add.
    pub features: Vec<Feature>,
    /// The mutant's name, where one was planted.
    pub mutant: Option<String>,
    /// The compiler and the linker.
    pub compiler: String,
    /// Bytes of the bzImage.
    pub size: u64,
    /// SHA-256 of the file to boot.
    pub digest: String,
    /// Of the recipe: patches, policy, options.
    pub recipe: String,
    /// Over everything; the folder's name.
    pub key: String,
    /// Where the folder lies: not written, for a cache may move.
    #[serde(skip)]
    pub folder: PathBuf,
}

impl Built {
    /// The image.
    pub fn image(&self) -> PathBuf {
        self.folder.join("bzImage")
    }

    /// Whether its files are still those that were built.
    pub fn is_whole(&self) -> bool {
        let sized = fs::metadata(self.image()).is_ok_and(|about| about.len() == self.size);
        sized
            && fs::read(self.folder.join("kernel")).is_ok_and(|f| store::digest(&f) == self.digest)
    }

    /// As the lab boots it.
    pub fn kernel(&self) -> Kernel {
        let of = match self.kind {
            Kind::Patched => "with Ballast's patches",
            Kind::Debug => "with Ballast's patches, debug build",
            Kind::Unpatched => "unpatched",
        };
        Kernel {
            release: self.release.clone(),
            file: self.folder.join("kernel"),
            digest: self.digest.clone(),
            origin: format!("{} {} {of}", self.package, self.version),
        }
    }
}

/// The folder of results, locked until it is dropped; sources and trees are under this lock too.
pub struct Results {
    folder: PathBuf,
    lock: Lock,
}

impl Results {
    /// Opens the folder under a cache folder, waiting for its turn.
    pub fn open(cache: &Path, progress: &Progress) -> Result<Self> {
        let folder = cache.join(FOLDER);
        let open = || {
            fs::create_dir_all(folder.join("refused"))?;
            let waiting = || progress.phase("waiting for another build of a kernel to end");
            Lock::take(&folder.join(".lock"), waiting)
        };
        let lock = open().map_err(|e| {
            Failure::machine(format!("cannot use the cache folder {}: {e}", folder.display()))
        })?;
        remove(&folder.join(".new"))?;
        Ok(Self { folder, lock })
    }

    /// What the folder is locked by.
    pub fn lock(&self) -> &Lock {
        &self.lock
    }

    /// Keeps what lies in these files as this kernel.
    pub fn keep(&self, built: &Built, image: &[u8], config: &Path, log: &Path) -> Result<Built> {
        let (new, place) = (self.folder.join(".new"), self.folder.join(&built.key));
        let text = serde_json::to_vec_pretty(built)?;
        let publish = || {
            fs::create_dir(&new)?;
            fs::write(new.join("bzImage"), image)?;
            fs::write(new.join("kernel"), bzimage::to_boot(image.to_vec()))?;
            fs::copy(config, new.join("config"))?;
            fs::copy(log, new.join("log"))?;
            fs::write(new.join("build.json"), text)?;
            if place.exists() {
                fs::remove_dir_all(&place)?;
            }
            fs::rename(&new, &place)
        };
        let kept = publish();
        if kept.is_err() {
            let _ = fs::remove_dir_all(&new);
        }
        kept.map_err(|e| cannot(&place, e))?;
        Ok(Built { folder: place, ..built.clone() })
    }

    /// Remembers that they did not.
    pub fn refuse(&self, key: &str, why: &str) -> Result<()> {
        let path = refusal(&self.folder, key);
        whole::write(&path, why.as_bytes()).map_err(|e| cannot(&path, e))
    }
}

/// A kernel that was built from exactly this; takes no lock.
pub fn kept(cache: &Path, key: &str) -> Option<Built> {
    read(&cache.join(FOLDER).join(key)).filter(Built::is_whole)
}

/// Why patches did not fit a source, if that was tried; takes no lock.
pub fn refused(cache: &Path, key: &str) -> Option<String> {
    fs::read_to_string(refusal(&cache.join(FOLDER), key)).ok()
}

fn refusal(folder: &Path, key: &str) -> PathBuf {
    folder.join("refused").join(key)
}

/// Every kernel built, the newest version first; takes no lock.
pub fn all(cache: &Path) -> Vec<Built> {
    let names = fs::read_dir(cache.join(FOLDER)).into_iter().flatten().flatten();
    let mut all: Vec<Built> = names.filter_map(|entry| read(&entry.path())).collect();
    all.sort_by(|a, b| version::compare(&b.version, &a.version).then_with(|| a.key.cmp(&b.key)));
    all
}

/// What a folder says of itself.
fn read(folder: &Path) -> Option<Built> {
    let built: Built = serde_json::from_slice(&fs::read(folder.join("build.json")).ok()?).ok()?;
    let named = folder.file_name()?.to_str()? == built.key;
    named.then(|| Built { folder: folder.to_path_buf(), ..built })
}
