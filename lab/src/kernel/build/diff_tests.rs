// SPDX-License-Identifier: GPL-2.0-only
//! Patches of a few lines, and what does not fit.
#![allow(clippy::unwrap_used)]

use super::*;

const FAIR: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n";

/// As git formats it, with a message that looks like parts of a patch.
const PATCH: &str = "\
From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001
From: A <a@example.org>
Subject: [PATCH 1/2] sched/fair: a change

--- is no name here
---
 kernel/fair.c | 3 ++-
 2 files changed, 3 insertions(+), 1 deletion(-)

diff --git a/kernel/fair.c b/kernel/fair.c
index 1234567..89abcde 100644
--- a/kernel/fair.c
+++ b/kernel/fair.c
@@ -2,4 +2,5 @@ struct x
 two
 three
-four
+FOUR
+and a half
 five
diff --git a/kernel/steal.h b/kernel/steal.h
new file mode 100644
--- /dev/null
+++ b/kernel/steal.h
@@ -0,0 +1,2 @@
+new
+file
-- 
2.39.5

";

fn tree(files: &[(&str, &str)]) -> impl Fn(&str) -> Result<Option<Vec<u8>>, String> {
    let files: BTreeMap<String, Vec<u8>> =
        files.iter().map(|(name, text)| (name.to_string(), text.as_bytes().to_vec())).collect();
    move |name| Ok(files.get(name).cloned())
}

fn applied(patch: &str, before: &[(&str, &str)]) -> Result<(Files, Moved), String> {
    let mut files = Files::new();
    let moved = apply(patch.as_bytes(), &mut files, &tree(before))?;
    Ok((files, moved))
}

fn text_of(files: &Files, name: &str) -> String {
    String::from_utf8(files[name].clone().unwrap()).unwrap()
}

#[test]
fn a_patch_as_git_formats_it_is_applied() {
    let (files, moved) = applied(PATCH, &[("kernel/fair.c", FAIR)]).unwrap();
    assert_eq!(
        text_of(&files, "kernel/fair.c"),
        "one\ntwo\nthree\nFOUR\nand a half\nfive\nsix\nseven\neight\n"
    );
    assert_eq!(text_of(&files, "kernel/steal.h"), "new\nfile\n");
    assert_eq!((files.len(), moved), (2, Moved::default()));
}

#[test]
fn a_hunk_that_lies_elsewhere_is_told_and_one_of_two_places_is_refused() {
    let below = format!("zero\nzero\nzero\n{FAIR}");
    let (files, moved) = applied(PATCH, &[("kernel/fair.c", &below)]).unwrap();
    assert!(text_of(&files, "kernel/fair.c").contains("three\nFOUR\nand a half\nfive\n"));
    assert_eq!(moved, Moved { hunks: 1, lines: 3 });
    let twice = format!("zero\n{FAIR}{FAIR}");
    let why = applied(PATCH, &[("kernel/fair.c", &twice)]).unwrap_err();
    assert_eq!(why, "kernel/fair.c: hunk 1 (line 2) would fit at more than one place");
}

#[test]
fn one_odd_byte_is_enough_to_refuse() {
    for odd in [FAIR.replace("two", "tw0"), FAIR.replace("five\n", "five \n"), String::new()] {
        let why = applied(PATCH, &[("kernel/fair.c", &odd)]).unwrap_err();
        assert_eq!(why, "kernel/fair.c: hunk 1 (line 2) does not fit");
    }
    assert_eq!(applied(PATCH, &[]).unwrap_err(), "changes kernel/fair.c, which is not there");
    let both = [("kernel/fair.c", FAIR), ("kernel/steal.h", "x\n")];
    assert_eq!(applied(PATCH, &both).unwrap_err(), "makes kernel/steal.h, which is there already");
}

#[test]
fn later_hunks_and_patches_see_what_earlier_ones_left() {
    let patch =
        "--- a/f\n+++ b/f\n@@ -1,2 +1,3 @@\n one\n+more\n two\n@@ -7,2 +8,1 @@\n seven\n-eight\n";
    let (mut files, moved) = applied(patch, &[("f", FAIR)]).unwrap();
    assert_eq!(text_of(&files, "f"), "one\nmore\ntwo\nthree\nfour\nfive\nsix\nseven\n");
    assert_eq!(moved, Moved::default());
    let second = b"--- a/f\n+++ b/f\n@@ -2 +2 @@\n-more\n+less\n";
    apply(second, &mut files, &tree(&[])).unwrap();
    assert!(text_of(&files, "f").starts_with("one\nless\ntwo\n"));
    // A hunk is not looked for before the one above it, even where its lines stand there.
    for line in ["6", "2"] {
        let second = format!("@@ -{line} +{line} @@\n-two\n+2\n");
        let patch = format!("--- a/f\n+++ b/f\n@@ -5 +5 @@\n-five\n+5\n{second}");
        let why = applied(&patch, &[("f", FAIR)]).unwrap_err();
        assert_eq!(why, format!("f: hunk 2 (line {line}) does not fit"));
    }
}

#[test]
fn files_are_removed_whole_or_not_at_all() {
    let patch = "--- a/f\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n";
    let (files, _) = applied(patch, &[("f", "one\ntwo\n")]).unwrap();
    assert_eq!(files["f"], None);
    let why = applied(patch, &[("f", "one\ntwo\nthree\n")]).unwrap_err();
    assert_eq!(why, "removes f, but not all of it");
}

#[test]
fn a_last_line_without_newline_is_kept_so() {
    let patch = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n one\n-two\n\\ No newline at end of file\n+2\n";
    let (files, _) = applied(patch, &[("f", "one\ntwo")]).unwrap();
    assert_eq!(text_of(&files, "f"), "one\n2\n");
    let back = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n one\n-2\n+two\n\\ No newline at end of file\n";
    let (files, _) = applied(back, &[("f", "one\n2\n")]).unwrap();
    assert_eq!(text_of(&files, "f"), "one\ntwo");
    assert!(applied(patch, &[("f", "one\ntwo\n")]).is_err());
}

#[test]
fn what_is_no_patch_is_told() {
    let told = |patch: &str| applied(patch, &[("f", FAIR), ("g", FAIR)]).unwrap_err();
    assert_eq!(told(""), "changes nothing");
    assert_eq!(told("just words\n"), "changes nothing");
    assert_eq!(told("--- a/f\n+++ b/f\n"), "changes nothing");
    assert_eq!(told("@@ -1 +1 @@\n-one\n+1\n"), "has a hunk before any file's name");
    assert_eq!(told("--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n one\n"), "is cut short");
    assert_eq!(told("--- a/f\n+++ b/../g\n@@ -1 +1 @@\n-one\n+1\n"), "names an odd file: b/../g");
    assert!(told("--- a/f\n+++ b/g\n@@ -1 +1 @@\n-one\n+1\n").starts_with("renames a file to g"));
    assert!(
        told("--- a/f\n+++ b/f\n@@ -x +1 @@\n").starts_with("has a hunk that is no hunk: @@ -x")
    );
    assert!(told("--- a/f\n+++ b/f\n@@ -1,2 +1 @@\n-one\n?two\n").contains("no hunk"));
    for end in 0..PATCH.len() {
        let _ = applied(&PATCH[..end], &[("kernel/fair.c", FAIR)]);
    }
}
