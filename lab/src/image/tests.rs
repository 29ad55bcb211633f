// SPDX-License-Identifier: GPL-2.0-only
#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

fn job(bench: &str) -> Job {
    let step = crate::model::Step {
        bench: bench.into(),
        action: crate::model::Action::Command { argv: vec!["/bin/true".into()] },
        affinity: None,
        warmup: None,
    };
    Job::plain(GuestSched::Kernel, vec![step])
}

fn files() -> Vec<File> {
    vec![
        File::data("opt/b/data", "text"),
        File::program(Path::new("/bin/true")),
        File { to: "opt/a".into(), from: Source::Link("b".into()), mode: 0o777 },
    ]
}

fn position(bytes: &[u8], name: &str) -> usize {
    let name = format!("{name}\0");
    bytes.windows(name.len()).position(|w| w == name.as_bytes()).unwrap()
}

#[test]
fn same_files_same_bytes() {
    let one = archive(&files(), &job("x")).unwrap();
    let mut other_order = files();
    other_order.reverse();
    assert_eq!(one, archive(&other_order, &job("x")).unwrap());
}

#[test]
fn job_text_shifts_nothing() {
    let one = archive(&files(), &job("x")).unwrap();
    let two = archive(&files(), &job("a much longer word")).unwrap();
    assert_ne!(one, two);
    assert_eq!(one.len(), two.len());
    assert_eq!(position(&one, "opt/b/data"), position(&two, "opt/b/data"));
}

#[test]
fn folders_come_before_what_is_in_them() {
    let bytes = archive(&files(), &job("x")).unwrap();
    let order = ["bin", "bin/true", "job.json", "opt", "opt/a", "opt/b", "opt/b/data", "usr"];
    let at: Vec<usize> = order.iter().map(|name| position(&bytes, name)).collect();
    assert!(at.is_sorted(), "{at:?}");
}

#[test]
fn odd_paths_are_refused() {
    for to in ["", "/etc/x", "a//b", "a/../b", "./a", "a/"] {
        let error = archive(&[File::data(to, "")], &job("x")).expect_err(to);
        assert_eq!(crate::error::exit_status(&error), 2);
    }
    let twice = [File::data("a", "1"), File::data("a", "2")];
    let error = archive(&twice, &job("x")).unwrap_err().to_string();
    assert!(error.contains("/a: two different files"), "{error}");
    assert!(archive(&[File::data("a", "1"), File::data("a", "1")], &job("x")).is_ok());
}

#[test]
fn kept_by_content_and_pruned() {
    let cache = tempfile::tempdir().unwrap();
    let first = keep(b"image", cache.path()).unwrap();
    assert_eq!(fs::read(&first.path).unwrap(), b"image");
    assert_eq!(first.digest, "6105d6cc76af400325e94d588ce511be5bfdbb73b437dc51eca43917d7a43e3d");
    fs::write(&first.path, b"imag").unwrap();
    assert_eq!(keep(b"image", cache.path()).unwrap(), first);
    assert_eq!(fs::read(&first.path).unwrap(), b"image", "a damaged copy is replaced");
    for n in 0..2 * KEPT {
        keep(&[n as u8], cache.path()).unwrap();
        keep(b"image", cache.path()).unwrap();
    }
    assert_eq!(fs::read_dir(cache.path()).unwrap().count(), KEPT);
    assert!(first.path.exists(), "the last used one stays");
}

#[test]
fn huge_files_are_refused_unread() {
    let folder = tempfile::tempdir().unwrap();
    let huge = folder.path().join("huge");
    fs::File::create(&huge).unwrap().set_len(MOST_BYTES).unwrap();
    let error = archive(&with(&huge).unwrap(), &job("x")).unwrap_err();
    assert_eq!(crate::error::exit_status(&error), 2);
    assert!(error.to_string().contains("huge: with its 1024 MiB the guest's image"), "{error}");
}

#[test]
fn unwritable_cache_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f");
    fs::write(&file, "").unwrap();
    let error = keep(b"image", &file.join("images")).unwrap_err();
    assert_eq!(crate::error::exit_status(&error), 1);
    assert!(error.to_string().contains("cannot write a guest image"), "{error}");
}

#[test]
fn full_disk_is_one_line() {
    let full = fs::write("/dev/full", "x").unwrap_err();
    let error = unwritten(Path::new("/x"), 20 << 20, &full);
    assert_eq!(error, "/x: no space left for a guest image of 20 MiB; make room there");
}

#[test]
fn with_packs_folders_and_files() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::create_dir_all(root.join("d/empty")).unwrap();
    fs::write(root.join("d/text"), "x").unwrap();
    fs::set_permissions(root.join("d/text"), PermissionsExt::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("text", root.join("d/link")).unwrap();
    let mut packed = with(&root.join("d")).unwrap();
    packed.sort_by(|a, b| a.to.cmp(&b.to));
    let base = root.to_str().unwrap()[1..].to_string();
    assert_eq!(packed[0].to, format!("{base}/d/empty"));
    assert_eq!(packed[0].from, Source::Folder);
    assert_eq!(packed[1].from, Source::Link("text".into()));
    assert_eq!((packed[2].mode, packed.len()), (0o640, 3));
    assert_eq!(with(&root.join("d/text")).unwrap(), packed[2..]);
    assert!(with(Path::new("/bin/sh")).unwrap().len() > 1, "a program comes with its libraries");
    let error = with(&root.join("none")).unwrap_err();
    assert_eq!(crate::error::exit_status(&error), 2);
    assert!(error.to_string().contains("none: cannot pack it"), "{error}");
}

#[test]
fn many_threads_keep_the_same_image() {
    let cache = tempfile::tempdir().unwrap();
    for round in 0..50u32 {
        let bytes = round.to_le_bytes().repeat(1 << 16);
        std::thread::scope(|scope| {
            let keep = || keep(&bytes, cache.path()).unwrap();
            let kept: Vec<_> = (0..4).map(|_| scope.spawn(keep)).collect();
            for image in kept.into_iter().map(|k| k.join().unwrap()) {
                assert_eq!(fs::read(image.path).unwrap(), bytes);
            }
        });
    }
}
