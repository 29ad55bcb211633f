// SPDX-License-Identifier: GPL-2.0-only
//! Order of versions: dpkg's, which also fits kernel releases.

use std::cmp::Ordering;

/// The oldest series whose sched_ext has what `scx_ballast` needs.
pub const OLDEST: (u32, u32) = (6, 18);

/// Compares digit runs as numbers and the rest letter by letter: letters before other signs, `~`
/// before everything, the end included (deb-version(7)). An epoch is compared first.
pub fn compare(a: &str, b: &str) -> Ordering {
    let (epoch_a, a) = epoch(a);
    let (epoch_b, b) = epoch(b);
    number(epoch_a).cmp(&number(epoch_b)).then_with(|| compare_rest(a.as_bytes(), b.as_bytes()))
}

fn epoch(version: &str) -> (&[u8], &str) {
    version.split_once(':').map_or((b"", version), |(epoch, rest)| (epoch.as_bytes(), rest))
}

fn compare_rest(mut a: &[u8], mut b: &[u8]) -> Ordering {
    while !a.is_empty() || !b.is_empty() {
        let (text_a, text_b) = (text(&mut a), text(&mut b));
        for i in 0..text_a.len().max(text_b.len()) {
            let order = weight(text_a.get(i)).cmp(&weight(text_b.get(i)));
            if order.is_ne() {
                return order;
            }
        }
        let order = number(digits(&mut a)).cmp(&number(digits(&mut b)));
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

fn weight(byte: Option<&u8>) -> i32 {
    match byte {
        Some(b'~') => -1,
        None => 0,
        Some(&b) if b.is_ascii_alphabetic() => i32::from(b),
        Some(&b) => i32::from(b) + 256,
    }
}

fn text<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    split(rest, |b| !b.is_ascii_digit())
}

fn digits<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    split(rest, |b| b.is_ascii_digit())
}

fn split<'a>(rest: &mut &'a [u8], belongs: impl Fn(&u8) -> bool) -> &'a [u8] {
    let at = rest.iter().position(|b| !belongs(b)).unwrap_or(rest.len());
    let (head, tail) = rest.split_at(at);
    *rest = tail;
    head
}

/// A number of any length: its length without leading zeros decides, then its digits.
fn number(digits: &[u8]) -> (usize, &[u8]) {
    let zeros = digits.iter().take_while(|&&b| b == b'0').count();
    (digits.len() - zeros, &digits[zeros..])
}

/// The series of a release or of a word such as `6.18`: its first two numbers.
pub fn series(release: &str) -> Option<(u32, u32)> {
    let (major, rest) = release.split_once('.')?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    Some((major.parse().ok()?, rest[..end].parse().ok()?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn releases_are_ordered_by_number() {
        let ordered = [
            "6.12.107+deb13-cloud-amd64",
            "6.18.9+deb13-cloud-amd64",
            "6.18.15+deb13-cloud-amd64",
            "6.19.6+deb13-cloud-amd64",
            "7.0.0-2-generic",
            "7.0.0-15-generic",
            "7.0.0-100-generic",
            "7.2~rc4-cloud-amd64",
            "7.2-cloud-amd64",
            "7.2.9+deb13-cloud-amd64",
            "7.2.13+deb13-cloud-amd64",
            "7.2.13+deb14-cloud-amd64",
            "7.10.1+deb14-cloud-amd64",
        ];
        for (i, a) in ordered.iter().enumerate() {
            for (j, b) in ordered.iter().enumerate() {
                assert_eq!(compare(a, b), i.cmp(&j), "{a} against {b}");
            }
        }
    }

    #[test]
    fn package_versions_are_ordered_as_dpkg_does() {
        let ordered = ["1.0~~", "1.0~~a", "1.0~", "1.0", "1.0a", "1.0+b1", "1.0.1", "1:0.1"];
        for pair in ordered.windows(2) {
            assert_eq!(compare(pair[0], pair[1]), Ordering::Less, "{pair:?}");
        }
        assert_eq!(compare("7.2.12-1~bpo13+1", "7.2.12-1"), Ordering::Less);
        assert_eq!(compare("1.010", "1.10"), Ordering::Equal);
        let long = "9".repeat(60);
        assert_eq!(compare(&long, &format!("1{long}")), Ordering::Less);
    }

    #[test]
    fn series_is_the_first_two_numbers() {
        assert_eq!(series("7.2.13+deb14-cloud-amd64"), Some((7, 2)));
        assert_eq!(series("6.18"), Some((6, 18)));
        assert_eq!(series("7.2~rc4"), Some((7, 2)));
        for odd in ["", "7", "7.", ".2", "x.y", "99999999999.1"] {
            assert_eq!(series(odd), None, "{odd}");
        }
    }
}
