// SPDX-License-Identifier: GPL-2.0-only
//! Ballast's own files, which the program carries, and those of the user's, which it reads.

use std::path::Path;

use crate::error::{bad, BadInput, Result};
use crate::words::{is_path, unknown};

/// Larger files are none of ours.
const MAX_BYTES: u64 = 1 << 20;

/// Files of one kind: the folder at the root of the repository, what one is called, and each
/// one's name and text.
pub struct Shelf {
    /// Folder at the root of the repository.
    pub folder: &'static str,
    /// What a message calls one.
    pub kind: &'static str,
    /// Names without `.toml` and texts, by name.
    pub files: &'static [(&'static str, &'static str)],
}

macro_rules! shelf {
    ($folder:literal $kind:literal: $($name:literal),*) => {
        Shelf {
            folder: $folder,
            kind: $kind,
            files: &[$(
                ($name, include_str!(concat!("../../", $folder, "/", $name, ".toml"))),
            )*],
        }
    };
}

/// Machine files.
pub const MACHINES: Shelf = shelf!("machines" "machine": "e5-2630v4", "e5-2630v4-2s");

/// Workload files.
pub const WORKLOADS: Shelf = shelf!("workloads" "workload": "hackbench-process-socket");

impl Shelf {
    /// The file that a word names: its name for messages, and its text.
    pub fn find(&self, word: &str) -> Result<(String, String)> {
        if is_path(word) {
            return Ok((word.escape_debug().to_string(), read(Path::new(word), self.kind)?));
        }
        match self.files.iter().find(|f| f.0 == word) {
            Some((name, text)) => Ok((self.path(name), (*text).to_owned())),
            None => Err(unknown(self.kind, word, &self.names())),
        }
    }

    /// The names, in order.
    pub fn names(&self) -> Vec<&'static str> {
        self.files.iter().map(|f| f.0).collect()
    }

    /// Where a file of that name lies, from the root of the repository.
    pub fn path(&self, name: &str) -> String {
        format!("{}/{name}.toml", self.folder)
    }
}

/// A user's file as text; `kind` says what it should be.
fn read(path: &Path, kind: &str) -> Result<String> {
    let name = path.to_string_lossy();
    let name = name.escape_debug();
    let cannot = |e: std::io::Error| BadInput(format!("{name}: cannot read this {kind} file: {e}"));
    let about = std::fs::metadata(path).map_err(cannot)?;
    if !about.is_file() {
        return bad(format!("{name}: a {kind} is a file in TOML, and this is no file"));
    }
    if about.len() > MAX_BYTES {
        return bad(format!(
            "{name}: {} bytes; a {kind} file has at most {MAX_BYTES}",
            about.len()
        ));
    }
    let bytes = std::fs::read(path).map_err(cannot)?;
    let not_text = || BadInput(format!("{name}: not TOML: the file is not UTF-8 text"));
    String::from_utf8(bytes).map_err(|_| not_text())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn each_file_of_a_folder_is_carried() {
        for shelf in [MACHINES, WORKLOADS] {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(shelf.folder);
            let entries = std::fs::read_dir(folder).unwrap();
            let mut names: Vec<String> =
                entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            let mut carried: Vec<String> =
                shelf.names().iter().map(|name| format!("{name}.toml")).collect();
            carried.sort();
            assert_eq!(names, carried);
        }
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        std::fs::create_dir(path("folder.toml")).unwrap();
        std::fs::write(path("noise.toml"), [0xff, 0xfe]).unwrap();
        std::fs::write(path("large.toml"), vec![b' '; MAX_BYTES as usize + 1]).unwrap();
        for (name, says) in [
            ("nothing.toml", "cannot read"),
            ("folder.toml", "no file"),
            ("noise.toml", "not TOML"),
            ("large.toml", "at most"),
        ] {
            let line = MACHINES.find(&path(name)).unwrap_err().to_string();
            assert!(line.starts_with(&path(name)) && line.contains(says), "{line}");
        }
        let line = MACHINES.find("e5-2630v").unwrap_err().to_string();
        assert!(line.starts_with("unknown machine `e5-2630v`: the nearest is `e5-2630v4`"));
    }

    /// Whatever is cut off or spoilt: an error of one line that begins with the file, or none.
    #[test]
    fn spoilt_files_never_panic() {
        use crate::machine::MachineFile;
        use crate::workload::WorkloadFile;
        let one_line = |line: Option<String>| {
            let ok = |line: String| line.starts_with("f.toml: ") && !line.contains('\n');
            assert!(line.clone().is_none_or(ok), "{line:?}");
        };
        let try_both = |text: &str| {
            one_line(MachineFile::parse("f.toml", text).err().map(|e| e.to_string()));
            one_line(WorkloadFile::parse("f.toml", text).err().map(|e| e.to_string()));
        };
        for shelf in [MACHINES, WORKLOADS] {
            for (_, text) in shelf.files {
                for (at, c) in text.char_indices().step_by(7) {
                    try_both(&text[..at]);
                    for with in ["", "\n", "-", "[", "\"", "9999999999999999999", "é"] {
                        let after = &text[at + c.len_utf8()..];
                        try_both(&format!("{}{with}{after}", &text[..at]));
                    }
                }
            }
        }
    }
}
