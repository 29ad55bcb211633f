// SPDX-License-Identifier: GPL-2.0-only
//! Whole builds of a source of a few lines, whose makefile makes an image by concatenation.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

mod shop;

use super::recipe::tests::recipe;
use super::*;
use crate::error::exit_status;
use shop::Shop;

const FAIR: &str = "one\ntwo\nthree\n";
const PATCH: &str = "--- a/kernel/fair.c\n+++ b/kernel/fair.c\n@@ -1,3 +1,4 @@\n one\n two\n\
                     +SCHED_FEAT(STEAL, false)\n three\n";

struct Lab {
    cache: tempfile::TempDir,
    recipe: Recipe,
}

impl Lab {
    fn new() -> Self {
        Self {
            cache: tempfile::tempdir().unwrap(),
            recipe: recipe(&[("0001-sched-fair-steal.patch", PATCH)]),
        }
    }

    fn request(&self, kind: Kind) -> Request {
        let cache = self.cache.path().to_path_buf();
        Request { kind, source: None, jobs: Some(2), mutant: None, cache }
    }

    fn run(&self, request: &Request, shop: &Shop) -> Result<Built, (u8, String)> {
        let built = build_from(request, &self.recipe, "gcc 1", shop, &Progress::new());
        built.map_err(|e| (exit_status(&e), format!("{e:#}")))
    }

    fn build(&self, kind: Kind, shop: &Shop) -> Result<Built, (u8, String)> {
        self.run(&self.request(kind), shop)
    }

    fn named(&self, source: &str, shop: &Shop) -> Result<Built, (u8, String)> {
        let source = Some(source.to_string());
        self.run(&Request { source, ..self.request(Kind::Patched) }, shop)
    }

    fn mutant(&self, name: &str, text: &str, shop: &Shop) -> Result<Built, (u8, String)> {
        let path = self.cache.path().join(name);
        fs::write(&path, text).unwrap();
        self.run(&Request { mutant: Some(path), ..self.request(Kind::Patched) }, shop)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.cache.path().join(name)
    }

    /// What was compiled in a tree since this was last asked.
    fn compiled(&self, tree: &str) -> Vec<String> {
        let path = self.path("linux").join(tree).join("compiled");
        let text = fs::read_to_string(&path).unwrap_or_default();
        fs::remove_file(path).ok();
        let mut all: Vec<String> = text.lines().map(str::to_string).collect();
        all.sort();
        all
    }

    /// The results, and whatever lies beside them.
    fn results(&self) -> usize {
        let names = fs::read_dir(self.path("built")).into_iter().flatten().flatten();
        names.filter(|e| e.file_name() != ".lock" && e.file_name() != "refused").count()
    }
}

fn image(built: &Built) -> String {
    fs::read_to_string(built.image()).unwrap()
}

#[test]
fn a_kernel_is_built_once_from_patched_source_and_policy() {
    let (lab, shop) = (Lab::new(), Shop::new(&[("7.2.13-1", FAIR)]));
    let built = lab.build(Kind::Patched, &shop).unwrap();
    let wanted = "one\ntwo\nSCHED_FEAT(STEAL, false)\nthree\ncore\n/* the policy */\n";
    assert_eq!(image(&built), wanted);
    assert_eq!((built.release.as_str(), built.version.as_str()), ("7.2.13-ballast", "7.2.13-1"));
    assert_eq!(built.features, [Feature { name: "STEAL".into(), default: false }]);
    assert_eq!(built.size, wanted.len() as u64);
    let kernel = built.kernel();
    assert_eq!(kernel.origin, "linux-source-7.2 7.2.13-1 with Ballast's patches");
    assert_eq!(store::digest(&fs::read(kernel.file).unwrap()), kernel.digest);
    assert_eq!(shop.asked(), ["index", "7.2.13-1"]);
    assert_eq!(lab.compiled("7.2.13-1/ballast").len(), 2);
    let tree = lab.path("linux/7.2.13-1/source");
    assert!(tree.join("arch/arm/Kconfig").exists());
    assert!(!tree.join("arch/arm/kernel/head.S").exists());
    assert!(!tree.join("Documentation/admin-guide").join("x.rst").exists());
    // The same again takes what is there: not even the source is needed.
    fs::remove_dir_all(lab.path("linux")).unwrap();
    assert_eq!(lab.build(Kind::Patched, &shop).unwrap(), built);
    assert_eq!(shop.asked(), [""; 0]);
    assert_eq!(all(lab.cache.path()), std::slice::from_ref(&built));
    // Unless it is not what was built.
    fs::write(built.folder.join("kernel"), "cut").unwrap();
    assert_eq!(image(&lab.build(Kind::Patched, &shop).unwrap()), wanted);
    assert_eq!(shop.asked(), ["7.2.13-1"]);
}

