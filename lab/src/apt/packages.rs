// SPDX-License-Identifier: GPL-2.0-only
//! Kernel images, and sources of kernels, among the packages that apt offers.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::sources::Family;
use crate::kernel::version;

/// A package with a kernel image in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// What `uname -r` says on it, e.g. `7.2.13+deb14-cloud-amd64`.
    pub release: String,
    /// The package's name.
    pub package: String,
    /// The package's version.
    pub version: String,
    /// Bytes to download.
    pub size: u64,
    /// Bytes of the unpacked package.
    pub unpacked: u64,
}

/// A package with the source of a kernel in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The package's name, e.g. `linux-source-7.2`.
    pub package: String,
    /// The package's version, e.g. `7.2.13-1`.
    pub version: String,
    /// Bytes to download.
    pub size: u64,
    /// Bytes of the unpacked package, which still holds an archive.
    pub unpacked: u64,
    /// SHA-256 of the package in hexadecimal, as the signed index names it.
    pub sha256: String,
}

/// The extended regular expression that `apt-cache show` finds sources by.
pub const SOURCES: &str = "^linux-source-[0-9.]+$";

/// Smaller packages hold no image: they only name others that do.
const SMALLEST: u64 = 4 << 20;

/// How a family names its images: the prefixes from the preferred on, then the flavour.
fn names(family: Family) -> (&'static [&'static str], &'static str) {
    match family {
        Family::Debian => (&["linux-binary-", "linux-image-"], "-cloud-amd64"),
        Family::Ubuntu => (&["linux-image-", "linux-image-unsigned-"], "-generic"),
    }
}

/// The extended regular expression that `apt-cache show` finds them by.
pub fn pattern(family: Family) -> String {
    let (prefixes, flavour) = names(family);
    format!("^({})[0-9].*{flavour}$", prefixes.join("|"))
}

/// Reads what `apt-cache show` prints: the newest image first, one for each release.
pub fn images(family: Family, show: &str) -> Vec<Image> {
    let mut found: Vec<(usize, Image)> =
        show.split("\n\n").filter_map(|paragraph| image(family, paragraph)).collect();
    found.sort_by(|(rank_a, a), (rank_b, b)| {
        newest_first(a, b)
            .then(rank_a.cmp(rank_b))
            .then_with(|| version::compare(&b.version, &a.version))
    });
    found.dedup_by(|(_, later), (_, first)| later.release == first.release);
    found.into_iter().map(|(_, image)| image).collect()
}

fn newest_first(a: &Image, b: &Image) -> Ordering {
    version::compare(&b.release, &a.release).then_with(|| a.release.cmp(&b.release))
}

/// Reads what `apt-cache show` prints: the newest source first, one for each version.
pub fn sources(show: &str) -> Vec<Source> {
    let mut found: Vec<Source> = show.split("\n\n").filter_map(source).collect();
    found.sort_by(|a, b| {
        version::compare(&b.version, &a.version).then_with(|| a.sha256.cmp(&b.sha256))
    });
    found.dedup_by(|later, first| later.version == first.version);
    found
}

/// The source that a paragraph describes.
fn source(paragraph: &str) -> Option<Source> {
    let get = |key: &str| value(paragraph, key);
    let source = Source {
        package: get("Package")?.to_string(),
        version: get("Version")?.to_string(),
        size: get("Size")?.parse().ok()?,
        unpacked: get("Installed-Size")?.parse::<u64>().ok()?.checked_mul(1024)?,
        sha256: get("SHA256")?.to_string(),
    };
    let series = source.package.strip_prefix("linux-source-")?;
    let named = series.chars().all(|c| c.is_ascii_digit() || c == '.') && !series.is_empty();
    let digest = source.sha256.len() == 64 && source.sha256.chars().all(|c| c.is_ascii_hexdigit());
    (named && digest && is_plain(&source.version) && version::series(&source.version).is_some())
        .then_some(source)
}

fn value<'a>(paragraph: &'a str, key: &str) -> Option<&'a str> {
    paragraph.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "))
}

/// The image that a paragraph describes, with the rank of its name's prefix.
fn image(family: Family, paragraph: &str) -> Option<(usize, Image)> {
    let get = |key: &str| value(paragraph, key);
    let (prefixes, flavour) = names(family);
    let package = get("Package")?;
    let (rank, release) = prefixes.iter().enumerate().find_map(|(rank, prefix)| {
        let release = package.strip_prefix(prefix)?;
        release.starts_with(|c: char| c.is_ascii_digit()).then_some((rank, release))
    })?;
    let image = Image {
        release: release.to_string(),
        package: package.to_string(),
        version: get("Version")?.to_string(),
        size: get("Size")?.parse().ok()?,
        unpacked: get("Installed-Size")?.parse::<u64>().ok()?.checked_mul(1024)?,
    };
    let sound = image.size >= SMALLEST
        && is_plain(&image.release)
        && is_plain(&image.version)
        && version::series(&image.release).is_some();
    (release.ends_with(flavour) && sound).then_some((rank, image))
}

/// A release or version becomes a folder's name and part of a command: nothing but what they are
/// made of.
fn is_plain(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || "+-.~:_".contains(c))
}

#[cfg(test)]
#[path = "packages_tests.rs"]
mod tests;
