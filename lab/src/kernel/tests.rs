// SPDX-License-Identifier: GPL-2.0-only
//! Words after `--kernel`, kernels from files, and (ignored by default) the real thing.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::os::unix::fs::symlink;

use super::bzimage::tests::{bzimage, elf};
use super::*;
use crate::btf::tests::{malformed, sound};
use crate::error::exit_status;

fn refused(result: Result<impl std::fmt::Debug>) -> (u8, String) {
    let error = result.unwrap_err();
    let text = error.to_string();
    assert!(!text.contains('\n'), "{text}");
    (exit_status(&error), text)
}

#[test]
fn words_are_told_apart() {
    let parse = |word: &str| word.parse::<Choice>();
    assert_eq!(parse("auto").unwrap(), Choice::Auto);
    assert_eq!(parse("host").unwrap(), Choice::Host);
    assert_eq!(parse("6.18").unwrap(), Choice::Series("6.18".into()));
    assert_eq!(parse("7.10").unwrap(), Choice::Series("7.10".into()));
    assert_eq!(parse("./6.18").unwrap(), Choice::Path("./6.18".into()));
    for word in ["newest", "6", "6.18.15", "6.18-rc1", "", "99999999999.1"] {
        let (status, text) = refused(parse(word));
        assert_eq!(status, 2, "{word}");
        assert!(text.starts_with(&format!("--kernel {word}: neither `auto`")), "{text}");
    }
    let (status, text) = refused(parse("6.17"));
    assert_eq!((status, text.contains("began with 6.18")), (2, true), "{text}");
}

#[test]
fn sound_file_is_a_kernel() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vmlinuz");
    fs::write(&path, elf(&sound().bytes())).unwrap();
    let kernel = find(&Choice::Path(path.clone()), true, folder.path(), &Progress::new()).unwrap();
    assert_eq!(kernel.release, "7.2.13+deb14-cloud-amd64");
    assert_eq!((kernel.origin, kernel.digest.len()), (path.display().to_string(), 64));
    assert_eq!(kernel.file, path);
    assert!(!folder.path().join("kernels").exists(), "a file needs no cache");
}

#[test]
fn unsound_and_odd_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("k");
    let refuse = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        let (status, text) = refused(from_file(&path, true));
        assert!(text.starts_with(&format!("kernel {}: ", path.display())), "{text}");
        (status, text)
    };
    let (status, text) = refuse(&elf(&malformed().bytes()));
    assert_eq!(status, 3);
    assert!(text.contains("pahole") && text.contains("--kernel auto"), "{text}");
    assert_eq!(refuse(&elf(&[])).0, 3);
    let (status, text) = refuse(b"not a kernel");
    assert_eq!((status, text.contains("neither a bzImage")), (2, true), "{text}");
    assert_eq!(refuse(&bzimage(b"\x02\x21\x4c\x18")).0, 2);
    assert_eq!(refuse(b"").0, 2);
    let (status, text) = refused(from_file(folder.path(), true));
    assert_eq!((status, text.contains("no kernel file")), (2, true), "{text}");
    let (status, text) = refused(from_file(&folder.path().join("none"), true));
    assert_eq!((status, text.ends_with("there is no such file")), (2, true), "{text}");
}

#[test]
fn host_kernel_is_looked_for_where_distributions_keep_it() {
    let root = tempfile::tempdir().unwrap();
    let (status, text) = refused(host_file("7.2.13", root.path()));
    assert_eq!(status, 3);
    assert!(text.contains("boot/vmlinuz-7.2.13") && text.contains("--kernel PATH"), "{text}");
    let modules = root.path().join("lib/modules/7.2.13");
    fs::create_dir_all(&modules).unwrap();
    fs::write(modules.join("vmlinuz"), "").unwrap();
    assert_eq!(host_file("7.2.13", root.path()).unwrap(), modules.join("vmlinuz"));
    fs::create_dir(root.path().join("boot")).unwrap();
    let boot = root.path().join("boot/vmlinuz-7.2.13");
    fs::write(&boot, "").unwrap();
    assert_eq!(host_file("7.2.13", root.path()).unwrap(), boot);
    // Ubuntu lets only root read it; root in a test may read everything but a loop of links.
    fs::remove_file(&boot).unwrap();
    fs::remove_dir_all(&modules).unwrap();
    symlink(&boot, &boot).unwrap();
    assert_eq!(refused(host_file("7.2.13", root.path())).0, 3);
}

/// Needs a network, apt and about 180 MB. Run it, in release, with
/// `cargo test --release -p ballast_lab -- --ignored --nocapture kernels_through_apt`.
#[test]
#[ignore = "fetches kernels through apt"]
fn kernels_through_apt() {
    let cache = tempfile::tempdir().unwrap();
    for word in ["auto", "6.18"] {
        let choice: Choice = word.parse().unwrap();
        let first = find(&choice, true, cache.path(), &Progress::new()).unwrap();
        assert_eq!(judge(&first.file).unwrap(), Verdict::Sound);
        println!("{word}: {} from {}", first.release, first.origin);
        let begun = std::time::Instant::now();
        assert_eq!(find(&choice, true, cache.path(), &Progress::new()).unwrap(), first);
        assert!(begun.elapsed().as_secs() < 2, "the second time nothing is fetched");
    }
    assert!(!cache.path().join("kernels/.new").exists());
}