#[test]
fn three_kinds_from_one_source() {
    let (lab, shop) = (Lab::new(), Shop::new(&[("7.2.13-1", FAIR)]));
    let built = |kind| lab.build(kind, &shop).unwrap();
    let config = |b: &Built| fs::read_to_string(b.folder.join("config")).unwrap();
    let (patched, debug, unpatched) =
        (built(Kind::Patched), built(Kind::Debug), built(Kind::Unpatched));
    assert_eq!(shop.asked(), ["index", "7.2.13-1"]);
    assert_eq!(image(&unpatched), "one\ntwo\nthree\ncore\n");
    assert_eq!(image(&debug), image(&patched));
    assert_eq!((unpatched.patches.len(), unpatched.features.len()), (0, 0));
    assert_eq!(unpatched.release, "7.2.13-unpatched");
    assert_eq!(debug.release, "7.2.13-ballast-debug");
    assert_eq!(config(&patched), "CONFIG_TINY=y\nCONFIG_SMP=y\n");
    assert_eq!(config(&patched), config(&unpatched));
    assert!(config(&debug).ends_with("CONFIG_SMP=y\n\nCONFIG_DEBUG_LIST=y\n"));
    assert_eq!(all(lab.cache.path()).len(), 3);
}

#[test]
fn a_change_compiles_what_it_touches() {
    let (mut lab, shop) = (Lab::new(), Shop::new(&[("7.2.13-1", FAIR)]));
    let first = lab.build(Kind::Patched, &shop).unwrap();
    assert_eq!(lab.compiled("7.2.13-1/ballast"), ["core.o", "fair.o"]);
    let changed = PATCH.replace("false", "true");
    lab.recipe.patches[0].1 = changed.into_bytes().into();
    let second = lab.build(Kind::Patched, &shop).unwrap();
    assert_eq!(lab.compiled("7.2.13-1/ballast"), ["fair.o"]);
    assert_ne!(first.key, second.key);
    assert!(image(&second).contains("STEAL, true") && image(&first).contains("STEAL, false"));
    // A changed Kconfig is read, so that make has nothing to ask.
    let more = b"--- /dev/null\n+++ b/kernel/Kconfig\n@@ -0,0 +1 @@\n+CONFIG_MORE=y\n";
    lab.recipe.patches.push(("0002-more.patch".into(), more.as_slice().into()));
    let third = lab.build(Kind::Patched, &shop).unwrap();
    let config = fs::read_to_string(third.folder.join("config")).unwrap();
    assert!(config.ends_with("CONFIG_MORE=y\n"), "{config}");
}

#[test]
fn mutants_are_kept_apart_and_leave_no_trace() {
    let (lab, shop) = (Lab::new(), Shop::new(&[("7.2.13-1", FAIR)]));
    let sound = lab.build(Kind::Patched, &shop).unwrap();
    lab.compiled("7.2.13-1/ballast");
    let script = "# breaks: something\n# in: kernel/fair.c\ns/STEAL/STAEL/\n";
    let mutant = lab.mutant("1-typo.sed", script, &shop).unwrap();
    assert!(image(&mutant).contains("SCHED_FEAT(STAEL, false)"), "{}", image(&mutant));
    assert_eq!(mutant.mutant.as_deref(), Some("1-typo"));
    assert_eq!(lab.compiled("7.2.13-1/ballast"), ["fair.o"]);
    let patch = "--- a/kernel/core.c\n+++ b/kernel/core.c\n@@ -1 +1 @@\n-core\n+CORE\n";
    let mutant = lab.mutant("2-core.patch", patch, &shop).unwrap();
    assert!(image(&mutant).contains("STEAL, false)\nthree\nCORE\n"), "{}", image(&mutant));
    assert_eq!(lab.compiled("7.2.13-1/ballast"), ["core.o", "fair.o"], "the first is undone");
    fs::remove_dir_all(&sound.folder).unwrap();
    assert_eq!(image(&lab.build(Kind::Patched, &shop).unwrap()), image_of(&lab, &sound));
    let (status, told) = lab.mutant("3.sed", "# in: kernel/fair.c\ns/x/y/\n", &shop).unwrap_err();
    assert_eq!((status, told.ends_with("3.sed: changes nothing in kernel/fair.c")), (2, true));
    let (status, told) = lab.mutant("4.sed", "# in: kernel/no.c\ns/x/y/\n", &shop).unwrap_err();
    assert_eq!((status, told.ends_with("changes kernel/no.c, which is not there")), (2, true));
    let (status, told) = lab.mutant("5.patch", "nothing\n", &shop).unwrap_err();
    assert_eq!((status, told.ends_with("5.patch: changes nothing")), (2, true), "{told}");
}

