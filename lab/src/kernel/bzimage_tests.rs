// SPDX-License-Identifier: GPL-2.0-only
//! Synthetic kernel files: every way of packing, damaged at every byte.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::Write;

use super::super::judge_bytes;
use super::*;
use crate::btf::tests::{malformed, sound};
use crate::btf::Verdict;

/// An x86-64 ELF file with the kernel's banner and, unless it is empty, a `.BTF` section.
pub(crate) fn elf(btf: &[u8]) -> Vec<u8> {
    let banner = b"Linux version %s\0Linux version 7.2.13+deb14-cloud-amd64 (a@b) #1\0";
    let names = b"\0.shstrtab\0.BTF\0";
    let (btf_at, names_at) = (64 + banner.len(), 64 + banner.len() + btf.len());
    let sections: u16 = if btf.is_empty() { 2 } else { 3 };
    let mut out = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    for half in [2u16, 62] {
        out.extend(half.to_le_bytes());
    }
    out.extend(1u32.to_le_bytes());
    for long in [0, 0, (names_at + names.len()) as u64] {
        out.extend(long.to_le_bytes());
    }
    out.extend(0u32.to_le_bytes());
    for half in [64u16, 0, 0, 64, sections, 1] {
        out.extend(half.to_le_bytes());
    }
    for part in [banner, btf, names] {
        out.extend_from_slice(part);
    }
    let mut section = |name: u32, kind: u32, at: usize, len: usize| {
        out.extend(name.to_le_bytes());
        out.extend(kind.to_le_bytes());
        for long in [0, 0, at as u64, len as u64, 0, 1, 0] {
            out.extend(long.to_le_bytes());
        }
    };
    section(0, 0, 0, 0);
    section(1, 3, names_at, names.len());
    if sections == 3 {
        section(11, 1, btf_at, btf.len());
    }
    out
}

/// A bzImage around a payload, with the size behind it that the kernel's build appends.
pub(crate) fn bzimage(payload: &[u8]) -> Vec<u8> {
    let mut out = vec![0; 5 * 512 + 16];
    out[0x1f1] = 4;
    out[0x202..0x206].copy_from_slice(b"HdrS");
    out[0x206..0x208].copy_from_slice(&0x20fu16.to_le_bytes());
    out[0x20e..0x210].copy_from_slice(&0x200u16.to_le_bytes());
    out[0x248..0x24c].copy_from_slice(&16u32.to_le_bytes());
    out[0x24c..0x250].copy_from_slice(&(payload.len() as u32 + 4).to_le_bytes());
    let version = b"7.2.13+deb14-cloud-amd64 (a@b) #1 SMP\0";
    out[0x400..0x400 + version.len()].copy_from_slice(version);
    out.extend_from_slice(payload);
    out.extend([1, 2, 3, 4]);
    out
}

/// A zstd frame as `zstd -22 --ultra` begins it when it reads from a pipe: a window of 128 MiB and
/// no size; the data in one stored block.
fn zstd_frame(data: &[u8]) -> Vec<u8> {
    let mut out = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x88];
    let header = (data.len() as u32) << 3 | 1;
    out.extend_from_slice(&header.to_le_bytes()[..3]);
    out.extend_from_slice(data);
    out
}

fn zstd_packed(data: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(data, ruzstd::encoding::CompressionLevel::Fastest)
}

fn gzip_packed(data: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(data).unwrap();
    out.finish().unwrap()
}

fn xz_packed(mut data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    lzma_rs::xz_compress(&mut data, &mut out).unwrap();
    out
}

fn why(file: &[u8]) -> String {
    match judge_bytes(file) {
        Verdict::Unreadable { why } => why,
        verdict => panic!("not unreadable: {verdict:?}"),
    }
}

#[test]
fn every_packing_is_read() {
    for (blob, sound) in [(sound(), true), (malformed(), false)] {
        let elf = elf(&blob.bytes());
        for (name, file) in [
            ("vmlinux", elf.clone()),
            ("zstd, 128 MiB window", bzimage(&zstd_frame(&elf))),
            ("zstd, checksum", bzimage(&zstd_packed(&elf))),
            ("gzip", bzimage(&gzip_packed(&elf))),
            ("xz", bzimage(&xz_packed(&elf))),
        ] {
            let verdict = judge_bytes(&file);
            assert_eq!(verdict == Verdict::Sound, sound, "{name}: {verdict:?}");
            assert_eq!(release(&file).as_deref(), Some("7.2.13+deb14-cloud-amd64"), "{name}");
        }
    }
}

#[test]
fn kernel_without_section_has_no_btf() {
    assert_eq!(judge_bytes(&bzimage(&gzip_packed(&elf(&[])))), Verdict::NoBtf);
}

