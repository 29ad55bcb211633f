// SPDX-License-Identifier: GPL-2.0-only
//! From columns and benches to boots: which jobs there are, on which machine, how often.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use crate::bench::{Bench, What};
use crate::emulator::Accel;
use crate::error::Failure;
use crate::image::{self, File, Source};
use crate::model::{Job, Mode, Topology};
use crate::sched::{Program, Role, Sched};

/// At most so many boots of the one-CPU guest that shows whether a scheduler makes a sleeper wait;
/// half as many as a column has, where that is fewer.
const GATE_RUNS: u32 = 4;
/// What runs there.
const GATE_BENCH: &str = "sleeper+hogs=2";
/// Of boots whose control may void them, at most this many times as many are tried.
const VOID_FACTOR: u32 = 3;
/// Guest time asleep after boot in instruction mode, where it is free: EEVDF is over-charged
/// before the guest's first idle moment.
const SETTLE_MS: u64 = 2000;
/// The same before each measured run.
const GAP_MS: u64 = 1000;
/// Both where guest time is real time.
const PARALLEL_PAUSE_MS: u64 = 200;
/// This machine's time for a guest's start and end.
const START_LIMIT: Duration = Duration::from_secs(180);
/// The same from a complaint under churn on: it ends by itself within this, unless what the kernel warned
/// of, such as two locks that wait for each other, has come about.
const COMPLAINT_LIMIT: Duration = Duration::from_secs(90);

/// What the user asked for, checked.
#[derive(Clone, Debug)]
pub struct Request {
    /// Columns.
    pub scheds: Vec<Sched>,
    /// Row blocks.
    pub benches: Vec<Bench>,
    /// The guests' machine.
    pub topology: Topology,
    /// How guest time passes.
    pub mode: Mode,
    /// What runs the guests.
    pub accel: Accel,
    /// Whether the lab's tracer runs.
    pub trace: bool,
    /// Whether kernels count what costs time to count.
    pub schedstats: bool,
    /// More words for the kernels' command line.
    pub append: Vec<String>,
    /// First seed.
    pub seed: u64,
    /// Boots a column.
    pub runs: u32,
    /// What `--with` names, and the command's own files.
    pub with: Vec<File>,
    /// The kernels, each with its columns.
    pub kernels: Vec<Columns>,
    /// Whether any figure may be called ahead, so that sleepers have to be measured.
    pub gate: bool,
}

/// The columns of one kernel.
#[derive(Clone, Debug)]
pub struct Columns {
    /// What the kernel is to them.
    pub role: Role,
    /// By index of the scheduler, in the order typed.
    pub scheds: Vec<usize>,
}

impl Columns {
    /// A column as it runs on this kernel.
    pub fn sched(&self, request: &Request, index: usize) -> Sched {
        request.scheds[index].on(self.role)
    }
}

/// One job on one kernel, booted with several seeds.
#[derive(Clone, Debug)]
pub struct Unit {
    /// Index of the kernel.
    pub kernel: usize,
    /// For the progress line.
    pub name: String,
    /// The job's steps by index of the bench; empty for the one-CPU sleeper.
    pub benches: Vec<usize>,
    /// The guest's machine.
    pub topology: Topology,
    /// How its time passes.
    pub mode: Mode,
    /// What runs it.
    pub accel: Accel,
    /// More words for its kernel's command line.
    pub append: Vec<String>,
    /// What it does.
    pub job: Job,
    /// What is packed besides the lab's own program.
    pub files: Vec<File>,
    /// Boots that count.
    pub runs: u32,
    /// Boots that may be tried to get them: more than `runs` where a control may void one.
    pub tries: u32,
    /// This machine's time for one boot.
    pub limit: Duration,
    /// From the kernel's first complaint on, where that alone decides.
    pub complained: Option<Duration>,
}

impl Unit {
    /// Whether several may run beside each other without moving their figures.
    pub fn side_by_side(&self) -> bool {
        self.mode == Mode::Instructions
    }
}

