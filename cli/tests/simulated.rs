// SPDX-License-Identifier: GPL-2.0-only
//! The simulator from outside: a published table at a small size, same seed same bytes, bad words.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::process::{Command, Output};

use serde_json::Value;

fn ballast(words: &str) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_ballast"));
    program.args(words.split_whitespace()).output().unwrap()
}

fn refused(words: &str, part: &str) {
    let output = ballast(words);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{words}: {said}");
    assert!(output.stdout.is_empty(), "{words}");
    assert_eq!(said.lines().count(), 1, "{words}: {said}");
    assert!(said.starts_with("ballast: ") && said.contains(part), "{words}: {said}");
}

fn document(words: &str) -> Value {
    let output = ballast(&format!("{words} --json -"));
    assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The document without what the host's clock said.
fn bytes(mut document: Value) -> String {
    for run in document["runs"].as_array_mut().unwrap() {
        assert!(run.as_object_mut().unwrap().remove("host_ns").is_some());
    }
    document.to_string()
}

const RUN: &str = "sim run --machine e5-2630v4 --message-ns 1500 --sched cfs-4.20,cfs-4.20+STEAL \
    --workload hackbench+transport=socket+groups=2+loops=100";

/// Stealing is what the table is about, and the status says what the checks say.
#[test]
fn a_small_table_has_every_cell_and_a_status() {
    let words = "reproduce steal-hackbench --loops 40 --seeds 1 --check --json -";
    let output = ballast(words);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let ok = document["summary"]["ok"].as_bool().unwrap();
    assert_eq!(output.status.code(), Some(i32::from(!ok)));
    let cells = document["cells"].as_array().unwrap();
    assert!(!cells.is_empty());
    for cell in cells {
        assert!(cell["simulated_base"].is_number() && cell["simulated_new"].is_number(), "{cell}");
        let fitted = cell["metric"] == "time" && cell["x"] == "8";
        assert_eq!(cell["role"] == "fitted", fitted, "{cell}");
        if cell["metric"] == "steal" {
            assert_eq!(cell["simulated_base"], 0.0, "{cell}");
            assert!(cell["simulated_new"].as_f64().unwrap() > 0.0, "{cell}");
        }
        if cell["metric"] == "time" {
            assert!(cell["simulated_gain_pct"].as_f64().unwrap() > 0.0, "{cell}");
        }
    }
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.lines().all(|l| l.chars().count() <= 100), "{text}");
    let again = ballast(words);
    assert_eq!(again.stdout, output.stdout, "whatever the threads do");
}

/// Runs that are too short to settle are not what was published: with --check that is status 1, and
/// the document says which bounds.
#[test]
fn a_table_out_of_its_bounds_fails_the_check() {
    let words = "reproduce steal-hackbench --loops 10";
    assert_eq!(ballast(words).status.code(), Some(0));
    let output = ballast(&format!("{words} --check --json -"));
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(
        text.contains("\nok seeds: 3 in") && text.contains("\nMISSED time patched low: "),
        "{text}"
    );
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["summary"]["ok"], false);
    let checks = document["summary"]["checks"].as_array().unwrap();
    let missed = checks.iter().filter(|c| c["ok"] == false).count();
    assert_eq!(missed, text.lines().filter(|l| l.starts_with("MISSED ")).count());
}

