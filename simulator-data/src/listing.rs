// SPDX-License-Identifier: GPL-2.0-only
//! What `machine list|show` and `workload list|show` say: text for people, a document for programs.

mod machines;
mod workloads;

use serde::Serialize;

pub use machines::{machine_list, machine_show};
pub use workloads::{workload_list, workload_show};

/// Both forms of one answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Listing<T> {
    /// At most 100 columns.
    pub text: String,
    /// Serialises as the JSON document.
    pub document: Document<T>,
}

/// How every document begins, then its own part.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Document<T> {
    schema: u32,
    ballast: String,
    command: Vec<String>,
    seed: Option<u64>,
    note: &'static str,
    #[serde(flatten)]
    body: T,
}

/// Who asked: what a document begins with.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// VERSION+COMMIT.
    pub ballast: &'a str,
    /// The command line as typed.
    pub command: &'a [String],
}

impl Asked<'_> {
    fn document<T>(&self, body: T) -> Document<T> {
        Document {
            schema: 1,
            ballast: self.ballast.to_owned(),
            command: self.command.to_vec(),
            seed: None,
            note: "no seed: nothing is drawn",
            body,
        }
    }
}

#[cfg(test)]
mod tests;
