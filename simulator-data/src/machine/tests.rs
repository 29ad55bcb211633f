// SPDX-License-Identifier: GPL-2.0-only
#![allow(clippy::unwrap_used)]
use super::*;
use crate::files::MACHINES;

/// A machine of two LLCs on two nodes with a core of two threads each.
const SHAPE: &str = "\
title = 't'
source = 's'
cpus = 4
[[llc]]
node = 0
cores = [[0, 2]]
[[llc]]
node = 1
cores = [[1, 3]]
";

fn text(shape: &str, costs: &str) -> String {
    let default: String = COSTS
        .iter()
        .map(|c| format!("{} = {{ value = {}, source = 'x' }}\n", c.name, c.low.max(1)))
        .filter(|line| !costs.lines().any(|c| c.split(' ').next() == line.split(' ').next()))
        .collect();
    format!("{shape}[costs]\n{default}{costs}")
}

fn error(shape: &str, costs: &str) -> String {
    let line = MachineFile::parse("m.toml", &text(shape, costs)).unwrap_err().to_string();
    assert!(!line.contains('\n'), "{line}");
    line
}

#[test]
fn ballast_s_own_have_linux_s_intel_numbering() {
    let one = MachineFile::find("e5-2630v4").unwrap();
    assert_eq!((one.cpus.len(), one.cores(), one.llcs(), one.nodes()), (20, 10, 1, 1));
    let two = MachineFile::find("e5-2630v4-2s").unwrap();
    assert_eq!((two.cpus.len(), two.cores(), two.llcs(), two.nodes()), (40, 20, 2, 2));
    for (machine, cores, per_node) in [(&one, 10, 10), (&two, 20, 10)] {
        for (cpu, place) in machine.cpus.iter().enumerate() {
            let core = cpu as u32 % cores;
            let node = core / per_node;
            assert_eq!(*place, Place { core, llc: node, node }, "CPU {cpu}");
        }
        assert_eq!(machine.costs.line_smt_ns, 8);
        assert_eq!(machine.costs.line_socket_ns, 118);
        assert_eq!(machine.costs.c6_target_ns, 400_000);
        assert!(machine.source_of("ipi_ns").unwrap().source.contains("recalled, unverified"));
        assert!(machine.source_of("line_llc_ns").unwrap().source.contains("(published)"));
    }
    assert_eq!(one.costs, two.costs);
    assert_eq!(one.name, "e5-2630v4");
}

#[test]
fn every_figure_of_ours_has_a_mark() {
    for name in MACHINES.names() {
        let machine = MachineFile::find(name).unwrap();
        for (cost, sourced) in COSTS.iter().zip(&machine.sources) {
            let marks =
                ["(published)", "(recalled, unverified)", "(fitted or suggested)", "(assumed)"];
            let marked = marks.iter().any(|m| sourced.source.contains(m));
            let marked = marked || !sourced.derived_from.is_empty();
            assert!(marked, "{name}: {}: {}", cost.name, sourced.source);
            assert_eq!(machine.costs.get(cost.name), Some(sourced.value));
        }
    }
}

#[test]
fn a_users_file_is_read_by_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    std::fs::write(&path, text(SHAPE, "")).unwrap();
    let machine = MachineFile::find(&path.to_string_lossy()).unwrap();
    assert_eq!((machine.name.as_str(), machine.llcs(), machine.nodes()), ("mine", 2, 2));
    assert_eq!(machine.cpus[2], Place { core: 0, llc: 0, node: 0 });
    assert_eq!(machine.cpus[3], Place { core: 1, llc: 1, node: 1 });
}

