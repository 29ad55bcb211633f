// SPDX-License-Identifier: GPL-2.0-only
//! What the simulated stealing table shows, and what it must not have read.
#![allow(clippy::unwrap_used)]

use super::*;
use ballast_sim::Mutant;
use ballast_sim_data::report::{judge, Check};

/// What the command makes of these words, of a table, with a change to the model.
fn reproduce(words: &str, table: &Table, change: Change) -> Report {
    let words = ["steal-hackbench"].into_iter().chain(words.split_whitespace());
    let args = Args::of(words).unwrap();
    report(&args, table.clone(), change, &Progress::new()).unwrap()
}

fn published() -> Table {
    Table::find("steal-hackbench").unwrap()
}

/// Enough to tell one table from another.
const SMALL: &str = "--loops 10 --seeds 1";

fn message_ns_of(report: &Report) -> f64 {
    report.constants.iter().find(|c| c.name == "message_ns").unwrap().value
}

/// Every figure of the patched kernel, and every effect, is nonsense: nothing that is simulated
/// changes, nor what it rests on.
#[test]
fn no_patched_figure_is_read() {
    let real = published();
    for nonsense in [f64::NAN, f64::MAX, -1.0] {
        let mut table = real.clone();
        for cell in &mut table.cells {
            (cell.new.value, cell.new.text) = (nonsense, nonsense.to_string());
            cell.gain_pct = Some(nonsense);
            cell.sd_new_pct = Some(nonsense);
        }
        let [ours, theirs] = [&real, &table].map(|t| reproduce(SMALL, t, unchanged));
        assert_eq!(ours.constants, theirs.constants, "{nonsense}");
        assert_eq!(ours.cells, theirs.cells, "{nonsense}");
    }
}

/// Of the baseline's figures the fit reads one, and that one moves it.
#[test]
fn one_baseline_figure_is_fitted_to() {
    let real = published();
    let ours = reproduce(SMALL, &real, unchanged);
    let changed = |fitted: bool| {
        let mut table = real.clone();
        for cell in &mut table.cells {
            if (cell.metric == "time" && cell.x == "8") == fitted {
                cell.base.value *= 1.5;
            }
        }
        reproduce(SMALL, &table, unchanged)
    };
    assert_eq!(changed(false).constants, ours.constants);
    assert_eq!(changed(false).cells, ours.cells);
    let ratio = message_ns_of(&changed(true)) / message_ns_of(&ours);
    assert!((1.3..2.5).contains(&ratio), "{ratio}");
}

/// A constant names the baseline's figures that it comes from, and they are there. Nothing but the
/// work of a message is fitted, nothing but the threads' speed derived.
#[test]
fn constants_come_from_baseline_cells_only() {
    let table = published();
    let report = reproduce(SMALL, &table, unchanged);
    let document = serde_json::to_value(report.document("", &[])).unwrap();
    for (key, name) in [("fitted_from", "message_ns"), ("derived_from", "smt_permille")] {
        let all = document["constants"].as_array().unwrap();
        let from: Vec<_> = all.iter().filter(|c| !c[key].is_null()).collect();
        assert_eq!(from.len(), 1, "{key}: {from:?}");
        assert_eq!(from[0]["name"], name);
        let cells = from[0][key].as_str().unwrap().strip_prefix("baseline's ").unwrap();
        for (metric, x) in cells.split(", ").map(|c| c.split_once(" at ").unwrap()) {
            assert!(table.cell(metric, x).is_some(), "{cells}");
        }
    }
}

/// The bounds that a changed model misses, with the command's own loops and seeds; the work of a
/// message is fitted anew, because a defect that the fit can hide shows nothing. Only the fewest and
/// the most groups are run. That is enough: a bound is over all points at once, so that one missed
/// by these two is missed by the whole table.
fn missed(change: Change) -> Vec<String> {
    let mut table = published();
    table.cells.retain(|c| ["1", "8"].contains(&c.x.as_str()));
    let report = reproduce("", &table, change);
    let checks = judge(&report.table, &report.cells);
    let missed: Vec<&Check> = checks.iter().filter(|c| !c.ok).collect();
    let (nr, all) = (missed.len(), checks.len());
    println!("result: {} ns a message; {nr} of {all} bounds are missed", message_ns_of(&report));
    missed.iter().for_each(|c| println!("result: {}", c.line()));
    missed.into_iter().map(|c| c.name.clone()).collect()
}

/// Among what a defect breaks is what it is about.
fn breaks(change: Change, bounds: &[&str]) {
    let missed = missed(change);
    for bound in bounds {
        assert!(missed.iter().any(|m| m == bound), "{bound} is met; missed: {missed:?}");
    }
}

#[test]
#[cfg_attr(debug_assertions, ignore = "takes minutes without --release")]
fn no_defect_breaks_no_bound() {
    assert!(missed(unchanged).is_empty());
}

#[test]
#[cfg_attr(debug_assertions, ignore = "takes minutes without --release")]
fn defect_no_avg_idle_gate() {
    let change: Change = |s| assert!(s.parts.leave_out("avg_idle_gate"));
    breaks(change, &["speedup", "busy baseline", "idle baseline"]);
}

#[test]
#[cfg_attr(debug_assertions, ignore = "takes minutes without --release")]
fn defect_newidle_always_succeeds() {
    let change: Change = |s| s.mutant = Some(Mutant::NewidleAlways);
    breaks(change, &["speedup", "busy baseline", "idle baseline"]);
}

#[test]
#[cfg_attr(debug_assertions, ignore = "takes minutes without --release")]
fn defect_no_idle_search_at_wake_up() {
    breaks(|s| s.mutant = Some(Mutant::NoIdleSearch), &["busy baseline", "busy patched"]);
}

#[test]
#[cfg_attr(debug_assertions, ignore = "takes minutes without --release")]
fn defect_stealing_behind_the_gate_of_newidle() {
    let change: Change = |s| s.mutant = Some(Mutant::StealGated);
    breaks(change, &["speedup", "busy patched", "steal patched"]);
}
