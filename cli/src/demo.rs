// SPDX-License-Identifier: GPL-2.0-only
//! `ballast demo`: one small `lab run`, explained.

use anyhow::Result;
use ballast_lab::model::Topology;
use ballast_lab::report::Sink;
use ballast_lab::run::{cache_folder, Options, DEFAULT_BENCHES, DEFAULT_SCHEDS};

use crate::{lab, programs, VERSION};

/// Enough to see it work; a verdict to rely on takes ten.
const SEEDS: u32 = 3;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  ballast demo
  ballast demo --json demo.json

It is `ballast lab run --runs 3` with an explanation.")]
pub struct Args {
    /// Write the document to FILE (- for standard output; tables then go to standard error)
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
}

const BEFORE: &str = "\
Ballast demo: a real Linux kernel in a throw-away virtual machine of 4 CPUs, under three schedulers:
  eevdf    the kernel's own
  null     a sched_ext scheduler with no callback at all: cheap, but it makes tasks wait
  ballast  ours
One bench (hackbench over pipes: 40 tasks that talk to each other) and 3 seeds. This machine's own
scheduler is not touched. A few minutes at most:
";

const AFTER: &str = "
How to read it: `mean` is the bench's time. A lower one counts only if the scheduler kept the CPUs
busy (eff.CPUs: 4.00 = all four alike) and does not make a sleeping task wait (the last line). null
shows why: it is cheap because it lets tasks wait. 3 seeds show that it works; 10 are a verdict.

Try next:
  ./ballast lab run --check                      10 seeds, and the bounds that Ballast sets itself
  ./ballast lab run --bench pipe+pinned=1        what a switch costs
  ./ballast lab run --sched eevdf,ballast,ballast+NO_STEAL --parallel --trace
  ./ballast lab run --sched eevdf,ballast -- sh -c 'seq 100000 | sort | tail -1'
  sudo ./ballast scx                             Ballast on this machine (Linux 6.18 or newer)
";

/// Runs it and returns the exit status.
pub fn main(args: &Args) -> Result<u8> {
    let sink = args.json.as_deref().map(Sink::new).transpose()?;
    Sink::write_tables(sink.as_ref(), BEFORE)?;
    let options = Options {
        scheds: DEFAULT_SCHEDS.split(',').map(str::to_owned).collect(),
        benches: vec![DEFAULT_BENCHES.to_owned()],
        command: Vec::new(),
        kernels: vec!["auto".to_owned()],
        topology: Topology { cpus: 4, nodes: 1, smt: 1 },
        mode: None,
        trace: false,
        fresh: false,
        seed: 1,
        runs: SEEDS,
        with: Vec::new(),
        typed: lab::typed(),
        version: VERSION.to_owned(),
        programs: programs()?,
        cache: cache_folder()?,
    };
    let document = lab::report(&options, sink.as_ref(), false)?;
    Sink::write_tables(sink.as_ref(), AFTER)?;
    Ok(document.exit_status())
}