#[test]
fn cpus_that_do_not_add_up_are_named() {
    for (from, to, says) in [
        ("[[1, 3]]", "[[1, 3, 2]]", "CPU 2 is in LLC 0 and in LLC 1: list it in one"),
        ("[[0, 2]]", "[[0, 2], [0]]", "CPU 0 is listed twice in LLC 0: list it in one core, once"),
        ("[[0, 2]]", "[[0, 0]]", "CPU 0 is listed twice in LLC 0"),
        ("[[1, 3]]", "[[3]]", "CPU 1 is in no LLC: list each CPU from 0 to 3"),
        ("[[1, 3]]", "[[1, 3], [4]]", "CPU 4 in LLC 1: with cpus = 4 they are numbered 0 to 3"),
        ("[[1, 3]]", "[]", "llc[1].cores = []: an LLC has at least one core"),
        ("[[1, 3]]", "[[1], [], [3]]", "llc[1].cores = a list: give a list of cores"),
        ("[[1, 3]]", "[[1, -3]]", "llc[1].cores = a list: give a list of cores"),
        ("[[1, 3]]", "[1, 3]", "llc[1].cores = a list: give a list of cores"),
        ("node = 1", "node = 2", "node 1 has no CPU: number the nodes from 0"),
        ("node = 1", "node = -1", "llc[1].node = -1: give a whole number from 0"),
        ("cpus = 4", "cpus = 0", "cpus = 0: give a whole number from 1 to 4096"),
        ("cpus = 4", "cpus = 5000", "cpus = 5000: give a whole number from 1 to 4096"),
        ("cpus = 4\n", "", "cpus is missing: give a whole number from 1 to 4096"),
        ("node = 1\n", "", "llc[1].node is missing"),
        ("title = 't'\n", "", "title is missing"),
        ("source = 's'\n", "", "source is missing"),
        ("cpus = 4", "cpsu = 4", "unknown key `cpsu`: the nearest is `cpus`"),
        ("node = 1", "noed = 1", "unknown key in llc[1] `noed`: the nearest is `node`"),
    ] {
        let shape = SHAPE.replacen(from, to, 1);
        assert_ne!(shape, SHAPE);
        let line = error(&shape, "");
        assert!(line.starts_with(&format!("m.toml: {says}")), "{line}");
    }
    let none = "title = 't'\nsource = 's'\ncpus = 1\n";
    assert!(error(none, "").starts_with("m.toml: CPU 0 is in no LLC"));
    let line = error(&format!("{none}llc = 3\n"), "");
    assert!(line.starts_with("m.toml: llc = 3: give tables, each under [[llc]]"), "{line}");
}

#[test]
fn costs_that_are_wrong_are_named() {
    for (costs, says) in [
        (
            "ipi_ns = { value = -1, source = 'x' }",
            "costs.ipi_ns.value = -1: give a whole number from 0",
        ),
        (
            "tick_hz = { value = 0, source = 'x' }",
            "costs.tick_hz.value = 0: give a whole number from 1",
        ),
        (
            "smt_permille = { value = 1001, source = 'x' }",
            "costs.smt_permille.value = 1001: give a whole number from 1 to 1000 (permille)",
        ),
        ("ipi_ns = { value = 1 }", "costs.ipi_ns.source is missing: give where the figure"),
        (
            "ipi_us = { value = 1, source = 'x' }",
            "unknown key in costs `ipi_us`: the nearest is `ipi_ns`",
        ),
    ] {
        let line = error(SHAPE, costs);
        assert!(line.starts_with(&format!("m.toml: {says}")), "{line}");
    }
    for cost in COSTS {
        let whole = text(SHAPE, "");
        let without: Vec<&str> =
            whole.lines().filter(|l| l.split(' ').next() != Some(cost.name)).collect();
        let line = MachineFile::parse("m.toml", &without.join("\n")).unwrap_err().to_string();
        assert!(line.starts_with(&format!("m.toml: costs.{} is missing", cost.name)), "{line}");
    }
    let line = MachineFile::parse("m.toml", SHAPE).unwrap_err().to_string();
    assert_eq!(line, "m.toml: costs is missing: give a table");
    MachineFile::parse("m.toml", &text(SHAPE, "")).unwrap();
}
