// SPDX-License-Identifier: GPL-2.0-only
//! The guest's init and its benchmarks, in one static program.

use std::process::ExitCode;

fn main() -> ExitCode {
    if std::process::id() == 1 {
        ballast_lab::agent::main();
    }
    eprintln!("ballast-guest: it is the init of the lab's guests; see `ballast lab run --help`");
    ExitCode::from(2)
}
