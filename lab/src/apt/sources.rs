// SPDX-License-Identifier: GPL-2.0-only
//! Where this machine's distribution serves its kernels from: its own mirror, read from apt.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::error::Failure;

/// The distributions whose kernels are known by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Debian: the cloud flavour from the backports of stable and from unstable.
    Debian,
    /// Ubuntu and what is built on it: generic kernels from the machine's own suites.
    Ubuntu,
}

impl Family {
    /// What `Origin` says in the distribution's own indexes.
    fn origin(self) -> &'static str {
        match self {
            Family::Debian => "Debian",
            Family::Ubuntu => "Ubuntu",
        }
    }

    /// The package that carries the distribution's signing keys.
    pub fn keyring_package(self) -> &'static str {
        match self {
            Family::Debian => "debian-archive-keyring",
            Family::Ubuntu => "ubuntu-keyring",
        }
    }

    /// The keys that its indexes are signed with.
    fn keyring(self, root: &Path) -> Result<PathBuf> {
        let stem = match self {
            Family::Debian => "debian-archive-keyring",
            Family::Ubuntu => "ubuntu-archive-keyring",
        };
        ["gpg", "pgp"]
            .map(|end| PathBuf::from(format!("/usr/share/keyrings/{stem}.{end}")))
            .into_iter()
            .find(|path| root.join(path.strip_prefix("/").unwrap_or(path)).is_file())
            .ok_or_else(|| {
                let package = self.keyring_package();
                Failure::machine(format!(
                    "the signing keys of {} are missing: install the package {package}",
                    self.origin()
                ))
            })
    }
}

/// The distribution and its release's code name, from `/etc/os-release`.
pub fn distribution(os_release: &str) -> Result<(Family, String)> {
    let get = |key: &str| {
        let line = os_release.lines().find_map(|l| l.strip_prefix(key)?.strip_prefix('='));
        line.unwrap_or("").trim().trim_matches(['"', '\''])
    };
    let (id, codename) = (get("ID"), get("VERSION_CODENAME"));
    let base = get("UBUNTU_CODENAME");
    match id {
        "debian" => Ok((Family::Debian, codename.into())),
        "ubuntu" => Ok((Family::Ubuntu, codename.into())),
        _ if !base.is_empty() => Ok((Family::Ubuntu, base.into())),
        _ => Err(Failure::machine(format!(
            "kernels are found through apt on Debian and Ubuntu only, and this machine runs {}: \
             use a machine with one of them",
            if id.is_empty() { "an unnamed system" } else { id }
        ))),
    }
}

/// One index that apt would fetch: a paragraph of `apt-get indextargets`.
#[derive(Debug, Default, PartialEq, Eq)]
struct Target {
    origin: String,
    release: String,
    component: String,
    uri: String,
}

/// The package indexes of component `main` among the paragraphs of `apt-get indextargets`.
fn targets(text: &str) -> Vec<Target> {
    text.split("\n\n")
        .filter_map(|paragraph| {
            let get = |key: &str| {
                let line = paragraph.lines().find_map(|l| l.strip_prefix(key)?.strip_prefix(": "));
                line.unwrap_or("").to_string()
            };
            let target = Target {
                origin: get("Origin"),
                release: get("Release"),
                component: get("Component"),
                uri: get("Repo-URI"),
            };
            let wanted = get("Created-By") == "Packages"
                && target.component == "main"
                && !target.uri.is_empty()
                && !target.uri.starts_with("cdrom:");
            wanted.then_some(target)
        })
        .collect()
}

/// The text of a `sources.list` for the kernels of a distribution.
///
/// `indextargets` is apt's own answer; `root` is where the keyring is looked for (`/`).
pub fn sources_list(
    family: Family,
    codename: &str,
    indextargets: &str,
    root: &Path,
) -> Result<String> {
    let all = targets(indextargets);
    // Before the first update no origin is known; other archives use the same code names.
    let known = all.iter().any(|t| t.origin == family.origin());
    let own = all.iter().filter(|t| {
        let ours = if known { t.origin == family.origin() } else { looks_own(family, &t.uri) };
        ours && is_own_suite(family, codename, &t.release)
    });
    let mut lines: Vec<(String, String)> = match family {
        Family::Debian => own
            .take(1)
            .flat_map(|t| ["stable-backports", "unstable"].map(|s| (t.uri.clone(), s.to_string())))
            .collect(),
        Family::Ubuntu => own.map(|t| (t.uri.clone(), t.release.clone())).collect(),
    };
    lines.sort();
    lines.dedup();
    if lines.is_empty() {
        return Err(Failure::machine(format!(
            "apt on this machine has no {} mirror for {codename}: add one to its sources",
            family.origin()
        )));
    }
    let keyring = family.keyring(root)?;
    let line = |(uri, suite): &(String, String)| {
        format!("deb [arch=amd64 signed-by={}] {uri} {suite} main\n", keyring.display())
    };
    Ok(lines.iter().map(line).collect())
}

/// Debian's main archive serves all suites, so that any of its suites shows the mirror; Ubuntu's
/// kernels come from each of the machine's own suites.
fn is_own_suite(family: Family, codename: &str, release: &str) -> bool {
    match family {
        Family::Debian => {
            let suites = ["stable", "oldstable", "testing", "unstable", "sid"];
            (release == codename && !codename.is_empty()) || suites.contains(&release)
        }
        Family::Ubuntu => {
            let pocket = release.strip_prefix(codename).filter(|_| !codename.is_empty());
            pocket.is_some_and(|p| p.is_empty() || p.starts_with('-'))
        }
    }
}

/// Whether an address looks like the distribution's archive: its last part is the family's name,
/// and it is not a personal archive.
fn looks_own(family: Family, uri: &str) -> bool {
    let last = uri.trim_end_matches('/').rsplit('/').next().unwrap_or("");
    last.eq_ignore_ascii_case(family.origin()) && !uri.contains("://ppa.")
}

#[cfg(test)]
#[path = "sources_tests.rs"]
mod tests;
