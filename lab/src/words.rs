// SPDX-License-Identifier: GPL-2.0-only
//! Words as users type them: a name and settings joined by `+`, and the nearest valid word for
//! one that is not known.

use anyhow::Result;

use crate::error::Failure;

/// Edits (insert, delete, replace, swap of neighbours) that turn `a` into `b`, ignoring case.
pub fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.to_lowercase().chars().collect();
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    rows[0] = (0..=b.len()).collect();
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let replace = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replace.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

/// The valid word that `word` most likely meant; the first of equals.
pub fn nearest<'a>(word: &str, valid: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    valid.into_iter().min_by_key(|v| distance(word, v))
}

/// An error for an unknown word: names it, the nearest valid one and all of them.
pub fn unknown(what: &str, word: &str, valid: &[&str]) -> anyhow::Error {
    let near = nearest(word, valid.iter().copied()).unwrap_or_default();
    Failure::usage(format!(
        "unknown {what} `{word}`: the nearest is `{near}` (valid: {})",
        valid.join(" ")
    ))
}

/// A word split into its name and its settings.
pub fn split(word: &str) -> (&str, Vec<&str>) {
    let mut parts = word.split('+');
    let name = parts.next().unwrap_or_default();
    (name, parts.collect())
}

/// A whole number within `range`, or one line that says what would be right.
pub fn number(word: &str, key: &str, value: &str, range: (u64, u64)) -> Result<u64> {
    let (low, high) = range;
    match value.parse::<u64>() {
        Ok(n) if (low..=high).contains(&n) => Ok(n),
        _ => Err(Failure::usage(format!(
            "`{word}`: {key} takes a whole number from {low} to {high}, not `{value}`"
        ))),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn distance_counts_single_edits() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("steal", "STEAL"), 0);
        assert_eq!(distance("stael", "steal"), 1, "a swap of neighbours is one edit");
        assert_eq!(distance("kitten", "sitting"), 3);
    }

    #[test]
    fn nearest_prefers_the_first_of_equals() {
        assert_eq!(nearest("hackbnech", ["pipe", "hackbench", "shares"]), Some("hackbench"));
        assert_eq!(nearest("ab", ["aa", "bb"]), Some("aa"));
        assert_eq!(nearest("x", []), None);
    }

    #[test]
    fn numbers_are_bounded_and_named() {
        assert_eq!(number("pipe+loops=5", "loops", "5", (1, 9)).unwrap(), 5);
        for bad in ["0", "10", "-1", "x", "", "99999999999999999999"] {
            let line = number("pipe", "loops", bad, (1, 9)).unwrap_err().to_string();
            assert!(line.contains("loops") && line.contains("from 1 to 9"), "{line}");
        }
    }
}
