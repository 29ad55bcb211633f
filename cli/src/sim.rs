// SPDX-License-Identifier: GPL-2.0-only
//! `ballast sim`: workloads on machines under schedulers of one's choice, prices, and its speed.

mod bench;
mod costs;
mod run;

use anyhow::Result;
use ballast_sim::Sched;
use serde::Serialize;

use crate::model::usage;
use crate::{lab, VERSION};

/// Below the help of `ballast sim`.
pub const EXAMPLES: &str = "\
Examples:
  ballast sim run --machine e5-2630v4 --workload hackbench+transport=socket+groups=8 \\
    --sched cfs-4.20,cfs-4.20+STEAL
  ballast sim costs --machine e5-2630v4-2s
  ballast sim bench";

#[derive(clap::Subcommand)]
pub enum Sim {
    /// Simulates a workload under one scheduler or several
    Run(run::Args),
    /// Prices a steal, a scan and a newidle pass from a machine's lines and distances
    Costs(costs::Args),
    /// Measures how fast the simulator itself is, on one core
    Bench(bench::Args),
}

/// Runs, prints, and returns the exit status.
pub fn main(command: &Sim) -> Result<u8> {
    match command {
        Sim::Run(args) => run::main(args),
        Sim::Costs(args) => costs::main(args),
        Sim::Bench(args) => bench::main(args),
    }
}

fn scheds(words: &[String]) -> Result<Vec<Sched>> {
    words.iter().map(|word| Sched::parse(word).map_err(usage)).collect()
}

/// Columns that the longest name takes.
fn name_width(scheds: &[Sched]) -> usize {
    scheds.iter().map(|sched| sched.text().len()).max().unwrap_or(0).max("sched".len())
}

/// How every document begins.
#[derive(Serialize)]
struct Head {
    schema: u32,
    ballast: &'static str,
    command: Vec<String>,
    seed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
}

impl Head {
    fn new(seed: Option<u64>, note: Option<&'static str>) -> Self {
        Self { schema: 1, ballast: VERSION, command: lab::typed(), seed, note }
    }
}
