// SPDX-License-Identifier: GPL-2.0-only
//! Mirrors from what apt printed on real systems (shortened, host names replaced).
#![allow(clippy::unwrap_used)]

use super::*;
use crate::error::exit_status;

/// A paragraph as apt prints it, with the keys that matter and some around them.
fn target(kind: &str, origin: &str, release: &str, component: &str, uri: &str) -> String {
    let origin = if origin.is_empty() { String::new() } else { format!("Origin: {origin}\n") };
    format!(
        "MetaKey: {component}/binary-amd64/{kind}\nShortDesc: {kind}\nDescription: {uri} \
         {release}/{component} amd64 {kind}\nURI: {uri}dists/{release}/{component}/{kind}\n\
         Optional: no\nKeepCompressed: yes\nLabel: x\n{origin}Architecture: amd64\nBase-URI: \
         {uri}dists/{release}/\nComponent: {component}\nCreated-By: {kind}\nFallback-Of: \n\
         Release: {release}\nRepo-URI: {uri}\nSite: {uri}\nTarget-Of: deb\n\n"
    )
}

/// Debian 12 as it prints itself after an update.
const BOOKWORM: &str = "\
MetaKey: main/binary-amd64/Packages
ShortDesc: Packages
Description: http://mirror.example/debian bookworm/main amd64 Packages
URI: http://mirror.example/debian/dists/bookworm/main/binary-amd64/Packages
Filename: /var/lib/apt/lists/mirror.example_debian_dists_bookworm_main_binary-amd64_Packages.lz4
Optional: no
KeepCompressed: yes
Codename: bookworm
Label: Debian
Origin: Debian
Suite: oldstable
Trusted: yes
Version: 12.15
Architecture: amd64
Base-URI: http://mirror.example/debian/dists/bookworm/
By-Hash: yes
Component: main
CompressionTypes: xz bz2 lzma gz lz4 zst uncompressed
Created-By: Packages
DefaultEnabled: yes
Fallback-Of: 
Identifier: Packages
KeepCompressedAs: lz4 zst gz xz bz2 lzma uncompressed
PDiffs: yes
Release: bookworm
Repo-URI: http://mirror.example/debian/
Site: http://mirror.example/debian
Sourcesentry: /etc/apt/sources.list.d/debian.sources:1
Target-Of: deb
";

fn root(keyring: &str) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("usr/share/keyrings");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(keyring), "").unwrap();
    root
}

fn debian(text: &str, codename: &str) -> Result<String> {
    let root = root("debian-archive-keyring.gpg");
    sources_list(Family::Debian, codename, text, root.path())
}

fn ubuntu(text: &str) -> Result<String> {
    let root = root("ubuntu-archive-keyring.gpg");
    sources_list(Family::Ubuntu, "noble", text, root.path())
}

#[test]
fn debian_takes_two_suites_from_its_own_mirror() {
    let more = target("Packages", "Debian", "bookworm-security", "main", "http://sec.example/d/");
    let text = format!("{BOOKWORM}\n{more}");
    let options = "[arch=amd64 signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]";
    let wanted = ["stable-backports", "unstable"]
        .map(|suite| format!("deb {options} http://mirror.example/debian/ {suite} main\n"));
    assert_eq!(debian(&text, "bookworm").unwrap(), wanted.concat());
    for name in ["unstable", "sid", "testing", "stable"] {
        let text = target("Packages", "Debian", name, "main", "http://mirror.example/debian/");
        assert_eq!(debian(&text, "trixie").unwrap(), wanted.concat(), "{name}");
    }
}

