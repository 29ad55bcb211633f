// SPDX-License-Identifier: GPL-2.0-only
//! `ballast reproduce`: a published table, simulated.

mod ablate;
mod runs;
#[cfg(test)]
mod tests;

use anyhow::Result;
use ballast_lab::progress::Progress;
use ballast_lab::report::Sink;
use ballast_sim_data::machine::MachineFile;
use ballast_sim_data::published::Table;
use ballast_sim_data::report::{constants, Constant, Report};
use clap::Parser;

use crate::model::{machine, message_ns, unchanged, usage, Change};
use crate::{lab, VERSION};
use runs::{loops_at, simulated, Model, PUBLISHED_LOOPS};

#[derive(clap::Args)]
#[command(after_help = "\
All figures are simulated. One constant, the work of a message, is fitted to the baseline's time at
the most groups; no patched figure is read. Beside ours stand two models that know nothing:
`patched = baseline` and `+1 %`.

Examples:
  ballast reproduce steal-hackbench
  ballast reproduce steal-hackbench --check --json result.json
  ballast reproduce steal-hackbench --full --seeds 5
  ballast reproduce steal-hackbench --ablate --json parts.json

Exit status: 0; 1 with --check a bound was missed; 2 wrong usage.")]
pub struct Args {
    /// The table: steal-hackbench
    table: String,
    /// Run the published 100,000 loops (some 20 minutes of CPU time)
    #[arg(long, conflicts_with = "loops")]
    full: bool,
    /// Loops at the most groups, more at fewer (as many messages); figures are at the published size
    #[arg(long, default_value_t = 1000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    loops: u32,
    /// The table again without each part of the model, and with each constant 20 % lower and
    /// higher: some 10 minutes of CPU time
    #[arg(long)]
    ablate: bool,
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

/// The one fitted constant.
const MESSAGE: &str = "message_ns";

/// Runs, prints, and returns the exit status.
pub fn main(args: &Args) -> Result<u8> {
    let sink = args.json.as_deref().map(Sink::new).transpose()?;
    let table = Table::find(&args.table).map_err(usage)?;
    let progress = Progress::new();
    let report = report(args, table, unchanged, &progress);
    progress.clear();
    let report = report?;
    if let Some(sink) = &sink {
        sink.write(&report.document(VERSION, &lab::typed()))?;
    }
    Sink::write_tables(sink.as_ref(), &report.text())?;
    Ok(u8::from(args.check && !report.ok()))
}

/// A table with the defaults of every option.
pub fn with_defaults(table: &str, progress: &Progress) -> Result<Report> {
    let args = Args::of([table])?;
    report(&args, Table::find(&args.table).map_err(usage)?, unchanged, progress)
}

impl Args {
    /// As the command reads these words.
    fn of<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        #[derive(clap::Parser)]
        struct Words {
            #[command(flatten)]
            args: Args,
        }
        Ok(Words::try_parse_from(["reproduce"].into_iter().chain(words))?.args)
    }
}

fn report(args: &Args, table: Table, change: Change, progress: &Progress) -> Result<Report> {
    let loops = if args.full { PUBLISHED_LOOPS } else { args.loops };
    let file = MachineFile::find(&table.experiment.machine).map_err(usage)?;
    progress.set("fitting the work of a message");
    let (message_ns, cell) = message_ns(&table.baseline(), &table.experiment, loops, change)?;
    let machine = machine(&file)?;
    let model = Model { machine, message_ns, loops, seed: args.seed, seeds: args.seeds, change };
    let cells = simulated(&table, &model, "", progress)?;
    let mut all = vec![Constant {
        name: MESSAGE.to_owned(),
        value: message_ns as f64,
        unit: "ns".to_owned(),
        source: "fitted: work of sending and receiving a message, alone on a core".to_owned(),
        fitted_from: Some(cell),
        derived_from: Vec::new(),
    }];
    all.extend(constants(&file));
    all.extend(model.machine.kernel.table().into_iter().map(of_the_kernel));
    let (variants, sensitivity) = match args.ablate {
        true => (
            ablate::parts(&table, &model, progress)?,
            Some(ablate::sensitivity(&table, &model, &all, progress)?),
        ),
        false => (Vec::new(), None),
    };
    let scale = scale(&table, loops);
    let seed = args.seed;
    Ok(Report { table, cells, constants: all, scale, seed, variants, sensitivity })
}

/// A number of the modelled kernel.
fn of_the_kernel(c: ballast_sim::Constant) -> Constant {
    Constant {
        name: c.name.to_owned(),
        value: c.value as f64,
        unit: c.unit.to_owned(),
        source: format!("{}: {}", c.what, c.source),
        fitted_from: None,
        derived_from: Vec::new(),
    }
}

/// Loops of the published run and of ours.
fn scale(table: &Table, loops: u32) -> String {
    let points = table.points();
    let at = |x: &str| format!("{} at {x}", loops_at(table, loops, x));
    match (points.first(), points.last()) {
        (Some(first), Some(last)) if loops < PUBLISHED_LOOPS => format!(
            "{PUBLISHED_LOOPS} loops published, {} to {} simulated, figures at the published size",
            at(first),
            at(last)
        ),
        _ => format!("{PUBLISHED_LOOPS} loops, as published"),
    }
}