fn image_of(lab: &Lab, built: &Built) -> String {
    image(&all(lab.cache.path()).into_iter().find(|b| b.key == built.key).unwrap())
}

#[test]
fn the_next_source_is_tried_where_the_newest_does_not_fit() {
    let other = "one\n2\nthree\n";
    let shop = Shop::new(&[("7.3.4-1", FAIR), ("7.2.14-1", other), ("7.2.13-1", FAIR)]);
    let mut lab = Lab::new();
    assert_eq!(lab.build(Kind::Patched, &shop).unwrap().version, "7.2.13-1");
    assert_eq!(shop.asked(), ["index", "7.2.14-1", "7.2.13-1"], "the patches' series is first");
    assert!(!lab.path("linux/7.2.14-1").exists(), "what does not fit is not kept");
    // The other kinds need the same source, and nothing is fetched twice to learn so.
    assert_eq!(lab.build(Kind::Unpatched, &shop).unwrap().version, "7.2.13-1");
    assert_eq!(lab.build(Kind::Patched, &shop).unwrap().version, "7.2.13-1");
    assert_eq!(shop.asked(), [""; 0]);
    let why = "kernel/fair.c: hunk 1 (line 1) does not fit";
    let (status, told) = lab.named("7.2.14", &shop).unwrap_err();
    let wanted = "the patches do not fit the source linux-source-7.2 7.2.14-1: \
                  0001-sched-fair-steal.patch: ";
    assert_eq!((status, told), (1, format!("{wanted}{why}")));
    // Other patches are another matter.
    let fits = PATCH.replace(" two", " 2");
    lab.recipe.patches[0].1 = fits.into_bytes().into();
    assert_eq!(lab.build(Kind::Patched, &shop).unwrap().version, "7.2.14-1");
    assert_eq!(shop.asked(), ["7.2.14-1"]);
    assert!(!lab.path("linux/7.2.13-1").exists(), "one source is kept");
    let lab = Lab::new();
    let (_, told) = lab.build(Kind::Patched, &Shop::new(&[("7.2.14-1", other)])).unwrap_err();
    assert!(!lab.path("linux/7.2.14-1").exists());
    assert!(
        told.starts_with("the patches do not fit the source that apt offers; the first tried is")
    );
}

