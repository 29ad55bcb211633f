// SPDX-License-Identifier: GPL-2.0-only
//! The bounds that Ballast sets itself, each applied where its columns and bench are in the run.
//!
//! | bench | bound |
//! |---|---|
//! | all | every column ends `ok`; the counter `rebase_violations` stays 0 |
//! | all | neither `null` nor `eevdf+taskset=…` is ahead of `eevdf` |
//! | `pipe+pinned=1`, instructions | `ballast` ≤ 1.10 × `null` |
//! | `hackbench`, instructions | `ballast` neither packed nor late; sockets: not behind `eevdf` |
//! | `hackbench` over pipes, instructions | `ballast` ahead of `eevdf`; under 10 boots: its mean below |
//! | `sleeper`, one CPU, instructions | `ballast` ≤ 1.1 × `eevdf` |
//! | `sleeper+fifo=1`, parallel, where judged | `ballast` ≤ `eevdf` |
//! | `shares`, one CPU | worst error ≤ 5 %, monotonic |
//! | `hackbench`, parallel, several CPUs | `ballast` steals |
//! | `hackbench`, several CPUs, our kernel | each column with STEAL steals in every boot |
//! | all, our kernel | each column without STEAL steals in none |
//! | `pipe+pinned=1`, instructions | `eevdf` within 0.5 % of `eevdf-unpatched`, `eevdf+STEAL` within 2 % |

mod fair;

use serde::{Deserialize, Serialize};

use crate::bench::What;
use crate::compare::{if_better, Entry, Rules, Setting, Verdict};
use crate::model::{Mode, Status, Topology};
use crate::report::Document;

/// Boots a column that the documented numbers take; what `lab run` does unless told otherwise.
const FULL_RUNS: usize = 10;

/// A bound and whether it was met.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// Short, with bench and kernel.
    pub name: String,
    /// Met.
    pub ok: bool,
    /// The figures.
    pub text: String,
}

impl Check {
    /// `ok NAME: …` or `MISSED NAME: …`.
    pub fn line(&self) -> String {
        format!("{} {}: {}", if self.ok { "ok" } else { "MISSED" }, self.name, self.text)
    }
}

/// All bounds that apply to the results and comparisons of `doc`, in their order.
pub fn checks(doc: &Document) -> Vec<Check> {
    let mut out: Vec<Check> = doc.results.iter().flat_map(of_every_entry).collect();
    for comparison in &doc.comparisons {
        let floor = comparison.a == "null" || comparison.a.starts_with("eevdf+taskset=");
        if floor && comparison.b == "eevdf" {
            let word = comparison.verdict.map_or("no verdict", Verdict::word);
            out.push(Check {
                name: format!("{} {} {}", comparison.bench, comparison.a, comparison.kernel),
                ok: comparison.verdict != Some(Verdict::Ahead),
                text: format!("against eevdf: {word}, never ahead"),
            });
        }
    }
    for entry in doc.results.iter().filter(|e| e.status == Status::Ok) {
        out.extend(fair::of_column(doc, entry));
    }
    for entry in doc.results.iter().filter(|e| e.sched == "ballast" && e.status == Status::Ok) {
        if let Ok(what) = What::parse(&entry.bench) {
            of_ballast(doc, entry, &what, &mut out);
        }
    }
    out
}

fn name(entry: &Entry) -> String {
    format!("{} {} {}", entry.bench, entry.sched, entry.kernel)
}

fn of_every_entry(entry: &Entry) -> Vec<Check> {
    let mut out = Vec::new();
    let n = entry.samples.len();
    let ok = entry.status == Status::Ok && n > 0;
    let text = match entry.status {
        Status::Ok if ok => format!("{n} boots ended ok"),
        Status::Ok => entry.note.clone().unwrap_or_else(|| "not measured: no boot".into()),
        _ => entry.reason.clone(),
    };
    out.push(Check { name: name(entry), ok, text });
    let counted = entry.meter.iter().filter_map(|m| m.counters.get("rebase_violations"));
    if counted.clone().next().is_some() {
        let violations: u64 = counted.sum();
        let text = format!("{violations} rebase violations, must be 0");
        out.push(Check { name: name(entry), ok: violations == 0, text });
    }
    out
}

