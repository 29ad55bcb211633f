// SPDX-License-Identifier: GPL-2.0-only
//! What the simulator's commands say of input that is not right: one line, status 2, and the file
//! that was to be written is as it was.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

const MACHINE: &str = include_str!("../../machines/e5-2630v4-2s.toml");
const WORKLOAD: &str = include_str!("../../workloads/hackbench-process-socket.toml");

/// Commands that read a machine, `M` in them.
const OF_A_MACHINE: [&str; 3] = [
    "machine show M",
    "sim costs --machine M",
    "sim run --machine M --sched cfs-4.20 --workload hackbench+transport=socket",
];

/// Commands that read a workload, `W` in them.
const OF_A_WORKLOAD: [&str; 2] =
    ["workload show W", "sim run --machine e5-2630v4 --sched cfs-4.20,cfs-4.20+STEAL --workload W"];

/// Names and texts of all files in a folder.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    let name = |p: &Path| p.file_name().unwrap().to_string_lossy().into_owned();
    let mut all: Vec<_> = entries.map(|p| (name(&p), std::fs::read(&p).unwrap())).collect();
    all.sort();
    all
}

/// Refused in `folder`, in one line that says `part`; no file there is changed or left behind.
fn refused(folder: &Path, words: &str, part: &str) {
    let before = files(folder);
    let mut program = Command::new(env!("CARGO_BIN_EXE_ballast"));
    let output = program.args(words.split(' ')).current_dir(folder).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{words}: {said}");
    assert!(output.stdout.is_empty(), "{words}");
    assert_eq!(said.lines().count(), 1, "{words}: {said}");
    assert!(said.starts_with("ballast: ") && said.contains(part), "{words}: {said}");
    assert_eq!(files(folder), before, "{words}");
}

/// With the text as `bad.toml` in place of `what`, and an older document where the new one goes.
fn refused_file(commands: &[&str], what: &str, text: &str, part: &str) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("bad.toml"), text).unwrap();
    std::fs::write(folder.path().join("out.json"), "an older one").unwrap();
    for command in commands {
        let words = command.replace(what, "./bad.toml");
        refused(folder.path(), &format!("{words} --json out.json"), part);
    }
}

fn refused_edit(commands: &[&str], what: &str, whole: &str, edits: &[(&str, &str, &str)]) {
    for (from, to, part) in edits {
        assert_eq!(whole.matches(from).count(), 1, "{from}");
        refused_file(commands, what, &whole.replace(from, to), &format!("./bad.toml: {part}"));
    }
}

#[test]
fn machines_that_are_wrong() {
    let edits = [
        ("[10, 30]", "[10, 30, 0]", "CPU 0 is in LLC 0 and in LLC 1: list it in one"),
        ("[10, 30]", "[10, 30, 11]", "CPU 11 is listed twice in LLC 1"),
        ("[10, 30]", "[10]", "CPU 30 is in no LLC"),
        ("[10, 30]", "[10, 30, 40]", "CPU 40 in LLC 1: with cpus = 40"),
        ("cpus = 40", "cpus = 0", "cpus = 0: give a whole number from 1 to 4096"),
        ("cpus = 40", "cpus = -40", "cpus = -40: give a whole number from 1 to 4096"),
        ("cpus = 40", "cpsu = 40", "unknown key `cpsu`: the nearest is `cpus`"),
        ("node = 1", "noed = 1", "unknown key in llc[1] `noed`: the nearest is `node`"),
        ("switch_ns  ", "swicth_ns  ", "unknown key in costs `swicth_ns`: the nearest is `switch_"),
        ("{ value = 1100,", "{ value = -1100,", "costs.switch_ns.value = -1100: give a whole num"),
        ("{ value = 1100,", "{ value = 1.1,", "costs.switch_ns.value = 1.1: give a whole number"),
        ("{ value = 1100,", "{ vlaue = 1100,", "unknown key in costs.switch_ns `vlaue`: the neare"),
    ];
    refused_edit(&OF_A_MACHINE, "M", MACHINE, &edits);
    let costs = MACHINE.find("[costs]").unwrap();
    let none = format!("{}{}", &MACHINE[..MACHINE.find("[[llc]]").unwrap()], &MACHINE[costs..]);
    refused_file(&OF_A_MACHINE, "M", &none, "./bad.toml: CPU 0 is in no LLC");
    refused_file(&OF_A_MACHINE, "M", &MACHINE[..costs], "./bad.toml: costs is missing");
    refused_file(&OF_A_MACHINE, "M", "", "./bad.toml: cpus is missing");
    refused_file(&OF_A_MACHINE, "M", "\u{0}", "./bad.toml: line 1: not TOML");
}

