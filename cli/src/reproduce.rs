// SPDX-License-Identifier: GPL-2.0-only
//! `ballast reproduce`: a published table, simulated.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

use anyhow::Result;
use ballast_lab::error::Failure;
use ballast_lab::progress::Progress;
use ballast_lab::report::Sink;
use ballast_sim::{simulate, Hackbench, MachineSpec, Outcome, Sched};
use ballast_sim_data::figure::Seeds;
use ballast_sim_data::machine::MachineFile;
use ballast_sim_data::published::Table;
use ballast_sim_data::report::{constants, Constant, Report, Simulated};

use crate::model::{hackbench, machine, message_ns, usage};
use crate::{lab, VERSION};

/// Loops of the published runs.
const PUBLISHED_LOOPS: u32 = 100_000;

#[derive(clap::Args)]
#[command(after_help = "\
All figures are simulated. One constant, the work of a message, is fitted to the baseline's time at
the most groups; no patched figure is read. Beside ours stand two models that know nothing:
`patched = baseline` and `+1 %`.

Examples:
  ballast reproduce steal-hackbench
  ballast reproduce steal-hackbench --check --json result.json
  ballast reproduce steal-hackbench --full --seeds 5

Exit status: 0; 1 with --check a bound was missed; 2 wrong usage.")]
pub struct Args {
    /// The table: steal-hackbench
    table: String,
    /// Run the published 100,000 loops (some 20 minutes of CPU time)
    #[arg(long, conflicts_with = "loops")]
    full: bool,
    /// Loops to run; figures are scaled to the published size
    #[arg(long, default_value_t = 1000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    loops: u32,
    /// Exit 1 when a bound is missed
    #[arg(long)]
    check: bool,
    /// First seed
    #[arg(long, default_value_t = 1, value_name = "S")]
    seed: u64,
    /// Runs a cell
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// Write the document to FILE (- for standard output; text then goes to standard error)
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
}

/// One run: a point of the table under one side's scheduler from one seed.
struct Job {
    workload: Hackbench,
    sched: Sched,
    seed: u64,
}

/// Runs, prints, and returns the exit status.
pub fn main(args: &Args) -> Result<u8> {
    let sink = args.json.as_deref().map(Sink::new).transpose()?;
    let table = Table::find(&args.table).map_err(usage)?;
    let progress = Progress::new();
    let report = report(args, table, &progress);
    progress.clear();
    let report = report?;
    if let Some(sink) = &sink {
        sink.write(&report.document(VERSION, &lab::typed()))?;
    }
    Sink::write_tables(sink.as_ref(), &report.text())?;
    Ok(u8::from(args.check && !report.ok()))
}

fn report(args: &Args, table: Table, progress: &Progress) -> Result<Report> {
    let loops = if args.full { PUBLISHED_LOOPS } else { args.loops };
    let file = MachineFile::find(&table.experiment.machine).map_err(usage)?;
    let spec = machine(&file)?;
    progress.set("fitting the work of a message");
    let (work, cell) = message_ns(&table.baseline(), &table.experiment, loops)?;
    let jobs = jobs(args, &table, loops, work)?;
    let outcomes = run(&spec, &jobs, progress);
    let mut all = vec![Constant {
        name: "message_ns".to_owned(),
        value: work as f64,
        unit: "ns".to_owned(),
        source: "fitted: work of sending and receiving a message, alone on a core".to_owned(),
        fitted_from: Some(cell),
        derived_from: Vec::new(),
    }];
    all.extend(constants(&file));
    let scale = match loops {
        PUBLISHED_LOOPS => "100000 loops, as published".to_owned(),
        _ => format!("{loops} of {PUBLISHED_LOOPS} loops, scaled to the published size"),
    };
    let cells = cells(&table, &outcomes, args.seeds as usize);
    Ok(Report { table, cells, constants: all, scale, seed: args.seed, variants: Vec::new() })
}

/// For each point first the baseline's seeds, then the patched ones.
fn jobs(args: &Args, table: &Table, loops: u32, work: u64) -> Result<Vec<Job>> {
    let mut jobs = Vec::new();
    for x in table.points() {
        let word = format!("{}+groups={x}+loops={loops}", table.experiment.workload);
        let workload = hackbench(&word, work, Some(PUBLISHED_LOOPS))?;
        let variant = table.cells.iter().find(|c| c.x == x).map_or("", |c| c.variant.as_str());
        for sched in [table.experiment.base.clone(), table.patched(variant)] {
            let sched = Sched::parse(&sched).map_err(|e| Failure::failed(e.to_string()))?;
            for n in 0..args.seeds {
                let (workload, sched) = (workload.clone(), sched.clone());
                jobs.push(Job { workload, sched, seed: args.seed.wrapping_add(n) });
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
