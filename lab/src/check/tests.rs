// SPDX-License-Identifier: GPL-2.0-only
#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use crate::compare::{compare_all, Rules};
use crate::report::fixture::{document, entry};
use crate::report::KernelInfo;

/// Compares the document's columns and returns the bounds that were missed.
fn missed(doc: &mut Document) -> Vec<String> {
    let topology = Topology { cpus: doc.topology.cpus, nodes: 1, smt: 1 };
    let setting = Setting { mode: doc.mode, topology, at_once: doc.cpus_at_once, cores: 4 };
    let rules = doc
        .results
        .iter()
        .map(|e| (e.bench.clone(), Rules::of(&What::parse(&e.bench).unwrap(), &setting)))
        .collect();
    doc.comparisons = compare_all(&doc.results, &rules, &doc.kernels_by_name());
    checks(doc).iter().filter(|c| !c.ok).map(Check::line).collect()
}

fn columns(bench: &str, means: [f64; 3], boots: usize) -> Document {
    let all = ["eevdf", "null", "ballast"].iter().zip(means);
    document(all.map(|(sched, mean)| entry(sched, bench, mean, boots)).collect())
}

#[test]
fn what_meets_every_bound_misses_none() {
    for bench in ["hackbench", "hackbench+transport=socket", "pipe+pinned=1"] {
        let mut doc = columns(bench, [1.0, 0.95, 0.9], 10);
        assert_eq!(missed(&mut doc), Vec::<String>::new(), "{bench}");
        assert!(!checks(&doc).is_empty());
    }
}

#[test]
fn a_switch_may_cost_a_tenth_more_than_the_floor() {
    assert!(missed(&mut columns("pipe+pinned=1", [1.5, 1.0, 1.099], 10)).is_empty());
    let lines = missed(&mut columns("pipe+pinned=1", [1.5, 1.0, 1.11], 10));
    assert_eq!(lines.len(), 1);
    assert!(
        lines[0].starts_with("MISSED pipe+pinned=1 ballast") && lines[0].contains("1.110 x null")
    );
}

#[test]
fn pipes_must_be_ahead_and_sockets_not_behind() {
    assert_eq!(missed(&mut columns("hackbench", [1.0, 1.0, 1.0], 10)).len(), 1);
    assert!(missed(&mut columns("hackbench+transport=socket", [1.0, 1.0, 1.0], 10)).is_empty());
    assert_eq!(missed(&mut columns("hackbench+transport=socket", [1.0, 1.0, 1.2], 10)).len(), 1);
}

#[test]
fn being_cheap_by_packing_or_by_letting_wait_misses() {
    for bench in ["hackbench", "hackbench+transport=socket"] {
        let mut packed = columns(bench, [1.0, 1.0, 0.5], 10);
        for meter in &mut packed.results[2].meter {
            meter.effective_cpus = Some(1.0);
        }
        assert!(missed(&mut packed)[0].contains("effective CPUs"), "{bench}");
        let mut late = columns(bench, [1.0, 1.0, 0.5], 10);
        late.results[2].sleeper_p99_us = Some(47_000.0);
        assert!(missed(&mut late)[0].contains("sleeper"), "{bench}");
        let mut unknown = columns(bench, [1.0, 1.0, 0.5], 10);
        unknown.results[2].sleeper_p99_us = None;
        assert!(missed(&mut unknown)[0].contains("missing"), "{bench}");
    }
}

#[test]
fn few_boots_are_judged_by_their_mean() {
    assert!(missed(&mut columns("hackbench", [1.0, 1.0, 0.97], 2)).is_empty());
    assert_eq!(missed(&mut columns("hackbench", [1.0, 1.0, 1.01], 2)).len(), 1);
}

#[test]
fn the_floor_is_never_ahead() {
    let mut doc = columns("hackbench", [1.0, 0.5, 0.5], 10);
    assert!(missed(&mut doc).is_empty());
    doc.results[1].sleeper_p99_us = Some(60.0);
    assert_eq!(missed(&mut doc).len(), 1, "with a good sleeper it would be ahead");
}

#[test]
fn sleepers_and_shares_have_bounds() {
    let one_cpu = |bench: &str, mean: f64| {
        let mut doc = columns(bench, [100.0, 100.0, mean], 4);
        doc.topology.cpus = 1;
        doc
    };
    assert!(missed(&mut one_cpu("sleeper+hogs=8", 109.0)).is_empty());
    assert_eq!(missed(&mut one_cpu("sleeper+hogs=8", 111.0)).len(), 1);
    let mut shares = one_cpu("shares", 4.0);
    assert_eq!(missed(&mut shares).len(), 1, "nothing says that it is monotonic");
    shares.results[2].details = vec![serde_json::json!({"monotonic": true}); 4];
    assert!(missed(&mut shares).is_empty());
    shares.results[2].samples[0] = 5.2;
    assert_eq!(missed(&mut shares).len(), 1);
}