#[test]
fn sources_are_named_in_several_ways() {
    let shop = Shop::new(&[("7.3.4-1~bpo13+1", FAIR), ("7.2.13-1", FAIR), ("7.2.11-1", FAIR)]);
    let lab = Lab::new();
    for (word, version) in [
        ("7.2.11-1", "7.2.11-1"),
        ("7.2.11", "7.2.11-1"),
        ("7.2", "7.2.13-1"),
        ("linux-source-7.2", "7.2.13-1"),
        ("7.3", "7.3.4-1~bpo13+1"),
        ("7.3.4", "7.3.4-1~bpo13+1"),
    ] {
        assert_eq!(lab.named(word, &shop).unwrap().version, version, "{word}");
    }
    let (status, told) = lab.named("7.2.1", &shop).unwrap_err();
    let wanted = "--source 7.2.1: apt offers no such kernel source: it has 7.3.4-1~bpo13+1, \
                  7.2.13-1, 7.2.11-1";
    assert_eq!((status, told.as_str()), (2, wanted));
    let (status, told) = lab.build(Kind::Patched, &Shop::new(&[])).unwrap_err();
    assert_eq!(status, 3);
    assert!(told.starts_with("apt offers no package linux-source-* from 7.2 on: "), "{told}");
    let old = Shop::new(&[("6.8.0-31.31", FAIR)]);
    let (status, told) = lab.build(Kind::Patched, &old).unwrap_err();
    assert_eq!((status, told.contains(" from 7.2 on, only 6.8.0-31.31: a mirror")), (3, true));
    assert_eq!(old.asked(), ["index"]);
    let many = Shop::new(&[("6.8.0-41.41", FAIR), ("6.8.0-31.31", FAIR)]);
    let (_, told) = lab.build(Kind::Patched, &many).unwrap_err();
    assert!(told.contains(" from 7.2 on, only 6.8.0-41.41 and 1 older: a mirror"), "{told}");
}

#[test]
fn without_a_network_what_is_here_does() {
    let (lab, shop) = (Lab::new(), Shop::new(&[("7.2.13-1", FAIR)]));
    shop.unreachable.set(true);
    assert_eq!(lab.build(Kind::Patched, &shop), Err((3, "no luck".into())));
    assert_eq!(lab.results(), 0);
    shop.unreachable.set(false);
    lab.build(Kind::Patched, &shop).unwrap();
    shop.unreachable.set(true);
    for index in [Some(shop.index(1)), None] {
        shop.kept.replace(index);
        shop.asked();
        lab.build(Kind::Debug, &shop).unwrap();
        assert_eq!(shop.asked(), ["index"], "an old index, or none: the tree is here");
        fs::remove_dir_all(lab.path("built")).unwrap();
    }
}

#[test]
fn too_little_room_is_said_before_anything_is_fetched() {
    let mut shop = Shop::new(&[("7.2.13-1", FAIR)]);
    shop.size = 1 << 62;
    let lab = Lab::new();
    let (status, told) = lab.build(Kind::Patched, &shop).unwrap_err();
    assert_eq!(status, 3);
    assert!(told.starts_with("no room for building linux-source-7.2 7.2.13-1 in "), "{told}");
    assert_eq!(shop.asked(), ["index"]);
}

#[test]
fn a_corrupt_or_interrupted_download_leaves_nothing() {
    let (lab, shop) = (Lab::new(), Shop::new(&[("7.2.13-1", FAIR)]));
    shop.corrupt.set(true);
    let (status, told) = lab.build(Kind::Patched, &shop).unwrap_err();
    assert_eq!(status, 1);
    assert!(told.starts_with("the package linux-source-7.2 7.2.13-1 is corrupt: tar"), "{told}");
    assert!(!lab.path("linux/7.2.13-1").exists());
    shop.corrupt.set(false);
    // As if killed while it fetched, unpacked, and kept a result.
    fs::create_dir_all(lab.path("linux/.new/source/kernel")).unwrap();
    fs::create_dir_all(lab.path("built/.new/bzImage")).unwrap();
    lab.build(Kind::Patched, &shop).unwrap();
    assert!(!lab.path("linux/.new").exists() && !lab.path("built/.new").exists());
    fs::create_dir_all(lab.path("linux/.new/source/kernel")).unwrap();
    lab.build(Kind::Debug, &shop).unwrap();
    assert!(!lab.path("linux/.new").exists(), "even where nothing is fetched");
}

