// SPDX-License-Identifier: GPL-2.0-only
//! What a store keeps, sweeps out and refuses.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;
use crate::error::exit_status;

pub(crate) fn image(release: &str) -> Image {
    let (package, version) = (format!("linux-binary-{release}"), format!("{release}-1"));
    Image { release: release.into(), package, version, size: 14 << 20, unpacked: 14 << 20 }
}

fn kept(release: &str, verdict: Verdict, file: &[u8]) -> Kept {
    Kept { image: image(release), digest: digest(file), verdict, rules: RULES }
}

fn open(cache: &Path) -> Store {
    Store::open(cache, &Progress::new()).unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn sound_kernel_is_kept_and_another_only_judged() {
    let cache = tempfile::tempdir().unwrap();
    let store = open(cache.path());
    let sound = kept("7.2.13", Verdict::Sound, b"image");
    store.keep(&sound, b"image").unwrap();
    let unsound = kept("7.2.12", Verdict::NoSchedExt, b"other");
    store.keep(&unsound, b"other").unwrap();
    assert_eq!(names(&cache.path().join("kernels")), [".lock", "7.2.12", "7.2.13"]);
    assert_eq!(names(&cache.path().join("kernels/7.2.13")), ["kernel", "verdict.json"]);
    assert_eq!(names(&cache.path().join("kernels/7.2.12")), ["verdict.json"]);
    assert_eq!(store.kept(&sound.image), Some(sound.clone()));
    assert_eq!(store.kept(&unsound.image), Some(unsound.clone()));
    assert_eq!(store.all(), [sound.clone(), unsound]);
    let kernel = store.kernel(&sound);
    assert_eq!(fs::read(kernel.file).unwrap(), b"image");
    assert_eq!(kernel.digest, "6105d6cc76af400325e94d588ce511be5bfdbb73b437dc51eca43917d7a43e3d");
    assert_eq!(kernel.origin, "linux-binary-7.2.13 7.2.13-1");
}

#[test]
fn another_package_other_rules_or_a_changed_file_do_not_count() {
    let cache = tempfile::tempdir().unwrap();
    let store = open(cache.path());
    let sound = kept("7.2.13", Verdict::Sound, b"image");
    store.keep(&sound, b"image").unwrap();
    let newer = Image { version: "7.2.13-2".into(), ..image("7.2.13") };
    assert_eq!(store.kept(&newer), None);
    let file = store.kernel(&sound).file;
    fs::write(&file, b"imagE").unwrap();
    assert_eq!(store.kept(&sound.image), None);
    fs::remove_file(&file).unwrap();
    assert_eq!(store.kept(&sound.image), None);
    store.keep(&sound, b"image").unwrap();
    assert_eq!(store.kept(&sound.image), Some(sound.clone()));
    store.keep(&Kept { rules: RULES + 1, ..sound.clone() }, b"image").unwrap();
    assert_eq!(store.kept(&sound.image), None);
    fs::write(file.with_file_name("verdict.json"), b"{").unwrap();
    assert_eq!(store.kept(&sound.image), None);
}

#[test]
fn what_a_killed_process_left_is_swept_out() {
    let cache = tempfile::tempdir().unwrap();
    let left = cache.path().join("kernels/.new/root/boot");
    fs::create_dir_all(&left).unwrap();
    fs::write(left.join("vmlinuz"), b"half").unwrap();
    let store = open(cache.path());
    assert_eq!(names(&cache.path().join("kernels")), [".lock"]);
    assert_eq!(store.all(), []);
    fs::write(store.workplace().unwrap().join("half"), b"").unwrap();
    assert_eq!(names(&store.workplace().unwrap()), [""; 0]);
    drop(store);
    assert_eq!(names(&cache.path().join("kernels")), [".lock"]);
}

#[test]
fn one_process_at_a_time() {
    let cache = tempfile::tempdir().unwrap();
    let store = open(cache.path());
    let waiting = std::thread::scope(|scope| {
        let second = scope.spawn(|| open(cache.path()).all());
        // Time enough to pass, were there no lock.
        std::thread::sleep(std::time::Duration::from_millis(50));
        store.keep(&kept("7.2.13", Verdict::NoBtf, b""), b"").unwrap();
        drop(store);
        second.join().unwrap()
    });
    assert_eq!(waiting.len(), 1, "the second store opens only when the first is done");
}

#[test]
fn a_cache_that_cannot_be_used_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, b"").unwrap();
    let error = Store::open(&file, &Progress::new()).map(|_| ()).unwrap_err();
    assert_eq!(exit_status(&error), 3);
    assert!(error.to_string().contains(&format!("{}/kernels", file.display())), "{error}");
}
