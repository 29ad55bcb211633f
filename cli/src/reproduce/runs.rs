// SPDX-License-Identifier: GPL-2.0-only
//! The runs behind a published table, on all CPUs, and their figures in the published units.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

use anyhow::Result;
use ballast_lab::progress::Progress;
use ballast_sim::{simulate, Hackbench, MachineSpec, Outcome, Sched};
use ballast_sim_data::figure::Seeds;
use ballast_sim_data::published::Table;
use ballast_sim_data::report::Simulated;

use crate::model::{hackbench, sched, Change};

/// Loops of the published runs.
pub const PUBLISHED_LOOPS: u32 = 100_000;

/// What all runs of a table share.
#[derive(Clone)]
pub struct Model {
    /// The machine, with its costs.
    pub machine: MachineSpec,
    /// ns; the work of a message.
    pub message_ns: u64,
    /// Loops at the largest x.
    pub loops: u32,
    /// First seed.
    pub seed: u64,
    /// Runs a cell.
    pub seeds: u64,
    /// What is different in both schedulers.
    pub change: Change,
}

impl Model {
    /// Those of each cell.
    pub fn all_seeds(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.seeds).map(|n| self.seed.wrapping_add(n))
    }
}

/// One run: a point of the table under one side's scheduler from one seed.
struct Job {
    workload: Hackbench,
    sched: Sched,
    seed: u64,
}

impl Job {
    fn run(&self, machine: &MachineSpec) -> Outcome {
        simulate(machine, &self.workload, &self.sched, self.seed)
    }
}

/// Every cell of the table that is modelled, on all CPUs; `what` is said before the runs are counted.
pub fn simulated(
    table: &Table,
    model: &Model,
    what: &str,
    progress: &Progress,
) -> Result<Vec<Simulated>> {
    let jobs = jobs(table, model)?;
    let say = |done: usize| progress.set(&format!("{what}{done} of {} runs", jobs.len()));
    let outcomes = parallel(&jobs, |job| job.run(&model.machine), say);
    Ok(cells(table, &outcomes, model.seeds as usize))
}

/// The same on one CPU.
pub fn simulated_here(table: &Table, model: &Model) -> Result<Vec<Simulated>> {
    let jobs = jobs(table, model)?;
    let outcomes: Vec<Outcome> = jobs.iter().map(|job| job.run(&model.machine)).collect();
    Ok(cells(table, &outcomes, model.seeds as usize))
}

/// Loops at `x`: as many messages at every point, so that the simulated time is about the same and
/// the loads (averages over tens of milliseconds) settle at few groups too; at most the published.
pub fn loops_at(table: &Table, loops: u32, x: &str) -> u32 {
    let number = |x: &str| x.parse::<u64>().unwrap_or(1).max(1);
    let largest = table.points().into_iter().map(number).max().unwrap_or(1);
    let loops = u64::from(loops) * largest / number(x);
    loops.min(u64::from(PUBLISHED_LOOPS)) as u32
}

/// For each point first the baseline's seeds, then the patched ones.
fn jobs(table: &Table, model: &Model) -> Result<Vec<Job>> {
    let mut jobs = Vec::new();
    for x in table.points() {
        let loops = loops_at(table, model.loops, x);
        let word = format!("{}+groups={x}+loops={loops}", table.experiment.workload);
        let workload = hackbench(&word, model.message_ns, Some(PUBLISHED_LOOPS))?;
        let variant = table.cells.iter().find(|c| c.x == x).map_or("", |c| c.variant.as_str());
        for word in [table.experiment.base.clone(), table.patched(variant)] {
            let sched = sched(&word, model.change)?;
            for seed in model.all_seeds() {
                let (workload, sched) = (workload.clone(), sched.clone());
                jobs.push(Job { workload, sched, seed });
            }
        }
    }
    Ok(jobs)
}

/// What `make` makes of each item, in their order, however many threads there are. `done` is told
/// how many are.
pub fn parallel<T: Sync, R: Send>(
    items: &[T],
    make: impl Fn(&T) -> R + Sync,
    done: impl Fn(usize) + Sync,
) -> Vec<R> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(items.len());
    let (next, ready) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let results: Mutex<Vec<Option<R>>> = Mutex::new(items.iter().map(|_| None).collect());
    let work = || {
        // The longest runs stand last: they are taken first.
        while let Some(i) = items.len().checked_sub(1 + next.fetch_add(1, Ordering::Relaxed)) {
            let result = make(&items[i]);
            results.lock().unwrap_or_else(|e| e.into_inner())[i] = Some(result);
            done(1 + ready.fetch_add(1, Ordering::Relaxed));
        }
    };
    done(0);
    std::thread::scope(|scope| {
        (0..threads).for_each(|_| {
            scope.spawn(work);
        });
    });
    results.into_inner().unwrap_or_else(|e| e.into_inner()).into_iter().flatten().collect()
}

/// The cells that are modelled.
fn cells(table: &Table, outcomes: &[Outcome], seeds: usize) -> Vec<Simulated> {
    let mut cells = Vec::new();
    for (x, both) in table.points().into_iter().zip(outcomes.chunks(2 * seeds)) {
        let (base, new) = both.split_at(seeds);
        for metric in table.metrics() {
            let values = |side: &[Outcome]| side.iter().map(|o| figure(o, metric)).collect();
            if let (Some(base), Some(new)) = (values(base), values(new)) {
                let (x, metric) = (x.to_owned(), metric.to_owned());
                cells.push(Simulated { x, metric, base: Seeds(base), new: Seeds(new) });
            }
        }
    }
    cells
}

/// A figure in the published unit; `None` for a metric without a model.
fn figure(outcome: &Outcome, metric: &str) -> Option<f64> {
    let counters = &outcome.per_cpu;
    Some(match metric {
        "time" => outcome.time_ns as f64 / 1e9,
        "busy_pct" => outcome.busy_ppm as f64 / 1e4,
        "slice" => outcome.slice_ns as f64 / 1e6,
        "find_pct" => outcome.find_ppm as f64 / 1e4,
        "sched" => counters.sched as f64,
        "idle" => counters.idle as f64,
        "wake" => counters.wake as f64,
        "steal" => counters.steal as f64,
        _ => return None,
    })
}
