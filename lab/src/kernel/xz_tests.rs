// SPDX-License-Identifier: GPL-2.0-only
//! The x86 filter against a stream that the xz program made.
#![allow(clippy::unwrap_used)]

use super::*;

/// Branches that overlap in every way, as they are in memory.
const CODE: &str = "\
    e9e801e8ffe800e900ff009000e8e8e8e8e8ff9000e84b030000e800e900ff009000e9e801e8ffe8e8e8e8\
    e8ffffffe8e8e8e8ffffffe9e801e8ffe9e803e8ffe8c4090000e861f9ffff9000e8ebfdffffe8e7fcffff\
    e8e8e8e8e8ffffffe8e8e8e8ffff9000e8e8ffffe86df5ffffe9e803e8ffe9e802e8ffe8e8e8ffff9000e8\
    e8e8e8e8ffff90009000e8e8e8e8e8ffe800e900ff00e83bfdffff9000e9e802e8ff900090009000e81f0b\
    0000e9e802e8ffe800e900ff00e84ff6ffffe8e8e8e8ffe800e900ff00e86a010000e9e800e8ffe800e900\
    ff00e8e8e8e8ffe8a40700009000e85e0000009000e800e900";

/// The same through `xz --x86 --lzma2 --check=crc32`, which rewrites 61 of the bytes.
const PACKED: &str = "\
    fd377a585a0000016922de360201040021011c00876edae5e000ef00a25d0074bb3c2cf1739735fb9f0c7a\
    04488727f88b7c9fd5eae209395cf3285a34eb1c9b028151e59ed4545b7f7ad7967c5487efe7c054fb59ab\
    173b24b3a84f285c52c08b560963a37ceedeb9111a0ada00823b8d058a5a98d8e55bed65e59eacd5e2d6c8\
    d6b4b45419e670211efb9200a3a4de4ae31cb77e70412fa5da321f837ba1b49f712da901a8a7718cfa121b\
    74d8c3c699e62044703b9a87b6304a7a95460700000000005e0ed2fb0001ba01f0010000eeb1c0c23e300d\
    8b020000000001595a";

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect()
}

#[test]
fn branches_are_put_back() {
    assert_eq!(unpack(&bytes(PACKED), 1 << 20).unwrap(), bytes(CODE));
}

#[test]
fn limit_holds() {
    assert!(unpack(&bytes(PACKED), bytes(CODE).len()).is_ok());
    let error = unpack(&bytes(PACKED), bytes(CODE).len() - 1).unwrap_err();
    assert!(error.contains("over 1 GiB"), "{error}");
}

#[test]
fn wrong_checksum_is_told() {
    let mut packed = bytes(PACKED);
    let at = packed.len() - 12 - 12 - 1;
    packed[at] ^= 1;
    assert_eq!(unpack(&packed, 1 << 20).unwrap_err(), "wrong checksum");
}

#[test]
fn unknown_filters_are_told() {
    // Flags: one filter; its number 3 (delta), one byte of properties.
    assert!(has_branch_filter(&[0, 3, 1, 0]).unwrap_err().contains("other filters"));
    // The x86 filter from another start than 0.
    let odd = [1, 4, 4, 0, 0, 0, 1, 0x21, 1, 0];
    assert!(has_branch_filter(&odd).unwrap_err().contains("other filters"));
    // Sizes given, of which the second is cut short.
    assert!(has_branch_filter(&[0xc0, 1, 0x80]).unwrap_err().contains("damaged"));
    assert!(has_branch_filter(&[0xc0, 1, 0x80, 1, 0x21, 1, 0]).is_ok_and(|branches| !branches));
}

#[test]
fn truncation_and_flipped_bits_get_an_answer() {
    let packed = bytes(PACKED);
    // Behind the block the index follows, which is not read.
    let read = packed.len() - 12 - 12;
    for len in 0..read {
        assert!(unpack(&packed[..len], 1 << 20).is_err(), "{len} bytes");
    }
    for bit in 0..read * 8 {
        let mut odd = packed.clone();
        odd[bit / 8] ^= 1 << (bit % 8);
        let _ = unpack(&odd, 1 << 20);
    }
}
