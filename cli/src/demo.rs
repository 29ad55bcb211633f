// SPDX-License-Identifier: GPL-2.0-only
//! `ballast demo`: a published table, simulated, and one small `lab run`, explained. The kernel for
//! the second is fetched during the first.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::Result;
use ballast_lab::error::Failure;
use ballast_lab::kernel::{self, Choice, Kernel};
use ballast_lab::model::Topology;
use ballast_lab::progress::Progress;
use ballast_lab::report::{Document, Sink};
use ballast_lab::run::{cache_folder, Options, DEFAULT_BENCHES, DEFAULT_SCHEDS};
use ballast_sim_data::report::Document as Table;
use serde::Serialize;

use crate::model::TABLE;
use crate::{lab, programs, reproduce, VERSION};

/// Enough to see it work; a verdict to rely on takes ten.
const SEEDS: u32 = 3;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  ballast demo
  ballast demo --json demo.json

It is `ballast reproduce steal-hackbench`, shortened, and `ballast lab run --runs 3`, each with an
explanation. The document is that of `lab run`, with that of `reproduce` under the key `reproduce`.")]
pub struct Args {
    /// Write the document to FILE (- for standard output; tables then go to standard error)
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
}

const BEFORE: &str = "\
Ballast demo, in two parts. This machine's own scheduler is not touched.

1. A published table, SIMULATED (some seconds): hackbench on a modelled Xeon of 20 CPUs, under Linux
   4.20's own scheduler and with stealing: a CPU that goes idle takes waiting work from a busy one.

";

const GUESTS: &str = "
2. A real Linux kernel in a throw-away virtual machine of 4 CPUs, under three schedulers.
     eevdf    the kernel's own
     null     a sched_ext scheduler with no callback at all: cheap, but it makes tasks wait
     ballast  ours
   One bench (hackbench over pipes: 40 tasks that talk to each other) and 3 seeds; a few minutes.
";

const AFTER: &str = "
How to read it: `mean` is the bench's time. A lower one counts only if the scheduler kept the CPUs
busy (eff.CPUs: 4.00 = all four alike) and does not make a sleeping task wait (the last line). null
shows why: it is cheap because it lets tasks wait. 3 seeds show that it works; 10 are a verdict.

Try next:
  ./ballast reproduce steal-hackbench            the whole table, every bound and constant
  ./ballast sim run --machine e5-2630v4 --sched cfs-4.20,cfs-4.20+STEAL \\
    --workload hackbench+transport=socket+groups=2+loops=4000
  ./ballast lab run --check                      10 seeds, and the bounds that Ballast sets itself
  ./ballast lab run --bench pipe+pinned=1        what a switch costs
  ./ballast lab run --sched eevdf,ballast,ballast+NO_STEAL --parallel --trace
  ./ballast lab run --sched eevdf,ballast -- sh -c 'seq 100000 | sort | tail -1'
  sudo ./ballast scx                             Ballast on this machine (Linux 6.18 or newer)
";

/// `lab run`'s, and the table.
#[derive(Serialize)]
struct Both<'a> {
    #[serde(flatten)]
    lab: &'a Document,
    reproduce: Table,
}

/// A kernel on its way.
struct Fetch {
    progress: Arc<Progress>,
    thread: JoinHandle<Result<Kernel>>,
}

impl Fetch {
    /// Looks for a kernel behind what else goes on, and says nothing.
    fn begin(cache: PathBuf) -> Self {
        let progress = Arc::new(Progress::hidden());
        let theirs = Arc::clone(&progress);
        let thread = thread::spawn(move || kernel::find(&Choice::Auto, true, &cache, &theirs));
        Self { progress, thread }
    }

    /// Waits for it, from now on with progress; it is in the cache then.
    fn end(self) -> Result<()> {
        self.progress.show();
        let found = self.thread.join();
        self.progress.clear();
        let broken = |_| Failure::failed("looking for a kernel ended in a panic (above)");
        found.map_err(broken)?.map(drop)
    }
}

/// Runs it and returns the exit status.
pub fn main(args: &Args) -> Result<u8> {
    let sink = args.json.as_deref().map(Sink::new).transpose()?;
    let say = |text: &str| Sink::write_tables(sink.as_ref(), text);
    let options = options()?;
    say(BEFORE)?;
    let begun = Instant::now();
    let fetch = Fetch::begin(options.cache.clone());
    let progress = Progress::new();
    let report = reproduce::with_defaults(TABLE, &progress);
    progress.clear();
    let report = report?;
    let first = begun.elapsed();
    say(&report.short_text())?;
    say(GUESTS)?;
    let begun = Instant::now();
    fetch.end()?;
    let waited = begun.elapsed();
    let (document, tables) = lab::report(&options, false)?;
    if let Some(sink) = &sink {
        let reproduce = report.document(VERSION, &options.typed);
        sink.write(&Both { lab: &document, reproduce })?;
    }
    say(&tables)?;
    say(AFTER)?;
    say(&format!(
        "\nThe table took {}, the virtual machines {}{}.\n",
        time(first),
        time(begun.elapsed() - waited),
        if waited.as_secs() > 0 {
            format!(", the kernel {} more", time(waited))
        } else {
            String::new()
        }
    ))?;
    Ok(document.exit_status())
}

fn options() -> Result<Options> {
    Ok(Options {
        scheds: DEFAULT_SCHEDS.split(',').map(str::to_owned).collect(),
        benches: vec![DEFAULT_BENCHES.to_owned()],
        command: Vec::new(),
        kernels: vec!["auto".to_owned()],
        topology: Topology { cpus: 4, nodes: 1, smt: 1 },
        mode: None,
        trace: false,
        schedstats: false,
        append: Vec::new(),
        fresh: false,
        seed: 1,
        runs: SEEDS,
        with: Vec::new(),
        typed: lab::typed(),
        version: VERSION.to_owned(),
        programs: programs()?,
        cache: cache_folder()?,
    })
}

/// For people: 9 s, 1 min 4 s.
fn time(span: Duration) -> String {
    match span.as_secs() {
        seconds if seconds < 60 => format!("{seconds} s"),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}
