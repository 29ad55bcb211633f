// SPDX-License-Identifier: GPL-2.0-only
#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::fixture::{document, entry};
use super::table::{figure, WIDTH};
use super::*;
use crate::compare::{compare_all, Rules};
use crate::error::exit_status;

fn full() -> Document {
    let long = "ballast+NO_STEAL+slice_us=3000+preempt_us=500+credit_us=4000+steal_node_limit=2";
    let mut columns = vec![
        entry("eevdf", "hackbench", 0.254, 10),
        entry("null", "hackbench", 0.179, 10),
        entry(long, "hackbench", 0.181, 10),
    ];
    columns[2].meter[0].counters.insert("steals".to_owned(), 7);
    columns[2].status = Status::Ejected;
    columns[2].reason = format!("seed 4: {}", "runnable task stall ".repeat(20));
    columns[2].log = format!("line\n{}\n", "x".repeat(300));
    let mut doc = document(columns);
    let rules = [("hackbench".to_owned(), Rules { crowded: true, unjudged: None })].into();
    doc.comparisons = compare_all(&doc.results, &rules, &doc.eevdf_sleepers());
    doc
}

#[test]
fn no_line_is_wider_than_a_terminal() {
    let text = tables(&full());
    for line in text.lines() {
        assert!(line.chars().count() <= WIDTH, "{}: {line}", line.chars().count());
    }
}

#[test]
fn a_figure_never_stands_without_its_meter() {
    let text = tables(&full());
    let names = text.lines().find(|l| l.starts_with("sched ")).unwrap();
    let row = text.lines().find(|l| l.starts_with("eevdf ")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    for name in ["mean", "switches", "eff.CPUs", "IPIs", "queued ms", "steals", "status"] {
        assert!(names.contains(name), "{names}");
    }
    assert_eq!(cells[1], "0.2537");
    assert_eq!(cells[4..8], ["10", "19,087", "4.00", "339"]);
    assert_eq!(cells.last(), Some(&"ok"));
}

#[test]
fn kernel_mode_verdict_sleeper_and_bad_end_are_named() {
    let text = tables(&full());
    for part in [
        "hackbench on 7.2.13: s, lower is better",
        "instruction mode: emulated",
        "null against eevdf: -29.5 %",
        "cheaper-but-late: one-CPU sleeper p99 47000 us against EEVDF's 60",
        "ejected: seed 4: runnable task stall",
        "one-CPU guest, 7.2.13: p99, us: eevdf 60.00, null 47,000",
        "did not end ok",
    ] {
        let joined = text.replace("\n  ", " ");
        assert!(joined.contains(part) || text.contains(part), "{part} is not in\n{text}");
    }
}

#[test]
fn each_pair_is_printed_once_from_the_better_side() {
    let text = tables(&full());
    assert!(text.contains("null against eevdf") && !text.contains("eevdf against null"));
}

#[test]
fn figures_have_four_digits() {
    for (value, text) in [
        (0.18254, "0.1825"),
        (14.1534, "14.15"),
        (219.88, "219.9"),
        (47_012.3, "47,012"),
        (0.0, "0.000"),
        (1234.0, "1,234"),
    ] {
        assert_eq!(figure(value), text);
    }
}

#[test]
fn the_document_has_the_documented_keys_in_order() {
    let text = serde_json::to_string(&full()).unwrap();
    let head = r#"{"schema":1,"ballast":"0.1.0+abc","command":["ballast"],"seed":1,"#;
    assert!(text.starts_with(head), "{text}");
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["mode"], "instructions");
    assert_eq!(value["topology"]["llcs"], 1);
    assert_eq!(value["results"][2]["status"], "ejected");
    assert_eq!(value["results"][0]["meter"][0]["effective_cpus"], 4.0);
    let null = value["comparisons"].as_array().unwrap().iter().find(|c| c["a"] == "null");
    assert_eq!(null.unwrap()["verdict"], "cheaper-but-late");
    assert_eq!(null.unwrap()["ci95_pct"].as_array().unwrap().len(), 2);
    let none = value["comparisons"].as_array().unwrap().last().unwrap();
    assert!(none["verdict"].is_null() && none["note"].is_string());
    let again: Document = serde_json::from_str(&text).unwrap();
    assert_eq!(again, full());
}

#[test]
fn exit_statuses() {
    let ends = |statuses: &[Status]| {
        let columns = statuses.iter().map(|&status| Entry { status, ..entry("x", "pipe", 1.0, 2) });
        document(columns.collect()).exit_status()
    };
    use Status::{Ejected, Failed, Ok, Refused};
    assert_eq!(ends(&[Ok, Ok]), 0);
    assert_eq!(ends(&[Ok, Ejected]), 1);
    assert_eq!(ends(&[Ok, Refused]), 1);
    assert_eq!(ends(&[Refused, Refused]), 3);
    assert_eq!(ends(&[Refused, Failed]), 1);
}

#[test]
fn results_are_renamed_into_place() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("result.json");
    std::fs::write(&path, "older").unwrap();
    let sink = Sink::new(path.to_str().unwrap()).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "older", "a look leaves it alone");
    sink.write(&full()).unwrap();
    let read: Document = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(read, full());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn where_nothing_can_be_written_is_known_beforehand() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().to_str().unwrap();
    for bad in [folder.to_owned(), format!("{folder}/none/x.json"), String::new()] {
        let error = Sink::new(&bad).unwrap_err();
        assert_eq!(exit_status(&error), 2, "{bad}");
        assert!(!error.to_string().contains('\n'));
    }
    assert_eq!(Sink::new("-").unwrap(), Sink::Stdout);
}
