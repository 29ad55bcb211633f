// SPDX-License-Identifier: GPL-2.0-only
//! What a kernel's own type information (BTF) says about sched_ext, read without booting it.
//!
//! A kernel is *sound* when its BTF has `struct sched_ext_ops` and no `scx_bpf_*` function shows
//! the parameter that the verifier supplies by itself. pahole before 1.31 leaves that parameter,
//! `aux`, in the public prototype of some functions and makes no `_impl` twin: libbpf then finds
//! the prototype incompatible and no ordinary sched_ext scheduler loads.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Raised when [`judge`] comes to judge differently, or another file is kept of a sound kernel: what
/// was kept before is fetched and judged anew.
pub const RULES: u32 = 2;

/// Whether sched_ext schedulers load on a kernel, as far as its file tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "verdict")]
pub enum Verdict {
    /// sched_ext is there and its functions have the prototypes they should have.
    Sound,
    /// The kernel was built without type information.
    NoBtf,
    /// The kernel was built without sched_ext.
    NoSchedExt,
    /// sched_ext functions show a hidden parameter.
    Malformed {
        /// The first such function.
        function: String,
        /// How many there are.
        count: usize,
    },
    /// The file could not be read as a kernel image.
    Unreadable {
        /// What is wrong with it and what would be right.
        why: String,
    },
}

impl fmt::Display for Verdict {
    /// The cause, as the end of a sentence that names the kernel.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Sound => f.write_str("its type information is sound"),
            Verdict::NoBtf => {
                f.write_str("it has no type information (built without CONFIG_DEBUG_INFO_BTF)")
            }
            Verdict::NoSchedExt => {
                f.write_str("it has no sched_ext (built without CONFIG_SCHED_CLASS_EXT)")
            }
            Verdict::Malformed { function, count } => write!(
                f,
                "its type information is malformed: {count} of its functions, {function} first, \
                 show a hidden parameter (it was built with pahole older than 1.31)"
            ),
            Verdict::Unreadable { why } => f.write_str(why),
        }
    }
}

/// Judges the contents of a `.BTF` section; never panics, whatever the bytes.
pub fn judge(btf: &[u8]) -> Verdict {
    let Some(types) = Types::parse(btf) else {
        return Verdict::Unreadable { why: "its .BTF section is damaged".into() };
    };
    let mut sched_ext = false;
    let mut malformed: Option<String> = None;
    let mut count = 0;
    for id in 1..=types.len() {
        let Some((name, kind, target)) = types.get(id) else { continue };
        match kind {
            KIND_STRUCT if name == b"sched_ext_ops" => sched_ext = true,
            KIND_FUNC if types.is_malformed(name, target) => {
                count += 1;
                malformed.get_or_insert_with(|| String::from_utf8_lossy(name).into_owned());
            }
            _ => {}
        }
    }
    match malformed {
        _ if !sched_ext => Verdict::NoSchedExt,
        Some(function) => Verdict::Malformed { function, count },
        None => Verdict::Sound,
    }
}

const MAGIC: u16 = 0xeb9f;
/// The header up to the string section's length; later versions may append to it.
const HEADER: usize = 24;
/// `struct btf_type`: name offset, info, size or type.
const TYPE: usize = 12;

const KIND_INT: u32 = 1;
const KIND_ARRAY: u32 = 3;
const KIND_STRUCT: u32 = 4;
const KIND_UNION: u32 = 5;
const KIND_ENUM: u32 = 6;
const KIND_FUNC: u32 = 12;
const KIND_FUNC_PROTO: u32 = 13;
const KIND_VAR: u32 = 14;
const KIND_DATASEC: u32 = 15;
const KIND_DECL_TAG: u32 = 17;
const KIND_ENUM64: u32 = 19;

/// The type section, with the place of each type: identifiers count from 1.
struct Types<'a> {
    bytes: &'a [u8],
    strings: &'a [u8],
    places: Vec<usize>,
}

impl<'a> Types<'a> {
    /// Walks the section once; `None` where it does not hold together.
    fn parse(btf: &'a [u8]) -> Option<Self> {
        if btf.len() < HEADER || u16::from_le_bytes(btf[..2].try_into().ok()?) != MAGIC {
            return None;
        }
        let body = btf.get(u32_at(btf, 4)? as usize..)?;
        let bytes = section(body, u32_at(btf, 8)?, u32_at(btf, 12)?)?;
        let strings = section(body, u32_at(btf, 16)?, u32_at(btf, 20)?)?;
        let mut places = Vec::with_capacity(bytes.len() / 20);
        let mut at = 0;
        while at < bytes.len() {
            places.push(at);
            let info = u32_at(bytes, at + 4)?;
            at = at.checked_add(TYPE + extra(kind(info), vlen(info))?)?;
        }
        (at == bytes.len()).then_some(Self { bytes, strings, places })
    }

    fn len(&self) -> usize {
        self.places.len()
    }

    /// Name, kind and size-or-type of a type.
    fn get(&self, id: usize) -> Option<(&'a [u8], u32, u32)> {
        let at = *self.places.get(id.checked_sub(1)?)?;
        let name = self.string(u32_at(self.bytes, at)?)?;
        Some((name, kind(u32_at(self.bytes, at + 4)?), u32_at(self.bytes, at + 8)?))
    }

    fn string(&self, offset: u32) -> Option<&'a [u8]> {
        self.strings.get(offset as usize..)?.split(|&b| b == 0).next()
    }

    /// A public sched_ext function whose prototype still has the verifier's own parameter.
    fn is_malformed(&self, name: &[u8], proto: u32) -> bool {
        name.starts_with(b"scx_bpf_")
            && !name.ends_with(b"_impl")
            && self.parameters(proto as usize).any(|p| p == b"aux")
    }

    fn parameters(&self, proto: usize) -> impl Iterator<Item = &'a [u8]> + '_ {
        let place = proto.checked_sub(1).and_then(|i| self.places.get(i)).copied();
        let first = place.map_or(0, |at| at + TYPE);
        let info = place.and_then(|at| u32_at(self.bytes, at + 4)).unwrap_or(0);
        let count = if kind(info) == KIND_FUNC_PROTO { vlen(info) } else { 0 };
        (0..count).filter_map(move |i| self.string(u32_at(self.bytes, first + 8 * i)?))
    }
}

fn kind(info: u32) -> u32 {
    (info >> 24) & 0x1f
}

fn vlen(info: u32) -> usize {
    (info & 0xffff) as usize
}

/// How many bytes follow `struct btf_type`; `None` for a kind that is not known.
fn extra(kind: u32, vlen: usize) -> Option<usize> {
    Some(match kind {
        KIND_INT | KIND_VAR | KIND_DECL_TAG => 4,
        KIND_ARRAY => 12,
        KIND_STRUCT | KIND_UNION | KIND_DATASEC | KIND_ENUM64 => 12 * vlen,
        KIND_ENUM | KIND_FUNC_PROTO => 8 * vlen,
        // Pointers, typedefs, qualifiers, forwards, functions, floats and type tags.
        2 | 7..=12 | 16 | 18 => 0,
        _ => return None,
    })
}

fn section(body: &[u8], offset: u32, len: u32) -> Option<&[u8]> {
    body.get(offset as usize..)?.get(..len as usize)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

#[cfg(test)]
#[path = "btf/tests.rs"]
pub(crate) mod tests;
