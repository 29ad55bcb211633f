// SPDX-License-Identifier: GPL-2.0-only
//! The part of a program that is loaded. What follows the last segment (debugging information,
//! symbol names, section headers) names the folder it was built in: cut off, two builds of the
//! same commit in two folders give the same image.

use object::elf;
use object::read::elf::{FileHeader, ProgramHeader};
use object::Endianness;

/// Offsets of e_shoff, and of e_shnum with e_shstrndx, in a 64-bit ELF header.
const SECTIONS_AT: usize = 40;
const SECTION_COUNT_AT: usize = 60;

/// `program` up to the end of its last loaded segment; other files stay as they are.
pub fn loaded_part(mut program: Vec<u8>) -> Vec<u8> {
    if let Some(end) = end_of_segments(&program) {
        program.truncate(end);
        program[SECTIONS_AT..SECTIONS_AT + 8].fill(0);
        program[SECTION_COUNT_AT..SECTION_COUNT_AT + 4].fill(0);
    }
    program
}

fn end_of_segments(program: &[u8]) -> Option<usize> {
    let header = elf::FileHeader64::<Endianness>::parse(program).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, program).ok()?;
    let headers = header.e_phoff(endian) + (segments.len() * size_of_val(segments.first()?)) as u64;
    let ends = segments.iter().map(|s| s.file_range(endian)).map(|(at, size)| at + size);
    let end = ends.max()?.max(headers) as usize;
    (end <= program.len()).then_some(end)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    use super::*;

    #[test]
    fn trimmed_program_still_runs() {
        let whole = std::fs::read("/bin/echo").unwrap();
        let trimmed = loaded_part(whole.clone());
        assert!(trimmed.len() < whole.len());
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("p");
        std::fs::write(&program, trimmed).unwrap();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        let output = Command::new(&program).arg("hello").output().unwrap();
        assert_eq!(output.stdout, b"hello\n");
    }

    #[test]
    fn other_files_stay() {
        assert_eq!(loaded_part(b"#!/bin/sh\n".to_vec()), b"#!/bin/sh\n");
        let cut = std::fs::read("/bin/echo").unwrap()[..100].to_vec();
        assert_eq!(loaded_part(cut.clone()), cut);
    }
}
