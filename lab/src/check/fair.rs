// SPDX-License-Identifier: GPL-2.0-only
//! Bounds of the kernel's own fair class with Ballast's patches: steals where they are asked for
//! and nowhere else, and what the patches cost where they do nothing.

use std::path::Path;

use super::{name, Check, FULL_RUNS};
use crate::bench::What;
use crate::compare::Entry;
use crate::model::{GuestSched, Mode};
use crate::report::Document;
use crate::sched::{Needs, Role, Sched, UNPATCHED};

/// `sched_features` word whose columns steal.
const STEAL: &str = "STEAL";
/// On more nodes the kernel leaves STEAL without effect (`sched_steal_node_limit`, as published).
const NODE_LIMIT: u32 = 2;
/// How far a column may be from it either way, per cent.
const COSTS: [(&str, f64); 2] = [("eevdf", 0.5), ("eevdf+STEAL", 2.0)];

/// Bounds of one column that ended well.
pub fn of_column(doc: &Document, entry: &Entry) -> Vec<Check> {
    let Ok(sched) = Sched::parse(&entry.sched, Path::new("")) else { return Vec::new() };
    let Ok(what) = What::parse(&entry.bench) else { return Vec::new() };
    let steals = match (sched.needs, sched.on(Role::Patched).guest) {
        (Needs::Unpatched | Needs::Stock, _) => None,
        (needs, GuestSched::Fair { flags }) => {
            steals(doc, entry, &what, needs, flags.iter().any(|f| f == STEAL))
        }
        _ => None,
    };
    let cost = match (doc.mode, what) {
        (Mode::Instructions, What::Pipe { pinned: true, .. }) => cost(doc, entry),
        _ => None,
    };
    steals.into_iter().chain(cost).collect()
}

/// Every boot of a column with STEAL has stolen, where tasks outnumber CPUs; none of another has.
/// Plain `eevdf` on a kernel that does not count has no bound; churn flips the flag itself.
fn steals(doc: &Document, entry: &Entry, what: &What, needs: Needs, on: bool) -> Option<Check> {
    let counted: Vec<Option<u64>> =
        entry.meter.iter().map(|m| m.counters.get("steals").copied()).collect();
    let busy = matches!(what, What::Hackbench(_)) && doc.topology.cpus > 1;
    let busy = busy && doc.topology.nodes <= NODE_LIMIT;
    let flips = matches!(what, What::Churn { .. });
    if flips || (on && !busy) || (needs == Needs::Any && counted.iter().all(Option::is_none)) {
        return None;
    }
    let ok = !counted.is_empty() && counted.iter().all(|n| n.is_some_and(|n| (n > 0) == on));
    let known = || counted.iter().flatten();
    let missing = counted.len() - known().count();
    let range = match known().min().zip(known().max()) {
        Some((least, most)) if missing > 0 => {
            format!("{least} to {most} steals a boot, {missing} boots without a count")
        }
        Some((least, most)) => format!("{least} to {most} steals a boot"),
        None => "steals are not counted".to_owned(),
    };
    let wanted = if on { "more than 0 in each" } else { "0 in each" };
    Some(Check { name: name(entry), ok, text: format!("{range}, must be {wanted}") })
}

/// The interval of the change against the unpatched kernel lies within the bound; with few boots,
/// whose interval is wide, the mean does.
fn cost(doc: &Document, entry: &Entry) -> Option<Check> {
    let bound = COSTS.iter().find(|(word, _)| *word == entry.sched)?.1;
    let c = doc.comparisons.iter().find(|c| {
        c.a == entry.sched && c.b == UNPATCHED && c.bench == entry.bench && c.kernel == entry.kernel
    })?;
    let few = entry.samples.len() < FULL_RUNS;
    let within = |pct: f64| pct.abs() <= bound;
    let (ok, text) = match (c.change_pct, c.ci95_pct) {
        (Some(pct), _) if few => (within(pct), format!("{pct:+.2} % on average (few boots)")),
        (Some(pct), Some([low, high])) => {
            (within(low) && within(high), format!("{pct:+.2} % ({low:+.2} to {high:+.2})"))
        }
        _ => (false, c.note.clone().unwrap_or_else(|| "no interval".to_owned())),
    };
    let text = format!("{text} against {UNPATCHED}, must be within {bound} %");
    Some(Check { name: name(entry), ok, text })
}
