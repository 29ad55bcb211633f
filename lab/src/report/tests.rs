// SPDX-License-Identifier: GPL-2.0-only
#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::fixture::{document, entry};
use super::table::{figure, lines, WIDTH};
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
    doc.comparisons = compare_all(&doc.results, &rules, &doc.kernels_by_name());
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

/// EEVDF with and without flags on our kernel, without patches, and ballast on a stock one.
fn ours() -> Document {
    let words = ["eevdf", "eevdf+SIS_LIMIT+SIS_ROTATE+NO_NEWIDLE", "eevdf-unpatched", "ballast"];
    let mut results = words.map(|s| entry(s, "hackbench", 0.2, 10)).to_vec();
    let counters = ["easy", "cpu_hit", "core_hit", "none", "find_ns", "steals", "misses"];
    for entry in &mut results[..2] {
        for meter in &mut entry.meter {
            meter.counters = counters.map(|c| (c.to_owned(), 1_234_567_000)).into();
            meter.counters.insert("steals".to_owned(), 123_456);
            meter.idle_while_waiting_pct = Some(12.345);
        }
    }
    results[2].kernel = "7.2.13-unpatched".to_owned();
    results[3].kernel = "7.2.13+deb14-cloud-amd64".to_owned();
    let mut doc = document(results);
    doc.kernels[0].base = Some("linux-source-7.2 7.2.13-1, gcc 12".to_owned());
    for (i, release) in [(2, "7.2.13-unpatched"), (3, "7.2.13+deb14-cloud-amd64")] {
        let base = doc.kernels[0].base.clone().filter(|_| i == 2);
        let release = release.to_owned();
        doc.kernels.push(KernelInfo { release, base, ..doc.kernels[0].clone() });
    }
    let rules = [("hackbench".to_owned(), Rules { crowded: true, unjudged: None })].into();
    doc.comparisons = compare_all(&doc.results, &rules, &doc.kernels_by_name());
    doc
}

#[test]
fn columns_of_different_kernels_are_told_apart() {
    let text = tables(&ours());
    let whole = text.replace("\n  ", " ").replace('\n', " ");
    for part in [
        "eevdf-unpatched: on 7.2.13-unpatched (linux-image 7.2.13-1)",
        "ballast: on 7.2.13+deb14-cloud-amd64 (",
        "what runs on one kernel is not compared with what runs on another, but for those of one",
        "hackbench on 7.2.13 and 7.2.13-unpatched: s",
        "hackbench on 7.2.13+deb14-cloud-amd64: s",
        "eevdf against eevdf-unpatched: ",
        "7.2.13 and 7.2.13-unpatched: p99, us: eevdf 60.00, eevdf+SIS_LIMIT",
        "share of CPU time idle while a task waits: 12.35 ± 0.00 % against 12.35 ± 0.00 %, +0.00",
    ] {
        assert!(whole.contains(part), "{part} is not in\n{text}");
    }
    assert!(!text.contains("ballast against") && !text.contains("against ballast"), "{text}");
    assert!(!tables(&full()).contains("not compared"), "one kernel for all");
    for line in text.lines() {
        assert!(line.chars().count() <= WIDTH, "{}: {line}", line.chars().count());
    }
}

#[test]
fn counters_of_the_fair_class_stand_below_its_columns() {
    let text = tables(&ours());
    let names = text.lines().find(|l| l.contains("its counters")).unwrap();
    let words: Vec<&str> = names.split_whitespace().collect();
    let wanted = "its counters easy cpu hit core hit none find us misses";
    assert_eq!(words.join(" "), wanted);
    let row = text.lines().skip_while(|l| !l.contains("its counters")).nth(1).unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells[0], "eevdf");
    assert_eq!((cells[1], cells[5]), ("1,234,567,000", "1,234,567"), "ns in the document, us here");
    assert_eq!(text.matches("its counters").count(), 1, "only where there are any");
    let mut few = ours();
    for meter in few.results.iter_mut().flat_map(|e| &mut e.meter) {
        meter.counters.retain(|name, _| name == "steals" || name == "misses");
    }
    let text = tables(&few);
    let names = text.lines().find(|l| l.contains("its counters")).unwrap();
    assert_eq!(names.split_whitespace().collect::<Vec<_>>(), ["its", "counters", "misses"]);
}

#[test]
fn each_pair_is_printed_once_from_the_better_side() {
    let text = tables(&full());
    assert!(text.contains("null against eevdf") && !text.contains("eevdf against null"));
}

#[test]
fn lines_break_at_blanks_whatever_the_characters() {
    let broken = |text: &str| {
        let mut out = String::new();
        lines(&mut out, text, "");
        out
    };
    let (long, short) = ("x".repeat(99), "y".repeat(98));
    assert_eq!(broken(&format!("{short} ±±±")), format!("{short}\n±±±\n"));
    assert_eq!(broken(&format!("{long} ±")), format!("{long}\n±\n"));
    assert_eq!(broken(&format!("{long}x ±")), format!("{long}x\n±\n"));
    assert_eq!(broken(&"±".repeat(101)), format!("{}\n±\n", "±".repeat(100)));
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