fn of_ballast(doc: &Document, entry: &Entry, what: &What, out: &mut Vec<Check>) {
    let topology =
        Topology { cpus: doc.topology.cpus, nodes: doc.topology.nodes, smt: doc.topology.smt };
    let setting =
        Setting { mode: doc.mode, topology, at_once: doc.cpus_at_once, cores: doc.host_cores };
    let rules = Rules::of(what, &setting);
    let judged = rules.unjudged.is_none();
    match (doc.mode, what) {
        (Mode::Instructions, What::Pipe { pinned: true, .. }) => {
            out.extend(within(doc, entry, "null", 1.10));
        }
        (Mode::Instructions, What::Hackbench(crowd)) if topology.cpus > 1 => {
            out.extend(verdict(doc, entry, &rules, crowd.pipes));
        }
        (Mode::Instructions, What::Sleeper { .. }) if judged => {
            out.extend(within(doc, entry, "eevdf", 1.1));
        }
        (Mode::Parallel, What::Sleeper { fifo: true, .. }) if judged => {
            out.extend(within(doc, entry, "eevdf", 1.0));
        }
        (_, What::Shares { hogs: None, .. }) if topology.cpus == 1 => out.push(shares(entry)),
        (Mode::Parallel, What::Hackbench(_)) if topology.cpus > 1 => {
            let steals: u64 = entry.meter.iter().filter_map(|m| m.counters.get("steals")).sum();
            let text = format!("{steals} steals, must be over 0");
            out.push(Check { name: name(entry), ok: steals > 0, text });
        }
        _ => {}
    }
}

/// The mean is at most `factor` times that of `other`, where that column is in the run.
fn within(doc: &Document, entry: &Entry, other: &str, factor: f64) -> Option<Check> {
    let other = doc
        .results
        .iter()
        .find(|e| e.sched == other && e.bench == entry.bench && e.kernel == entry.kernel)?;
    let (mine, theirs) = (entry.summary().map(|s| s.mean), other.summary().map(|s| s.mean));
    let (ok, text) = match mine.zip(theirs) {
        Some((mine, theirs)) => (
            mine <= factor * theirs,
            format!("{:.3} x {}, at most {factor:.2}", mine / theirs, other.sched),
        ),
        None => {
            let missing = if mine.is_none() { entry } else { other };
            let why = missing.note.as_deref().unwrap_or("it did not end ok");
            (false, format!("not measured: {} has no figure: {why}", missing.sched))
        }
    };
    Some(Check { name: name(entry), ok, text })
}

/// Neither packed nor late; pipes: ahead of EEVDF; sockets: not behind it.
fn verdict(doc: &Document, entry: &Entry, rules: &Rules, pipes: bool) -> Option<Check> {
    let eevdf = doc
        .results
        .iter()
        .find(|e| e.sched == "eevdf" && e.bench == entry.bench && e.kernel == entry.kernel)?;
    let c = doc.comparisons.iter().find(|c| {
        c.a == entry.sched && c.b == "eevdf" && c.bench == entry.bench && c.kernel == entry.kernel
    })?;
    let sleeper = doc.kernels_by_name().get(&entry.kernel).and_then(|k| k.eevdf_sleeper_us);
    let change = c.change_pct.map_or(String::new(), |pct| format!(" ({pct:+.1} %)"));
    let word = c.verdict.map_or("no verdict", Verdict::word);
    // An interval over a few boots is too wide to exclude anything: there the means decide.
    let few = entry.samples.len().min(eevdf.samples.len()) < FULL_RUNS;
    let (ok, wanted) = match (pipes, few) {
        (true, false) => (c.verdict == Some(Verdict::Ahead), "must be ahead"),
        (true, true) => {
            (c.change_pct.is_some_and(|pct| pct < 0.0), "must be below on average (few boots)")
        }
        (false, _) => (c.verdict != Some(Verdict::Behind), "must not be behind"),
    };
    let text = format!("{word} of eevdf{change}, {wanted}");
    Some(match if_better(entry, eevdf, rules, sleeper) {
        Ok((Verdict::Ahead, _)) if c.change_pct.is_some() => Check { name: name(entry), ok, text },
        Ok((_, note)) => {
            let why = note.or_else(|| c.note.clone()).unwrap_or_default();
            Check { name: name(entry), ok: false, text: format!("{text}: {why}") }
        }
        Err(why) => Check { name: name(entry), ok: false, text: format!("{text}: {why}") },
    })
}

fn shares(entry: &Entry) -> Check {
    let worst = entry.samples.iter().copied().fold(0.0, f64::max);
    let monotonic = entry.details.len() == entry.samples.len()
        && entry.details.iter().all(|d| d.get("monotonic") == Some(&true.into()));
    let order = if monotonic { "monotonic" } else { "not monotonic" };
    let ok = monotonic && worst <= 5.0 && !entry.samples.is_empty();
    Check { name: name(entry), ok, text: format!("worst error {worst:.1} %, at most 5; {order}") }
}

#[cfg(test)]
mod tests;
