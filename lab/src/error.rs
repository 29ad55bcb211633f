// SPDX-License-Identifier: GPL-2.0-only
//! One kind of error for the whole lab: a line for the user and the exit status it ends with.

use std::fmt;

/// What a failure means to a caller's script; the numbers are the documented exit statuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A run failed: status 1.
    Failed = 1,
    /// Wrong usage or bad input: status 2.
    Usage = 2,
    /// This machine cannot do it (no emulator, no sound kernel, not root): status 3.
    Machine = 3,
}

/// An error that the user sees as one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Decides the exit status.
    pub kind: Kind,
    /// Names the thing, what is wrong with it and what would be right.
    pub message: String,
}

impl Failure {
    /// A run that failed.
    pub fn failed(message: impl Into<String>) -> anyhow::Error {
        Self { kind: Kind::Failed, message: message.into() }.into()
    }

    /// Wrong usage or bad input.
    pub fn usage(message: impl Into<String>) -> anyhow::Error {
        Self { kind: Kind::Usage, message: message.into() }.into()
    }

    /// Something that this machine lacks.
    pub fn machine(message: impl Into<String>) -> anyhow::Error {
        Self { kind: Kind::Machine, message: message.into() }.into()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// The exit status that an error ends the program with: its [`Kind`]'s, else 1.
pub fn exit_status(error: &anyhow::Error) -> u8 {
    error.downcast_ref::<Failure>().map_or(Kind::Failed as u8, |f| f.kind as u8)
}
