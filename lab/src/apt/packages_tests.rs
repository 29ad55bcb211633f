// SPDX-License-Identifier: GPL-2.0-only
//! Images from what `apt-cache show` printed (shortened).
#![allow(clippy::unwrap_used)]

use super::*;

/// Debian: binary, its signed and empty `linux-image`, an unsigned and a debug package, and images
/// of the older form that hold everything.
const DEBIAN: &str = "\
Package: linux-image-6.18.9+deb13-cloud-amd64
Source: linux-signed-amd64 (6.18.9+1~bpo13+1)
Version: 6.18.9-1~bpo13+1
Installed-Size: 49250
Architecture: amd64
Size: 49000000

Package: linux-image-6.18.15+deb13-cloud-amd64
Source: linux-signed-amd64 (6.18.15+1~bpo13+1)
Version: 6.18.15-1~bpo13+1
Installed-Size: 49298
Architecture: amd64
Description: Linux 6.18 for x86-64 cloud (signed)
 The Linux kernel 6.18 and modules for use on cloud platforms.
Size: 49048312

Package: linux-binary-7.2.13+deb14-cloud-amd64
Source: linux-signed-amd64 (7.2.13+1)
Version: 7.2.13-1
Installed-Size: 13712
Architecture: amd64
Size: 13717736

Package: linux-image-7.2.13+deb14-cloud-amd64
Version: 7.2.13-1
Installed-Size: 15
Size: 1916

Package: linux-image-7.2.13+deb14-cloud-amd64-dbg
Version: 7.2.13-1
Installed-Size: 740000
Size: 74000000

Package: linux-binary-unsigned-7.3.4+deb13-cloud-amd64
Version: 7.3.4-1~bpo13+1
Installed-Size: 13651
Size: 13602692

Package: linux-modules-7.3.4+deb13-cloud-amd64
Version: 7.3.4-1~bpo13+1
Installed-Size: 23651
Size: 23602692

Package: linux-image-7.2.13+deb14-amd64
Version: 7.2.13-1
Installed-Size: 167000
Size: 167000000
";

fn show(package: &str, version: &str, size: &str) -> String {
    format!("Package: {package}\nVersion: {version}\nInstalled-Size: 14000\nSize: {size}\n\n")
}

fn releases(images: &[Image]) -> Vec<&str> {
    images.iter().map(|image| image.release.as_str()).collect()
}

#[test]
fn debian_cloud_images_newest_first() {
    let images = images(Family::Debian, DEBIAN);
    assert_eq!(
        releases(&images),
        ["7.2.13+deb14-cloud-amd64", "6.18.15+deb13-cloud-amd64", "6.18.9+deb13-cloud-amd64"]
    );
    assert_eq!(
        images[0],
        Image {
            release: "7.2.13+deb14-cloud-amd64".into(),
            package: "linux-binary-7.2.13+deb14-cloud-amd64".into(),
            version: "7.2.13-1".into(),
            size: 13717736,
            unpacked: 13712 * 1024,
        }
    );
    assert_eq!(images[1].package, "linux-image-6.18.15+deb13-cloud-amd64");
}

#[test]
fn ubuntu_generic_images_signed_first() {
    let text = show("linux-image-unsigned-7.0.0-15-generic", "7.0.0-15.15", "15000000")
        + &show("linux-image-7.0.0-15-generic", "7.0.0-15.15", "15000000")
        + &show("linux-image-unsigned-7.0.0-100-generic", "7.0.0-100.1", "15000000")
        + &show("linux-image-7.0.0-15-lowlatency", "7.0.0-15.15", "15000000")
        + &show("linux-image-generic", "7.0.0-15.15", "15000000")
        + &show("linux-image-7.0.0-2-generic-hwe", "7.0.0-2.2", "15000000");
    let images = images(Family::Ubuntu, &text);
    let packages: Vec<&str> = images.iter().map(|image| image.package.as_str()).collect();
    let wanted = ["linux-image-unsigned-7.0.0-100-generic", "linux-image-7.0.0-15-generic"];
    assert_eq!(packages, wanted);
    assert_eq!(releases(&images), ["7.0.0-100-generic", "7.0.0-15-generic"]);
}

