// SPDX-License-Identifier: GPL-2.0-only
//! A tree to build in: the source's files by hard links, but for those that we change.
//!
//! A changed file is a file of its own, written only where its text differs, so that make compiles
//! again just what depends on it: a next patch or a mutant costs one object, not a thousand. The
//! list `.ballast-changed` beside the tree names every file that may differ from the source; it is
//! written before the first of them, so that whoever comes after an interruption can mend them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Result;

use super::diff::Files;
use crate::apt::Lock;
use crate::error::Failure;
use crate::whole;

/// A tree and the source that it was made of.
pub struct Tree {
    source: PathBuf,
    folder: PathBuf,
}

impl Tree {
    /// The tree of this name beside the source; made if it is not there. `lock` is passed on.
    pub fn open(source: &Path, name: &str, lock: &Lock) -> Result<Self> {
        let tree = Self { source: source.to_path_buf(), folder: source.with_file_name(name) };
        if !tree.folder.is_dir() {
            tree.link(lock)?;
        }
        Ok(tree)
    }

    /// Where it lies.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A file beside the tree, about it.
    pub fn about(&self, what: &str) -> PathBuf {
        let name = self.folder.file_name().unwrap_or_default().to_string_lossy();
        self.folder.with_file_name(format!(".{name}-{what}"))
    }

    fn link(&self, lock: &Lock) -> Result<()> {
        let new = self.about("new");
        remove(&new)?;
        // Of a tree that is no more.
        for what in ["changed", "config", "building"] {
            remove(&self.about(what))?;
        }
        let mut command = Command::new("cp");
        command.args(["-al", "--"]).arg(&self.source).arg(&new).env("LC_ALL", "C");
        command.stdin(Stdio::null());
        lock.pass_to(&mut command);
        let output = command.output();
        let output = output.map_err(|e| Failure::machine(format!("cannot run cp: {e}")))?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            let line = text.lines().next().unwrap_or("cp said nothing");
            return Err(Failure::machine(format!("cannot copy the kernel's source: {line}")));
        }
        fs::rename(&new, &self.folder).map_err(|e| cannot(&self.folder, e))
    }

    /// Makes the tree the source with these files in place of its own.
    pub fn change(&self, files: &Files) -> Result<()> {
        let list = self.about("changed");
        let before: BTreeSet<String> = match fs::read_to_string(&list) {
            Ok(text) => text.lines().map(str::to_owned).collect(),
            Err(e) if e.kind() == io::ErrorKind::NotFound => BTreeSet::new(),
            Err(e) => return Err(cannot(&list, e)),
        };
        let write = |names: &BTreeSet<&String>| {
            let text: String = names.iter().map(|name| format!("{name}\n")).collect();
            whole::write(&list, text.as_bytes()).map_err(|e| cannot(&list, e))
        };
        write(&before.iter().chain(files.keys()).collect())?;
        let mut wanted: BTreeMap<&String, Option<Vec<u8>>> = BTreeMap::new();
        for name in &before {
            wanted.insert(name, read(&self.source.join(name))?);
        }
        wanted.extend(files.iter().map(|(name, bytes)| (name, bytes.clone())));
        for (name, bytes) in &wanted {
            self.put(name, bytes.as_deref())?;
        }
        write(&files.keys().collect())
    }

    /// Writes or removes one file unless it is right already. What is there may be a link to the
    /// source's own: it is replaced, never written to.
    fn put(&self, name: &str, wanted: Option<&[u8]>) -> Result<()> {
        let path = self.folder.join(name);
        let put = || {
            if read_file(&path)?.as_deref() == wanted {
                return Ok(());
            }
            let Some(bytes) = wanted else { return fs::remove_file(&path) };
            fs::create_dir_all(path.parent().unwrap_or(&self.folder))?;
            whole::write(&path, bytes)
        };
        put().map_err(|e| cannot(&path, e))
    }
}

/// A file of a tree; `None` where there is none.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    read_file(path).map_err(|e| Failure::machine(format!("cannot read {}: {e}", path.display())))
}

fn read_file(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(e) if [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory].contains(&e.kind()) => {
            Ok(None)
        }
        Err(e) => Err(e),
    }
}

/// Removes a file or folder, where there is one.
pub fn remove(path: &Path) -> Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(about) if about.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(e),
    };
    removed.map_err(|e| Failure::machine(format!("cannot remove {}: {e}", path.display())))
}

