// SPDX-License-Identifier: GPL-2.0-only
//! The private apt, as far as it goes without a network.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::error::exit_status;

fn image() -> Image {
    Image {
        release: "7.2.13-cloud-amd64".into(),
        package: "linux-binary-7.2.13-cloud-amd64".into(),
        version: "7.2.13-1".into(),
        size: 1,
        unpacked: 1,
    }
}

fn source() -> Source {
    Source {
        package: "linux-source-7.2".into(),
        version: "7.2.13-1".into(),
        size: 1,
        unpacked: 1,
        sha256: "0".repeat(64),
    }
}

fn lock(folder: &Path) -> Lock {
    Lock::take(&folder.join(".lock"), || {}).unwrap()
}

#[test]
fn progress_of_apt_is_read() {
    assert_eq!(percent("dlstatus:5:17.1428:Retrieving file 5 of 6"), Some(17.1428));
    for line in ["", "dlstatus:", "dlstatus:5:", "pmstatus:5:17:x", "dlstatus:5:x:y"] {
        assert_eq!(percent(line), None, "{line}");
    }
}

#[test]
fn an_index_is_fresh_for_a_day() {
    let at = |fetched| Index { fetched, images: Vec::new(), sources: Vec::new() }.is_fresh();
    assert!(at(now()) && at(now() - FRESH + 60));
    assert!(!at(now() - FRESH) && !at(0) && !at(now() + 3600), "nor one from the future");
}

#[test]
fn too_little_room_names_folder_needed_and_free() {
    let folder = tempfile::tempdir().unwrap();
    assert!(require_room(folder.path(), 1, "x").is_ok());
    let error = require_room(folder.path(), u64::MAX, "linux-x (14.0 MB)").unwrap_err();
    assert_eq!(exit_status(&error), 3);
    let text = error.to_string();
    let free = free_bytes(folder.path()).unwrap() / 1_000_000;
    assert!(text.starts_with("no room for linux-x (14.0 MB) in /"), "{text}");
    assert!(text.contains(&folder.path().display().to_string()), "{text}");
    assert!(text.contains("18446744073710 MB needed, "), "{text}");
    assert!(text.contains(" MB free") && free > 0, "{text}");
}

#[test]
fn paths_with_spaces_and_quotes_reach_apt_whole() {
    let cache = tempfile::tempdir().unwrap();
    let lock = lock(cache.path());
    let apt = Apt::open(&cache.path().join("a \"cache\""), &lock).unwrap();
    let command = apt.command("apt-get");
    let args: Vec<_> = command.get_args().map(|a| a.to_str().unwrap().to_string()).collect();
    let folder = apt.folder.display();
    assert!(args.contains(&format!("Dir::State::lists={folder}/lists/")), "{args:?}");
    assert!(args.contains(&"Dir::Etc::SourceParts=/dev/null".to_string()), "{args:?}");
    assert!(apt.folder.join("lists/partial").is_dir());
    assert!(apt.folder.ends_with("a \"cache\"/apt"));
}

#[test]
fn an_index_that_is_damaged_or_missing_is_not_used() {
    let cache = tempfile::tempdir().unwrap();
    let lock = lock(cache.path());
    let apt = Apt::open(cache.path(), &lock).unwrap();
    assert_eq!(apt.kept(), None);
    let index = Index { fetched: 7, images: vec![image()], sources: vec![source()] };
    let text = serde_json::to_vec(&index).unwrap();
    apt.write("kernels.json", &text).unwrap();
    assert_eq!(apt.kept(), Some(index));
    fs::write(apt.folder.join("kernels.json"), &text[..text.len() - 1]).unwrap();
    assert_eq!(apt.kept(), None);
}

#[test]
fn a_cache_that_cannot_be_made_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let error = Apt::open(&file, &lock(folder.path())).map(|_| ()).unwrap_err();
    assert_eq!(exit_status(&error), 3);
    assert!(error.to_string().contains(&format!("{}/apt", file.display())), "{error}");
}

fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        eprintln!("skipped: this machine has no {program}");
    }
    found
}

/// Packs a folder's contents as package.deb in `folder`.
fn pack(folder: &Path, contents: &[(&str, &str)]) {
    let tree = folder.join("tree");
    let control = "Package: x\nVersion: 1\nArchitecture: amd64\nMaintainer: x\nDescription: x\n";
    for (name, text) in contents.iter().chain([&("DEBIAN/control", control)]) {
        fs::create_dir_all(tree.join(name).parent().unwrap()).unwrap();
        fs::write(tree.join(name), text).unwrap();
    }
    let mut build = Command::new("dpkg-deb");
    build.args(["-b", "--root-owner-group", "-Znone"]).arg(&tree).arg(folder.join("package.deb"));
    assert!(build.output().unwrap().status.success());
}

#[test]
fn the_image_is_found_in_its_places() {
    if !has("dpkg-deb") {
        return;
    }
    for name in ["usr/lib/modules/7.2.13-cloud-amd64/vmlinuz", "boot/vmlinuz-7.2.13-cloud-amd64"] {
        let folder = tempfile::tempdir().unwrap();
        pack(folder.path(), &[(name, "image"), ("boot/config", "x")]);
        let root = unpack("x", folder.path(), &lock(folder.path())).unwrap();
        let path = find_image(&image(), &root).unwrap();
        assert_eq!(path, folder.path().join("root").join(name));
        assert_eq!(fs::read(path).unwrap(), b"image");
    }
}

#[test]
fn the_archive_is_found_in_its_places() {
    for name in
        ["usr/src/linux-source-7.2.tar.xz", "usr/src/linux-source-7.2/linux-source-7.2.tar.bz2"]
    {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        let told = find_archive("linux-source-7.2", folder.path()).unwrap_err().error.to_string();
        assert!(told.contains("linux-source-7.2 is corrupt: it holds no archive"), "{told}");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "archive").unwrap();
        assert_eq!(find_archive("linux-source-7.2", folder.path()).unwrap(), path);
    }
}

#[test]
fn a_corrupt_package_is_told() {
    if !has("dpkg-deb") {
        return;
    }
    let tell = |folder: &Path, what: &str| {
        let root = unpack(&image().package, folder, &lock(folder));
        let trouble = root.and_then(|root| find_image(&image(), &root)).unwrap_err();
        let text = trouble.error.to_string();
        assert_eq!((trouble.cause, exit_status(&trouble.error)), (Cause::Corrupt, 1));
        assert!(text.starts_with("the package linux-binary-7.2.13-cloud-amd64 is corrupt: "));
        assert!(text.contains(what) && !text.contains('\n'), "{text}");
    };
    let folder = tempfile::tempdir().unwrap();
    tell(folder.path(), "apt left no file");
    fs::write(folder.path().join("package.deb"), "what").unwrap();
    tell(folder.path(), "dpkg-deb");
    let folder = tempfile::tempdir().unwrap();
    pack(folder.path(), &[("boot/config", "x")]);
    tell(folder.path(), "it holds no kernel image");
}

#[test]
fn settings_are_what_apt_understands() {
    if !has("apt-config") {
        return;
    }
    let cache = tempfile::tempdir().unwrap();
    let lock = lock(cache.path());
    let apt = Apt::open(cache.path(), &lock).unwrap();
    apt.write("apt.conf", SETTINGS.as_bytes()).unwrap();
    let output = apt.command("apt-config").arg("dump").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for hook in ["Pre-Invoke", "Post-Invoke", "Post-Invoke-Success"] {
        assert!(!text.contains(&format!("APT::Update::{hook}::")), "{text}");
    }
    assert!(text.contains("Acquire::AllowInsecureRepositories \"false\""), "{text}");
    assert!(text.contains(&format!("Dir::State \"{}\"", apt.folder.display())), "{text}");
}