#[test]
fn other_packings_are_named() {
    for (magic, name) in [
        (b"\x02\x21\x4c\x18".as_slice(), "lz4"),
        (b"\x89LZO\0", "lzo"),
        (b"BZh9", "bzip2"),
        (b"\x5d\0\0\0", "lzma"),
        (b"what", "an unknown method"),
    ] {
        let why = why(&bzimage(magic));
        assert!(why.starts_with(&format!("it is compressed with {name}: zstd, gzip, xz")), "{why}");
    }
}

#[test]
fn what_is_no_kernel_is_told() {
    assert_eq!(why(b"text"), "it is neither a bzImage nor a vmlinux (ELF) file");
    assert_eq!(why(&bzimage(&gzip_packed(b"text"))), "its payload holds no ELF file");
    let mut arm = elf(&sound().bytes());
    arm[18] = 183;
    assert!(why(&arm).contains("another processor"));
    let mut program = elf(&[]);
    program[64..200].fill(b' ');
    assert!(why(&program).contains("no Linux kernel"));
    let mut banner = elf(&[]);
    banner[80] = 0xff;
    assert_eq!(judge_bytes(&banner), Verdict::NoBtf);
}

#[test]
fn damaged_payload_is_told() {
    let elf = elf(&sound().bytes());
    for (name, mut payload) in
        [("zstd", zstd_packed(&elf)), ("gzip", gzip_packed(&elf)), ("xz", xz_packed(&elf))]
    {
        match name {
            "zstd" => *payload.last_mut().unwrap() ^= 1, // the checksum
            "gzip" => {
                let sum = payload.len() - 8;
                payload[sum] ^= 1;
            }
            _ => {
                // LZMA2's first control byte, behind the stream's and the block's header.
                let control = 12 + (usize::from(payload[12]) + 1) * 4;
                payload[control] = 3;
            }
        }
        let why = why(&bzimage(&payload));
        assert!(why.starts_with(&format!("its {name} payload is damaged")), "{why}");
    }
}

#[test]
fn truncation_at_every_byte_is_unreadable() {
    let elf = elf(&malformed().bytes());
    let files = [zstd_frame(&elf), zstd_packed(&elf), gzip_packed(&elf), xz_packed(&elf)];
    for file in files.map(|payload| bzimage(&payload)).into_iter().chain([elf]) {
        for len in 0..file.len() {
            let verdict = judge_bytes(&file[..len]);
            assert!(matches!(verdict, Verdict::Unreadable { .. }), "{len} bytes: {verdict:?}");
            release(&file[..len]);
        }
    }
}

#[test]
fn every_flipped_bit_gets_an_answer() {
    let elf = elf(&malformed().bytes());
    let files = [zstd_frame(&elf), zstd_packed(&elf), gzip_packed(&elf), xz_packed(&elf)];
    for mut file in files.map(|payload| bzimage(&payload)).into_iter().chain([elf]) {
        // Of a bzImage's set-up code only the header is read.
        let all = file.starts_with(b"\x7fELF");
        let read = |at| all || (0x1f1..0x250).contains(&at) || at >= 5 * 512;
        for bit in (0..file.len() * 8).filter(|bit| read(bit / 8)) {
            file[bit / 8] ^= 1 << (bit % 8);
            judge_bytes(&file);
            release(&file);
            file[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

/// The ELF file with one segment of notes: the number of one note named `Xen`.
fn elf_with_note(number: u32) -> Vec<u8> {
    let mut out = elf(b"");
    let note_at = out.len() as u64;
    for word in [4, 4, number] {
        out.extend(u32::to_le_bytes(word));
    }
    out.extend(b"Xen\0\x40\x51\x9a\x03");
    let header_at = out.len() as u64;
    out.extend([4u32, 0].map(u32::to_le_bytes).concat()); // PT_NOTE
    out.extend([note_at, 0, 0, 20, 20, 4].map(u64::to_le_bytes).concat());
    out[32..40].copy_from_slice(&header_at.to_le_bytes());
    out[54..58].copy_from_slice(&[56, 0, 1, 0]);
    out
}

#[test]
fn what_boots_unpacked_is_kept_unpacked() {
    let packed = |elf: &[u8]| {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(elf).unwrap();
        bzimage(&gzip.finish().unwrap())
    };
    let (entered, not) = (elf_with_note(18), elf_with_note(17));
    assert_eq!(to_boot(packed(&entered)), entered);
    assert_eq!(to_boot(packed(&not)), packed(&not));
    assert_eq!(to_boot(packed(&elf(b""))), packed(&elf(b"")));
    assert_eq!(to_boot(entered.clone()), entered);
    for length in 0..entered.len() {
        let cut = packed(&entered[..length]);
        assert_eq!(to_boot(cut.clone()), cut, "cut at {length}");
    }
    assert_eq!(to_boot(b"noise".to_vec()), b"noise");
}
