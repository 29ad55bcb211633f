// SPDX-License-Identifier: GPL-2.0-only
//! Where a bench's program lies on this machine.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::error::Failure;
use crate::image::find_program;

/// A program that a distribution's package brings.
pub fn find_packaged(name: &str, package: &str) -> Result<PathBuf> {
    find_program(name).map_err(|_| {
        Failure::machine(format!("{name} is not installed; it comes with the package {package}"))
    })
}

/// The perf program itself: on Ubuntu /usr/bin/perf is a script that looks for the one of the
/// running kernel, while any version will do in a guest.
pub fn find_perf() -> Result<PathBuf> {
    let lib = Path::new("/usr/lib");
    find_perf_in(find_program("perf").ok(), lib).ok_or_else(|| {
        Failure::machine(
            "perf is not installed; it comes with the package linux-perf (Debian) or \
             linux-tools-generic (Ubuntu)",
        )
    })
}

fn find_perf_in(on_path: Option<PathBuf>, lib: &Path) -> Option<PathBuf> {
    let is_elf = |p: &Path| start(p, 4).is_some_and(|b| b == b"\x7fELF");
    if let Some(perf) = on_path.filter(|p| is_elf(p)) {
        return Some(perf);
    }
    let mut found: Vec<PathBuf> = Vec::new();
    for dir in folders(lib).filter(|d| name_of(d).starts_with("linux-tools")) {
        found.extend([dir.join("perf")].into_iter().chain(folders(&dir).map(|d| d.join("perf"))));
    }
    found.retain(|p| is_elf(p));
    found.sort();
    found.pop()
}

fn folders(dir: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|e| e.path()).filter(|p| p.is_dir())
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
}

fn start(path: &Path, bytes: u64) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    File::open(path).ok()?.take(bytes).read_to_end(&mut head).ok()?;
    Some(head)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn the_real_perf_is_found_behind_ubuntus_script() {
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("perf");
        std::fs::write(&script, "#!/bin/bash\n").unwrap();
        assert_eq!(find_perf_in(Some(script.clone()), dir.path()), None);
        for version in ["linux-tools-6.8.0-31", "linux-tools-6.8.0-41"] {
            let at = dir.path().join(version);
            std::fs::create_dir(&at).unwrap();
            std::fs::write(at.join("perf"), b"\x7fELF....").unwrap();
        }
        let newest = dir.path().join("linux-tools-6.8.0-41/perf");
        assert_eq!(find_perf_in(Some(script), dir.path()), Some(newest));
        let nested = dir.path().join("linux-tools/6.9.0-1");
        std::fs::create_dir_all(&nested).unwrap();
        std::fs::write(nested.join("perf"), b"\x7fELF").unwrap();
        assert!(find_perf_in(None, dir.path()).is_some());
    }

    #[test]
    fn an_elf_on_the_path_is_taken_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let perf = dir.path().join("perf");
        std::fs::write(&perf, b"\x7fELF").unwrap();
        assert_eq!(find_perf_in(Some(perf.clone()), dir.path()), Some(perf));
    }
}
