// SPDX-License-Identifier: GPL-2.0-only
//! What `ballast lab run` says: one document, as JSON and as tables for people.

mod table;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::check::Check;
use crate::compare::{self, Comparison, Entry};
use crate::error::Failure;
use crate::model::{Mode, Status};
use crate::whole;

pub use table::tables;

/// The document of `lab run`. Keys are only ever added.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// Of this document: 1.
    pub schema: u32,
    /// VERSION+COMMIT.
    pub ballast: String,
    /// The command line.
    pub command: Vec<String>,
    /// The first seed.
    pub seed: u64,
    /// Boots a column.
    pub runs: u32,
    /// What the emulator says of its version.
    pub qemu: String,
    /// `kvm` or `tcg`.
    pub accelerator: String,
    /// How guest time passed.
    pub mode: Mode,
    /// Whether the guests' CPUs ran at once rather than in turns.
    pub cpus_at_once: bool,
    /// Cores of this machine.
    pub host_cores: u32,
    /// The guests' machine.
    pub topology: Shape,
    /// The kernels booted, in the order typed.
    pub kernels: Vec<KernelInfo>,
    /// One for each kernel, bench and scheduler, in that order.
    pub results: Vec<Entry>,
    /// Every ordered pair of columns.
    pub comparisons: Vec<Comparison>,
    /// The bounds that apply.
    pub checks: Vec<Check>,
}

/// The guests' machine, as documents name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// In all.
    pub cpus: u32,
    /// Threads a core.
    pub smt: u32,
    /// Last-level caches: one a node.
    pub llcs: u32,
    /// NUMA nodes.
    pub nodes: u32,
}

/// A kernel that was booted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelInfo {
    /// `uname -r`; with a part of the digest where two kernels of a run say the same.
    pub release: String,
    /// SHA-256 of its file.
    pub digest: String,
    /// Where it came from.
    pub origin: String,
    /// What one that we built was built from; columns are compared on one kernel, or on two with
    /// the same base. `None` for all others.
    #[serde(default)]
    pub base: Option<String>,
    /// EEVDF's p99 of the one-CPU sleeper on it; `None` when it was not needed.
    pub eevdf_sleeper_p99_us: Option<f64>,
}

impl KernelInfo {
    /// The version of its own scheduler: its name, and which build where we built it.
    pub fn version(&self) -> String {
        let digest: String = self.digest.chars().take(12).collect();
        match self.base {
            Some(_) => format!("{} sha256:{digest}", self.release),
            None => self.release.clone(),
        }
    }
}

impl Document {
    /// The exit status: 3 if every column was refused, 1 if any did not end well.
    pub fn exit_status(&self) -> u8 {
        let status = |s: Status| move |e: &Entry| e.status == s;
        if !self.results.is_empty() && self.results.iter().all(status(Status::Refused)) {
            3
        } else {
            u8::from(!self.results.iter().all(status(Status::Ok)))
        }
    }

    /// What comparisons need to know of the kernels, by name.
    pub fn kernels_by_name(&self) -> BTreeMap<String, compare::Kernel> {
        let of = |k: &KernelInfo| {
            let facts =
                compare::Kernel { base: k.base.clone(), eevdf_sleeper_us: k.eevdf_sleeper_p99_us };
            (k.release.clone(), facts)
        };
        self.kernels.iter().map(of).collect()
    }
}

/// Where the JSON goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sink {
    /// Standard output; the tables then go to standard error.
    Stdout,
    /// A file, written beside and renamed.
    File(PathBuf),
}

impl Sink {
    /// Reads the value of `--json` and makes sure that it can be written, so that this is known
    /// before the first boot.
    pub fn new(word: &str) -> Result<Self> {
        if word == "-" {
            return Ok(Self::Stdout);
        }
        let path = PathBuf::from(word);
        if path.is_dir() || path.file_name().is_none() {
            return Err(Failure::usage(format!("--json `{word}`: names no file")));
        }
        whole::check(&path)
            .map_err(|e| Failure::usage(format!("--json {word}: cannot write there: {e}")))?;
        Ok(Self::File(path))
    }

    /// Writes a document, whole or not at all.
    pub fn write(&self, document: &impl Serialize) -> Result<()> {
        let mut text = serde_json::to_string_pretty(document)?;
        text.push('\n');
        match self {
            Self::Stdout => write_out(&mut io::stdout(), &text),
            Self::File(path) => whole::write(path, text.as_bytes())
                .map_err(|e| Failure::failed(format!("--json {}: {e}", path.display()))),
        }
    }

    /// Writes the tables where they do not get into the JSON's way.
    pub fn write_tables(sink: Option<&Self>, text: &str) -> Result<()> {
        match sink {
            Some(Self::Stdout) => write_out(&mut io::stderr(), text),
            _ => write_out(&mut io::stdout(), text),
        }
    }
}

/// A reader that has seen enough closes the pipe: not an error of ours.
fn write_out(to: &mut impl Write, text: &str) -> Result<()> {
    match to.write_all(text.as_bytes()).and_then(|()| to.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::failed(format!("cannot write the results: {e}")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
pub mod fixture;
#[cfg(test)]
mod tests;