/// Each part is left out, each constant moved both ways unless it is at its end, and none is kept
/// from the reader. The size is the least at which tasks wake and sleep.
#[test]
fn every_part_and_every_constant_is_shown() {
    let output = ballast("reproduce steal-hackbench --ablate --loops 4 --seeds 1 --json -");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.lines().all(|l| l.chars().count() <= 100), "{text}");
    let names = |list: &Value| -> Vec<String> {
        let names = list.as_array().unwrap().iter().map(|v| v["name"].as_str().unwrap());
        names.map(str::to_owned).collect()
    };
    let parts = [
        "newidle",
        "avg_idle_gate",
        "periodic",
        "nohz",
        "wake_affine",
        "wake_wide",
        "recent_used_cpu",
        "socket_contention",
        "idle_states",
        "ipi_cost",
    ];
    assert_eq!(names(&document["variants"]), parts.map(|p| format!("no {p}")));
    for variant in document["variants"].as_array().unwrap() {
        assert_eq!(variant["cells"].as_array().unwrap().len(), 40);
        let shown = text.matches(variant["name"].as_str().unwrap()).count();
        assert!(shown >= 5, "{variant}");
    }
    let still = &document["variants"][0];
    let time = |list: &Value, name: &str| {
        let rows = list.as_array().unwrap();
        let row = rows.iter().find(|v| v["name"] == name).unwrap().clone();
        let cells = row["cells"].as_array().unwrap();
        let time = cells.iter().find(|c| c["metric"] == "time" && c["x"] == "8").unwrap();
        (time["simulated_base"].as_f64().unwrap(), row["message_ns"].as_f64().unwrap())
    };
    let ours = time(&document["variants"], "no newidle");
    let free = time(&document["variants"], "no socket_contention");
    assert!(free.0 < ours.0 && free.1 == ours.1, "{free:?} {ours:?}");
    let rows = &document["sensitivity"]["variants"];
    let [less, more] = ["message_ns -20 %", "message_ns +20 %"].map(|name| time(rows, name));
    assert!(less.0 < more.0 && less.1 < ours.1 && more.1 > ours.1, "{less:?} {ours:?} {more:?}");
    let note = still["note"].as_str().unwrap();
    assert!(note.starts_with("no figure moves; alive in the test newidle_pulls"), "{note}");
    let mut moved = names(rows);
    for name in ["switch_ns +20 %", "buffer_lines +14 %", "line_llc_ns -21 %"] {
        assert!(moved.iter().any(|m| m == name), "{name}: {moved:?}");
    }
    let unchanged = document["sensitivity"]["unchanged"].as_array().unwrap();
    assert!(unchanged.iter().any(|name| name == "line_socket_ns -20 %"), "{unchanged:?}");
    moved.extend(unchanged.iter().map(|name| name.as_str().unwrap().to_owned()));
    let at_their_end = document["sensitivity"]["at_their_end"].to_string();
    assert_eq!(at_their_end, r#"["smt_permille above 1000"]"#);
    let constants = names(&document["constants"]);
    for wanted in ["message_ns", "line_llc_ns", "buffer_lines", "pick_permille", "steal_cost_ns"] {
        assert!(constants.iter().any(|c| c == wanted), "{constants:?}");
    }
    assert_eq!(moved.len(), 2 * constants.len() - 1);
    for name in constants {
        let rows = moved.iter().filter(|m| m.starts_with(&format!("{name} "))).count();
        assert_eq!(rows, if name == "smt_permille" { 1 } else { 2 }, "{name}");
        assert!(text.contains(&format!("  {name} = ")), "{name}");
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let one = document(RUN);
    let (base, new) = (&one["runs"][0], &one["runs"][1]);
    assert!(base["counters"]["steal"] == 0 && new["counters"]["steal"].as_u64() > Some(0));
    assert_ne!(base["digest"], new["digest"]);
    let other = document(&format!("{RUN} --seed 2"));
    assert_ne!(one["runs"][0]["digest"], other["runs"][0]["digest"]);
    assert_eq!(one["inputs_digest"], other["inputs_digest"]);
    assert_eq!(bytes(one), bytes(document(RUN)));
}

/// Stealing keeps two sockets busy as well, and all messages arrive.
#[test]
fn two_sockets_steal_as_well() {
    let words = RUN.replace("e5-2630v4", "e5-2630v4-2s").replace("groups=2", "groups=8");
    let document = document(&words);
    let of =
        |run: usize, path: &str| document["runs"][run].pointer(path).unwrap().as_f64().unwrap();
    assert_eq!(of(0, "/counters/steal"), 0.0);
    assert!(of(1, "/counters/steal") > 10.0);
    assert!(of(0, "/busy_pct") > 75.0 && of(1, "/busy_pct") > of(0, "/busy_pct") + 3.0);
    assert!(of(1, "/results/time_s") < of(0, "/results/time_s"));
    let [base, new] = [0, 1].map(|run| of(run, "/results/messages"));
    assert_eq!([base, new], [320_000.0; 2], "8 x 400 x 100");
}

#[test]
fn one_scheduler_stands_at_the_top() {
    let alone = document(&RUN.replace("cfs-4.20,", ""));
    assert_eq!(alone["sched"], "cfs-4.20+STEAL");
    assert_eq!(alone["features"], serde_json::json!(["STEAL"]));
    assert!(alone.get("runs").is_none());
}

#[test]
fn operations_are_priced() {
    let priced = document("sim costs --machine e5-2630v4-2s");
    let names: Vec<&str> =
        priced["results"].as_array().unwrap().iter().map(|r| r["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["scan of an empty mask", "steal", "newidle pass"]);
}

/// A row a scheduler, and what the rates are made of. How fast it is depends on the host.
#[test]
fn speed_is_measured_per_scheduler() {
    let words = "sim bench --runs 2 --workload hackbench+transport=socket+groups=2+loops=20";
    let output = ballast(&format!("{words} --json -"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let measured: Value = serde_json::from_slice(&output.stdout).unwrap();
    let results = measured["results"].as_array().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("best of 2 runs") && text.lines().all(|l| l.chars().count() <= 100));
    for (row, sched) in results.iter().zip(["cfs-4.20", "cfs-4.20+STEAL"]) {
        let number = |key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{key}: {row}"));
        assert_eq!(row["sched"], sched);
        assert_eq!(row["machine"], "e5-2630v4");
        assert_eq!([number("cpus"), number("tasks")], [20.0, 80.0]);
        // 2 groups of 20 x 20 x 20 messages, each sent and received.
        assert_eq!(number("operations"), 32_000.0);
        let seconds = number("host_ns") / 1e9;
        assert!((number("operations_per_s") * seconds - 32_000.0).abs() < 1.0, "{row}");
        assert!((number("switches_per_s") * seconds - number("switches")).abs() < 1.0, "{row}");
        let times: Vec<u64> =
            row["all_host_ns"].as_array().unwrap().iter().map(|t| t.as_u64().unwrap()).collect();
        assert_eq!(times.len(), 2);
        assert_eq!(times.iter().min(), row["host_ns"].as_u64().as_ref(), "the best counts");
        assert!(text.lines().any(|l| l.split_whitespace().next() == Some(sched)), "{text}");
    }
    assert_eq!(results.len(), 2);
}

/// Whatever this machine lacks for the second part, the table comes first and whole.
#[test]
fn the_demo_begins_with_the_table() {
    let mut program = Command::new(env!("CARGO_BIN_EXE_ballast"));
    let output = program.arg("demo").env("XDG_CACHE_HOME", "/proc/none").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.starts_with("ballast: ") && said.contains("/proc/none"), "{said}");
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
    let parts =
        ["1. ", "SIMULATED", "STEAL", "████", "null: patched = baseline", "2. A real"].map(at);
    assert!(parts.is_sorted(), "{text}");
    assert!(text.lines().all(|l| l.chars().count() <= 100), "{text}");
}

#[test]
fn bad_words_get_one_line_and_status_2() {
    refused("reproduce steal-hackbecnh", "`steal-hackbench`");
    refused("reproduce steal-hackbench --chekc", "--check");
    refused("reproduce steal-hackbench --seeds 0", "0");
    refused("reproduce steal-hackbench --json /no/such/folder/x.json", "--json");
    refused(&RUN.replace("e5-2630v4", "e5-2630"), "`e5-2630v4`");
    refused(&RUN.replace("transport", "transprot"), "transport");
    refused(&RUN.replace("groups", "gruops"), "`groups`");
    refused(&RUN.replace("cfs-4.20,", "cfs-4.2,"), "cfs-4.20");
    refused(&RUN.replace("+STEAL", "+STAEL"), "STEAL");
    refused(&RUN.replace("--workload", "--wrokload"), "--workload");
    refused("sim costs --machine e5-2630", "`e5-2630v4`");
    refused("sim bench --machine e5-2630", "`e5-2630v4`");
    refused("sim bench --sched cfs-4.2", "cfs-4.20");
    refused("sim bench --runs 0", "0");
    refused("sim bench --json /no/such/folder/x.json", "--json");
}
