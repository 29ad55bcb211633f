// SPDX-License-Identifier: GPL-2.0-only
//! Scheduler words: `eevdf`, `null`, `ballast+NO_STEAL+slice_us=3000`, `eevdf+taskset=1`,
//! `eevdf+STEAL`, `eevdf-unpatched`, or the path of any sched_ext program.

mod fair;

use std::path::{Path, PathBuf};

use anyhow::Result;
use scx_ballast::settings::Settings;

use crate::error::Failure;
use crate::model::GuestSched;
use crate::words::{split, unknown};

/// Names of schedulers; anything with a `/` in it is the path of a program.
pub const NAMES: &[&str] = &["eevdf", UNPATCHED, "null", "ballast"];
/// EEVDF of our kernel without our patches: what they cost is judged by it.
pub const UNPATCHED: &str = "eevdf-unpatched";

pub use fair::{Flag, Flags, DEFAULTS};

/// Which kernel a column asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Plain `eevdf`: ours beside columns that need it, so that only flags differ; else a stock one.
    Any,
    /// A stock kernel: sched_ext.
    Stock,
    /// Ours: flags of our fair class.
    Patched,
    /// Ours without the patches.
    Unpatched,
}

/// What a kernel of a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A distribution's, the host's or a file.
    Stock,
    /// Ours, or a file that stands in for it: has the flags.
    Patched,
    /// Ours without the patches.
    Unpatched,
}

/// One column of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sched {
    /// As typed.
    pub word: String,
    /// What the guest's agent starts.
    pub guest: GuestSched,
    /// The kernel that it asks for.
    pub needs: Needs,
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
            UNPATCHED => Self::unpatched(word, &settings),
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

    /// The column as it runs on a kernel of this role: EEVDF without flags has all of them at
    /// their defaults where there are any, so that every column is set up alike.
    pub fn on(&self, role: Role) -> Self {
        let guest = match (&self.guest, role) {
            (GuestSched::Kernel, Role::Patched) => Flags::default().guest(),
            (GuestSched::Kernel, Role::Unpatched) => GuestSched::Fair { flags: Vec::new() },
            (guest, _) => guest.clone(),
        };
        Self { guest, ..self.clone() }
    }

    /// Whether a program takes charge, rather than the kernel's own class.
    pub fn is_loaded(&self) -> bool {
        matches!(self.guest, GuestSched::Scx { .. })
    }

    fn eevdf(word: &str, settings: &[&str]) -> Result<Self> {
        let mut confine = None;
        let mut flags = Flags::default();
        for setting in settings {
            match setting.split_once('=') {
                Some(("taskset", mask)) => confine = Some(mask_cpus(word, mask)?),
                Some(_) => return Err(unknown("setting of eevdf", setting, &["taskset=HEXMASK"])),
                None => flags.set(word, setting)?,
            }
        }
        let (guest, needs) = match flags.any_named() {
            true => (flags.guest(), Needs::Patched),
            false => (GuestSched::Kernel, Needs::Any),
        };
        Ok(Self { word: word.to_owned(), guest, needs, program: None, confine })
    }

    fn unpatched(word: &str, settings: &[&str]) -> Result<Self> {
        let plain = Self::eevdf(word, settings)?;
        if plain.needs == Needs::Patched {
            return Err(Failure::usage(format!(
                "`{word}`: the kernel without the patches has none of their flags; it takes \
                 taskset=HEXMASK only"
            )));
        }
        Ok(Self { needs: Needs::Unpatched, ..plain })
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
            needs: Needs::Stock,
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
            needs: Needs::Stock,
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
            GuestSched::Fair { flags } => flags,
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
    fn taskset_confines() {
        let dir = folder();
        let sched = Sched::parse("eevdf+taskset=1", dir.path()).unwrap();
        assert_eq!(sched.confine, Some(vec![0]));
        let wide = Sched::parse("eevdf+taskset=0x1000a", dir.path()).unwrap();
        assert_eq!(wide.confine, Some(vec![1, 3, 16]));
    }

    #[test]
    fn flags_of_ours_are_written_out_in_one_order() {
        assert_eq!(
            argv("eevdf+NO_NEWIDLE+taskset=3+STEAL"),
            ["STEAL", "NO_SIS_LIMIT", "NO_SIS_ROTATE", "SIS_CORE", "NO_NEWIDLE"]
        );
        assert_eq!(argv("eevdf+NO_STEAL").len(), DEFAULTS.len(), "a default that is named");
        let needs = |word: &str| Sched::parse(word, Path::new("")).unwrap().needs;
        assert_eq!(needs("eevdf+NO_STEAL"), Needs::Patched);
        assert_eq!((needs("eevdf"), needs("eevdf+taskset=1")), (Needs::Any, Needs::Any));
        assert_eq!(needs("eevdf-unpatched+taskset=1"), Needs::Unpatched);
    }

    #[test]
    fn beside_flags_plain_eevdf_has_all_of_them_off() {
        let plain = Sched::parse("eevdf", Path::new("")).unwrap();
        let named = Sched::parse("eevdf+NO_STEAL", Path::new("")).unwrap();
        assert_eq!(plain.on(Role::Stock), plain);
        assert_eq!(plain.on(Role::Patched).guest, named.guest);
        assert_eq!(plain.on(Role::Unpatched).guest, GuestSched::Fair { flags: Vec::new() });
        assert_eq!(named.on(Role::Patched), named);
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
            ("eevdf+NO_STAEL", "`NO_STEAL`"),
            ("eevdf+SIS_LIMT", "`SIS_LIMIT`"),
            ("eevdf+STEAL+NO_STEAL", "STEAL twice"),
            ("eevdf+STEAL=1", "taskset=HEXMASK"),
            ("eevdf+", "nearest"),
            ("eevdf-unpatched+STEAL", "without the patches"),
            ("eevdf-unpatchd", "`eevdf-unpatched`"),
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
