// SPDX-License-Identifier: GPL-2.0-only
//! The xz container as x86 kernels use it: blocks of LZMA2, most behind the x86 branch filter,
//! which the LZMA crate does not know.

const LZMA2: u64 = 0x21;
const X86: u64 = 0x04;
const CHECK_CRC32: u8 = 1;
/// Bytes of check behind each block, by the low four bits of the stream's flags.
const CHECK_SIZES: [usize; 16] = [0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64];

/// Unpacks the first stream; what lies behind its last block is not read.
pub fn unpack(stream: &[u8], limit: usize) -> Result<Vec<u8>, String> {
    let check = stream.get(7).ok_or("it is cut short")? & 15;
    let mut rest = stream.get(12..).ok_or("it is cut short")?;
    let mut out = Vec::new();
    while *rest.first().ok_or("it is cut short")? != 0 {
        let size = (usize::from(rest[0]) + 1) * 4;
        let header = rest.get(1..size - 4).ok_or("it is cut short")?;
        let branches = has_branch_filter(header)?;
        let mut packed = rest.get(size..).ok_or("it is cut short")?;
        let before = packed.len();
        let mut block = Bounded { bytes: Vec::new(), limit: limit - out.len() };
        lzma_rs::lzma2_decompress(&mut packed, &mut block).map_err(|e| format!("{e:?}"))?;
        let mut block = block.bytes;
        if branches {
            undo_branches(&mut block);
        }
        let padding = (before - packed.len()).wrapping_neg() & 3;
        rest = packed.get(padding..).ok_or("it is cut short")?;
        let sum = rest.get(..CHECK_SIZES[usize::from(check)]).ok_or("it is cut short")?;
        if check == CHECK_CRC32 && crc32(&block) != *sum {
            return Err("wrong checksum".into());
        }
        rest = &rest[sum.len()..];
        out.append(&mut block);
    }
    Ok(out)
}

/// Reads a block header from its flags on: whether x86 branches were rewritten before LZMA2.
fn has_branch_filter(header: &[u8]) -> Result<bool, String> {
    let (&flags, mut rest) = header.split_first().ok_or("it is cut short")?;
    let sizes = u32::from(flags & 0x40 != 0) + u32::from(flags & 0x80 != 0);
    for _ in 0..sizes {
        number(&mut rest)?;
    }
    let mut filters = Vec::new();
    for _ in 0..=flags & 3 {
        let id = number(&mut rest)?;
        let properties = number(&mut rest)?;
        rest = usize::try_from(properties)
            .ok()
            .and_then(|n| rest.get(n..))
            .ok_or("its block header is damaged")?;
        // A filter that starts elsewhere than at 0 (4 bytes of properties) is used by nobody.
        filters.push(if id == X86 && properties != 0 { u64::MAX } else { id });
    }
    match filters[..] {
        [LZMA2] => Ok(false),
        [X86, LZMA2] => Ok(true),
        _ => Err("it uses other filters than x86 and LZMA2".into()),
    }
}

/// A number of seven bits a byte, lowest first.
fn number(rest: &mut &[u8]) -> Result<u64, String> {
    let mut value = 0;
    for shift in (0..63).step_by(7) {
        let (&byte, tail) = rest.split_first().ok_or("its block header is damaged")?;
        *rest = tail;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err("its block header is damaged".into())
}

fn crc32(bytes: &[u8]) -> [u8; 4] {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum().to_le_bytes()
}

/// Puts relative targets back where the x86 filter stored absolute ones, after each CALL (E8) and
/// JMP (E9) whose operand's highest byte is 00 or FF.
///
/// `seen` has a bit for each of the last three bytes that looked like such an instruction but was
/// not converted: the encoder left operands that overlap one alone, unless the byte which the
/// overlap makes doubtful is neither 00 nor FF.
fn undo_branches(code: &mut [u8]) {
    let is_sign = |byte: u8| byte == 0 || byte == 0xff;
    let mut seen = 0u32;
    let mut last = None::<usize>;
    let mut at = 0;
    while at + 5 <= code.len() {
        if code[at] & 0xfe != 0xe8 {
            at += 1;
            continue;
        }
        let distance = last.map_or(4, |l| at - l);
        seen = if distance > 3 { 0 } else { (seen << (distance - 1)) & 7 };
        last = Some(at);
        let doubtful = [0usize, 1, 2, 2, 3, 3, 3, 3][seen as usize];
        let clear = matches!(seen, 0 | 1 | 2 | 4);
        let overlaps = seen != 0 && (!clear || is_sign(code[at + 4 - doubtful]));
        if overlaps || !is_sign(code[at + 4]) {
            seen = (seen << 1) | 1;
            at += 1;
            continue;
        }
        let operand = [code[at + 1], code[at + 2], code[at + 3], code[at + 4]];
        let mut target = u32::from_le_bytes(operand);
        let relative = loop {
            let relative = target.wrapping_sub(at as u32 + 5);
            if seen == 0 || !is_sign((relative >> (24 - 8 * doubtful)) as u8) {
                break relative;
            }
            target = relative ^ ((1u64 << (32 - 8 * doubtful)) - 1) as u32;
        };
        // The sign is bit 24, spread over the highest byte.
        let relative = ((relative << 7) as i32 >> 7) as u32;
        code[at + 1..at + 5].copy_from_slice(&relative.to_le_bytes());
        seen = 0;
        at += 5;
    }
}

/// Refuses to grow past a limit.
struct Bounded {
    bytes: Vec<u8>,
    limit: usize,
}

impl std::io::Write for Bounded {
    fn write(&mut self, part: &[u8]) -> std::io::Result<usize> {
        if self.bytes.len() + part.len() > self.limit {
            return Err(std::io::Error::other("it unpacks to over 1 GiB"));
        }
        self.bytes.extend_from_slice(part);
        Ok(part.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
#[path = "xz_tests.rs"]
pub(crate) mod tests;
