// SPDX-License-Identifier: GPL-2.0-only
//! `ballast sim run`: one workload on one machine under schedulers of one's choice.

use std::time::Instant;

use anyhow::Result;
use ballast_lab::progress::Progress;
use ballast_lab::report::Sink;
use ballast_sim::{simulate, Hackbench, MachineSpec, Outcome, Sched};
use ballast_sim_data::costs::COSTS;
use ballast_sim_data::machine::MachineFile;
use serde::Serialize;

use super::{name_width, scheds, Head};
use crate::model::{fitted, hackbench, machine, usage};

#[derive(clap::Args)]
#[command(after_help = "\
Schedulers: cfs-4.20, with features joined by +: STEAL, SIS_LIMIT, SIS_ROTATE; on unless NO_ stands
before them: SIS_CORE, SIS_PROP.

Examples:
  ballast sim run --machine e5-2630v4 --workload hackbench+transport=socket+groups=8 \\
    --sched cfs-4.20,cfs-4.20+STEAL
  ballast sim run --machine ./mine.toml --workload hackbench+transport=socket+groups=2+loops=1000 \\
    --sched cfs-4.20+STEAL --seed 7 --json run.json

Exit status: 0; 2 wrong usage.")]
pub struct Args {
    /// A name of `machine list`, or the path of a file
    #[arg(long)]
    machine: String,
    /// A bench or a name of `workload list` with settings joined by +, or the path of a file
    #[arg(long)]
    workload: String,
    /// Schedulers, joined by commas
    #[arg(long, value_delimiter = ',', required = true, value_name = "WORDS")]
    sched: Vec<String>,
    /// Moves places and start times of the tasks, and each service time by up to 1 %
    #[arg(long, default_value_t = 1, value_name = "S")]
    seed: u64,
    /// Work of a message in ns; fitted to the published baseline unless given
    #[arg(long, value_name = "NS", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    message_ns: Option<u64>,
    /// Write the document to FILE (- for standard output; text then goes to standard error)
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
}

/// Runs, prints, and returns the exit status.
pub fn main(args: &Args) -> Result<u8> {
    let sink = args.json.as_deref().map(Sink::new).transpose()?;
    let file = MachineFile::find(&args.machine).map_err(usage)?;
    let spec = machine(&file)?;
    let mut workload = hackbench(&args.workload, 1, None)?;
    let scheds = scheds(&args.sched)?;
    let progress = Progress::new();
    progress.set("fitting the work of a message");
    workload.message_ns = args.message_ns.map_or_else(fitted, Ok)?;
    let names = name_width(&scheds);
    let mut text = format!(
        "{} on {}, simulated; seed {}, {} ns a message\n{:<names$}{:>10}{:>8}{:>10}{:>10}{:>10}{:>10}\n",
        args.workload, file.name, args.seed, workload.message_ns,
        "sched", "time s", "busy %", "schedule", "idle", "wake", "steal"
    );
    let mut runs = Vec::new();
    for sched in &scheds {
        progress.set(&format!("{} on {}", sched.text(), file.name));
        let begun = Instant::now();
        let outcome = simulate(&spec, &workload, sched, args.seed);
        text.push_str(&row(names, sched, &outcome));
        runs.push(entry(sched, &outcome, begun.elapsed().as_nanos() as u64));
    }
    progress.clear();
    text.push_str("Counters are means over CPUs.\n");
    if let Some(sink) = &sink {
        let one = (runs.len() == 1).then(|| runs.pop()).flatten();
        sink.write(&Document {
            head: Head::new(Some(args.seed), None),
            machine: &file.name,
            workload: &args.workload,
            message_ns: workload.message_ns,
            inputs_digest: inputs_digest(&file, &spec, &workload),
            one,
            runs,
        })?;
    }
    Sink::write_tables(sink.as_ref(), &text)?;
    Ok(0)
}

/// One run stands at the top, several in a list.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    head: Head,
    machine: &'a str,
    workload: &'a str,
    message_ns: u64,
    inputs_digest: String,
    #[serde(flatten)]
    one: Option<Entry>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    runs: Vec<Entry>,
}

#[derive(Serialize)]
struct Entry {
    sched: String,
    features: Vec<String>,
    simulated_ns: u64,
    host_ns: u64,
    results: Results,
    busy_pct: f64,
    counters: Means,
    events: u64,
    digest: String,
}

#[derive(Serialize)]
struct Results {
    time_s: f64,
    messages: u64,
}

/// Means over CPUs.
#[derive(Serialize)]
struct Means {
    sched: u64,
    idle: u64,
    wake: u64,
    steal: u64,
    steal_fail: u64,
    newidle: u64,
    balanced: u64,
    nohz: u64,
    preempted: u64,
    idle_ns: u64,
    find_ns: u64,
}

fn row(names: usize, sched: &Sched, o: &Outcome) -> String {
    let c = &o.per_cpu;
    let (time, busy) = (o.time_ns as f64 / 1e9, o.busy_ppm as f64 / 1e4);
    let name = sched.text();
    format!(
        "{name:<names$}{time:>10.4}{busy:>8.2}{:>10}{:>10}{:>10}{:>10}\n",
        c.sched, c.idle, c.wake, c.steal
    )
}

fn entry(sched: &Sched, o: &Outcome, host_ns: u64) -> Entry {
    let c = &o.per_cpu;
    Entry {
        sched: sched.text().to_owned(),
        features: sched.text().split('+').skip(1).map(str::to_owned).collect(),
        simulated_ns: o.simulated_ns,
        host_ns,
        results: Results { time_s: o.time_ns as f64 / 1e9, messages: o.messages },
        busy_pct: o.busy_ppm as f64 / 1e4,
        counters: Means {
            sched: c.sched,
            idle: c.idle,
            wake: c.wake,
            steal: c.steal,
            steal_fail: c.steal_fail,
            newidle: c.newidle,
            balanced: c.balanced,
            nohz: c.nohz,
            preempted: c.preempted,
            idle_ns: c.idle_ns,
            find_ns: c.find_ns,
        },
        events: o.events,
        digest: format!("{:016x}", o.digest),
    }
}

/// FNV-1a of all that a run is given beside scheduler and seed.
fn inputs_digest(file: &MachineFile, spec: &MachineSpec, w: &Hackbench) -> String {
    let costs = COSTS.iter().filter_map(|c| file.costs.get(c.name));
    let places = spec.cpus.iter().flat_map(|p| [p.core, p.llc, p.node]).map(u64::from);
    let shape = [w.groups, w.loops, w.fan, w.published_loops].map(u64::from);
    let words = costs.chain(places).chain(shape).chain([w.message_ns]);
    let hash = words.flat_map(u64::to_le_bytes).fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}
