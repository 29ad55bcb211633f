// SPDX-License-Identifier: GPL-2.0-only
//! Scheduler words: `eevdf`, `null`, `ballast+NO_STEAL+slice_us=3000`, `eevdf+taskset=1`, or the
//! path of any sched_ext program.

use std::path::{Path, PathBuf};

use anyhow::Result;
use scx_ballast::settings::Settings;

use crate::error::Failure;
use crate::model::GuestSched;
use crate::words::{split, unknown};

/// Names of schedulers; anything with a `/` in it is the path of a program.
pub const NAMES: &[&str] = &["eevdf", "null", "ballast"];

/// One column of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sched {
    /// As typed.
    pub word: String,
    /// What the guest's agent starts.
    pub guest: GuestSched,
    /// Where the program lies on this machine and in the guest; `None` for the kernel's own.
    pub program: Option<Program>,
    /// CPUs that every bench task is confined to (`taskset=`); `None` = all.
    pub confine: Option<Vec<u32>>,
}

/// A program to pack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    /// One of ours, static: this file is packed as that path.
    Ours {
        /// On this machine.
        from: PathBuf,
        /// In the guest, without the leading slash.
        to: String,
    },
    /// Someone else's: packed where it lies, with its shared libraries.
    Foreign(PathBuf),
}

impl Sched {
    /// Reads a word. `ours` is the folder that holds `scx_ballast` and `scx_null`.
    pub fn parse(word: &str, ours: &Path) -> Result<Self> {
        if word.contains('/') {
            return Self::foreign(word);
        }
        let (name, settings) = split(word);
        match name {
            "eevdf" => Self::eevdf(word, &settings),
            "null" if settings.is_empty() => Self::ours(word, ours, "scx_null", Vec::new()),
            "null" => Err(Failure::usage(format!("`{word}`: null takes no settings"))),
            "ballast" => {
                let mut args = Vec::new();
                for setting in settings {
                    let known = Settings::default().apply(setting);
                    known.map_err(|bad| Failure::usage(format!("`{word}`: {bad}")))?;
                    args.extend(["--set".to_owned(), setting.to_owned()]);
                }
                Self::ours(word, ours, "scx_ballast", args)
            }
            _ => Err(unknown("scheduler", name, NAMES)),
        }
    }

    /// Whether this is the kernel's own class with nothing changed: what others are judged by.
    pub fn is_baseline(&self) -> bool {
        self.guest == GuestSched::Kernel && self.confine.is_none()
    }

    /// The guest-side half that decides how a one-CPU guest behaves (a mask means nothing there).
    pub fn unconfined(&self) -> Self {
        Self { confine: None, ..self.clone() }
    }

    fn eevdf(word: &str, settings: &[&str]) -> Result<Self> {
        let mut confine = None;
        for setting in settings {
            match setting.split_once('=') {
                Some(("taskset", mask)) => confine = Some(mask_cpus(word, mask)?),
                _ => return Err(unknown("setting of eevdf", setting, &["taskset=HEXMASK"])),
            }
        }
        Ok(Self { word: word.to_owned(), guest: GuestSched::Kernel, program: None, confine })
    }

    fn ours(word: &str, folder: &Path, name: &str, args: Vec<String>) -> Result<Self> {
        let from = folder.join(name);
        if !from.is_file() {
            return Err(Failure::machine(format!(
                "`{word}`: {} is missing; build it first (./ballast builds everything)",
                from.display()
            )));
        }
        let to = format!("bin/{name}");
        let argv = std::iter::once(format!("/{to}")).chain(args).collect();
        Ok(Self {
            word: word.to_owned(),
            guest: GuestSched::Scx { argv },
            program: Some(Program::Ours { from, to }),
            confine: None,
        })
    }

    fn foreign(word: &str) -> Result<Self> {
        let path = std::path::absolute(word)
            .ok()
            .filter(|p| p.is_file())
            .ok_or_else(|| Failure::usage(format!("scheduler `{word}`: no such file")))?;
        let argv = vec![path.to_string_lossy().into_owned()];
        Ok(Self {
            word: word.to_owned(),
            guest: GuestSched::Scx { argv },
            program: Some(Program::Foreign(path)),
            confine: None,
        })
    }
}

