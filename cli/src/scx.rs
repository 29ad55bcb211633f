// SPDX-License-Identifier: GPL-2.0-only
//! `ballast scx`: becomes the scheduler's own program.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::Result;
use ballast_lab::error::Failure;

use crate::programs;

#[derive(clap::Args)]
pub struct Args {
    /// Handed on to scx_ballast (--help lists them)
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    rest: Vec<OsString>,
}

/// Returns only when the program cannot be started.
pub fn main(args: &Args) -> Result<u8> {
    let program = programs()?.join("scx_ballast");
    let error = Command::new(&program).args(&args.rest).exec();
    Err(Failure::machine(format!("{}: cannot start it: {error}", program.display())))
}