#[test]
fn other_archives_of_the_same_code_name_are_passed_over() {
    let other = target("Packages", "Tools", "bookworm", "main", "https://tools.example/");
    let text = format!("{other}{BOOKWORM}");
    assert!(debian(&text, "bookworm").unwrap().contains("http://mirror.example/debian/ unstable"));
    // An origin counts for more than an address.
    let other = target("Packages", "Tools", "bookworm", "main", "https://tools.example/debian/");
    let own = target("Packages", "Debian", "bookworm", "main", "http://cache.example/d12/");
    let list = debian(&format!("{other}{own}"), "bookworm").unwrap();
    assert!(list.contains("cache.example/d12/ unstable") && !list.contains("tools"), "{list}");
    // Before the first update apt knows no origins.
    let other = target("Packages", "", "bookworm", "main", "https://tools.example/");
    let own = target("Packages", "", "bookworm", "main", "http://mirror.example/debian/");
    let list = debian(&format!("{other}{own}"), "bookworm").unwrap();
    assert!(list.contains("http://mirror.example/debian/") && !list.contains("tools"), "{list}");
}

#[test]
fn ubuntu_takes_each_of_its_suites() {
    let (main, security) = ("http://mirror.example/ubuntu/", "http://security.example/ubuntu/");
    let of = |origin: &str| {
        [
            target("Packages", origin, "noble", "main", main),
            target("Packages", origin, "noble", "main", main),
            target("DEP-11", origin, "noble", "main", main),
            target("Packages", origin, "noble", "universe", main),
            target("Packages", origin, "noble-updates", "main", main),
            target("Packages", origin, "noble-security", "main", security),
            target("Packages", origin, "noblesse", "main", main),
            target("Packages", "", "noble", "main", "https://ppa.example/someone/x/ubuntu/"),
        ]
        .concat()
    };
    let line = |uri: &str, suite: &str| {
        let options = "[arch=amd64 signed-by=/usr/share/keyrings/ubuntu-archive-keyring.gpg]";
        format!("deb {options} {uri} {suite} main\n")
    };
    let wanted =
        line(main, "noble") + &line(main, "noble-updates") + &line(security, "noble-security");
    assert_eq!(ubuntu(&of("Ubuntu")).unwrap(), wanted);
    assert_eq!(ubuntu(&of("")).unwrap(), wanted, "before the first update");
}

#[test]
fn no_mirror_and_no_keyring_are_told() {
    let cd = target("Packages", "Debian", "bookworm", "main", "cdrom:[x]/");
    for text in ["", "nonsense", "Created-By: Packages\nComponent: main\n", cd.as_str()] {
        let error = debian(text, "bookworm").unwrap_err();
        assert_eq!(exit_status(&error), 3);
        assert!(error.to_string().contains("no Debian mirror for bookworm"), "{error}");
    }
    let root = root("other.gpg");
    let error = sources_list(Family::Debian, "bookworm", BOOKWORM, root.path()).unwrap_err();
    assert_eq!(exit_status(&error), 3);
    assert!(error.to_string().ends_with("install the package debian-archive-keyring"), "{error}");
}

#[test]
fn a_keyring_in_the_new_format_is_found() {
    let root = root("debian-archive-keyring.pgp");
    let list = sources_list(Family::Debian, "bookworm", BOOKWORM, root.path()).unwrap();
    assert!(list.contains("signed-by=/usr/share/keyrings/debian-archive-keyring.pgp]"), "{list}");
}

#[test]
fn distributions_are_told_apart() {
    let of = |text: &str| distribution(text).unwrap();
    let debian = "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nVERSION_ID=\"12\"\n\
                  VERSION_CODENAME=bookworm\nID=debian\n";
    assert_eq!(of(debian), (Family::Debian, "bookworm".into()));
    assert_eq!(of("ID=debian\n"), (Family::Debian, String::new()));
    let ubuntu = "ID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=noble\nUBUNTU_CODENAME=noble\n";
    assert_eq!(of(ubuntu), (Family::Ubuntu, "noble".into()));
    let mint = "ID=linuxmint\nID_LIKE=\"ubuntu debian\"\nVERSION_CODENAME=wilma\n\
                UBUNTU_CODENAME=noble\n";
    assert_eq!(of(mint), (Family::Ubuntu, "noble".into()));
    for (text, name) in [("ID=\"fedora\"\n", "fedora"), ("", "an unnamed system")] {
        let error = distribution(text).unwrap_err();
        assert_eq!(exit_status(&error), 3);
        let text = error.to_string();
        assert!(text.contains(name) && text.contains("Debian and Ubuntu"), "{text}");
    }
}
