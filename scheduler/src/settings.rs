// SPDX-License-Identifier: GPL-2.0-only
//! Features and tunables: their names, what a word such as `NO_STEAL` or `slice_us=3000` means.
//!
//! Names follow the mails and the kernel's `sched_features` habit: `STEAL` on, `NO_STEAL` off.

use std::fmt;

/// A switch; `bit` is its place in `struct policy`'s features (`policy/base.h`, `ballast.h`).
pub struct Feature {
    /// As typed.
    pub name: &'static str,
    /// Mask of its bit.
    pub bit: u32,
    /// Whether it is on unless told otherwise.
    pub on: bool,
    /// One line for `--help-settings`.
    pub help: &'static str,
}

/// All features.
pub const FEATURES: &[Feature] = &[
    Feature { name: "STEAL", bit: 1 << 0, on: true, help: "an idle CPU takes a task from its LLC" },
    Feature { name: "STEAL_LLC", bit: 1 << 1, on: true, help: "then from its node's other LLCs" },
    Feature { name: "STEAL_NUMA", bit: 1 << 2, on: true, help: "then from the other nodes" },
    Feature { name: "SIS_LIMIT", bit: 1 << 3, on: true, help: "look at two cores' CPUs at most" },
    Feature { name: "SIS_ROTATE", bit: 1 << 4, on: true, help: "begin where the last look ended" },
    Feature { name: "SIS_CORE", bit: 1 << 5, on: true, help: "look for an idle core first" },
    Feature { name: "REBASE", bit: 1 << 16, on: true, help: "a moving task keeps its lag" },
];

/// A number; times are given in microseconds and kept in nanoseconds.
pub struct Tunable {
    /// As typed.
    pub name: &'static str,
    /// Value unless told otherwise.
    pub default: u64,
    /// Lowest value allowed.
    pub min: u64,
    /// Highest value allowed.
    pub max: u64,
    /// One line for `--help-settings`.
    pub help: &'static str,
}

/// All tunables, in the order of [`Settings::tunables`].
pub const TUNABLES: &[Tunable] = &[
    Tunable { name: "slice_us", default: 4000, min: 100, max: 100_000, help: "a task's turn" },
    Tunable { name: "credit_us", default: 6000, min: 0, max: 100_000, help: "a sleeper's credit" },
    Tunable {
        name: "preempt_us",
        default: 1000,
        min: 0,
        max: 100_000,
        help: "a wakee this much earlier preempts the running task",
    },
    Tunable {
        name: "sync_us",
        default: 1000,
        min: 0,
        max: 100_000,
        help: "after a sync wake-up only if that task has run so long",
    },
    Tunable {
        name: "steal_node_limit",
        default: 0,
        min: 0,
        max: 1024,
        help: "no stealing on machines with more nodes; 0: no limit",
    },
];

/// What the BPF side is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Bits of [`FEATURES`].
    pub features: u32,
    /// Values of [`TUNABLES`], in their order and units.
    pub tunables: Vec<u64>,
}

/// A word that is no setting: says what is wrong and what would be right.
#[derive(Debug, PartialEq, Eq)]
pub struct BadSetting(pub String);

impl fmt::Display for BadSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadSetting {}

impl Default for Settings {
    fn default() -> Self {
        Self {
            features: FEATURES.iter().filter(|f| f.on).map(|f| f.bit).sum(),
            tunables: TUNABLES.iter().map(|t| t.default).collect(),
        }
    }
}

impl Settings {
    /// Applies one word: `NAME` or `NO_NAME` of a feature, or `name=value` of a tunable.
    pub fn apply(&mut self, word: &str) -> Result<(), BadSetting> {
        match word.split_once('=') {
            Some((name, value)) => self.tune(name, value),
            None => self.switch(word),
        }
    }

    fn switch(&mut self, word: &str) -> Result<(), BadSetting> {
        let (name, on) = word.strip_prefix("NO_").map_or((word, true), |name| (name, false));
        let Some(feature) = FEATURES.iter().find(|f| f.name == name) else {
            let known = FEATURES.iter().map(|f| f.name);
            return Err(BadSetting(format!(
                "unknown feature '{name}': the nearest is '{}'",
                nearest(name, known)
            )));
        };
        if on {
            self.features |= feature.bit;
        } else {
            self.features &= !feature.bit;
        }
        Ok(())
    }

    fn tune(&mut self, name: &str, value: &str) -> Result<(), BadSetting> {
        let Some(index) = TUNABLES.iter().position(|t| t.name == name) else {
            let known = TUNABLES.iter().map(|t| t.name);
            return Err(BadSetting(format!(
                "unknown tunable '{name}': the nearest is '{}'",
                nearest(name, known)
            )));
        };
        let Tunable { min, max, .. } = TUNABLES[index];
        match value.parse() {
            Ok(number) if (min..=max).contains(&number) => {
                self.tunables[index] = number;
                Ok(())
            }
            _ => Err(BadSetting(format!("{name}={value}: give a number from {min} to {max}"))),
        }
    }

    /// The value of a tunable in its own unit; 0 for a name that is none.
    pub fn get(&self, name: &str) -> u64 {
        TUNABLES.iter().position(|t| t.name == name).map_or(0, |index| self.tunables[index])
    }
}

/// The known name with the fewest edits from `word`, ignoring case; the first of equals.
pub fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> &'a str {
    let word = word.to_lowercase();
    known.min_by_key(|name| edits(&word, &name.to_lowercase())).unwrap_or("")
}

/// Levenshtein distance in characters.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replace = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replace.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn words_switch_and_tune() {
        let mut settings = Settings::default();
        settings.apply("NO_STEAL").unwrap();
        settings.apply("slice_us=3000").unwrap();
        assert_eq!(settings.features & 1, 0);
        assert_eq!(settings.get("slice_us"), 3000);
        settings.apply("STEAL").unwrap();
        assert_eq!(settings, {
            let mut other = Settings::default();
            other.tunables[0] = 3000;
            other
        });
    }

    #[test]
    fn bad_words_name_the_nearest() {
        let mut settings = Settings::default();
        for (word, said) in [
            ("STEEL", "unknown feature 'STEEL': the nearest is 'STEAL'"),
            ("NO_sis_core2", "unknown feature 'sis_core2': the nearest is 'SIS_CORE'"),
            ("slice=1", "unknown tunable 'slice': the nearest is 'slice_us'"),
            ("slice_us=99", "slice_us=99: give a number from 100 to 100000"),
            ("slice_us=x", "slice_us=x: give a number from 100 to 100000"),
        ] {
            assert_eq!(settings.apply(word).unwrap_err().0, said);
        }
        assert_eq!(settings, Settings::default());
    }

    #[test]
    fn edits_counts_edits() {
        for (a, b, n) in [("", "", 0), ("a", "", 1), ("kitten", "sitting", 3), ("ab", "ba", 2)] {
            assert_eq!((edits(a, b), edits(b, a)), (n, n), "{a} {b}");
        }
    }
}
