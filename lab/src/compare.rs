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
use crate::stats::{difference, Change, Summary};

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
    /// Name of a's kernel.
    pub kernel: String,
    /// Name of b's where that is another of the same source and configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_b: Option<String>,
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
    /// Idle CPUs beside waiting tasks; only where both columns were traced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<IdleShares>,
}

/// Shares of CPU time idled past 20 µs while a task that may run there waited: printed, never
/// judged.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct IdleShares {
    /// Mean of a, per cent.
    pub a_pct: f64,
    /// Mean of b, per cent.
    pub b_pct: f64,
    /// Half of the 95 % intervals of these means.
    pub half_widths: Option<[f64; 2]>,
    /// a − b, in points.
    pub points: f64,
    /// Its 95 % interval.
    pub ci95_points: Option<[f64; 2]>,
}

impl IdleShares {
    /// `None` unless every sample of both has a share.
    fn of(a: &Entry, b: &Entry) -> Option<Self> {
        let shares = |e: &Entry| -> Option<Summary> {
            let all = e.meter.iter().map(|m| m.idle_while_waiting_pct);
            Summary::of(&all.collect::<Option<Vec<f64>>>()?)
        };
        let (a, b) = (shares(a)?, shares(b)?);
        let (points, ci95_points) = difference(&a, &b);
        let half_widths = a.half_width().zip(b.half_width()).map(|(a, b)| [a, b]);
        Some(Self { a_pct: a.mean, b_pct: b.mean, half_widths, points, ci95_points })
    }
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

/// What comparisons need to know of a kernel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kernel {
    /// What it was built from, if we built it: source, configuration, compiler. Two kernels of one
    /// base differ by our patches alone.
    pub base: Option<String>,
    /// EEVDF's p99 of the one-CPU sleeper on it.
    pub eevdf_sleeper_us: Option<f64>,
}

/// Whether columns on these two kernels may be compared: one and the same, or of one base.
pub fn comparable(a: &str, b: &str, kernels: &BTreeMap<String, Kernel>) -> bool {
    let base = |name: &str| kernels.get(name).and_then(|k| k.base.as_deref());
    a == b || (base(a).is_some() && base(a) == base(b))
}

/// Every ordered pair of columns of the same bench on kernels that may be compared, in the order
/// of the entries. `rules` by bench, `kernels` by name.
pub fn compare_all(
    entries: &[Entry],
    rules: &BTreeMap<String, Rules>,
    kernels: &BTreeMap<String, Kernel>,
) -> Vec<Comparison> {
    let mut pairs = Vec::new();
    for a in entries {
        for b in entries {
            let same = a.kernel == b.kernel && a.sched == b.sched;
            if a.bench == b.bench && !same && comparable(&a.kernel, &b.kernel, kernels) {
                if let Some(rules) = rules.get(&a.bench) {
                    let sleeper = kernels.get(&a.kernel).and_then(|k| k.eevdf_sleeper_us);
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
        kernel_b: (a.kernel != b.kernel).then(|| b.kernel.clone()),
        a: a.sched.clone(),
        b: b.sched.clone(),
        change_pct: None,
        ci95_pct: None,
        verdict: None,
        note: None,
        idle: IdleShares::of(a, b),
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
        _ => if_better(a, b, rules, eevdf_sleeper_us),
    }
}

/// Steps 3 and 4: the verdict where a's figure is better beyond the interval.
pub fn if_better(
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
mod tests;
