// SPDX-License-Identifier: GPL-2.0-only
//! The guest's throw-away root: an initramfs that is built anew from files of this machine, byte
//! for byte the same from the same files, and kept by its content.

mod closure;
mod cpio;
mod trim;

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

pub use closure::{absolute, closure, find_program};

use crate::error::Failure;
use crate::model::{GuestSched, Job};
use crate::whole;

/// The job's record grows in steps of this many bytes, so that its text shifts nothing.
const JOB_BLOCK: usize = 16 << 10;
/// Images kept in the cache; the longest unused go first.
const KEPT: usize = 16;
/// A guest whose image is larger would spend its time unpacking it.
const MOST_BYTES: u64 = 1 << 30;
/// A `--with` folder may be this deep.
const FOLDER_DEPTH: usize = 64;

/// What is in every image besides the caller's files; mount points of the agent among them.
const FOLDERS: [&str; 9] = ["dev", "etc", "proc", "root", "run", "sys", "tmp", "bin", "usr"];
const SMALL_FILES: [(&str, &str); 3] = [
    ("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n"),
    ("etc/group", "root:x:0:\n"),
    ("etc/hosts", "127.0.0.1 localhost\n"),
];

/// Where a file's content comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file of this machine, links followed.
    Path(PathBuf),
    /// A program of ours: only the part that is loaded, without debugging information.
    Own(PathBuf),
    /// These bytes.
    Data(Vec<u8>),
    /// A symbolic link to this path.
    Link(String),
    /// An empty folder.
    Folder,
}

/// One entry of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Path inside the image, without the leading slash.
    pub to: String,
    /// Its content.
    pub from: Source,
    /// Permission bits.
    pub mode: u32,
}

impl File {
    /// A program or library of this machine at its own path.
    pub fn program(path: &Path) -> Self {
        let to = path.to_string_lossy().trim_start_matches('/').to_string();
        Self { to, from: Source::Path(path.to_path_buf()), mode: 0o755 }
    }

    /// A program that lies beside the running one (`ballast-guest`, `scx_ballast` …), as `to`.
    pub fn own(name: &str, to: &str) -> Result<Self> {
        let exe = std::env::current_exe().context("cannot tell where this program lies")?;
        // tests and examples lie one folder deeper than the programs
        let folders = exe.ancestors().skip(1).take(2);
        let found = folders.map(|folder| folder.join(name)).find(|file| file.is_file());
        let Some(path) = found else {
            return Err(Failure::machine(format!(
                "{name}: not beside {}; build the whole workspace first",
                exe.display()
            )));
        };
        Ok(Self { to: to.to_string(), from: Source::Own(path), mode: 0o755 })
    }

    /// A small file with these bytes.
    pub fn data(to: &str, bytes: impl Into<Vec<u8>>) -> Self {
        Self { to: to.to_string(), from: Source::Data(bytes.into()), mode: 0o644 }
    }
}

/// An image in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The archive.
    pub path: PathBuf,
    /// SHA-256 of its bytes, in hexadecimal.
    pub digest: String,
    /// Its size.
    pub bytes: u64,
}

/// What a `--with PATH` names: a file with what it needs to be run or loaded, or a folder with
/// everything in it as it is (links stay links).
pub fn with(path: &Path) -> Result<Vec<File>> {
    let path = absolute(path)?;
    let kind = fs::metadata(&path).map_err(|e| unreadable(&path, &e))?;
    if kind.is_dir() {
        let mut files = Vec::new();
        folder(&path, 0, &mut files)?;
        return Ok(files);
    }
    if !kind.is_file() {
        return Err(Failure::usage(format!("{}: neither a file nor a folder", path.display())));
    }
    let mut start = Vec::new();
    fs::File::open(&path)
        .and_then(|file| file.take(4).read_to_end(&mut start))
        .map_err(|e| unreadable(&path, &e))?;
    if start.starts_with(b"\x7fELF") || start.starts_with(b"#!") {
        return closure(&path);
    }
    let mode = kind.permissions().mode() & 0o7777;
    Ok(vec![File { mode, ..File::program(&path) }])
}

fn folder(path: &Path, depth: usize, files: &mut Vec<File>) -> Result<()> {
    if depth > FOLDER_DEPTH {
        return Err(Failure::usage(format!("{}: nested too deep to pack", path.display())));
    }
    let wrong = |e: std::io::Error| unreadable(path, &e);
    for entry in fs::read_dir(path).map_err(wrong)? {
        let inner = entry.map_err(wrong)?.path();
        let kind = fs::symlink_metadata(&inner).map_err(|e| unreadable(&inner, &e))?;
        let mode = kind.permissions().mode() & 0o7777;
        let file = File { mode, ..File::program(&inner) };
        if kind.is_dir() {
            files.push(File { from: Source::Folder, ..file });
            folder(&inner, depth + 1, files)?;
        } else if kind.is_symlink() {
            let target = fs::read_link(&inner).map_err(|e| unreadable(&inner, &e))?;
            files.push(File { from: Source::Link(target.to_string_lossy().into()), ..file });
        } else if kind.is_file() {
            files.push(file);
        }
    }
    Ok(())
}

