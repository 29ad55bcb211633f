// SPDX-License-Identifier: GPL-2.0-only
//! Which of two schedulers is ahead, and when that may be said.
//!
//! The verdict is a's, and in this order:
//!
//! 1. no verdict without two sound columns, two boots a side and a figure that may be judged;
//! 2. `no difference` when the 95 % interval of the change holds 0, `behind` when a is worse;
//! 3. a is better: `cheaper-but-packed` at under 95 % of b's effective CPUs where the bench has
//!    more runnable tasks than CPUs, `cheaper-but-late` when a 1 ms sleeper beside two hogs in a
//!    one-CPU guest has a p99 over twice EEVDF's on that kernel;
//! 4. no verdict when a figure that step 3 needs is missing; else `ahead`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::bench::What;
use crate::model::{Meter, Mode, Status, Topology};
use crate::stats::{Change, Summary};

/// a needs at least this share of b's effective CPUs.
const CPU_SHARE: f64 = 0.95;
/// a's sleeper may wait at most this many times as long as EEVDF's.
const SLEEPER_RATIO: f64 = 2.0;

/// Figures of one scheduler, one bench and one kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The scheduler's word as typed.
    pub sched: String,
    /// Which build of it: ours by version and commit, the kernel's by release, others by digest.
    pub sched_version: String,
    /// The bench's word as typed.
    pub bench: String,
    /// What the guest ran.
    pub bench_command: String,
    /// Of the samples.
    pub unit: String,
    /// Which way is better.
    pub better: Better,
    /// Release of the kernel.
    pub kernel: String,
    /// `ok`, or how the first boot that did not end well ended.
    pub status: Status,
    /// Why, with its seed; empty when `ok`.
    pub reason: String,
    /// The last lines of that boot; empty when `ok`.
    pub log: String,
    /// One figure a boot that ended well.
    pub samples: Vec<f64>,
    /// The seeds of those boots.
    pub seeds: Vec<u64>,
    /// What the guests' /proc said of those samples.
    pub meter: Vec<Reading>,
    /// What the lab's own programs said besides the figure, a sample each; else empty.
    pub details: Vec<serde_json::Value>,
    /// p99 of a 1 ms sleeper beside 2 hogs in a one-CPU guest, mean over its boots.
    pub sleeper_p99_us: Option<f64>,
    /// Boots that the emulator broke and that were repeated.
    pub repeats: u32,
    /// Boots voided by their SCHED_FIFO control.
    pub voided: u32,
    /// Why a figure is missing.
    pub note: Option<String>,
}

/// One sample's meter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// Context switches.
    pub switches: u64,
    /// (Σ run)² / Σ run² over CPUs.
    pub effective_cpus: Option<f64>,
    /// Time that tasks waited in run queues, all CPUs.
    pub queue_delay_ns: u64,
    /// Rescheduling and function-call interrupts, all CPUs.
    pub ipis: u64,
    /// Guest uptime when the measured run began.
    pub guest_uptime_ms: u64,
    /// The scheduler's own counters over the run.
    pub counters: BTreeMap<String, u64>,
    /// Per cent of CPU time idled past 20 µs while a task that may run there waited (`--trace`).
    pub idle_while_waiting_pct: Option<f64>,
}

impl From<&Meter> for Reading {
    fn from(m: &Meter) -> Self {
        Self {
            switches: m.switches,
            effective_cpus: m.effective_cpus(),
            queue_delay_ns: m.queue_delay_ns,
            ipis: m.ipis,
            guest_uptime_ms: m.guest_uptime_ms,
            counters: m.counters.clone(),
            idle_while_waiting_pct: m.idle_while_waiting_pct,
        }
    }
}

/// Which way a figure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Less is better.
    Lower,
    /// More is better.
    Higher,
}

impl Entry {
    /// Mean and spread of the samples.
    pub fn summary(&self) -> Option<Summary> {
        Summary::of(&self.samples)
    }

    /// Mean effective CPUs; `None` when one sample lacks them.
    pub fn effective_cpus(&self) -> Option<f64> {
        let all: Option<Vec<f64>> = self.meter.iter().map(|m| m.effective_cpus).collect();
        Some(Summary::of(&all?)?.mean)
    }
}

/// a against b on the same kernel and bench.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The bench's word.
    pub bench: String,
    /// Release of the kernel.
    pub kernel: String,
    /// Scheduler word.
    pub a: String,
    /// Scheduler word.
    pub b: String,
    /// 100·(a/b − 1), of the means.
    pub change_pct: Option<f64>,
    /// Its 95 % interval.
    pub ci95_pct: Option<[f64; 2]>,
    /// Of a.
    pub verdict: Option<Verdict>,
    /// Why something is missing, or what the verdict rests on.
    pub note: Option<String>,
}

/// What may be said of a.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// Better, at the same spread over CPUs, without making a sleeper wait.
    #[serde(rename = "ahead")]
    Ahead,
    /// Worse.
    #[serde(rename = "behind")]
    Behind,
    /// The interval holds 0.
    #[serde(rename = "no difference")]
    NoDifference,
    /// Better, but on fewer CPUs.
    #[serde(rename = "cheaper-but-packed")]
    Packed,
    /// Better, but a sleeper waits too long.
    #[serde(rename = "cheaper-but-late")]
    Late,
}

impl Verdict {
    /// As in the document.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ahead => "ahead",
            Self::Behind => "behind",
            Self::NoDifference => "no difference",
            Self::Packed => "cheaper-but-packed",
            Self::Late => "cheaper-but-late",
        }
    }
}

/// How the guests ran: decides which figures may be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// How guest time passes.
    pub mode: Mode,
    /// The guests' machine.
    pub topology: Topology,
    /// Whether guest CPUs run at once (KVM, or emulation with a thread a CPU).
    pub at_once: bool,
    /// Cores of this machine.
    pub cores: u32,
}

