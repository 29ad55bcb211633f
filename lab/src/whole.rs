// SPDX-License-Identifier: GPL-2.0-only
//! Files that are there whole or not at all, whoever else writes them at the same time.

use std::fs::Permissions;
use std::io::{Result, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// What any program asks for; the user's mask takes away from it.
const MODE: u32 = 0o666;

/// Writes a file under a name of its own beside `path`, whose folder must exist, then gives it
/// that name. Nothing is left behind where that fails.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = beside(path)?;
    file.write_all(bytes)?;
    file.persist(path)?;
    Ok(())
}

/// Tries what [`write`] needs, and leaves `path` as it is.
pub fn check(path: &Path) -> Result<()> {
    beside(path).and_then(|file| file.close())
}

fn beside(path: &Path) -> Result<tempfile::NamedTempFile> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    tempfile::Builder::new()
        .prefix(".ballast-")
        .permissions(Permissions::from_mode(MODE))
        .tempfile_in(folder)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::fs;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_file_is_replaced_and_nothing_lies_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for text in ["one", "two, longer", ""] {
            check(&path).unwrap();
            write(&path, text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            assert_eq!(names(folder.path()), ["file"]);
        }
        assert_ne!(fs::metadata(&path).unwrap().permissions().mode() & 0o400, 0);
    }

    #[test]
    fn what_cannot_be_written_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a-folder");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("kept"), "x").unwrap();
        write(&path, b"text").unwrap_err();
        assert_eq!(names(folder.path()), ["a-folder"]);
        write(&folder.path().join("missing/file"), b"text").unwrap_err();
        check(&folder.path().join("missing/file")).unwrap_err();
        assert_eq!(names(folder.path()), ["a-folder"]);
    }
}
