// SPDX-License-Identifier: GPL-2.0-only
#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

const RULES: Rules = Rules { crowded: true, unjudged: None };

fn entry(sched: &str, mean: f64, cpus: Option<f64>, sleeper: Option<f64>) -> Entry {
    let reading = Reading {
        switches: 9000,
        effective_cpus: cpus,
        queue_delay_ns: 1,
        ipis: 1,
        guest_uptime_ms: 4000,
        counters: BTreeMap::new(),
        idle_while_waiting_pct: None,
    };
    Entry {
        sched: sched.to_owned(),
        sched_version: "1".to_owned(),
        bench: "hackbench".to_owned(),
        bench_command: "hackbench".to_owned(),
        unit: "s".to_owned(),
        better: Better::Lower,
        kernel: "7.2.13".to_owned(),
        status: Status::Ok,
        reason: String::new(),
        log: String::new(),
        samples: vec![mean * 0.99, mean, mean * 1.01],
        seeds: vec![1, 2, 3],
        meter: vec![reading; 3],
        details: Vec::new(),
        sleeper_p99_us: sleeper,
        repeats: 0,
        voided: 0,
        note: None,
    }
}

fn verdict(a: &Entry, b: &Entry, eevdf: Option<f64>) -> Option<Verdict> {
    compare(a, b, &RULES, eevdf).verdict
}

#[test]
fn each_verdict() {
    let eevdf = entry("eevdf", 1.0, Some(4.0), Some(60.0));
    let better = |cpus, sleeper| entry("x", 0.8, Some(cpus), Some(sleeper));
    let says = |a: &Entry| verdict(a, &eevdf, Some(60.0)).unwrap();
    assert_eq!(says(&better(3.9, 60.0)), Verdict::Ahead);
    assert_eq!(says(&better(3.81, 120.0)), Verdict::Ahead, "up to both limits");
    assert_eq!(says(&better(3.79, 60.0)), Verdict::Packed);
    assert_eq!(says(&better(3.9, 120.1)), Verdict::Late);
    assert_eq!(says(&better(1.0, 47_000.0)), Verdict::Packed, "the first that fails");
    assert_eq!(says(&entry("x", 1.2, Some(4.0), Some(60.0))), Verdict::Behind);
    assert_eq!(says(&entry("x", 1.001, Some(4.0), Some(60.0))), Verdict::NoDifference);
}

#[test]
fn higher_may_be_better() {
    let mut eevdf = entry("eevdf", 1.0, Some(4.0), Some(60.0));
    let mut fast = entry("x", 1.2, Some(4.0), Some(60.0));
    eevdf.better = Better::Higher;
    fast.better = Better::Higher;
    assert_eq!(verdict(&fast, &eevdf, Some(60.0)), Some(Verdict::Ahead));
    assert_eq!(verdict(&eevdf, &fast, Some(60.0)), Some(Verdict::Behind));
}

#[test]
fn missing_effective_cpus_are_never_ahead() {
    let eevdf = entry("eevdf", 1.0, Some(4.0), Some(60.0));
    let blind = entry("x", 0.5, None, Some(60.0));
    let result = compare(&blind, &eevdf, &RULES, Some(60.0));
    assert_eq!(result.verdict, None);
    assert!(result.note.unwrap().contains("effective CPUs are missing"));
    let blind_eevdf = entry("eevdf", 1.0, None, Some(60.0));
    let spread = entry("x", 0.5, Some(4.0), Some(60.0));
    assert_eq!(verdict(&spread, &blind_eevdf, Some(60.0)), None);
    let mut half = spread.clone();
    half.meter[1].effective_cpus = None;
    assert_eq!(verdict(&half, &eevdf, Some(60.0)), None, "one sample without is enough");
    let mut none = spread.clone();
    none.meter.clear();
    assert_eq!(verdict(&none, &eevdf, Some(60.0)), None, "no meter at all");
    let easy = Rules { crowded: false, unjudged: None };
    assert_eq!(compare(&blind, &eevdf, &easy, Some(60.0)).verdict, Some(Verdict::Ahead));
}

#[test]
fn a_missing_sleeper_is_never_ahead() {
    let eevdf = entry("eevdf", 1.0, Some(4.0), Some(60.0));
    let unknown = entry("x", 0.5, Some(4.0), None);
    let result = compare(&unknown, &eevdf, &RULES, Some(60.0));
    assert_eq!(result.verdict, None);
    assert!(result.note.unwrap().contains("sleeper"));
    let known = entry("x", 0.5, Some(4.0), Some(60.0));
    assert_eq!(verdict(&known, &eevdf, None), None, "EEVDF's own is missing");
}

#[test]
fn columns_that_did_not_end_well_are_not_compared() {
    let eevdf = entry("eevdf", 1.0, Some(4.0), Some(60.0));
    let mut ejected = entry("x", 0.5, Some(4.0), Some(60.0));
    ejected.status = Status::Ejected;
    for (a, b) in [(&ejected, &eevdf), (&eevdf, &ejected)] {
        let result = compare(a, b, &RULES, Some(60.0));
        assert_eq!((result.change_pct, result.verdict), (None, None));
        assert!(result.note.unwrap().contains("x did not end ok"));
    }
}

