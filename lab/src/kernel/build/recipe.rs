// SPDX-License-Identifier: GPL-2.0-only
//! What a kernel of ours is made of beside Linux itself: the files of kernel/ and the policy's
//! headers, packed into this program by `build.rs`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Kind;

include!(concat!(env!("OUT_DIR"), "/kernel_files.rs"));

/// Raised when what is done with the files changes, so that older results are not taken for it.
const FORMAT: &str = "ballast kernel 1";

/// Where the policy's headers go in the kernel's tree.
pub const POLICY_FOLDER: &str = "kernel/sched/policy";

/// A scheduler feature that the patches add.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feature {
    /// As written to debugfs `sched/features`.
    pub name: String,
    /// Whether it is on when nothing is written.
    pub default: bool,
}

/// A name and the file's bytes.
pub type Named = (Cow<'static, str>, Cow<'static, [u8]>);

/// Everything that is added to a kernel's source.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// In the order in which they are applied.
    pub patches: Vec<Named>,
    /// The policy's headers.
    pub policy: Vec<Named>,
    /// Options of every build.
    pub config: Cow<'static, [u8]>,
    /// Options of the debug build, on top.
    pub debug: Cow<'static, [u8]>,
}

impl Recipe {
    /// The one that this program was built with.
    pub fn embedded() -> Self {
        let list = |files: &'static [(&'static str, &'static [u8])]| {
            files.iter().map(|(name, bytes)| (Cow::from(*name), Cow::from(*bytes))).collect()
        };
        let [(_, config), (_, debug)] = CONFIGS else { unreachable!("build.rs packs two") };
        Self {
            patches: list(PATCHES),
            policy: list(POLICY),
            config: Cow::from(*config),
            debug: Cow::from(*debug),
        }
    }

    /// The options of a kind, as text to be merged over a minimal configuration.
    pub fn options(&self, kind: Kind) -> Vec<u8> {
        match kind {
            Kind::Debug => [&*self.config, b"\n", &*self.debug].concat(),
            Kind::Patched | Kind::Unpatched => self.config.to_vec(),
        }
    }

    /// SHA-256, in hexadecimal, over all that makes a kind what it is.
    pub fn digest(&self, kind: Kind) -> String {
        let mut hash = Sha256::new();
        let mut add = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        add(FORMAT.as_bytes());
        add(kind.word().as_bytes());
        add(&self.options(kind));
        if kind != Kind::Unpatched {
            for (name, bytes) in self.patches.iter().chain(&self.policy) {
                add(name.as_bytes());
                add(bytes);
            }
        }
        hex(&hash.finalize())
    }

    /// SHA-256 over the patches alone: whether they fit a source depends on nothing else.
    pub fn patches_digest(&self) -> String {
        let mut hash = Sha256::new();
        for (_, bytes) in &self.patches {
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        }
        hex(&hash.finalize())
    }

    /// The features that the patches add or change the default of, by name.
    pub fn features(&self) -> Vec<Feature> {
        let mut found = BTreeMap::new();
        for (_, bytes) in &self.patches {
            for line in String::from_utf8_lossy(bytes).lines() {
                if let Some(feature) = line.strip_prefix('-').and_then(feature) {
                    found.remove(&feature.name);
                } else if let Some(feature) = line.strip_prefix('+').and_then(feature) {
                    found.insert(feature.name, feature.default);
                }
            }
        }
        found.into_iter().map(|(name, default)| Feature { name, default }).collect()
    }

    /// The names of the patches.
    pub fn names(&self) -> Vec<String> {
        self.patches.iter().map(|(name, _)| name.to_string()).collect()
    }
}

/// `SCHED_FEAT(STEAL, false)`.
fn feature(line: &str) -> Option<Feature> {
    let inner = line.trim().strip_prefix("SCHED_FEAT(")?;
    let (name, default) = inner[..inner.find(')')?].split_once(',')?;
    let default = default.trim().parse().ok()?;
    Some(Feature { name: name.trim().to_string(), default })
}

/// In hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
pub mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// A recipe of these patches, with one header and one option.
    pub fn recipe(patches: &[(&'static str, &'static str)]) -> Recipe {
        let named =
            |(name, text): &(&'static str, &'static str)| ((*name).into(), text.as_bytes().into());
        Recipe {
            patches: patches.iter().map(named).collect(),
            policy: vec![named(&("policy.h", "/* the policy */\n"))],
            config: b"CONFIG_SMP=y\n".as_slice().into(),
            debug: b"CONFIG_DEBUG_LIST=y\n".as_slice().into(),
        }
    }

    #[test]
    fn what_is_embedded_is_all_of_it_and_in_order() {
        let recipe = Recipe::embedded();
        let policy: Vec<&str> = recipe.policy.iter().map(|(name, _)| &**name).collect();
        for header in ["base.h", "idle.h", "policy.h", "sparsemask.h", "state.h", "steal.h"] {
            assert!(policy.contains(&header), "{header} in {policy:?}");
        }
        assert!(recipe.names().is_sorted(), "{:?}", recipe.names());
        let text = String::from_utf8(recipe.options(Kind::Debug)).unwrap();
        assert!(text.contains("CONFIG_SMP=y") && text.contains("CONFIG_PROVE_LOCKING=y"));
    }

    #[test]
    fn every_part_moves_the_digest() {
        let base = || recipe(&[("0001-a.patch", "one")]);
        let changed = |change: fn(&mut Recipe)| {
            let mut recipe = base();
            change(&mut recipe);
            recipe.digest(Kind::Patched)
        };
        let mut all = vec![
            base().digest(Kind::Patched),
            base().digest(Kind::Debug),
            base().digest(Kind::Unpatched),
            changed(|r| r.patches[0].1 = b"two".as_slice().into()),
            changed(|r| r.patches[0].0 = "0002-a.patch".into()),
            changed(|r| r.policy[0].1 = b"other".as_slice().into()),
            changed(|r| r.config = b"CONFIG_SMP=n\n".as_slice().into()),
        ];
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count);
        let mut other = base();
        other.debug = b"CONFIG_DEBUG_SG=y\n".as_slice().into();
        assert_eq!(other.digest(Kind::Patched), base().digest(Kind::Patched));
        assert_ne!(other.digest(Kind::Debug), base().digest(Kind::Debug));
        other.patches.clear();
        assert_eq!(other.digest(Kind::Unpatched), base().digest(Kind::Unpatched));
        assert_ne!(other.patches_digest(), base().patches_digest());
    }

    #[test]
    fn features_are_read_from_the_patches() {
        let first =
            "+SCHED_FEAT(STEAL, false)\n+SCHED_FEAT(SIS_CORE, true)\n SCHED_FEAT(UTIL, true)\n";
        let second = "-SCHED_FEAT(STEAL, false)\n+SCHED_FEAT(NEWIDLE, true)\n+/* SCHED_FEAT */\n";
        let recipe = recipe(&[("0001-a.patch", first), ("0002-b.patch", second)]);
        let on = |name: &str| Feature { name: name.into(), default: true };
        assert_eq!(recipe.features(), [on("NEWIDLE"), on("SIS_CORE")]);
    }
}