fn unreadable(path: &Path, error: &std::io::Error) -> anyhow::Error {
    Failure::usage(format!("{}: cannot pack it into the guest: {error}", path.display()))
}

/// Builds the image of `files` and `job` with our init, or finds it in `cache`/images.
pub fn build(files: &[File], job: &Job, cache: &Path) -> Result<Image> {
    let mut files = files.to_vec();
    files.push(File::own("ballast-guest", "init")?);
    let bytes = archive(&files, job)?;
    keep(&bytes, &cache.join("images"))
}

/// An image that boots, says hello and ends: for trial boots.
pub fn hello(cache: &Path) -> Result<Image> {
    build(&[], &Job::plain(GuestSched::Kernel, Vec::new()), cache)
}

/// The archive's bytes: entries sorted by name, folders before what is in them.
fn archive(files: &[File], job: &Job) -> Result<Vec<u8>> {
    let mut entries: BTreeMap<String, (Source, u32)> = BTreeMap::new();
    let mut add = |to: String, from: Source, mode: u32| -> Result<()> {
        if to.is_empty() || to.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(Failure::usage(format!("{to}: not a path that a guest's file can have")));
        }
        match entries.get(&to) {
            Some((there, _)) if *there != from && from != Source::Folder => {
                Err(Failure::usage(format!("/{to}: two different files for one path in the guest")))
            }
            Some(_) => Ok(()),
            None => {
                entries.insert(to, (from, mode));
                Ok(())
            }
        }
    };
    add("job.json".into(), Source::Data(job_record(job)?), 0o644)?;
    for (to, text) in SMALL_FILES {
        add(to.into(), Source::Data(text.into()), 0o644)?;
    }
    for file in files {
        add(file.to.clone(), file.from.clone(), file.mode)?;
    }
    let parents = files.iter().flat_map(|f| Path::new(&f.to).ancestors().skip(1));
    for parent in parents.map(Path::to_string_lossy).filter(|p| !p.is_empty()) {
        add(parent.into_owned(), Source::Folder, 0o755)?;
    }
    for to in FOLDERS {
        add(to.into(), Source::Folder, 0o755)?;
    }
    let mut archive = cpio::Archive::default();
    for (to, (from, mode)) in entries {
        let read = |path: &Path| read_within(path, MOST_BYTES.saturating_sub(archive.size()));
        match from {
            Source::Folder => archive.push(&to, cpio::FOLDER | mode, &[]),
            Source::Link(target) => archive.push(&to, cpio::LINK | 0o777, target.as_bytes()),
            Source::Data(bytes) => archive.push(&to, cpio::REGULAR | mode, &bytes),
            Source::Path(path) => archive.push(&to, cpio::REGULAR | mode, &read(&path)?),
            Source::Own(path) => {
                archive.push(&to, cpio::REGULAR | mode, &trim::loaded_part(read(&path)?))
            }
        }
    }
    Ok(archive.finish())
}

/// A file's bytes, if they are no more than `room`.
fn read_within(path: &Path, room: u64) -> Result<Vec<u8>> {
    let size = fs::metadata(path).map_err(|e| unreadable(path, &e))?.len();
    if size > room {
        return Err(Failure::usage(format!(
            "{}: with its {} MiB the guest's image would exceed {} MiB; pack less",
            path.display(),
            size >> 20,
            MOST_BYTES >> 20
        )));
    }
    fs::read(path).map_err(|e| unreadable(path, &e))
}

/// The job as JSON, blanks up to a fixed size.
pub(crate) fn job_record(job: &Job) -> Result<Vec<u8>> {
    let mut record = serde_json::to_vec(job)?;
    record.resize(record.len().next_multiple_of(JOB_BLOCK), b' ');
    Ok(record)
}

/// Puts `bytes` into `folder` under their digest, whole or not at all.
fn keep(bytes: &[u8], folder: &Path) -> Result<Image> {
    let digest: String = Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect();
    let path = folder.join(&digest);
    let image = Image { path, digest, bytes: bytes.len() as u64 };
    if fs::metadata(&image.path).is_ok_and(|m| m.len() == image.bytes) {
        // used again: the newest of all
        let touched = fs::File::open(&image.path)
            .and_then(|file| file.set_modified(std::time::SystemTime::now()));
        if touched.is_ok() {
            return Ok(image);
        }
    }
    let written = fs::create_dir_all(folder).and_then(|()| whole::write(&image.path, bytes));
    if let Err(error) = written {
        let says = unwritten(folder, bytes.len(), &error);
        return Err(match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Failure::machine(says),
            _ => Failure::failed(says),
        });
    }
    prune(folder);
    Ok(image)
}

fn unwritten(folder: &Path, bytes: usize, error: &std::io::Error) -> String {
    let (folder, size) = (folder.display(), bytes.div_ceil(1 << 20));
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            format!("{folder}: no space left for a guest image of {size} MiB; make room there")
        }
        _ => format!("{folder}: cannot write a guest image: {error}"),
    }
}

/// Removes all but the newest images; another process may be at the same, so a failure is none.
fn prune(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut images: Vec<_> = entries
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    images.sort();
    for (_, path) in images.iter().rev().skip(KEPT) {
        let _ = fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests;
