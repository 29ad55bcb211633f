// SPDX-License-Identifier: GPL-2.0-only
//! The program from outside: help, version, and what bad input gets. Nothing here boots a guest.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::process::{Command, Output};

/// Without a cache folder that can be made, so that looking for a kernel would fail otherwise.
fn ballast(args: &[&str]) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_ballast"));
    program.args(args).env("XDG_CACHE_HOME", "/proc/none").output().unwrap()
}

/// Exit status 2, nothing on standard output, one line on standard error that says `part`.
fn refused(args: &[&str], part: &str) {
    let output = ballast(args);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
    assert!(output.stdout.is_empty(), "{args:?}");
    assert_eq!(said.lines().count(), 1, "{args:?}: {said}");
    assert!(said.starts_with("ballast: ") && said.contains(part), "{args:?}: {said}");
}

#[test]
fn bad_words_get_one_line_and_status_2() {
    let lab = |rest: &[&'static str], part: &str| {
        let words = ["lab", "run", "--sched", "eevdf", "--bench", "sleeper"];
        refused(&[&words[..2], rest].concat(), part);
    };
    lab(&["--sched", "eevfd"], "`eevdf`");
    lab(&["--sched", "ballast+NO_STAEL", "--bench", "sleeper"], "STEAL");
    lab(&["--sched", "eevdf,eevdf"], "given twice");
    lab(&["--sched", "eevdf", "--bench", "slepeer"], "`sleeper`");
    lab(&["--sched", "eevdf", "--bench", "sleeper+hog=1"], "`hogs`");
    lab(&["--sched", "eevdf", "--cpus", "100000"], "100000 CPUs");
    lab(&["--sched", "eevdf", "--cpus", "6", "--nodes", "4"], "multiple of 4");
    lab(&["--sched", "eevdf", "--cpus", "many"], "many");
    lab(&["--sched", "eevdf", "--runs", "0"], "--runs 0");
    lab(&["--sched", "eevdf", "--", "no-such-program-here"], "no-such-program-here");
    lab(&["--sched", "eevdf", "--json", "/no/such/folder/x.json"], "/no/such/folder");
    lab(&["--sched", "eevdf+STAEL"], "`STEAL`");
    lab(&["--sched", "eevdf,eevdf+STEAL", "--kernel", "host"], "--kernel host: `eevdf+STEAL`");
    lab(&["--sched", "eevdf+STEAL", "--kernel", "6.18"], "no column runs there");
    lab(&["--sched", "eevdf-unpatched+STEAL"], "without the patches");
    lab(&["--sched", "eevdf", "--bench", "churn", "--cpus", "1"], "at least 2 CPUs");
    lab(&["--instructions", "--parallel"], "--parallel");
    lab(&["--krenel", "auto"], "--kernel");
    refused(&["demno"], "demo");
    refused(&["lab", "rum"], "run");
}

#[test]
fn the_json_path_is_looked_at_before_anything_else() {
    refused(&["lab", "run", "--sched", "eevfd", "--json", "/no/such/folder/x.json"], "--json");
    refused(&["demo", "--json", "/no/such/folder/x.json"], "--json");
}

#[test]
fn a_mask_outside_the_guest_is_refused_without_a_kernel() {
    refused(&["lab", "run", "--sched", "eevdf+taskset=10", "--bench", "sleeper"], "CPU 4");
}

#[test]
fn help_has_examples_and_the_version_its_commit() {
    for line in [
        "--help",
        "lab run --help",
        "demo --help",
        "kernel --help",
        "kernel build --help",
        "kernel show --help",
        "reproduce --help",
        "sim --help",
        "sim run --help",
        "sim costs --help",
        "sim bench --help",
        "machine --help",
        "machine list --help",
        "machine show --help",
        "workload --help",
        "workload list --help",
        "workload show --help",
    ] {
        let args: &[&str] = &line.split(' ').collect::<Vec<_>>();
        let output = ballast(args);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && text.contains("Examples:"), "{args:?}: {text}");
        assert!(text.lines().all(|l| l.chars().count() <= 100), "{args:?}");
    }
    let version = String::from_utf8(ballast(&["--version"]).stdout).unwrap();
    let (number, commit) = version.trim().split_once('+').unwrap();
    assert_eq!(number, concat!("ballast ", env!("CARGO_PKG_VERSION")));
    assert!(!commit.is_empty());
}

#[test]
fn kernels_are_shown_or_what_to_type() {
    refused(&["kernel", "build", "--debug", "--unpatched"], "--unpatched");
    refused(&["kernel", "build", "--jobs", "0"], "0");
    refused(&["kernel", "biuld"], "build");
    refused(&["kernel", "show", "--json", "/no/such/folder/x.json"], "--json");
    let output = ballast(&["kernel", "show", "--json", "-"]);
    assert!(output.status.success());
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("unpatched: not built: ./ballast kernel build --unpatched\n"), "{text}");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&json["schema"], &json["kernels"]), (&1.into(), &serde_json::json!([])));
}

#[test]
fn machines_and_workloads_are_found_or_refused() {
    refused(&["machine", "show", "e5-2630"], "`e5-2630v4`");
    refused(&["machine", "show", "./no-such.toml"], "./no-such.toml: cannot read");
    refused(&["machine", "show", "."], "unknown machine `.`");
    refused(&["machine", "show", "/"], "no file");
    refused(&["machine", "show"], "<MACHINE>");
    refused(&["machine", "lst"], "list");
    refused(&["machine", "list", "--json", "/no/such/folder/x.json"], "--json");
    refused(&["workload", "show", "hackbench"], "`hackbench+transport=socket`");
    refused(&["workload", "show", "hackbench+transport=socket+gruops=2"], "`groups`");
    refused(&["workload", "show", "hackbench+transport=socket+groups=0"], "from 1 to 1000");
    refused(&["workload", "show", "/no/such.toml+groups=2"], "/no/such.toml: cannot read");
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    for (name, text, part) in [
        ("none.toml", "title = 't'\nsource = 's'\ncpus = 0", "cpus = 0"),
        ("syntax.toml", "cpus = ", "line 1: not TOML"),
        ("key.toml", "cpsu = 1", "`cpus`"),
    ] {
        std::fs::write(path(name), text).unwrap();
        let json = path("out.json");
        refused(&["machine", "show", &path(name), "--json", &json], part);
        assert!(!std::fs::exists(&json).unwrap(), "{name}");
    }
}

#[test]
fn documents_go_where_they_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("out.json").to_string_lossy().into_owned();
    for words in ["machine list", "machine show e5-2630v4", "workload list"] {
        let words: Vec<&str> = words.split(' ').collect();
        let plain = ballast(&words);
        let both = ballast(&[&words[..], &["--json", &json]].concat());
        assert!(plain.status.success() && plain.stderr.is_empty());
        assert_eq!(plain.stdout, both.stdout);
        let here = ballast(&[&words[..], &["--json", "-"]].concat());
        assert_eq!(here.stderr, plain.stdout);
        let file = std::fs::read_to_string(&json).unwrap();
        let out = String::from_utf8(here.stdout).unwrap();
        assert!(file.starts_with("{\n  \"schema\": 1,\n  \"ballast\": "), "{file}");
        // They differ only where the command line stands.
        assert_eq!(file.replace(&json, "-"), out);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
