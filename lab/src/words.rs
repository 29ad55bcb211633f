// SPDX-License-Identifier: GPL-2.0-only
//! Words as users type them: a name and settings joined by `+`, and the nearest valid word for
//! one that is not known.

use anyhow::Result;
use scx_ballast::settings::nearest;

use crate::error::Failure;

/// An error for an unknown word: names it, the nearest valid one and all of them.
pub fn unknown(what: &str, word: &str, valid: &[&str]) -> anyhow::Error {
    let near = nearest(word, valid.iter().copied());
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
    fn an_unknown_word_gets_one_line_with_the_nearest() {
        let line = unknown("bench", "hackbnech", &["pipe", "hackbench"]).to_string();
        assert_eq!(
            line,
            "unknown bench `hackbnech`: the nearest is `hackbench` (valid: pipe hackbench)"
        );
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
