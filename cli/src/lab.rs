// SPDX-License-Identifier: GPL-2.0-only
//! `ballast lab run`.

use std::path::PathBuf;

use anyhow::Result;
use ballast_lab::model::{Mode, Topology};
use ballast_lab::progress::Progress;
use ballast_lab::report::{tables, Document, Sink};
use ballast_lab::run::{cache_folder, run, Options, DEFAULT_BENCHES, DEFAULT_SCHEDS};

use crate::{programs, VERSION};

#[derive(clap::Args)]
#[command(after_help = "\
Schedulers:
  eevdf                     the kernel's own; eevdf+taskset=1 confines every bench task to a mask
  eevdf+STEAL+NO_NEWIDLE    the same with flags of our fair class (STEAL SIS_LIMIT SIS_ROTATE
                            SIS_CORE NEWIDLE) on the kernel that `ballast kernel build` makes;
                            plain eevdf boots that kernel then too, sched_ext a stock one
  eevdf-unpatched           that kernel's source and configuration without the patches
  null                      a sched_ext scheduler with no callback: the floor
  ballast+NO_STEAL+slice_us=3000
                            ours, with features and tunables
  ./any_scx                 any sched_ext program

Benches (settings joined by +; defaults shown):
  hackbench+transport=pipe+groups=1+mode=process+loops=200   s; loops are shared by the groups
  messaging+transport=pipe+groups=1+mode=process+loops=200   s; perf bench sched messaging
  pipe+pinned=0+loops=20000      perf bench sched pipe; pinned=1: both tasks on one CPU
  sleeper+hogs=2+fifo=0          p99 delay of a 1 ms sleeper; fifo=1: with a SCHED_FIFO control,
                                 that works fifo_us=0 each time
  shares+seconds=10              CPU shares by nice; hogs=N: of N hogs of nice 0
  loads+times=20                 loads and unloads under hackbench
  churn+seconds=60               hotplug, partitions, quotas, masks and more at once; eevdf only
  invariants                     the rules of stealing and idle search, a scene each; eevdf only,
                                 with --kernel debug --cpus 16 --nodes 2 --smt 2
  boots                          a short hackbench in every boot
After --, any command of yours is the bench, timed in guest time.

Examples:
  ballast lab run
  ballast lab run --bench hackbench,hackbench+transport=socket,pipe+pinned=1 --check
  ballast lab run --cpus 1 --bench sleeper+hogs=8 --runs 4
  ballast lab run --sched eevdf,ballast,ballast+NO_STEAL --parallel --trace
  ballast lab run --sched eevdf-unpatched,eevdf,eevdf+STEAL --bench pipe+pinned=1,hackbench --check
  ballast lab run --sched eevdf,ballast --json result.json -- sh -c 'seq 100000 | sort | tail -1'

Exit status: 0; 1 a column did not end well, or with --check a bound was missed; 2 wrong usage;
3 this machine cannot do it, or every column was refused.")]
pub struct Args {
    /// Columns, joined by commas
    #[arg(long, value_delimiter = ',', default_value = DEFAULT_SCHEDS, value_name = "WORDS")]
    sched: Vec<String>,
    /// Benches, joined by commas; hackbench where no command is given
    #[arg(long, value_delimiter = ',', value_name = "WORDS")]
    bench: Vec<String>,
    /// auto, host, a series such as 6.18, debug (our debug build), or a path; several joined by commas
    #[arg(long, value_delimiter = ',', default_value = "auto", value_name = "WORDS")]
    kernel: Vec<String>,
    /// Guest CPUs in all
    #[arg(long, default_value_t = 4)]
    cpus: u32,
    /// NUMA nodes, one LLC each
    #[arg(long, default_value_t = 1)]
    nodes: u32,
    /// Threads a core
    #[arg(long, default_value_t = 1)]
    smt: u32,
    /// Guest time counts instructions: the same seed, the same figure (default without KVM)
    #[arg(long, conflicts_with = "parallel")]
    instructions: bool,
    /// Guest time is real time: KVM, else emulation (default with KVM)
    #[arg(long)]
    parallel: bool,
    /// Measure how long CPUs idle while a task waits (tracefs)
    #[arg(long)]
    trace: bool,
    /// Have the fair class of our kernel count its searches too, in every column; costs a little
    #[arg(long)]
    schedstats: bool,
    /// One more word for the guest kernels' command line, such as sched_steal_node_limit=4
    #[arg(long, value_name = "WORD")]
    append: Vec<String>,
    /// Take no finished boot from the cache
    #[arg(long)]
    fresh: bool,
    /// Exit 1 when a documented bound is missed; print all that were tried
    #[arg(long)]
    check: bool,
    /// First seed; boot N has seed S+N-1
    #[arg(long, default_value_t = 1, value_name = "S")]
    seed: u64,
    /// Boots a column
    #[arg(long, default_value_t = 10, value_name = "N")]
    runs: u32,
    /// Write the document to FILE (- for standard output; tables then go to standard error)
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
    /// Pack this file or folder into the guest
    #[arg(long, value_name = "PATH")]
    with: Vec<PathBuf>,
    /// A command to run in the guest as a bench
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl Args {
    fn options(&self) -> Result<Options> {
        let benches = match (self.bench.is_empty(), self.command.is_empty()) {
            (true, true) => vec![DEFAULT_BENCHES.to_owned()],
            _ => self.bench.clone(),
        };
        let mode = match (self.instructions, self.parallel) {
            (true, _) => Some(Mode::Instructions),
            (_, true) => Some(Mode::Parallel),
            _ => None,
        };
        Ok(Options {
            scheds: self.sched.clone(),
            benches,
            command: self.command.clone(),
            kernels: self.kernel.clone(),
            topology: Topology { cpus: self.cpus, nodes: self.nodes, smt: self.smt },
            mode,
            trace: self.trace,
            schedstats: self.schedstats,
            append: self.append.clone(),
            fresh: self.fresh,
            seed: self.seed,
            runs: self.runs,
            with: self.with.clone(),
            typed: typed(),
            version: VERSION.to_owned(),
            programs: programs()?,
            cache: cache_folder()?,
        })
    }
}

/// The command line as typed, the program by its name alone.
pub fn typed() -> Vec<String> {
    let words = std::env::args_os().skip(1).map(|w| w.to_string_lossy().into_owned());
    std::iter::once("ballast".to_owned()).chain(words).collect()
}

/// Runs, prints, and returns the exit status.
pub fn main(args: &Args) -> Result<u8> {
    let sink = args.json.as_deref().map(Sink::new).transpose()?;
    let (document, text) = report(&args.options()?, args.check)?;
    if let Some(sink) = &sink {
        sink.write(&document)?;
    }
    Sink::write_tables(sink.as_ref(), &text)?;
    let missed = args.check && document.checks.iter().any(|c| !c.ok);
    Ok(document.exit_status().max(u8::from(missed)))
}

/// Runs `options`: the document, and its tables and bounds; missed bounds only, unless `all`.
pub fn report(options: &Options, all: bool) -> Result<(Document, String)> {
    let say = |text: &str| eprintln!("ballast: {text}");
    let document = run(options, &Progress::new(), &say)?;
    let mut text = tables(&document);
    let bounds: Vec<String> =
        document.checks.iter().filter(|c| all || !c.ok).map(|c| c.line()).collect();
    if !bounds.is_empty() {
        text.push('\n');
        text.push_str(&bounds.join("\n"));
        text.push('\n');
    }
    Ok((document, text))
}