#[test]
fn delays_of_several_cpus_are_judged_in_parallel_mode_only() {
    let mut doc = columns("sleeper+hogs=8+fifo=1", [100.0, 100.0, 101.0], 5);
    doc.topology.cpus = 3;
    assert!(missed(&mut doc).is_empty(), "instruction mode: printed, not judged");
    (doc.mode, doc.cpus_at_once) = (Mode::Parallel, true);
    assert_eq!(missed(&mut doc).len(), 1);
    doc.results[0].samples.clear();
    let missed = missed(&mut doc);
    assert!(missed.len() == 2 && missed.iter().all(|m| m.contains("not measured")), "{missed:?}");
}

#[test]
fn violations_missing_steals_and_bad_ends_miss() {
    let mut doc = columns("hackbench", [1.0, 1.0, 0.5], 10);
    doc.results[2].meter[3].counters.insert("rebase_violations".to_owned(), 1);
    assert!(missed(&mut doc)[0].contains("1 rebase violations"));
    let mut doc = columns("hackbench", [1.0, 1.0, 0.5], 10);
    doc.mode = Mode::Parallel;
    assert!(missed(&mut doc)[0].contains("0 steals"));
    doc.results[2].status = Status::Ejected;
    doc.results[2].reason = "seed 3: stall".to_owned();
    assert_eq!(missed(&mut doc), ["MISSED hackbench ballast 7.2.13: seed 3: stall"]);
}

/// EEVDF's columns on our two kernels: means, and steals of the column with STEAL.
fn ours(bench: &str, means: [f64; 3], steals: [Option<u64>; 3]) -> Document {
    let words = ["eevdf-unpatched", "eevdf", "eevdf+STEAL"];
    let mut entries: Vec<Entry> =
        words.iter().zip(means).map(|(sched, mean)| entry(sched, bench, mean, 10)).collect();
    for (entry, steals) in entries.iter_mut().zip(steals) {
        // a narrow spread, as a pinned pipe has in instruction mode
        let mean = entry.samples.iter().sum::<f64>() / 10.0;
        entry.samples.iter_mut().for_each(|s| *s = mean + (*s - mean) / 20.0);
        for meter in &mut entry.meter {
            meter.counters.extend(steals.map(|n| ("steals".to_owned(), n)));
        }
    }
    entries[0].kernel = "7.2.13-unpatched".to_owned();
    let mut doc = document(entries);
    doc.kernels[0].base = Some("linux-source-7.2".to_owned());
    let unpatched = KernelInfo { release: "7.2.13-unpatched".to_owned(), ..doc.kernels[0].clone() };
    doc.kernels.push(unpatched);
    doc
}

const STEALS: [Option<u64>; 3] = [None, Some(0), Some(40)];

#[test]
fn patches_that_do_nothing_cost_nothing() {
    let missed = |means| missed(&mut ours("pipe+pinned=1", means, STEALS));
    assert_eq!(missed([10.0, 10.02, 10.1]), Vec::<String>::new());
    let dear = missed([10.0, 10.07, 10.0]);
    assert_eq!(dear.len(), 1, "{dear:?}");
    assert!(dear[0].starts_with("MISSED pipe+pinned=1 eevdf 7.2.13: +0.70 %"), "{dear:?}");
    assert!(missed([10.0, 9.93, 10.0])[0].contains("must be within 0.5 %"), "either way");
    assert!(missed([10.0, 10.0, 10.21])[0].contains("eevdf+STEAL"));
    // the mean is within the bound, the interval is not
    assert_eq!(missed([10.0, 10.049, 10.0]).len(), 1);
    let mut doc = ours("pipe+pinned=1", [10.0, 10.07, 10.0], STEALS);
    doc.kernels[1].base = None;
    doc.comparisons.clear();
    assert!(super::checks(&doc).iter().all(|c| c.ok), "no comparison, no bound");
}

#[test]
fn steals_where_asked_and_nowhere_else() {
    let missed = |bench, steals| missed(&mut ours(bench, [1.0; 3], steals));
    assert_eq!(missed("churn", [None, Some(1), Some(0)]), [""; 0], "it flips the flag itself");
    assert_eq!(missed("hackbench", STEALS), Vec::<String>::new());
    let without = missed("hackbench", [None, Some(1), Some(40)]);
    assert!(without[0].starts_with("MISSED hackbench eevdf 7.2.13: 1 to 1 steals"), "{without:?}");
    let none = missed("hackbench", [None, Some(0), Some(0)]);
    assert!(none[0].starts_with("MISSED hackbench eevdf+STEAL") && none.len() == 1, "{none:?}");
    assert_eq!(missed("hackbench", [None, Some(0), None]).len(), 1, "not counted");
    assert!(missed("hackbench", [None, None, Some(40)]).is_empty(), "a stock kernel counts none");
    assert_eq!(missed("pipe", [None, Some(3), Some(0)]).len(), 1, "a pipe may have none to steal");
    let mut one_seed = ours("hackbench", [1.0; 3], STEALS);
    one_seed.results[2].meter[4].counters.insert("steals".to_owned(), 0);
    assert!(super::tests::missed(&mut one_seed)[0].contains("0 to 40 steals"));
}