#[test]
fn one_boot_has_no_verdict() {
    let mut a = entry("x", 0.5, Some(4.0), Some(60.0));
    a.samples.truncate(1);
    let result = compare(&a, &entry("eevdf", 1.0, Some(4.0), Some(60.0)), &RULES, Some(60.0));
    assert!(result.change_pct.is_some() && result.ci95_pct.is_none());
    assert_eq!(result.verdict, None);
}

#[test]
fn pairs_are_ordered_and_stay_on_their_kernel_and_bench() {
    let mut entries: Vec<Entry> =
        ["a", "b", "c"].map(|s| entry(s, 1.0, Some(4.0), Some(60.0))).to_vec();
    entries.push(Entry { kernel: "6.18".to_owned(), ..entries[0].clone() });
    entries.push(Entry { bench: "pipe".to_owned(), ..entries[0].clone() });
    let rules = ["hackbench", "pipe"].map(|b| (b.to_owned(), RULES)).into();
    let pairs = compare_all(&entries, &rules, &BTreeMap::new());
    let names: Vec<String> = pairs.iter().map(|p| format!("{}{}", p.a, p.b)).collect();
    assert_eq!(names, ["ab", "ac", "ba", "bc", "ca", "cb"]);
}

#[test]
fn kernels_of_one_base_are_compared_and_no_others() {
    let mut entries: Vec<Entry> = ["eevdf", "eevdf-unpatched", "ballast"]
        .map(|s| entry(s, 1.0, Some(4.0), Some(60.0)))
        .to_vec();
    entries[1].kernel = "7.2.13-unpatched".to_owned();
    entries[2].kernel = "7.2.13+deb14".to_owned();
    let rules = [("hackbench".to_owned(), RULES)].into();
    let pairs = |bases: [Option<&str>; 3]| -> Vec<String> {
        let of = |(e, base): (&Entry, Option<&str>)| {
            let base = base.map(str::to_owned);
            (e.kernel.clone(), Kernel { base, eevdf_sleeper_us: Some(60.0) })
        };
        let kernels = entries.iter().zip(bases).map(of).collect();
        let all = compare_all(&entries, &rules, &kernels);
        assert!(all.iter().all(|c| c.kernel_b.is_some() && c.kernel_b.as_ref() != Some(&c.kernel)));
        all.iter().map(|c| format!("{} {}", c.a, c.b)).collect()
    };
    let both = ["eevdf eevdf-unpatched", "eevdf-unpatched eevdf"];
    assert_eq!(pairs([Some("x"), Some("x"), None]), both);
    assert!(pairs([Some("x"), Some("y"), None]).is_empty(), "built from something else");
    assert!(pairs([None; 3]).is_empty(), "what is not known is not the same");
}

#[test]
fn idle_shares_are_compared_where_both_have_them() {
    let traced = |shares: [f64; 3]| {
        let mut entry = entry("x", 1.0, Some(4.0), Some(60.0));
        for (meter, share) in entry.meter.iter_mut().zip(shares) {
            meter.idle_while_waiting_pct = Some(share);
        }
        entry
    };
    let (a, b) = (traced([1.0, 1.1, 0.9]), traced([3.0, 3.2, 2.8]));
    let idle = compare(&a, &b, &RULES, Some(60.0)).idle.unwrap();
    assert!((idle.points + 2.0).abs() < 1e-9 && (idle.b_pct - 3.0).abs() < 1e-9);
    let [low, high] = idle.ci95_points.unwrap();
    assert!(low < -2.0 && high > -2.0 && high < -1.0, "{low} {high}");
    let untraced = entry("y", 1.0, Some(4.0), Some(60.0));
    assert_eq!(compare(&a, &untraced, &RULES, Some(60.0)).idle, None);
}

#[test]
fn delays_are_judged_only_where_they_mean_something() {
    let at = |word: &str, mode, cpus, at_once, cores| {
        let topology = Topology { cpus, nodes: 1, smt: 1 };
        let setting = Setting { mode, topology, at_once, cores };
        Rules::of(&What::parse(word).unwrap(), &setting).unjudged.is_none()
    };
    use Mode::{Instructions, Parallel};
    assert!(at("sleeper", Instructions, 1, false, 4));
    assert!(!at("sleeper", Instructions, 4, false, 64));
    assert!(at("sleeper+fifo=1", Parallel, 3, true, 4));
    assert!(!at("sleeper", Parallel, 3, true, 4), "no control");
    assert!(!at("sleeper+fifo=1", Parallel, 4, true, 4), "no core to spare");
    assert!(!at("sleeper+fifo=1", Parallel, 3, false, 4), "CPUs take turns");
    assert!(at("hackbench", Instructions, 4, false, 1));
    assert!(!at("hackbench", Parallel, 64, false, 4));
    assert!(!at("boots", Instructions, 4, false, 4) && !at("loads", Parallel, 1, true, 4));
}

#[test]
fn verdicts_are_written_as_documented() {
    for verdict in [Verdict::Ahead, Verdict::NoDifference, Verdict::Packed, Verdict::Late] {
        let written = serde_json::to_string(&verdict).unwrap();
        assert_eq!(written, format!("\"{}\"", verdict.word()));
    }
}