#[test]
fn a_build_that_fails_is_one_line_and_no_result() {
    let (mut lab, shop) = (Lab::new(), Shop::new(&[("7.2.13-1", FAIR)]));
    lab.recipe.patches[0].1 = PATCH.replace("SCHED_FEAT", "broken ").into_bytes().into();
    let (status, told) = lab.build(Kind::Patched, &shop).unwrap_err();
    let log = lab.path("linux/7.2.13-1/.ballast-log");
    let wanted = "make bzImage: kernel/fair.c:1:1: error: this is broken; all it said is in ";
    assert_eq!((status, told), (1, format!("{wanted}{}", log.display())));
    assert!(fs::read_to_string(log).unwrap().contains("  CC      fair.o\n"));
    assert_eq!(lab.results(), 0);
    lab.recipe = Lab::new().recipe;
    assert!(image(&lab.build(Kind::Patched, &shop).unwrap()).contains("STEAL"));
    lab.recipe.config = b"CONFIG_UNKNOWN=y\n".as_slice().into();
    let (status, told) = lab.build(Kind::Patched, &shop).unwrap_err();
    assert_eq!((status, told.contains("asks for CONFIG_UNKNOWN=y")), (1, true), "{told}");
    let (_, again) = lab.build(Kind::Patched, &shop).unwrap_err();
    assert_eq!(again, told, "what was refused once is not taken the next time");
    // Nor is it taken for the configuration of before.
    lab.recipe = Lab::new().recipe;
    fs::remove_dir_all(lab.path("built")).unwrap();
    let built = lab.build(Kind::Patched, &shop).unwrap();
    let config = fs::read_to_string(built.folder.join("config")).unwrap();
    assert_eq!(config, "CONFIG_TINY=y\nCONFIG_SMP=y\n");
}

#[test]
fn what_a_killed_build_left_half_written_is_made_again() {
    let (mut lab, shop) = (Lab::new(), Shop::new(&[("7.2.13-1", FAIR)]));
    lab.build(Kind::Patched, &shop).unwrap();
    let tree = lab.path("linux/7.2.13-1/ballast");
    lab.recipe.patches[0].1 = PATCH.replace("SCHED_FEAT", "killed ").into_bytes().into();
    let (status, told) = lab.build(Kind::Patched, &shop).unwrap_err();
    assert_eq!((status, told.contains("signal")), (1, true), "{told}");
    assert_eq!(lab.results(), 1);
    // The object looks newer than its source; the note that would vouch for it is older.
    fs::write(tree.join(".fair.o.cmd"), "cmd").unwrap();
    fs::write(tree.join("fair.o"), "hal").unwrap();
    let file = fs::File::options().append(true).open(tree.join(".fair.o.cmd")).unwrap();
    file.set_modified(UNIX_EPOCH).unwrap();
    lab.recipe.patches[0].1 = PATCH.replace("STEAL", "STEEL").into_bytes().into();
    let old = fs::File::options().append(true).open(tree.join("fair.o")).unwrap();
    let later = SystemTime::now() + std::time::Duration::from_secs(3600);
    old.set_modified(later).unwrap();
    let built = lab.build(Kind::Patched, &shop).unwrap();
    assert!(image(&built).contains("STEEL"), "{}", image(&built));
    // After the machine went down nothing that was made is trusted.
    lab.compiled("7.2.13-1/ballast");
    fs::write(lab.path("linux/7.2.13-1/.ballast-building"), "another start").unwrap();
    lab.recipe = Lab::new().recipe;
    fs::remove_dir_all(lab.path("built")).unwrap();
    lab.build(Kind::Patched, &shop).unwrap();
    assert_eq!(lab.compiled("7.2.13-1/ballast"), ["core.o", "fair.o"]);
}

/// Where a child of the next test builds.
const CHILD: &str = "BALLAST_TEST_BUILD_IN";

