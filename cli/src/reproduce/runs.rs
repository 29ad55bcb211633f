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

/// One run: a point of the table under one side's scheduler from one seed.
struct Job {
    workload: Hackbench,
    sched: Sched,
    seed: u64,
}

/// Every cell of the table that is modelled.
pub fn simulated(table: &Table, model: &Model, progress: &Progress) -> Result<Vec<Simulated>> {
    let jobs = jobs(table, model)?;
    Ok(cells(table, &run(&model.machine, &jobs, progress), model.seeds as usize))
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
            for n in 0..model.seeds {
                let (workload, sched) = (workload.clone(), sched.clone());
                jobs.push(Job { workload, sched, seed: model.seed.wrapping_add(n) });
            }
        }
    }
    Ok(jobs)
}

/// Results in the order of the jobs, however many threads there are.
fn run(machine: &MachineSpec, jobs: &[Job], progress: &Progress) -> Vec<Outcome> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(jobs.len());
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let results = Mutex::new(vec![Outcome::default(); jobs.len()]);
    let work = || {
        // The longest runs stand last: they are taken first.
        while let Some(i) = jobs.len().checked_sub(1 + next.fetch_add(1, Ordering::Relaxed)) {
            let job = &jobs[i];
            let outcome = simulate(machine, &job.workload, &job.sched, job.seed);
            results.lock().unwrap_or_else(|e| e.into_inner())[i] = outcome;
            let done = 1 + done.fetch_add(1, Ordering::Relaxed);
            progress.set(&format!("{done} of {} runs", jobs.len()));
        }
    };
    progress.set(&format!("0 of {} runs", jobs.len()));
    std::thread::scope(|scope| {
        (0..threads).for_each(|_| {
            scope.spawn(work);
        });
    });
    results.into_inner().unwrap_or_else(|e| e.into_inner())
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
