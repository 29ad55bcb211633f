// SPDX-License-Identifier: GPL-2.0-only
//! The `ballast` command: reads words, calls the lab or the simulator's data, prints.

mod data;
mod demo;
mod kernel;
mod lab;
mod model;
mod reproduce;
mod scx;
mod sim;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use ballast_lab::error::{exit_status, Failure};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Parser, Subcommand};

/// VERSION+COMMIT.
const VERSION: &str = env!("BALLAST_VERSION");

/// Keeps every CPU of a multicore Linux machine usefully busy, and shows what that is worth.
#[derive(Parser)]
#[command(name = "ballast", version = VERSION, arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  ballast demo                          a published table, then a virtual machine, in minutes
  ballast lab run                       three schedulers in a virtual machine, ten seeds, a verdict
  ballast lab run --bench pipe+pinned=1 --sched null,ballast
  ballast kernel build                  Linux with the mechanisms in its own fair class
  ballast reproduce steal-hackbench     a published table, simulated
  ballast machine show e5-2630v4        a machine's CPUs and what things cost there
  ballast scx --help                    the scheduler for this machine

Exit status: 0, 1 a run failed, 2 wrong usage or bad input, 3 this machine cannot do it.")]
struct Cli {
    #[command(subcommand)]
    command: Commands,
}

#[derive(Subcommand)]
enum Commands {
    /// Boots real kernels in virtual machines and compares schedulers
    #[command(arg_required_else_help = true)]
    Lab {
        #[command(subcommand)]
        command: LabCommands,
    },
    /// Builds Linux with the mechanisms in its own fair class
    #[command(subcommand, arg_required_else_help = true, after_help = kernel::EXAMPLES)]
    Kernel(kernel::Kernel),
    /// Simulates what a published table measured, and compares
    #[command(arg_required_else_help = true)]
    Reproduce(reproduce::Args),
    /// Simulates one workload; prices operations; measures its own speed
    #[command(subcommand, arg_required_else_help = true, after_help = sim::EXAMPLES)]
    Sim(sim::Sim),
    /// Lists and shows the machines that can be simulated
    #[command(subcommand, arg_required_else_help = true, after_help = data::MACHINE_EXAMPLES)]
    Machine(data::Machine),
    /// Lists and shows workloads: a model and a real command under one word
    #[command(subcommand, arg_required_else_help = true, after_help = data::WORKLOAD_EXAMPLES)]
    Workload(data::Workload),
    /// Loads scx_ballast into this machine's kernel (all arguments are handed on)
    #[command(disable_help_flag = true)]
    Scx(scx::Args),
    /// Simulates a published table, then runs EEVDF, null and Ballast in a virtual machine
    Demo(demo::Args),
}

#[derive(Subcommand)]
enum LabCommands {
    /// Runs benches under several schedulers and compares them
    Run(Box<lab::Args>),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let result = match cli.command {
        Commands::Lab { command: LabCommands::Run(args) } => lab::main(&args),
        Commands::Kernel(command) => kernel::main(&command),
        Commands::Reproduce(args) => reproduce::main(&args),
        Commands::Sim(command) => sim::main(&command),
        Commands::Machine(command) => data::machine(&command),
        Commands::Workload(command) => data::workload(&command),
        Commands::Scx(args) => scx::main(&args),
        Commands::Demo(args) => demo::main(&args),
    };
    match result {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            eprintln!("ballast: {error:#}");
            ExitCode::from(exit_status(&error))
        }
    }
}

/// Help and version as they are; anything else as one line.
fn usage(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => error.exit(),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => error.exit(),
        _ => {}
    }
    let text = error.to_string();
    let first = text.lines().next().unwrap_or_default();
    let mut line = first.strip_prefix("error: ").unwrap_or(first).to_owned();
    if let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg) {
        line.push_str(&format!(" {}", missing.join(" ")));
    }
    for kind in [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand] {
        match error.get(kind) {
            Some(ContextValue::String(near)) => line.push_str(&format!("; the nearest is {near}")),
            Some(ContextValue::Strings(all)) => {
                line.push_str(&format!("; the nearest is {}", all.join(" or ")));
            }
            _ => {}
        }
    }
    eprintln!("ballast: {line} (see ballast --help)");
    ExitCode::from(2)
}

/// The folder in which this program lies, and the others of the same build.
fn programs() -> Result<PathBuf> {
    let exe = std::env::current_exe().context("cannot tell where this program lies")?;
    let folder = exe.parent().map(PathBuf::from);
    folder.ok_or_else(|| Failure::machine("this program lies in no folder"))
}