fn wait_for(what: &str, done: impl Fn() -> bool) {
    for _ in 0..600 {
        if done() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("{what}");
}

/// Builds in a process of its own, which is ended by a signal: together with all that it started,
/// as a terminal does it, or alone. make ends with it; the lock is free when its last command ends.
#[test]
fn an_interrupted_build_leaves_no_result_and_no_process() {
    let shop = Shop::new(&[("7.2.13-1", FAIR)]);
    if let Some(cache) = std::env::var_os(CHILD) {
        let cache = PathBuf::from(cache);
        let request =
            Request { kind: Kind::Patched, source: None, jobs: Some(2), mutant: None, cache };
        let recipe = Lab::new().recipe;
        build_from(&request, &recipe, "gcc 1", &shop, &Progress::new()).unwrap();
        return;
    }
    for (whole_group, signal) in
        [(true, libc::SIGINT), (false, libc::SIGTERM), (false, libc::SIGKILL)]
    {
        let lab = Lab::new();
        fs::create_dir_all(lab.path("linux")).unwrap();
        fs::write(lab.path("linux/slow"), "").unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args([
            "--exact",
            "kernel::build::tests::an_interrupted_build_leaves_no_result_and_no_process",
        ]);
        child.env(CHILD, lab.cache.path()).process_group(0).stdout(Stdio::null());
        // SAFETY: signal is all that runs between fork and exec. A shell's background jobs ignore SIGINT.
        unsafe {
            child.pre_exec(|| {
                libc::signal(libc::SIGINT, libc::SIG_DFL);
                Ok(())
            });
        }
        let mut child = child.stderr(Stdio::null()).spawn().unwrap();
        wait_for("the build begins", || lab.path("linux/begun").exists());
        let id = child.id() as i32;
        // SAFETY: kill takes no pointers, and the child has not been waited for.
        unsafe { libc::kill(if whole_group { -id } else { id }, signal) };
        assert_eq!(child.wait().unwrap().signal(), Some(signal));
        assert_eq!(lab.results(), 0);
        let lock = fs::File::open(lab.path("built/.lock")).unwrap();
        // SAFETY: flock takes no pointers, and the file is open.
        let free = || unsafe { libc::flock(lock.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0;
        // Alone it leaves behind a compiler that does not end at once: nobody else begins before.
        assert!(whole_group || !free());
        fs::remove_file(lab.path("linux/slow")).unwrap();
        wait_for("make ends", free);
        drop(lock);
        assert!(!lab.path("linux/7.2.13-1/ballast/arch/x86/boot/bzImage").exists());
        shop.kept.replace(None);
        assert!(image(&lab.build(Kind::Patched, &shop).unwrap()).contains("STEAL"));
        assert_eq!(shop.asked(), ["index"], "the source is here already");
    }
}

#[test]
fn two_at_once_build_once() {
    let lab = Lab::new();
    let begin = std::sync::Barrier::new(2);
    let (cache, recipe) = (lab.cache.path(), &lab.recipe);
    let run = || {
        let shop = Shop::new(&[("7.2.13-1", FAIR)]);
        let cache = cache.to_path_buf();
        let request =
            Request { kind: Kind::Patched, source: None, jobs: Some(1), mutant: None, cache };
        begin.wait();
        build_from(&request, recipe, "gcc 1", &shop, &Progress::new()).unwrap()
    };
    let (first, second) = std::thread::scope(|scope| {
        let other = scope.spawn(run);
        (run(), other.join().unwrap())
    });
    assert_eq!(first, second);
    assert_eq!(lab.compiled("7.2.13-1/ballast").len(), 2);
}

#[test]
fn what_is_kept_waits_for_nobody() {
    let (newer, older) = (("7.2.14-1", "one\n2\nthree\n"), ("7.2.13-1", FAIR));
    let (lab, shop) = (Lab::new(), Shop::new(&[newer, older]));
    let first = lab.build(Kind::Patched, &shop).unwrap();
    // As another process does while it builds.
    let busy = Results::open(lab.cache.path(), &Progress::new()).unwrap();
    let (cache, recipe) = (lab.cache.path().to_path_buf(), &lab.recipe);
    let (done, again) = std::sync::mpsc::channel();
    let second = std::thread::scope(|scope| {
        scope.spawn(move || {
            let shop = Shop::new(&[newer, older]);
            shop.refresh(&Progress::new()).unwrap();
            let request =
                Request { kind: Kind::Patched, source: None, jobs: None, mutant: None, cache };
            done.send(build_from(&request, recipe, "gcc 1", &shop, &Progress::new())).unwrap();
        });
        let second = again.recv_timeout(std::time::Duration::from_secs(10));
        drop(busy);
        second
    });
    let second = second.unwrap_or_else(|_| panic!("it waits for the other"));
    assert_eq!(second.unwrap(), first);
}

#[test]
fn another_compiler_builds_again() {
    let (lab, shop) = (Lab::new(), Shop::new(&[("7.2.13-1", FAIR)]));
    let first = lab.build(Kind::Patched, &shop).unwrap();
    let request = lab.request(Kind::Patched);
    let second = build_from(&request, &lab.recipe, "gcc 2", &shop, &Progress::new()).unwrap();
    assert_ne!(first.key, second.key);
    assert_eq!((first.compiler.as_str(), second.compiler.as_str()), ("gcc 1", "gcc 2"));
}