#[test]
fn workloads_that_are_wrong() {
    let edits = [
        ("\ncommand", "\ncomand", "unknown key `comand`: the nearest is `command`"),
        (
            "senders = { value = 20",
            "senders = { value = 0",
            "model.senders.value = 0: give a whole",
        ),
        ("{ value = 278", "{ value = -278", "model.capacity_messages.value = -278: give a whole"),
        (
            "resume_divisor",
            "resume_dividor",
            "unknown key in model `resume_dividor`: the nearest is",
        ),
    ];
    refused_edit(&OF_A_WORKLOAD, "W", WORKLOAD, &edits);
    refused_file(&OF_A_WORKLOAD, "W", "", "./bad.toml: ");
    // Well described, but another socket than the one that is simulated.
    let other = WORKLOAD.replace("{ value = 278", "{ value = 277");
    refused_file(&OF_A_WORKLOAD[1..], "W", &other, "./bad.toml: the simulator has as many");
}

#[test]
fn words_that_are_not_known() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |words: &str, part: &str| refused(folder.path(), words, part);
    for command in OF_A_MACHINE {
        let json = format!("{command} --json out.json");
        refused(
            &json.replace('M', "e5-2360v4"),
            "unknown machine `e5-2360v4`: the nearest is `e5-",
        );
        refused(
            &json.replace('M', "./no.toml"),
            "./no.toml: cannot read this machine file: No suc",
        );
        refused(&json.replace('M', "./"), "./: a machine is a file in TOML, and this is no file");
    }
    for command in OF_A_WORKLOAD {
        for (word, part) in [
            (
                "hackbnech+transport=socket",
                "unknown workload `hackbnech`: the nearest is `hackbench`",
            ),
            (
                "hackbench+transport=sokcet",
                "no workload file has transport=sokcet; there is `hackbench+transport=socket`",
            ),
            ("hackbench+transport=socket+gruops=2", "the nearest is `groups`"),
            ("hackbench+transport=socket+groups=0", "from 1 to 1000"),
            ("hackbench+transport=socket+groups=many", "from 1 to 1000"),
            ("./no.toml", "./no.toml: cannot read this workload file: No such file"),
        ] {
            refused(&format!("{} --json out.json", command.replace('W', word)), part);
        }
    }
    let run = "sim run --machine e5-2630v4 --workload hackbench+transport=socket --json out.json";
    for (sched, part) in [
        ("cfs-4.02", "unknown scheduler `cfs-4.02`: the nearest is `cfs-4.20`"),
        ("cfs-4.20,esf-4.20", "unknown scheduler `esf-4.20`: the nearest is `cfs-4.20`"),
        ("cfs-4.20+STAEL", "unknown feature `STAEL`: the nearest is `STEAL`"),
        ("cfs-4.20,cfs-4.20+NO_SIS_COER", "unknown feature `SIS_COER`: the nearest is `SIS_CORE`"),
        ("cfs-4.20,", "unknown scheduler ``: the nearest is `cfs-4.20`"),
    ] {
        refused(&format!("{run} --sched {sched}"), part);
    }
    refused("reproduce steal-hackbnech --json out.json", "the nearest is `steal-hackbench`");
}

/// Said before anything is simulated.
#[test]
fn outputs_that_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "not a folder").unwrap();
    let others = ["reproduce steal-hackbench --full", "machine list", "workload list"];
    let whole = |c: &&str| c.replace('M', "e5-2630v4").replace('W', "hackbench+transport=socket");
    let all = OF_A_MACHINE.iter().chain(&OF_A_WORKLOAD).chain(&others);
    for command in all.map(whole) {
        for (json, part) in [
            ("no-such-folder/out.json", "--json no-such-folder/out.json: cannot write there"),
            ("file/out.json", "--json file/out.json: cannot write there"),
            ("/proc/out.json", "--json /proc/out.json: cannot write there"),
            (".", "--json `.`: names no file"),
        ] {
            refused(folder.path(), &format!("{command} --json {json}"), part);
        }
    }
}
