// SPDX-License-Identifier: GPL-2.0-only
//! The `sched_features` flags that Ballast's patches add to the kernel's own fair class.

use anyhow::Result;

use crate::error::Failure;
use crate::model::GuestSched;
use crate::words::unknown;

/// One flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flag {
    /// As in `/sys/kernel/debug/sched/features`; `NO_` in front of it is off.
    pub name: &'static str,
    /// Whether it is on.
    pub on: bool,
}

/// All flags as the patched kernel has them at boot: what "all flags off" means.
pub const DEFAULTS: [Flag; 5] = [
    Flag { name: "STEAL", on: false },
    Flag { name: "SIS_LIMIT", on: false },
    Flag { name: "SIS_ROTATE", on: false },
    Flag { name: "SIS_CORE", on: true },
    Flag { name: "NEWIDLE", on: true },
];

impl Flag {
    /// `STEAL` or `NO_STEAL`.
    pub fn word(&self) -> String {
        format!("{}{}", if self.on { "" } else { "NO_" }, self.name)
    }
}

/// Flags of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flags {
    flags: [Flag; DEFAULTS.len()],
    named: [bool; DEFAULTS.len()],
}

impl Default for Flags {
    fn default() -> Self {
        Self { flags: DEFAULTS, named: [false; DEFAULTS.len()] }
    }
}

impl Flags {
    /// Takes a setting such as `NO_NEWIDLE` of the scheduler `word`.
    pub fn set(&mut self, word: &str, setting: &str) -> Result<()> {
        let (name, on) = match setting.strip_prefix("NO_") {
            Some(name) => (name, false),
            None => (setting, true),
        };
        let Some(i) = self.flags.iter().position(|f| f.name == name) else {
            let words =
                DEFAULTS.map(|f| [Flag { on: true, ..f }.word(), Flag { on: false, ..f }.word()]);
            let words: Vec<&str> = words.iter().flatten().map(String::as_str).collect();
            return Err(unknown(&format!("flag in `{word}`:"), setting, &words));
        };
        if std::mem::replace(&mut self.named[i], true) {
            return Err(Failure::usage(format!("`{word}`: names {name} twice")));
        }
        self.flags[i].on = on;
        Ok(())
    }

    /// Whether any flag was named, be it with its default.
    pub fn any_named(&self) -> bool {
        self.named.contains(&true)
    }

    /// What the guest's agent sets: every flag, in one order, so that no column has more to do.
    pub fn guest(&self) -> GuestSched {
        GuestSched::Fair { flags: self.flags.iter().map(Flag::word).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_are_those_of_the_patches() {
        let of_patches = crate::kernel::build::features();
        let mut of_patches: Vec<(&str, bool)> =
            of_patches.iter().map(|f| (f.name.as_str(), f.default)).collect();
        let mut ours = DEFAULTS.map(|f| (f.name, f.on));
        of_patches.sort_unstable();
        ours.sort_unstable();
        assert_eq!(of_patches, ours);
    }
}