/// The line for a file that cannot be written.
pub fn cannot(path: &Path, error: io::Error) -> anyhow::Error {
    Failure::machine(format!("cannot write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    struct Place {
        folder: tempfile::TempDir,
        lock: Lock,
    }

    impl Place {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let lock = Lock::take(&folder.path().join(".lock"), || {}).unwrap();
            let source = folder.path().join("source/kernel");
            fs::create_dir_all(&source).unwrap();
            fs::write(source.join("fair.c"), "fair").unwrap();
            fs::write(source.join("core.c"), "core").unwrap();
            Self { folder, lock }
        }

        fn tree(&self) -> Tree {
            Tree::open(&self.folder.path().join("source"), "ballast", &self.lock).unwrap()
        }

        fn text(&self, name: &str) -> Option<String> {
            fs::read_to_string(self.folder.path().join(name)).ok()
        }
    }

    fn files(list: &[(&str, Option<&str>)]) -> Files {
        list.iter().map(|(name, text)| (name.to_string(), text.map(|t| t.into()))).collect()
    }

    #[test]
    fn the_tree_changes_and_the_source_does_not() {
        let place = Place::new();
        let change = files(&[
            ("kernel/fair.c", Some("patched")),
            ("kernel/policy/steal.h", Some("steal")),
            ("kernel/core.c", None),
        ]);
        place.tree().change(&change).unwrap();
        assert_eq!(place.text("ballast/kernel/fair.c").unwrap(), "patched");
        assert_eq!(place.text("ballast/kernel/policy/steal.h").unwrap(), "steal");
        assert_eq!(place.text("ballast/kernel/core.c"), None);
        assert_eq!(place.text("source/kernel/fair.c").unwrap(), "fair");
        assert_eq!(place.text("source/kernel/core.c").unwrap(), "core");
        // Without the changes it is the source again.
        place.tree().change(&Files::new()).unwrap();
        assert_eq!(place.text("ballast/kernel/fair.c").unwrap(), "fair");
        assert_eq!(place.text("ballast/kernel/policy/steal.h"), None);
        assert_eq!(place.text("ballast/kernel/core.c").unwrap(), "core");
    }

    #[test]
    fn only_what_differs_is_written() {
        let place = Place::new();
        let tree = place.tree();
        let age = |name: &str| {
            let file = fs::File::options().write(true).open(tree.folder().join(name)).unwrap();
            file.set_modified(std::time::UNIX_EPOCH).unwrap();
        };
        let is_old = |name: &str| {
            let about = fs::metadata(tree.folder().join(name)).unwrap();
            about.modified().unwrap() == std::time::UNIX_EPOCH
        };
        let two = |fair| files(&[("kernel/fair.c", Some(fair)), ("kernel/core.c", Some("same"))]);
        tree.change(&two("one")).unwrap();
        age("kernel/fair.c");
        age("kernel/core.c");
        tree.change(&two("two")).unwrap();
        assert!(is_old("kernel/core.c") && !is_old("kernel/fair.c"));
        // What is the source's again is newer than what was compiled from the change.
        tree.change(&Files::new()).unwrap();
        assert!(!is_old("kernel/core.c"));
    }

    #[test]
    fn an_interrupted_change_is_mended() {
        let place = Place::new();
        let tree = place.tree();
        fs::write(tree.about("changed"), "kernel/fair.c\nkernel/half.h\n").unwrap();
        tree.put("kernel/fair.c", Some(b"hal")).unwrap();
        tree.put("kernel/half.h", Some(b"")).unwrap();
        tree.change(&files(&[("kernel/core.c", Some("new"))])).unwrap();
        assert_eq!(place.text("ballast/kernel/fair.c").unwrap(), "fair");
        assert_eq!(place.text("ballast/kernel/half.h"), None);
        assert_eq!(place.text("ballast/kernel/core.c").unwrap(), "new");
        // One that ends half-way, here because a file is where a folder should be.
        let half = files(&[("kernel/fair.c", Some("half")), ("kernel/fair.c/x.h", Some("x"))]);
        tree.change(&half).unwrap_err();
        assert_eq!(place.text("ballast/kernel/fair.c").unwrap(), "half");
        tree.change(&Files::new()).unwrap();
        assert_eq!(place.text("ballast/kernel/fair.c").unwrap(), "fair");
    }

    #[test]
    fn a_tree_that_was_half_linked_is_begun_again() {
        let place = Place::new();
        let half = place.folder.path().join(".ballast-new/kernel");
        fs::create_dir_all(&half).unwrap();
        fs::write(half.join("odd.c"), "odd").unwrap();
        fs::write(place.folder.path().join(".ballast-changed"), "kernel/odd.c\n").unwrap();
        let tree = place.tree();
        assert_eq!(place.text("ballast/kernel/odd.c"), None);
        assert!(!tree.about("changed").exists() && !tree.about("new").exists());
        assert_eq!(place.text("ballast/kernel/fair.c").unwrap(), "fair");
    }
}
