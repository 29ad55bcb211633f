// SPDX-License-Identifier: GPL-2.0-only
//! Flags of the kernel's own fair class: set, read back, and watched.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::system;
use crate::programs::sleep_until;

/// Where debugfs belongs.
const DEBUGFS: &str = "/sys/kernel/debug";
/// One word a flag, `NO_` in front of those that are off.
pub const FEATURES: &str = "/sys/kernel/debug/sched/features";
/// Guest time from before the first flag to what comes after the last: setting a flag patches code
/// on all CPUs and takes longer than finding it set, but no column may be measured later for that.
const SLOT_NS: u64 = 100_000_000;

/// The fair class in charge, with these flags.
pub struct Fair {
    features: PathBuf,
    flags: Vec<String>,
}

impl Fair {
    /// Sets the flags; `Err` says which one is not as asked.
    pub fn start(flags: &[String]) -> Result<Result<Self, String>> {
        let begin = system::clock_ns(libc::CLOCK_MONOTONIC);
        if Path::new(DEBUGFS).exists() {
            system::mount("debugfs", DEBUGFS, "")?;
        }
        let fair = Self { features: PathBuf::from(FEATURES), flags: flags.to_vec() };
        let set = fair.set();
        sleep_until(begin + SLOT_NS);
        Ok(set.map(|()| fair))
    }

    fn set(&self) -> Result<(), String> {
        for flag in &self.flags {
            if fs::write(&self.features, flag).is_err() {
                let name = flag.trim_start_matches("NO_");
                return Err(match fs::read_to_string(&self.features) {
                    Err(error) => format!("{}: {error}", self.features.display()),
                    Ok(there) if has(&there, name) || has(&there, &format!("NO_{name}")) => {
                        format!("this kernel does not take {flag}")
                    }
                    Ok(_) => format!(
                        "this kernel has no flag {name}: it was built without Ballast's patches"
                    ),
                });
            }
        }
        self.changed().map_or(Ok(()), Err)
    }

    /// What is not as it was set, if anything.
    pub fn changed(&self) -> Option<String> {
        if self.flags.is_empty() {
            return None;
        }
        match fs::read_to_string(&self.features) {
            Ok(there) => {
                let missing = self.flags.iter().find(|flag| !has(&there, flag))?;
                Some(format!("{missing} was set and is no longer"))
            }
            Err(error) => Some(format!("{}: {error}", self.features.display())),
        }
    }

    /// What the host is told: the flags in one word.
    pub fn ops(&self) -> String {
        match self.flags.is_empty() {
            true => crate::model::BARE.to_string(),
            false => format!("{}+{}", crate::model::BARE, self.flags.join("+")),
        }
    }
}

fn has(features: &str, word: &str) -> bool {
    features.split_whitespace().any(|w| w == word)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    /// A features file that keeps what is written last.
    fn fair(there: &str, flags: &[&str]) -> (tempfile::TempDir, Fair) {
        let folder = tempfile::tempdir().unwrap();
        let features = folder.path().join("features");
        fs::write(&features, there).unwrap();
        (folder, Fair { features, flags: flags.iter().map(|w| w.to_string()).collect() })
    }

    #[test]
    fn a_flag_that_is_not_as_asked_is_told() {
        let there = "PLACE_LAG NO_STEAL SIS_CORE NEWIDLE \n";
        let said = |flags: &[&str]| fair(there, flags).1.changed();
        assert_eq!(said(&["NO_STEAL", "SIS_CORE"]), None);
        assert!(said(&["STEAL", "SIS_CORE"]).unwrap().starts_with("STEAL was set"));
        assert!(said(&["SIS"]).is_some(), "whole words");
        assert_eq!(said(&[]), None);
    }

    #[test]
    fn what_reads_back_otherwise_is_an_error() {
        assert_eq!(fair("", &["STEAL"]).1.set(), Ok(()));
        let error = fair("", &["STEAL", "NO_NEWIDLE"]).1.set().unwrap_err();
        assert!(error.starts_with("STEAL was set and is no longer"), "{error}");
    }

    #[test]
    fn a_kernel_without_the_file_or_the_flag_is_named() {
        let (folder, mut fair) = fair("PLACE_LAG", &["STEAL"]);
        fair.features = folder.path().join("none/features");
        assert!(fair.set().unwrap_err().contains("none/features: "));
        assert!(fair.changed().is_some());
    }
}