#[test]
fn the_preferred_package_comes_in_its_newest_version() {
    let one = "linux-binary-7.2.13-cloud-amd64";
    let text = show(one, "7.2.13-1~bpo13+1", "14000000")
        + &show("linux-image-7.2.13-cloud-amd64", "7.2.13-3", "49000000")
        + &show(one, "7.2.13-2", "14000000");
    let images = images(Family::Debian, &text);
    assert_eq!(images.len(), 1);
    assert_eq!((images[0].package.as_str(), images[0].version.as_str()), (one, "7.2.13-2"));
}

#[test]
fn odd_paragraphs_are_passed_over() {
    let good = "linux-binary-7.2.13-cloud-amd64";
    for (package, version, size) in [
        ("linux-binary-7.2/../../x-cloud-amd64", "1", "14000000"),
        ("linux-binary-7-cloud-amd64", "1", "14000000"),
        ("linux-binary-cloud-amd64", "1", "14000000"),
        (good, "1 --option", "14000000"),
        (good, "1", "many"),
        (good, "1", "99999999999999999999999"),
        ("", "", ""),
    ] {
        assert_eq!(images(Family::Debian, &show(package, version, size)), [], "{package}");
    }
    let text = "Package: linux-binary-7.2.13-cloud-amd64\nVersion: 1\nSize: 14000000\n\
                Installed-Size: 18446744073709551615\n";
    assert_eq!(images(Family::Debian, text), []);
    for len in 0..DEBIAN.len() {
        images(Family::Debian, &DEBIAN[..len]);
    }
}

#[test]
fn pattern_names_prefixes_and_flavour() {
    assert_eq!(pattern(Family::Debian), "^(linux-binary-|linux-image-)[0-9].*-cloud-amd64$");
    assert_eq!(pattern(Family::Ubuntu), "^(linux-image-|linux-image-unsigned-)[0-9].*-generic$");
}

/// Debian: two suites side by side, a package that names another, and one for documents.
const DEBIAN_SOURCES: &str = "\
Package: linux-source-7.2
Source: linux
Version: 7.2.9-1~bpo13+1
Installed-Size: 160837
Size: 164695652
SHA256: e73de537b76ee6f17deedb149707ca7dec1a27499895bf2f6b51e782687dd0c6

Package: linux-source-7.3
Version: 7.3.4-1~bpo13+1
Installed-Size: 160880
Size: 164741456
SHA256: 97a3aac3a9eeb8f18e8b0511af9261c54605fd23b712f1a48144360a123738a2

Package: linux-source-7.2
Version: 7.2.13-1
Installed-Size: 160263
Size: 164108840
SHA256: 30a8c5fc63f9028a62e6d7b3f7f43bee67425dbce2a05fceba83f9b87c92083d

Package: linux-source
Version: 7.2.13-1
Installed-Size: 14
Size: 1916
SHA256: 58d75ac2c2925c71447d039cfb4f7a1f3c0053fbcc0d78c4822538f1a3f5e9c5
";

#[test]
fn sources_newest_first() {
    let found = sources(DEBIAN_SOURCES);
    let versions: Vec<&str> = found.iter().map(|source| source.version.as_str()).collect();
    assert_eq!(versions, ["7.3.4-1~bpo13+1", "7.2.13-1", "7.2.9-1~bpo13+1"]);
    assert_eq!(
        found[1],
        Source {
            package: "linux-source-7.2".into(),
            version: "7.2.13-1".into(),
            size: 164108840,
            unpacked: 160263 * 1024,
            sha256: "30a8c5fc63f9028a62e6d7b3f7f43bee67425dbce2a05fceba83f9b87c92083d".into(),
        }
    );
    assert_eq!(sources(&format!("{DEBIAN_SOURCES}\n{DEBIAN_SOURCES}")), found);
}

#[test]
fn odd_sources_are_passed_over() {
    let digest = "a".repeat(64);
    for (package, version, digest) in [
        ("linux-source-", "7.2.13-1", digest.as_str()),
        ("linux-source-7.2/..", "7.2.13-1", &digest),
        ("linux-source-7.2", "../7.2", &digest),
        ("linux-source-7.2", "seven", &digest),
        ("linux-source-7.2", "7.2.13-1", "short"),
    ] {
        let text = format!(
            "Package: {package}\nVersion: {version}\nInstalled-Size: 1\nSize: 1\nSHA256: {digest}\n"
        );
        assert_eq!(sources(&text), [], "{text}");
    }
    for len in 0..DEBIAN_SOURCES.len() {
        sources(&DEBIAN_SOURCES[..len]);
    }
}
