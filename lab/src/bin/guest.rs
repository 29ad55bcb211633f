// SPDX-License-Identifier: GPL-2.0-only
//! The guest's init and its benchmarks, in one static program.

use std::process::ExitCode;

use ballast_lab::emulator::timer;
use ballast_lab::error::exit_status;
use ballast_lab::programs;

fn main() -> ExitCode {
    if std::process::id() == 1 {
        ballast_lab::agent::main();
    }
    let args: Vec<String> = std::env::args().skip(1).collect();
    let result = match args.first().map(String::as_str) {
        Some("sleeper") => programs::sleeper(&args[1..]),
        Some("shares") => programs::shares(&args[1..]),
        Some("churn") => programs::churn(&args[1..]),
        Some("invariants") => programs::invariants(&args[1..]),
        Some("timer") => timer::show(),
        _ => {
            eprintln!(
                "ballast-guest: the init of the lab's guests, and their sleeper, shares, churn and \
                 invariants"
            );
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ballast-guest: {error:#}");
            ExitCode::from(exit_status(&error))
        }
    }
}
