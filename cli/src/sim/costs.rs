// SPDX-License-Identifier: GPL-2.0-only
//! `ballast sim costs`: what operations of a scheduler come to on a machine.

use anyhow::Result;
use ballast_lab::report::Sink;
use ballast_sim::prices;
use ballast_sim_data::machine::MachineFile;
use serde::Serialize;

use super::Head;
use crate::model::{machine, usage};

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  ballast sim costs --machine e5-2630v4
  ballast sim costs --machine e5-2630v4-2s --json costs.json

Exit status: 0; 2 wrong usage.")]
pub struct Args {
    /// A name of `machine list`, or the path of a file
    #[arg(long)]
    machine: String,
    /// Write the document to FILE (- for standard output; text then goes to standard error)
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    head: Head,
    machine: &'a str,
    results: Vec<Operation>,
}

#[derive(Serialize)]
struct Operation {
    name: &'static str,
    ns: u64,
    parts: Vec<Part>,
}

#[derive(Serialize)]
struct Part {
    name: &'static str,
    ns: u64,
}

/// Prices, prints, and returns the exit status.
pub fn main(args: &Args) -> Result<u8> {
    let sink = args.json.as_deref().map(Sink::new).transpose()?;
    let file = MachineFile::find(&args.machine).map_err(usage)?;
    let mut text = format!("operations on {}, simulated: ns\n", file.name);
    let mut results = Vec::new();
    for price in prices(&machine(&file)?) {
        text.push_str(&format!("{:>8}  {}\n", price.ns, price.name));
        for (part, ns) in &price.parts {
            text.push_str(&format!("{ns:>12}  {part}\n"));
        }
        let part = |&(name, ns): &(&'static str, u64)| Part { name, ns };
        let parts = price.parts.iter().map(part).collect();
        results.push(Operation { name: price.name, ns: price.ns, parts });
    }
    if let Some(sink) = &sink {
        let head = Head::new(None, Some("no seed: nothing is drawn"));
        sink.write(&Document { head, machine: &file.name, results })?;
    }
    Sink::write_tables(sink.as_ref(), &text)?;
    Ok(0)
}
