// SPDX-License-Identifier: GPL-2.0-only
//! Synthetic BTF: sound, malformed, damaged at every byte.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;

/// Writes a `.BTF` section type by type.
pub(crate) struct Blob {
    types: Vec<u8>,
    strings: Vec<u8>,
    count: u32,
}

impl Blob {
    pub(crate) fn new() -> Self {
        Self { types: Vec::new(), strings: vec![0], count: 0 }
    }

    fn name(&mut self, name: &str) -> u32 {
        let at = self.strings.len() as u32;
        self.strings.extend_from_slice(name.as_bytes());
        self.strings.push(0);
        at
    }

    fn push(&mut self, name: &str, kind: u32, vlen: u32, target: u32, extra: &[u32]) -> u32 {
        let name = if name.is_empty() { 0 } else { self.name(name) };
        for word in [name, kind << 24 | vlen, target].iter().chain(extra) {
            self.types.extend_from_slice(&word.to_le_bytes());
        }
        self.count += 1;
        self.count
    }

    pub(crate) fn ops(&mut self) -> u32 {
        let member = self.name("select_cpu");
        self.push("sched_ext_ops", KIND_STRUCT, 1, 8, &[member, 0, 0])
    }

    pub(crate) fn function(&mut self, name: &str, parameters: &[&str]) -> u32 {
        let extra: Vec<u32> = parameters.iter().flat_map(|p| [self.name(p), 0]).collect();
        let proto = self.push("", KIND_FUNC_PROTO, parameters.len() as u32, 0, &extra);
        self.push(name, KIND_FUNC, 1, proto, &[])
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = vec![0x9f, 0xeb, 1, 0];
        let (types, strings) = (self.types.len() as u32, self.strings.len() as u32);
        for word in [HEADER as u32, 0, types, types, strings] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&self.types);
        out.extend_from_slice(&self.strings);
        out
    }
}

/// One type of every kind with data behind it, then a sound sched_ext.
pub(crate) fn sound() -> Blob {
    let mut blob = Blob::new();
    blob.push("int", KIND_INT, 0, 4, &[0x0100_0020]);
    blob.push("", KIND_ARRAY, 0, 0, &[1, 1, 4]);
    blob.push("", KIND_UNION, 2, 8, &[0, 1, 0, 0, 1, 0]);
    blob.push("e", KIND_ENUM, 1, 4, &[0, 7]);
    blob.push("e64", KIND_ENUM64, 1, 8, &[0, 7, 0]);
    blob.push("v", KIND_VAR, 0, 1, &[0]);
    blob.push(".data", KIND_DATASEC, 1, 8, &[6, 0, 4]);
    blob.push("bpf_kfunc", KIND_DECL_TAG, 0, 1, &[u32::MAX]);
    blob.push("float", 16, 0, 4, &[]);
    blob.push("tag", 18, 0, 1, &[]);
    blob.ops();
    blob.function("scx_bpf_create_dsq", &["dsq_id", "node"]);
    blob.function("scx_bpf_create_dsq_impl", &["dsq_id", "node", "aux"]);
    blob.function("bpf_other", &["aux"]);
    blob
}

pub(crate) fn malformed() -> Blob {
    let mut blob = sound();
    blob.function("scx_bpf_kick_cpu", &["cpu", "flags", "aux"]);
    blob.function("scx_bpf_dsq_peek", &["aux"]);
    blob
}

#[test]
fn sound_kernel_is_sound() {
    assert_eq!(judge(&sound().bytes()), Verdict::Sound);
}

#[test]
fn hidden_parameter_is_malformed_and_first_function_is_named() {
    let verdict = judge(&malformed().bytes());
    assert_eq!(verdict, Verdict::Malformed { function: "scx_bpf_kick_cpu".into(), count: 2 });
    let text = verdict.to_string();
    assert!(text.contains("scx_bpf_kick_cpu") && text.contains("pahole older than 1.31"), "{text}");
}

#[test]
fn kernel_without_ops_has_no_sched_ext() {
    let mut blob = Blob::new();
    blob.function("scx_bpf_kick_cpu", &["aux"]);
    blob.push("sched_ext_ops", 7, 0, 0, &[]); // a forward declaration is not the struct
    assert_eq!(judge(&blob.bytes()), Verdict::NoSchedExt);
}

#[test]
fn truncation_at_every_byte_is_unreadable() {
    let whole = malformed().bytes();
    for len in 0..whole.len() {
        let verdict = judge(&whole[..len]);
        assert!(matches!(verdict, Verdict::Unreadable { .. }), "{len} bytes: {verdict:?}");
    }
}

#[test]
fn every_flipped_bit_gets_an_answer() {
    let whole = malformed().bytes();
    for bit in 0..whole.len() * 8 {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        judge(&bytes);
    }
}

#[test]
fn a_longer_header_is_skipped() {
    let mut bytes = sound().bytes();
    bytes[4] += 8;
    bytes.splice(HEADER..HEADER, [0; 8]);
    assert_eq!(judge(&bytes), Verdict::Sound);
}