/// CPUs of a hexadecimal mask, lowest first.
fn mask_cpus(word: &str, mask: &str) -> Result<Vec<u32>> {
    let digits = mask.strip_prefix("0x").unwrap_or(mask);
    let mut cpus = Vec::new();
    for (i, digit) in digits.chars().rev().enumerate() {
        let Some(bits) = digit.to_digit(16) else {
            cpus.clear();
            break;
        };
        cpus.extend((0..4).filter(|b| bits >> b & 1 == 1).map(|b| 4 * i as u32 + b));
    }
    if cpus.is_empty() {
        return Err(Failure::usage(format!(
            "`{word}`: taskset takes a hexadecimal mask of CPUs such as 1 or f, not `{mask}`"
        )));
    }
    Ok(cpus)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use crate::error::exit_status;

    fn folder() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for name in ["scx_ballast", "scx_null", "scx_other+x=1"] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        dir
    }

    fn argv(word: &str) -> Vec<String> {
        let dir = folder();
        match Sched::parse(word, dir.path()).unwrap().guest {
            GuestSched::Scx { argv } => argv,
            GuestSched::Kernel => Vec::new(),
        }
    }

    #[test]
    fn settings_become_arguments_in_order() {
        assert_eq!(
            argv("ballast+NO_STEAL+slice_us=3000"),
            ["/bin/scx_ballast", "--set", "NO_STEAL", "--set", "slice_us=3000"]
        );
        assert_eq!(argv("null"), ["/bin/scx_null"]);
        assert_eq!(argv("eevdf"), Vec::<String>::new());
    }

    #[test]
    fn taskset_confines_and_is_no_baseline() {
        let dir = folder();
        let sched = Sched::parse("eevdf+taskset=1", dir.path()).unwrap();
        assert_eq!(sched.confine, Some(vec![0]));
        assert!(!sched.is_baseline() && sched.unconfined().is_baseline());
        let wide = Sched::parse("eevdf+taskset=0x1000a", dir.path()).unwrap();
        assert_eq!(wide.confine, Some(vec![1, 3, 16]));
    }

    #[test]
    fn a_path_is_taken_whole_and_must_exist() {
        let dir = folder();
        let path = dir.path().join("scx_other+x=1");
        let word = path.to_str().unwrap();
        let sched = Sched::parse(word, dir.path()).unwrap();
        assert_eq!(sched.program, Some(Program::Foreign(path.clone())));
        assert_eq!(exit_status(&Sched::parse("./no/such", dir.path()).unwrap_err()), 2);
    }

    #[test]
    fn what_is_not_known_names_the_nearest_and_exits_2() {
        let dir = folder();
        for (word, near) in [
            ("balast", "`ballast`"),
            ("EEVFD", "`eevdf`"),
            ("ballast+NO_STAEL", "'STEAL'"),
            ("ballast+SIS_LIMT", "'SIS_LIMIT'"),
            ("ballast+slice=3", "'slice_us'"),
            ("ballast+slice_us=x", "from 100 to"),
            ("ballast+STEAL=1", "unknown tunable"),
            ("eevdf+STEAL", "taskset=HEXMASK"),
            ("eevdf+taskset=0", "mask"),
            ("eevdf+taskset=xyz", "mask"),
            ("null+STEAL", "no settings"),
            ("", "nearest"),
        ] {
            let error = Sched::parse(word, dir.path()).unwrap_err();
            assert_eq!(exit_status(&error), 2, "{word}");
            let line = error.to_string();
            assert!(line.contains(near) && !line.contains('\n'), "{word}: {line}");
        }
    }

    #[test]
    fn a_program_that_was_not_built_is_the_machines_lack() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(exit_status(&Sched::parse("null", dir.path()).unwrap_err()), 3);
    }
}
