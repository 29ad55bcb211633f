// SPDX-License-Identifier: GPL-2.0-only
//! `ballast machine` and `ballast workload`: the simulator's data as text and documents.

use anyhow::Result;
use ballast_lab::error::Failure;
use ballast_lab::report::Sink;
use ballast_sim_data::error::BadInput;
use ballast_sim_data::listing::{
    machine_list, machine_show, workload_list, workload_show, Asked, Listing,
};
use serde::Serialize;

use crate::{lab, VERSION};

/// Below the help of `ballast machine`.
pub const MACHINE_EXAMPLES: &str = "\
Examples:
  ballast machine list
  ballast machine show e5-2630v4";

/// Below the help of `ballast workload`.
pub const WORKLOAD_EXAMPLES: &str = "\
Examples:
  ballast workload list
  ballast workload show hackbench+transport=socket+groups=8";

/// Of each of these commands.
#[derive(clap::Args)]
pub struct Out {
    /// Write the document to FILE (- for standard output; text then goes to standard error)
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
}

#[derive(clap::Subcommand)]
pub enum Machine {
    /// Names all machines
    #[command(after_help = "\
Examples:
  ballast machine list
  ballast machine list --json -")]
    List(Out),
    /// Shows a machine: its CPUs by cache and core, its costs and their sources
    #[command(after_help = "\
Examples:
  ballast machine show e5-2630v4
  ballast machine show ./mine.toml --json mine.json

Exit status: 0; 2 an unknown machine, or a file that is not right.")]
    Show {
        /// A name of `machine list`, or the path of a file
        machine: String,
        #[command(flatten)]
        out: Out,
    },
}

#[derive(clap::Subcommand)]
pub enum Workload {
    /// Names all workloads
    #[command(after_help = "\
Examples:
  ballast workload list
  ballast workload list --json -")]
    List(Out),
    /// Shows a workload: its model, its settings, and the real command
    #[command(after_help = "\
Examples:
  ballast workload show hackbench+transport=socket+groups=8
  ballast workload show hackbench-process-socket --json workload.json
  ballast workload show ./mine.toml+groups=2

Exit status: 0; 2 an unknown word, or a file that is not right.")]
    Show {
        /// A bench or a name of `workload list` with settings joined by +, or the path of a file
        workload: String,
        #[command(flatten)]
        out: Out,
    },
}

/// Prints, and returns the exit status.
pub fn machine(command: &Machine) -> Result<u8> {
    match command {
        Machine::List(out) => say(out, machine_list),
        Machine::Show { machine, out } => say(out, |asked| machine_show(machine, asked)),
    }
}

/// Prints, and returns the exit status.
pub fn workload(command: &Workload) -> Result<u8> {
    match command {
        Workload::List(out) => say(out, workload_list),
        Workload::Show { workload, out } => say(out, |asked| workload_show(workload, asked)),
    }
}

/// Knows that the document can be written before anything is read.
fn say<T: Serialize>(
    out: &Out,
    ask: impl FnOnce(Asked) -> Result<Listing<T>, BadInput>,
) -> Result<u8> {
    let sink = out.json.as_deref().map(Sink::new).transpose()?;
    let asked = Asked { ballast: VERSION, command: &lab::typed() };
    let listing = ask(asked).map_err(|e| Failure::usage(e.to_string()))?;
    if let Some(sink) = &sink {
        sink.write(&listing.document)?;
    }
    Sink::write_tables(sink.as_ref(), &listing.text)?;
    Ok(0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use ballast_lab::bench::What;
    use ballast_sim_data::workload::Workload;

    /// One word, one meaning: in the lab as in the simulator.
    #[test]
    fn workload_words_mean_what_bench_words_mean() {
        for word in [
            "hackbench+transport=socket",
            "hackbench+transport=socket+groups=8",
            "hackbench+transport=socket+groups=3+mode=process",
            "hackbench+transport=socket+groups=1000",
            "hackbench+transport=socket+loops=77+groups=2",
        ] {
            let workload = Workload::find(word).unwrap();
            let What::Hackbench(crowd) = What::parse(word).unwrap() else { panic!("{word}") };
            assert_eq!(workload.get("groups"), Some(crowd.groups), "{word}");
            assert_eq!(workload.get("loops"), Some(crowd.loops), "{word}");
            assert!(!crowd.pipes && !crowd.threads, "{word}");
        }
        for word in ["hackbench", "hackbench+transport=socket+mode=thread", "hackbench+groups=1001"]
        {
            Workload::find(word).unwrap_err();
        }
        for word in ["hackbench+transport=sokcet", "hackbench+gruops=1", "hackbench+groups=0"] {
            Workload::find(word).unwrap_err();
            assert!(What::parse(word).is_err(), "{word}");
        }
    }
}
