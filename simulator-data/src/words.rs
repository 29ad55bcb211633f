// SPDX-License-Identifier: GPL-2.0-only
//! Words that users type, and the nearest valid one for those that are not known.

use scx_ballast::settings::nearest;

use crate::error::BadInput;

/// An error for an unknown word: names it, the nearest valid one and all of them.
pub fn unknown(what: &str, word: &str, valid: &[&str]) -> BadInput {
    let near = nearest(word, valid.iter().copied());
    BadInput(format!(
        "unknown {what} `{}`: the nearest is `{near}` (valid: {})",
        word.escape_debug(),
        valid.join(" ")
    ))
}

/// A word split into its file (a name or the path of a `.toml`) and its settings.
pub fn split(word: &str) -> (&str, Vec<&str>) {
    let end = word.find(".toml").map_or(0, |at| at + ".toml".len());
    let end = word[end..].find('+').map_or(word.len(), |at| at + end);
    let settings = word[end..].strip_prefix('+').map(|rest| rest.split('+').collect());
    (&word[..end], settings.unwrap_or_default())
}

/// Whether a word names a file of the user's rather than one of Ballast's own.
pub fn is_path(word: &str) -> bool {
    word.contains('/') || word.ends_with(".toml")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_paths_are_split() {
        assert_eq!(split("hackbench"), ("hackbench", vec![]));
        assert_eq!(split("hackbench+a=1+b"), ("hackbench", vec!["a=1", "b"]));
        assert_eq!(split("./g++/x.toml+a=1"), ("./g++/x.toml", vec!["a=1"]));
        assert_eq!(split("hackbench+"), ("hackbench", vec![""]));
        assert!(is_path("./x") && is_path("x.toml") && !is_path("e5-2630v4"));
    }

    #[test]
    fn an_unknown_word_gets_the_nearest() {
        let line = unknown("machine", "e5-2630v3", &["altra-80", "e5-2630v4"]).to_string();
        assert_eq!(
            line,
            "unknown machine `e5-2630v3`: the nearest is `e5-2630v4` (valid: altra-80 e5-2630v4)"
        );
    }
}
