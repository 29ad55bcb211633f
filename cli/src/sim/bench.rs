// SPDX-License-Identifier: GPL-2.0-only
//! `ballast sim bench`: how fast the simulator is. Figures of this host, not of any scheduler.

use std::time::Duration;

use anyhow::Result;
use ballast_lab::progress::Progress;
use ballast_lab::report::Sink;
use ballast_sim::{simulate, Outcome, Sched};
use ballast_sim_data::machine::MachineFile;
use serde::Serialize;

use super::{name_width, scheds, Head};
use crate::model::{fitted, hackbench, machine, usage};

/// What the best of several runs is taken of.
const SEED: u64 = 1;

#[derive(clap::Args)]
#[command(after_help = "\
Method: a run is a whole simulation in one thread, all costs on; its time is the time that the
thread had a core. The schedulers take turns, the best run counts, and the slowest stands beside it:
where they are far apart, something else used the caches. Every run of a scheduler does the same.

Examples:
  ballast sim bench
  ballast sim bench --machine e5-2630v4-2s --sched cfs-4.20+STEAL --runs 10 --json speed.json

Exit status: 0; 2 wrong usage.")]
pub struct Args {
    /// A name of `machine list`, or the path of a file
    #[arg(long, default_value = "e5-2630v4")]
    machine: String,
    /// A bench or a name of `workload list` with settings joined by +, or the path of a file
    #[arg(long, default_value = "hackbench+transport=socket+groups=8+loops=1000")]
    workload: String,
    /// Schedulers, joined by commas
    #[arg(long, value_delimiter = ',', default_value = "cfs-4.20,cfs-4.20+STEAL")]
    #[arg(value_name = "WORDS")]
    sched: Vec<String>,
    /// Runs a scheduler
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// Write the document to FILE (- for standard output; text then goes to standard error)
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
}

/// A scheduler's runs.
struct Row {
    sched: Sched,
    outcome: Outcome,
    times: Vec<Duration>,
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    head: Head,
    workload: &'a str,
    results: Vec<Entry<'a>>,
}

/// Rates and `host_ns` are the best run's.
#[derive(Serialize)]
struct Entry<'a> {
    machine: &'a str,
    sched: &'a str,
    cpus: usize,
    tasks: u32,
    switches_per_s: f64,
    operations_per_s: f64,
    host_ns: u64,
    operations: u64,
    switches: u64,
    all_host_ns: Vec<u64>,
}

/// For how long this thread has had a core.
fn core_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a timespec that the kernel may write to.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    debug_assert_eq!(status, 0, "every Linux has this clock");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Runs, prints, and returns the exit status.
pub fn main(args: &Args) -> Result<u8> {
    let sink = args.json.as_deref().map(Sink::new).transpose()?;
    let file = MachineFile::find(&args.machine).map_err(usage)?;
    let spec = machine(&file)?;
    let mut workload = hackbench(&args.workload, 1, None)?;
    let row = |sched| Row { sched, outcome: Outcome::default(), times: Vec::new() };
    let scheds = scheds(&args.sched)?;
    let names = name_width(&scheds);
    let mut rows: Vec<Row> = scheds.into_iter().map(row).collect();
    let progress = Progress::new();
    progress.set("fitting the work of a message");
    workload.message_ns = fitted()?;
    for run in 1..=args.runs {
        for row in &mut rows {
            progress.set(&format!("{}, run {run} of {}", row.sched.text(), args.runs));
            let begun = core_time();
            row.outcome = simulate(&spec, &workload, &row.sched, SEED);
            row.times.push(core_time().saturating_sub(begun));
        }
    }
    progress.clear();
    let tasks = workload.groups * workload.fan * 2;
    let entries: Vec<Entry> =
        rows.iter().map(|row| row.entry(&file.name, spec.cpus.len(), tasks)).collect();
    let runs = match args.runs {
        1 => "the one run".to_owned(),
        n => format!("the best of {n} runs"),
    };
    let mut text = format!(
        "speed of the simulator itself, on one core of this host, all costs on: {runs}\n\
         {} on {}: {} CPUs, {tasks} tasks\n{:<names$}{:>15}{:>15}{:>10}{:>10}\n",
        args.workload,
        file.name,
        spec.cpus.len(),
        "sched",
        "M operations/s",
        "M switches/s",
        "best s",
        "worst s"
    );
    entries.iter().for_each(|entry| text.push_str(&entry.text(names)));
    text.push_str(
        "operations: messages sent and received; switches: to and from idle count; s: of core time\n",
    );
    if let Some(sink) = &sink {
        let head = Head::new(Some(SEED), None);
        sink.write(&Document { head, workload: &args.workload, results: entries })?;
    }
    Sink::write_tables(sink.as_ref(), &text)?;
    Ok(0)
}

impl Row {
    fn entry<'a>(&'a self, machine: &'a str, cpus: usize, tasks: u32) -> Entry<'a> {
        let best = self.times.iter().min().copied().unwrap_or_default();
        let rate = |n: u64| n as f64 / best.as_secs_f64();
        let operations = 2 * self.outcome.messages;
        let switches = self.outcome.counters.iter().map(|c| c.switches).sum();
        Entry {
            machine,
            sched: self.sched.text(),
            cpus,
            tasks,
            switches_per_s: rate(switches),
            operations_per_s: rate(operations),
            host_ns: best.as_nanos() as u64,
            operations,
            switches,
            all_host_ns: self.times.iter().map(|t| t.as_nanos() as u64).collect(),
        }
    }
}

impl Entry<'_> {
    fn text(&self, names: usize) -> String {
        let worst = self.all_host_ns.iter().max().copied().unwrap_or(0);
        format!(
            "{:<names$}{:>15.2}{:>15.2}{:>10.3}{:>10.3}\n",
            self.sched,
            self.operations_per_s / 1e6,
            self.switches_per_s / 1e6,
            self.host_ns as f64 / 1e9,
            worst as f64 / 1e9
        )
    }
}
