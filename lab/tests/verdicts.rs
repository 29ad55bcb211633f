// SPDX-License-Identifier: GPL-2.0-only
//! Verdicts over recorded samples of real boots (tests/data: documents of `ballast lab run
//! --sched eevdf,eevdf+taskset=1,null,ballast`, as it wrote them).
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeMap;
use std::path::Path;

use ballast_lab::bench::What;
use ballast_lab::compare::{compare_all, Comparison, Rules, Setting, Verdict};
use ballast_lab::model::Topology;
use ballast_lab::report::Document;

/// All recorded documents.
fn recorded() -> Vec<Document> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "json"))
        .collect();
    files.sort();
    assert!(!files.is_empty());
    let read = |p: &std::path::PathBuf| serde_json::from_slice(&std::fs::read(p).unwrap()).unwrap();
    files.iter().map(read).collect()
}

/// The comparisons, worked out anew from the samples.
fn compared(doc: &Document) -> Vec<Comparison> {
    let s = doc.topology;
    let setting = Setting {
        mode: doc.mode,
        topology: Topology { cpus: s.cpus, nodes: s.nodes, smt: s.smt },
        at_once: doc.cpus_at_once,
        cores: doc.host_cores,
    };
    let rules: BTreeMap<String, Rules> = doc
        .results
        .iter()
        .map(|e| (e.bench.clone(), Rules::of(&What::parse(&e.bench).unwrap(), &setting)))
        .collect();
    compare_all(&doc.results, &rules, &doc.kernels_by_name())
}

fn is_floor(sched: &str) -> bool {
    sched == "null" || sched.starts_with("eevdf+taskset=")
}

/// Verdicts of the floors against EEVDF.
fn floors(doc: &Document) -> Vec<Option<Verdict>> {
    let all = compared(doc).into_iter();
    all.filter(|c| is_floor(&c.a) && c.b == "eevdf").map(|c| c.verdict).collect()
}

#[test]
fn the_floors_are_never_ahead_of_eevdf() {
    for doc in recorded() {
        let verdicts = floors(&doc);
        assert!(!verdicts.is_empty() && !verdicts.contains(&Some(Verdict::Ahead)), "{verdicts:?}");
    }
}

/// In these very samples the floors' figures are better beyond the interval: only the two rules
/// keep them from being called ahead.
#[test]
fn it_is_the_rules_that_hold_the_floors_back() {
    let (mut packed, mut late) = (0, 0);
    for mut doc in recorded() {
        let verdicts = floors(&doc);
        packed += verdicts.iter().filter(|&&v| v == Some(Verdict::Packed)).count();
        late += verdicts.iter().filter(|&&v| v == Some(Verdict::Late)).count();
        for entry in doc.results.iter_mut().filter(|e| is_floor(&e.sched)) {
            entry.sleeper_p99_us = Some(1.0);
            for reading in &mut entry.meter {
                reading.effective_cpus = Some(f64::from(doc.topology.cpus));
            }
        }
        assert!(floors(&doc).contains(&Some(Verdict::Ahead)));
    }
    assert!(packed > 0 && late > 0, "{packed} packed, {late} late");
}

#[test]
fn nothing_without_its_sleeper_is_ahead_of_anything() {
    for mut doc in recorded() {
        doc.results.iter_mut().for_each(|e| e.sleeper_p99_us = None);
        assert!(compared(&doc).iter().all(|c| c.verdict != Some(Verdict::Ahead)));
    }
}

#[test]
fn nothing_crowded_without_effective_cpus_is_ahead_of_anything() {
    for mut doc in recorded() {
        for reading in doc.results.iter_mut().flat_map(|e| &mut e.meter) {
            reading.effective_cpus = None;
        }
        let ahead =
            |c: &Comparison| c.verdict == Some(Verdict::Ahead) && c.bench.starts_with("hackbench");
        assert!(!compared(&doc).iter().any(ahead));
    }
}

/// What was written is what the samples say today.
#[test]
fn recorded_comparisons_still_hold() {
    for doc in recorded() {
        let today = compared(&doc);
        assert_eq!(today.len(), doc.comparisons.len());
        for (today, recorded) in today.iter().zip(&doc.comparisons) {
            assert_eq!(today, recorded);
        }
    }
}
