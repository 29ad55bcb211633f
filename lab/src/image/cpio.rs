// SPDX-License-Identifier: GPL-2.0-only
//! The archive that Linux unpacks as its first root: cpio "newc", written so that the same
//! entries give the same bytes (owner root, time 0, inode numbers by order).

/// Name of the record that ends an archive.
const TRAILER: &str = "TRAILER!!!";
/// Archives end at a multiple of this many bytes.
const BLOCK: usize = 512;

/// File type bits of a mode.
pub const FOLDER: u32 = 0o040_000;
/// A regular file.
pub const REGULAR: u32 = 0o100_000;
/// A symbolic link.
pub const LINK: u32 = 0o120_000;

/// An archive that grows entry by entry.
#[derive(Default)]
pub struct Archive {
    bytes: Vec<u8>,
    inode: u32,
}

impl Archive {
    /// Appends one entry; `name` is relative to the root and holds no NUL, `mode` has type bits.
    pub fn push(&mut self, name: &str, mode: u32, data: &[u8]) {
        self.inode += 1;
        let links = if mode & FOLDER == FOLDER { 2 } else { 1 };
        self.record(name, self.inode, mode, links, data);
    }

    /// Bytes so far.
    pub fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// The archive with its trailer.
    pub fn finish(mut self) -> Vec<u8> {
        self.record(TRAILER, 0, 0, 1, &[]);
        self.pad(BLOCK);
        self.bytes
    }

    fn record(&mut self, name: &str, inode: u32, mode: u32, links: u32, data: &[u8]) {
        // magic, then ino mode uid gid nlink mtime size devmajor devminor rdevmajor rdevminor
        // namesize check, eight hexadecimal digits each
        let size = data.len() as u32;
        let name_size = name.len() as u32 + 1;
        self.bytes.extend_from_slice(b"070701");
        for field in [inode, mode, 0, 0, links, 0, size, 0, 0, 0, 0, name_size, 0] {
            self.bytes.extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad(4);
        self.bytes.extend_from_slice(data);
        self.pad(4);
    }

    fn pad(&mut self, to: usize) {
        self.bytes.resize(self.bytes.len().next_multiple_of(to), 0);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    /// Reads an archive back: (name, mode, inode, data) of each entry before the trailer.
    fn parse(bytes: &[u8]) -> Vec<(String, u32, u32, Vec<u8>)> {
        let mut entries = Vec::new();
        let mut at = 0;
        loop {
            assert_eq!(at % 4, 0);
            assert_eq!(&bytes[at..at + 6], b"070701");
            let field = |n: usize| {
                let from = at + 6 + 8 * n;
                let digits = std::str::from_utf8(&bytes[from..from + 8]).unwrap();
                u32::from_str_radix(digits, 16).unwrap()
            };
            let (size, name_size) = (field(6) as usize, field(11) as usize);
            let name = &bytes[at + 110..at + 110 + name_size - 1];
            let name = String::from_utf8(name.to_vec()).unwrap();
            let data = (at + 110 + name_size).next_multiple_of(4);
            for fixed in [2, 3, 5, 7, 8, 9, 10, 12] {
                assert_eq!(field(fixed), 0, "field {fixed} of {name}");
            }
            if name == TRAILER {
                return entries;
            }
            entries.push((name, field(1), field(0), bytes[data..data + size].to_vec()));
            at = (data + size).next_multiple_of(4);
        }
    }

    #[test]
    fn archive_reads_back() {
        let mut archive = Archive::default();
        archive.push("bin", FOLDER | 0o755, &[]);
        archive.push("bin/a", REGULAR | 0o755, b"12345");
        archive.push("bin/b", LINK | 0o777, b"a");
        let bytes = archive.finish();
        assert_eq!(bytes.len() % BLOCK, 0);
        assert_eq!(
            parse(&bytes),
            [
                ("bin".into(), 0o040_755, 1, vec![]),
                ("bin/a".into(), 0o100_755, 2, b"12345".to_vec()),
                ("bin/b".into(), 0o120_777, 3, b"a".to_vec()),
            ]
        );
    }
}
