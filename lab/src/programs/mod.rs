// SPDX-License-Identifier: GPL-2.0-only
//! Benchmarks of our own that run inside the guest: `ballast-guest sleeper` measures how late a
//! waking task gets its CPU, `ballast-guest shares` how the CPU is shared out by nice,
//! `ballast-guest churn` whether a kernel lives through everything at once, `ballast-guest invariants`
//! whether its fair class keeps the rules of stealing and idle search. Each prints one line of JSON.

mod churn;
mod invariants;
mod process;
mod random;
mod shares;
mod sleeper;

pub use churn::churn;
pub use invariants::invariants;
pub(crate) use process::sleep_until;
pub use shares::shares;
pub use sleeper::sleeper;

use std::str::FromStr;

use serde::Serialize;

use crate::error::Failure;

/// The arguments of one program, taken one at a time.
struct Arguments<'a> {
    program: &'static str,
    rest: std::slice::Iter<'a, String>,
}

impl<'a> Arguments<'a> {
    fn new(program: &'static str, args: &'a [String]) -> Self {
        Self { program, rest: args.iter() }
    }

    /// The next option's name; `None` at the end.
    fn option(&mut self) -> Option<&'a str> {
        self.rest.next().map(String::as_str)
    }

    /// The number that follows `option`, if it lies in `low..=high`.
    fn number<T>(&mut self, option: &str, low: T, high: T) -> anyhow::Result<T>
    where
        T: FromStr + PartialOrd + std::fmt::Display,
    {
        let text = self.text(option)?;
        number(self.program, option, text, low, high)
    }

    /// The word that follows `option`.
    fn text(&mut self, option: &str) -> anyhow::Result<&'a str> {
        self.rest
            .next()
            .map(String::as_str)
            .ok_or_else(|| Failure::usage(format!("{}: {option} needs a value", self.program)))
    }

    /// The error for an option that the program does not have.
    fn unknown(&self, option: &str, known: &str) -> anyhow::Error {
        Failure::usage(format!("{}: unknown argument '{option}'; known: {known}", self.program))
    }
}

/// `text` as a number in `low..=high`.
fn number<T>(program: &str, option: &str, text: &str, low: T, high: T) -> anyhow::Result<T>
where
    T: FromStr + PartialOrd + std::fmt::Display,
{
    match text.parse() {
        Ok(value) if low <= value && value <= high => Ok(value),
        _ => Err(Failure::usage(format!(
            "{program}: {option}: '{text}' is not a whole number from {low} to {high}"
        ))),
    }
}

/// Prints a program's result as one line of JSON.
fn print_line(result: &impl Serialize) -> anyhow::Result<()> {
    println!("{}", serde_json::to_string(result)?);
    Ok(())
}
