// SPDX-License-Identifier: GPL-2.0-only
//! Which scheduler, with which features: `cfs-4.20+STEAL+NO_SIS_CORE`.

use std::fmt;
use std::str::FromStr;

use scx_ballast::settings::nearest;

use crate::parts::Parts;

/// A defect to plant: a table that cannot tell it from the model shows nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// Newly idle CPUs always find a task if one waits anywhere, at no cost.
    NewidleAlways,
    /// Wake-ups do not look for an idle CPU.
    NoIdleSearch,
    /// Stealing has the gate of newidle balancing.
    StealGated,
}

/// policy/base.h.
pub(crate) const STEAL: u32 = 1 << 0;
pub(crate) const SIS_LIMIT: u32 = 1 << 3;
pub(crate) const SIS_ROTATE: u32 = 1 << 4;
pub(crate) const SIS_CORE: u32 = 1 << 5;
pub(crate) const SIS_PROP: u32 = 1 << 6;

const FEATURES: [(&str, u32); 5] = [
    ("STEAL", STEAL),
    ("SIS_LIMIT", SIS_LIMIT),
    ("SIS_ROTATE", SIS_ROTATE),
    ("SIS_CORE", SIS_CORE),
    ("SIS_PROP", SIS_PROP),
];

const CLASSES: [&str; 1] = ["cfs-4.20"];

/// A scheduler and its settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sched {
    pub(crate) features: u32,
    /// Parts of the model that are on.
    pub parts: Parts,
    /// The planted defect, if any.
    pub mutant: Option<Mutant>,
    text: String,
}

/// A word that means nothing here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    what: &'static str,
    word: String,
    nearest: String,
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown {} `{}`: the nearest is `{}`", self.what, self.word, self.nearest)
    }
}

impl std::error::Error for Unknown {}

fn unknown(what: &'static str, word: &str, known: &[&str]) -> Unknown {
    let nearest = nearest(word, known.iter().copied()).to_owned();
    Unknown { what, word: word.to_owned(), nearest }
}

impl Sched {
    /// A class and features, joined by `+`; `NO_` before a feature takes it away.
    pub fn parse(text: &str) -> Result<Self, Unknown> {
        let mut words = text.split('+');
        let class = words.next().unwrap_or_default();
        if !CLASSES.contains(&class) {
            return Err(unknown("scheduler", class, &CLASSES));
        }
        let mut features = SIS_CORE | SIS_PROP;
        for word in words {
            let (name, on) = match word.strip_prefix("NO_") {
                Some(name) => (name, false),
                None => (word, true),
            };
            let Some((_, bit)) = FEATURES.iter().find(|f| f.0 == name) else {
                return Err(unknown("feature", name, &FEATURES.map(|f| f.0)));
            };
            features = if on { features | bit } else { features & !bit };
        }
        let parts = Parts::default();
        Ok(Sched { features, parts, mutant: None, text: text.to_owned() })
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// None of the mails' features is on.
    pub(crate) fn is_baseline(&self) -> bool {
        self.features & (STEAL | SIS_LIMIT | SIS_ROTATE) == 0
    }

    pub(crate) fn has(&self, feature: u32) -> bool {
        self.features & feature != 0
    }
}

impl FromStr for Sched {
    type Err = Unknown;

    fn from_str(text: &str) -> Result<Self, Unknown> {
        Sched::parse(text)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn features_are_added_and_taken_away() {
        assert_eq!(Sched::parse("cfs-4.20").unwrap().features, SIS_CORE | SIS_PROP);
        let s = Sched::parse("cfs-4.20+STEAL+NO_SIS_CORE").unwrap();
        assert_eq!(s.features, STEAL | SIS_PROP);
    }

    #[test]
    fn unknown_words_name_the_nearest() {
        let say = |text| Sched::parse(text).unwrap_err().to_string();
        assert_eq!(say("cfs-4.02"), "unknown scheduler `cfs-4.02`: the nearest is `cfs-4.20`");
        assert_eq!(say("cfs-4.20+STEEL"), "unknown feature `STEEL`: the nearest is `STEAL`");
        assert_eq!(
            say("cfs-4.20+NO_SIS_COR"),
            "unknown feature `SIS_COR`: the nearest is `SIS_CORE`"
        );
        assert_eq!(say("cfs-4.20+"), "unknown feature ``: the nearest is `STEAL`");
    }
}