/// All boots, and where each column's figures come from.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// In a fixed order.
    pub units: Vec<Unit>,
    /// (kernel, scheduler, bench) to unit and step.
    pub columns: BTreeMap<(usize, usize, usize), (usize, usize)>,
    /// (kernel, scheduler) to unit and step of its one-CPU sleeper.
    pub gates: BTreeMap<(usize, usize), (usize, usize)>,
    /// The same for EEVDF, by kernel.
    pub eevdf_gates: BTreeMap<usize, (usize, usize)>,
}

/// Lays out all boots.
pub fn plan(request: &Request) -> Result<Plan> {
    let mut plan = Plan::default();
    for (kernel, columns) in request.kernels.iter().enumerate() {
        let scheds: Vec<(usize, Sched)> =
            columns.scheds.iter().map(|&s| (s, columns.sched(request, s))).collect();
        for (s, sched) in &scheds {
            for benches in groups(&request.benches) {
                let skip = |b: &usize| nothing_to_do(sched, &request.benches[*b]);
                if benches.iter().all(skip) {
                    continue;
                }
                for (step, &bench) in benches.iter().enumerate() {
                    plan.columns.insert((kernel, *s, bench), (plan.units.len(), step));
                }
                plan.units.push(column_unit(request, kernel, sched, benches)?);
            }
        }
        if request.gate {
            let eevdf = Sched::parse("eevdf", Path::new(""))?.on(columns.role);
            let eevdf = add_gate(&mut plan, request, kernel, &eevdf)?;
            plan.eevdf_gates.insert(kernel, eevdf);
            for (s, sched) in &scheds {
                let gate = add_gate(&mut plan, request, kernel, sched)?;
                plan.gates.insert((kernel, *s), gate);
            }
        }
    }
    Ok(plan)
}

/// Finds what would go wrong with these columns and benches, before a kernel is looked for: masks
/// outside the guest, CPUs that a bench takes away from a scheduler or that are not there, programs
/// that cannot be packed.
pub fn check(scheds: &[Sched], benches: &[Bench], topology: &Topology) -> Result<()> {
    if let Some(disturber) = benches.iter().find(|b| b.what.disturbs()) {
        let word = &disturber.word;
        if let Some(sched) = scheds.iter().find(|s| s.is_loaded()) {
            return Err(Failure::usage(format!(
                "`{word}`: takes CPUs away, at which the kernel ends `{}`: for eevdf columns only",
                sched.word
            )));
        }
        if topology.cpus < 2 {
            return Err(Failure::usage(format!("`{word}`: needs a guest of at least 2 CPUs")));
        }
    }
    for sched in scheds {
        confinement(sched, topology)?;
        scheduler_files(sched)?;
    }
    for program in benches.iter().filter_map(|b| b.program.as_ref()) {
        image::closure(program)?;
    }
    Ok(())
}

/// Loads of a scheduler where none is to be loaded.
pub fn nothing_to_do(sched: &Sched, bench: &Bench) -> bool {
    !sched.is_loaded() && matches!(bench.what, What::Loads { .. })
}

/// Benches that share a boot: all but those that need one of their own.
fn groups(benches: &[Bench]) -> Vec<Vec<usize>> {
    let (alone, shared): (Vec<_>, Vec<_>) =
        (0..benches.len()).partition(|&b| benches[b].what.alone());
    let shared = Some(shared).filter(|s| !s.is_empty());
    shared.into_iter().chain(alone.into_iter().map(|b| vec![b])).collect()
}