/// What a bench's verdicts depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Effective CPUs count.
    pub crowded: bool,
    /// Why its figure is never judged; `None` = it is.
    pub unjudged: Option<String>,
}

impl Rules {
    /// Those of `what` in `setting`.
    pub fn of(what: &What, setting: &Setting) -> Self {
        Self { crowded: what.crowded(setting.topology.cpus), unjudged: unjudged(what, setting) }
    }
}

fn unjudged(what: &What, s: &Setting) -> Option<String> {
    let cpus = s.topology.cpus;
    if what.only_function() {
        return Some("asks only that every boot ends well".to_owned());
    }
    match (s.mode, what) {
        (Mode::Instructions, What::Sleeper { .. }) if cpus > 1 => Some(
            "delays on several CPUs are not judged in instruction mode: they take turns".into(),
        ),
        (Mode::Instructions, _) => None,
        (Mode::Parallel, _) if cpus > 1 && (!s.at_once || s.cores < cpus) => {
            Some("the guest's CPUs take turns on this machine: printed, not judged".to_owned())
        }
        (Mode::Parallel, What::Sleeper { .. }) if s.cores <= cpus => Some(format!(
            "delays are judged where the machine has more cores ({}) than the guest CPUs ({cpus})",
            s.cores
        )),
        (Mode::Parallel, What::Sleeper { fifo: false, .. }) => {
            Some("delays are judged only with the control: sleeper+fifo=1".to_owned())
        }
        (Mode::Parallel, _) => None,
    }
}

/// Every ordered pair of columns on the same kernel and bench, in the order of the entries.
/// `rules` by bench, `eevdf_sleeper_us` by kernel.
pub fn compare_all(
    entries: &[Entry],
    rules: &BTreeMap<String, Rules>,
    eevdf_sleeper_us: &BTreeMap<String, f64>,
) -> Vec<Comparison> {
    let mut pairs = Vec::new();
    for a in entries {
        for b in entries {
            if a.kernel == b.kernel && a.bench == b.bench && a.sched != b.sched {
                if let Some(rules) = rules.get(&a.bench) {
                    let sleeper = eevdf_sleeper_us.get(&a.kernel).copied();
                    pairs.push(compare(a, b, rules, sleeper));
                }
            }
        }
    }
    pairs
}

/// Compares two columns of the same bench and kernel.
pub fn compare(a: &Entry, b: &Entry, rules: &Rules, eevdf_sleeper_us: Option<f64>) -> Comparison {
    let mut result = Comparison {
        bench: a.bench.clone(),
        kernel: a.kernel.clone(),
        a: a.sched.clone(),
        b: b.sched.clone(),
        change_pct: None,
        ci95_pct: None,
        verdict: None,
        note: None,
    };
    match judge(a, b, rules, eevdf_sleeper_us, &mut result) {
        Ok((verdict, note)) => (result.verdict, result.note) = (Some(verdict), note),
        Err(note) => result.note = Some(note),
    }
    result
}

/// The steps of the module's text; the error says why there is no verdict.
fn judge(
    a: &Entry,
    b: &Entry,
    rules: &Rules,
    eevdf_sleeper_us: Option<f64>,
    result: &mut Comparison,
) -> Result<(Verdict, Option<String>), String> {
    for entry in [a, b] {
        if entry.status != Status::Ok {
            return Err(format!("{} did not end ok", entry.sched));
        }
    }
    let missing = |e: &Entry| format!("{} has no figure", e.sched);
    let left = a.summary().ok_or_else(|| missing(a))?;
    let right = b.summary().ok_or_else(|| missing(b))?;
    let change = Change::of(&left, &right).ok_or_else(|| format!("{}'s mean is 0", b.sched))?;
    result.change_pct = Some(change.pct);
    result.ci95_pct = change.ci95;
    if let Some(why) = &rules.unjudged {
        return Err(why.clone());
    }
    if change.ci95.is_none() {
        return Err("no interval: needs two boots a side and a mean clearly off 0".to_owned());
    }
    let better = match a.better {
        Better::Lower => -1,
        Better::Higher => 1,
    };
    match change.direction() * better {
        0 => Ok((Verdict::NoDifference, None)),
        -1 => Ok((Verdict::Behind, None)),
        _ => judge_better(a, b, rules, eevdf_sleeper_us),
    }
}

/// Steps 3 and 4: a's figure is better beyond the interval.
fn judge_better(
    a: &Entry,
    b: &Entry,
    rules: &Rules,
    eevdf_sleeper_us: Option<f64>,
) -> Result<(Verdict, Option<String>), String> {
    let spread = a.effective_cpus().zip(b.effective_cpus());
    if let Some((mine, theirs)) = spread.filter(|_| rules.crowded) {
        if mine < CPU_SHARE * theirs {
            let note = format!("{mine:.2} effective CPUs against {theirs:.2}");
            return Ok((Verdict::Packed, Some(note)));
        }
    }
    let sleepers = a.sleeper_p99_us.zip(eevdf_sleeper_us);
    if let Some((mine, eevdf)) = sleepers {
        if mine > SLEEPER_RATIO * eevdf {
            let note = format!("one-CPU sleeper p99 {mine:.0} us against EEVDF's {eevdf:.0}");
            return Ok((Verdict::Late, Some(note)));
        }
    }
    if rules.crowded && spread.is_none() {
        return Err("better, but effective CPUs are missing".to_owned());
    }
    if sleepers.is_none() {
        return Err("better, but the one-CPU sleeper figure is missing".to_owned());
    }
    Ok((Verdict::Ahead, None))
}

#[cfg(test)]
mod tests {
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
}
