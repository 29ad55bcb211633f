// SPDX-License-Identifier: GPL-2.0-only
//! The type information inside a kernel file: bzImage or uncompressed ELF, without booting it.
//!
//! A bzImage is a boot sector, `setup_sects` sectors of set-up code, and protected-mode code with
//! the compressed `vmlinux` at `payload_offset` (the kernel's Documentation/arch/x86/boot.rst).

use std::borrow::Cow;
use std::io::Read;

use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSection};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::xz;

/// More than any kernel unpacks to: bounds what a damaged or hostile file may take.
pub const MAX_UNPACKED: usize = 1 << 30;

/// The `.BTF` section of a kernel file; `Ok(None)` for a kernel without one, and for a file that is
/// no kernel the reason, as the end of a sentence that names the file.
pub fn btf(file: &[u8]) -> Result<Option<Vec<u8>>, String> {
    let bytes = vmlinux(file)?;
    let elf = ElfFile64::<Endianness>::parse(&*bytes)
        .map_err(|e| format!("its ELF file is damaged: {e}"))?;
    let header = elf.elf_header();
    if header.e_machine(elf.endian()) != object::elf::EM_X86_64 {
        return Err("it is for another processor: an x86-64 kernel is needed".into());
    }
    match elf.section_by_name(".BTF") {
        Some(section) => {
            let data = section.data().map_err(|e| format!("its .BTF section is damaged: {e}"))?;
            Ok(Some(data.to_vec()))
        }
        None if find_banner(&bytes).is_some() => Ok(None),
        None => Err("its ELF file is no Linux kernel".into()),
    }
}

/// The file to boot: what a bzImage unpacks to, where that can be entered without a boot loader
/// (PVH), so that not every guest unpacks it again; else the file itself.
pub fn to_boot(file: Vec<u8>) -> Vec<u8> {
    match vmlinux(&file) {
        Ok(Cow::Owned(unpacked)) if has_pvh_entry(&unpacked) => unpacked,
        _ => file,
    }
}

/// The note that holds the address of a kernel's PVH entry: XEN_ELFNOTE_PHYS32_ENTRY.
const PVH_NOTE: (&[u8], u32) = (b"Xen", 18);

fn has_pvh_entry(elf: &[u8]) -> bool {
    let entries = || {
        let header = object::elf::FileHeader64::<Endianness>::parse(elf)?;
        let endian = header.endian()?;
        for segment in header.program_headers(endian, elf)? {
            let Some(mut notes) = segment.notes(endian, elf)? else { continue };
            while let Some(note) = notes.next()? {
                if (note.name(), note.n_type(endian)) == PVH_NOTE {
                    return Ok(true);
                }
            }
        }
        object::Result::Ok(false)
    };
    entries().unwrap_or(false)
}

/// What `uname -r` says on it: the first word of the version that a bzImage's header points to, or
/// of the banner in an ELF file.
pub fn release(file: &[u8]) -> Option<String> {
    let text = if file.starts_with(b"\x7fELF") {
        file.get(find_banner(file)? + BANNER.len()..)?
    } else {
        let pointer = u16::from_le_bytes(file.get(0x20e..0x210)?.try_into().ok()?);
        file.get(usize::from(pointer) + 0x200..)?
    };
    let word = text.split(|&b| b == b' ' || b == 0).next()?;
    let plain = word.len() < 100 && word.iter().all(u8::is_ascii_graphic);
    (plain && !word.is_empty()).then(|| String::from_utf8_lossy(word).into_owned())
}

const BANNER: &[u8] = b"Linux version ";

/// Where the banner first stands with a digit behind it: its format string does not count.
fn find_banner(file: &[u8]) -> Option<usize> {
    let stands = |w: &[u8]| w.starts_with(BANNER) && w[BANNER.len()].is_ascii_digit();
    file.windows(BANNER.len() + 1).position(stands)
}

/// The kernel's ELF file: `file` itself, or what its payload unpacks to.
fn vmlinux(file: &[u8]) -> Result<Cow<'_, [u8]>, String> {
    if file.starts_with(b"\x7fELF") {
        return Ok(Cow::Borrowed(file));
    }
    if file.get(0x202..0x206) != Some(b"HdrS".as_slice()) {
        return Err("it is neither a bzImage nor a vmlinux (ELF) file".into());
    }
    let unpacked = unpack(payload(file).ok_or("its bzImage is cut short")?)?;
    if !unpacked.starts_with(b"\x7fELF") {
        return Err("its payload holds no ELF file".into());
    }
    Ok(Cow::Owned(unpacked))
}

/// The compressed part. The fields are in every protocol since 2.08 (Linux 2.6.26).
fn payload(file: &[u8]) -> Option<&[u8]> {
    let sectors = match file.get(0x1f1)? {
        0 => 4,
        &n => usize::from(n),
    };
    let word = |at: usize| Some(u32::from_le_bytes(file.get(at..at + 4)?.try_into().ok()?));
    let start = (sectors + 1) * 512 + word(0x248)? as usize;
    file.get(start..)?.get(..word(0x24c)? as usize)
}

/// Unpacks by the payload's own magic number.
fn unpack(payload: &[u8]) -> Result<Vec<u8>, String> {
    const OTHERS: [(&[u8], &str); 4] = [
        (b"\x02\x21\x4c\x18", "lz4"),
        (b"\x89LZO", "lzo"),
        (b"BZh", "bzip2"),
        (b"\x5d\x00\x00", "lzma"),
    ];
    let (name, result) = match payload {
        [0x28, 0xb5, 0x2f, 0xfd, ..] => ("zstd", zstd(payload)),
        [0x1f, 0x8b, ..] => ("gzip", gzip(payload)),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => ("xz", xz::unpack(payload, MAX_UNPACKED)),
        _ => {
            let other = OTHERS.iter().find(|(magic, _)| payload.starts_with(magic));
            let name = other.map_or("an unknown method", |(_, name)| name);
            return Err(format!(
                "it is compressed with {name}: zstd, gzip, xz or an uncompressed vmlinux is needed"
            ));
        }
    };
    result.map_err(|e| format!("its {name} payload is damaged: {e}"))
}

/// One zstd frame; the size that the kernel's build appends is ignored.
///
/// Kernels are packed with a window of 128 MiB, which a fresh decoder accepts and one that is used
/// again does not.
fn zstd(mut payload: &[u8]) -> Result<Vec<u8>, String> {
    let mut decoder = FrameDecoder::new();
    decoder.init(&mut payload).map_err(|e| e.to_string())?;
    let mut out = Vec::new();
    while !decoder.is_finished() {
        let step = BlockDecodingStrategy::UptoBytes(1 << 20);
        decoder.decode_blocks(&mut payload, step).map_err(|e| e.to_string())?;
        if decoder.can_collect() + out.len() > MAX_UNPACKED {
            return Err("it unpacks to over 1 GiB".into());
        }
    }
    decoder.collect_to_writer(&mut out).map_err(|e| e.to_string())?;
    match decoder.get_checksum_from_data() {
        Some(sum) if decoder.get_calculated_checksum() != Some(sum) => Err("wrong checksum".into()),
        _ => Ok(out),
    }
}

fn gzip(payload: &[u8]) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    let mut input = flate2::bufread::GzDecoder::new(payload).take(MAX_UNPACKED as u64 + 1);
    input.read_to_end(&mut out).map_err(|e| e.to_string())?;
    if out.len() > MAX_UNPACKED {
        return Err("it unpacks to over 1 GiB".into());
    }
    Ok(out)
}

#[cfg(test)]
#[path = "bzimage_tests.rs"]
pub(crate) mod tests;