fn column_unit(
    request: &Request,
    kernel: usize,
    sched: &Sched,
    benches: Vec<usize>,
) -> Result<Unit> {
    let chosen: Vec<&Bench> = benches.iter().map(|&b| &request.benches[b]).collect();
    let confine = confinement(sched, &request.topology)?;
    let (settle_ms, gap_ms) = match request.mode {
        Mode::Instructions => (SETTLE_MS, GAP_MS),
        Mode::Parallel => (PARALLEL_PAUSE_MS, PARALLEL_PAUSE_MS),
    };
    let mut files = scheduler_files(sched)?;
    for bench in &chosen {
        if let Some(program) = &bench.program {
            files.extend(image::closure(program)?);
        }
    }
    files.extend(request.with.iter().cloned());
    let voidable = request.mode == Mode::Parallel
        && chosen.iter().any(|b| matches!(b.what, What::Sleeper { fifo: true, .. }));
    let words: Vec<&str> = chosen.iter().map(|b| b.word.as_str()).collect();
    let churns = chosen.iter().any(|b| matches!(b.what, What::Churn { .. }));
    let seconds = chosen.iter().map(|b| b.limit_s()).sum();
    Ok(Unit {
        kernel,
        name: format!("{} {}", sched.word, words.join(",")),
        topology: request.topology,
        mode: request.mode,
        accel: request.accel,
        append: request.append.clone(),
        job: Job {
            sched: sched.guest.clone(),
            settle_ms,
            gap_ms,
            trace: request.trace,
            schedstats: request.schedstats,
            steps: chosen.iter().map(|b| b.step(confine)).collect(),
        },
        benches,
        files,
        runs: request.runs,
        tries: request.runs * if voidable { VOID_FACTOR } else { 1 },
        limit: START_LIMIT + Duration::from_secs(seconds),
        complained: churns.then_some(COMPLAINT_LIMIT),
    })
}

/// The one-CPU sleeper of a scheduler: a column's own where the guests have one CPU, or the unit
/// that already runs the same. A mask of CPUs means nothing there.
fn add_gate(
    plan: &mut Plan,
    request: &Request,
    kernel: usize,
    sched: &Sched,
) -> Result<(usize, usize)> {
    let bench = Bench::parse(GATE_BENCH)?;
    let column = |u: &Unit| {
        let step = u.benches.iter().position(|&b| request.benches[b].what == bench.what)?;
        let same = u.kernel == kernel && u.job.sched == sched.guest;
        let bare = !u.job.trace && !u.job.schedstats;
        (same && bare && u.topology.cpus == 1 && u.mode == Mode::Instructions).then_some(step)
    };
    let mut columns = plan.units.iter().enumerate();
    if let Some(found) = columns.find_map(|(unit, u)| Some((unit, column(u)?))) {
        return Ok(found);
    }
    let job = Job {
        sched: sched.guest.clone(),
        settle_ms: SETTLE_MS,
        gap_ms: GAP_MS,
        trace: false,
        schedstats: false,
        steps: vec![bench.step(None)],
    };
    let same = |u: &Unit| u.kernel == kernel && u.benches.is_empty() && u.job == job;
    if let Some(unit) = plan.units.iter().position(same) {
        return Ok((unit, 0));
    }
    let runs = request.runs.div_ceil(2).min(GATE_RUNS);
    plan.units.push(Unit {
        kernel,
        name: format!("{} one-CPU sleeper", sched.word),
        benches: Vec::new(),
        topology: Topology { cpus: 1, nodes: 1, smt: 1 },
        mode: Mode::Instructions,
        accel: Accel::TcgSingle,
        append: request.append.clone(),
        job,
        files: scheduler_files(sched)?,
        runs,
        tries: runs,
        limit: START_LIMIT + Duration::from_secs(bench.limit_s()),
        complained: None,
    });
    Ok((plan.units.len() - 1, 0))
}

/// The scheduler word's mask, checked against the guest's CPUs.
fn confinement<'a>(sched: &'a Sched, topology: &Topology) -> Result<Option<&'a [u32]>> {
    let Some(cpus) = &sched.confine else { return Ok(None) };
    match cpus.iter().find(|&&cpu| cpu >= topology.cpus) {
        None => Ok(Some(cpus)),
        Some(cpu) => Err(Failure::usage(format!(
            "`{}`: names CPU {cpu}, but the guest has CPUs 0 to {}",
            sched.word,
            topology.cpus - 1
        ))),
    }
}

fn scheduler_files(sched: &Sched) -> Result<Vec<File>> {
    match &sched.program {
        None => Ok(Vec::new()),
        Some(Program::Ours { from, to }) => {
            Ok(vec![File { to: to.clone(), from: Source::Own(from.clone()), mode: 0o755 }])
        }
        Some(Program::Foreign(path)) => image::closure(path),
    }
}

#[cfg(test)]
mod tests;
