// SPDX-License-Identifier: GPL-2.0-only
//! Published tables: their cells and the experiments behind them.

mod cells;

use crate::error::Result;
use crate::figure::Printed;
use crate::reader::Section;
use crate::words::unknown;

const KEYS: &[&str] = &[
    "title",
    "source",
    "machine",
    "workload",
    "command",
    "kernel",
    "base",
    "x",
    "assumed",
    "not_judged",
];

/// Names, cells and experiments of the tables that Ballast carries.
const TABLES: &[(&str, &str, &str)] = &[(
    "steal-hackbench",
    include_str!("../../published/steal-hackbench.csv"),
    include_str!("../../published/steal-hackbench.toml"),
)];

/// Which direction is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Times, latencies.
    Lower,
    /// Rates.
    Higher,
    /// Counters and shares.
    None,
}

impl Better {
    /// As the tables write it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Lower => "lower",
            Self::Higher => "higher",
            Self::None => "none",
        }
    }

    /// What `new` gains on `base`, in per cent, positive is better; `None` where neither direction
    /// is, or there is nothing to divide by.
    pub fn gain_pct(self, base: f64, new: f64) -> Option<f64> {
        let gain = match self {
            Self::Lower => base / new - 1.0,
            Self::Higher => new / base - 1.0,
            Self::None => return None,
        };
        Some(100.0 * gain).filter(|g| g.is_finite())
    }
}

/// How busy the published runs were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// No CPU to spare.
    Saturated,
    /// Everything else.
    Low,
}

impl Load {
    /// As the tables write it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Saturated => "saturated",
            Self::Low => "low",
        }
    }
}

/// One comparison of a table; fields as in `published/README.md`.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Name of a machine file.
    pub machine: String,
    /// Name of a workload file.
    pub bench: String,
    /// Features of the patched side, blanks between.
    pub variant: String,
    /// The point within the table.
    pub x: String,
    /// What is measured.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Its better direction.
    pub better: Better,
    /// Baseline.
    pub base: Printed,
    /// Patched.
    pub new: Printed,
    /// Published standard deviation of `base`.
    pub sd_base_pct: Option<f64>,
    /// Published standard deviation of `new`.
    pub sd_new_pct: Option<f64>,
    /// The published effect, positive is better.
    pub gain_pct: Option<f64>,
    /// An elapsed time, rate or latency.
    pub primary: bool,
    /// Of a program that wakes others.
    pub mechanism: bool,
    /// The effect is no noise.
    pub judged: bool,
    /// How busy the runs were.
    pub load: Load,
    /// What a reader has to know.
    pub note: String,
}

/// What was run to get a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// One line for people.
    pub title: String,
    /// Who published it, and where.
    pub source: String,
    /// Name of a machine file.
    pub machine: String,
    /// Name of a workload file.
    pub workload: String,
    /// As published.
    pub command: String,
    /// Its era and settings.
    pub kernel: String,
    /// The baseline's scheduler word.
    pub base: String,
    /// What `x` counts.
    pub x: String,
    /// What is not published.
    pub assumed: Vec<String>,
    /// Metrics that are printed and never judged.
    pub not_judged: Vec<String>,
}

/// A published table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// As typed after `reproduce`.
    pub name: String,
    /// What was run.
    pub experiment: Experiment,
    /// Its cells, in the published order.
    pub cells: Vec<Cell>,
}

/// The baseline's figures and nothing else: all that a calibration is given, so that it cannot
/// read a patched cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Baseline {
    cells: Vec<(String, String, f64)>,
}

impl Baseline {
    /// The baseline's figure of `metric` at `x`.
    pub fn get(&self, metric: &str, x: &str) -> Option<f64> {
        self.cells.iter().find(|c| c.0 == metric && c.1 == x).map(|c| c.2)
    }

    /// The largest x that is a number, as printed: where the one fitted constant comes from.
    pub fn largest_x(&self) -> Option<&str> {
        let numbers = self.cells.iter().filter_map(|c| Some((c.1.parse::<f64>().ok()?, c)));
        numbers.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, c)| c.1.as_str())
    }
}

/// Names of the tables.
pub fn names() -> Vec<&'static str> {
    TABLES.iter().map(|t| t.0).collect()
}

impl Table {
    /// The table of that name.
    pub fn find(name: &str) -> Result<Self> {
        match TABLES.iter().find(|t| t.0 == name) {
            Some((name, csv, toml)) => Self::parse(name, csv, toml),
            None => Err(unknown("table", name, &names())),
        }
    }

    /// Reads a table's two files.
    pub fn parse(name: &str, csv: &str, toml: &str) -> Result<Self> {
        let experiment = read_experiment(&format!("published/{name}.toml"), toml)?;
        let cells = cells::read(&format!("published/{name}.csv"), csv)?;
        Ok(Self { name: name.to_owned(), experiment, cells })
    }

    /// The figures that a calibration may read.
    pub fn baseline(&self) -> Baseline {
        let cell = |c: &Cell| (c.metric.clone(), c.x.clone(), c.base.value);
        Baseline { cells: self.cells.iter().map(cell).collect() }
    }

    /// The cell of `metric` at `x`.
    pub fn cell(&self, metric: &str, x: &str) -> Option<&Cell> {
        self.cells.iter().find(|c| c.metric == metric && c.x == x)
    }

    /// The metrics, in the published order.
    pub fn metrics(&self) -> Vec<&str> {
        let mut out: Vec<&str> = Vec::new();
        for cell in &self.cells {
            if !out.contains(&cell.metric.as_str()) {
                out.push(&cell.metric);
            }
        }
        out
    }

    /// The points, in the published order.
    pub fn points(&self) -> Vec<&str> {
        let mut out: Vec<&str> = Vec::new();
        for cell in &self.cells {
            if !out.contains(&cell.x.as_str()) {
                out.push(&cell.x);
            }
        }
        out
    }

    /// The scheduler word of the patched side of a variant.
    pub fn patched(&self, variant: &str) -> String {
        let features: String = variant.split(' ').map(|f| format!("+{f}")).collect();
        format!("{}{features}", self.experiment.base)
    }
}

fn read_experiment(file: &str, text: &str) -> Result<Experiment> {
    let top = Section::parse(file, text, KEYS)?;
    let not_judged = top.has("not_judged").then(|| top.texts("not_judged")).transpose()?;
    Ok(Experiment {
        title: top.text("title")?,
        source: top.text("source")?,
        machine: top.text("machine")?,
        workload: top.text("workload")?,
        command: top.text("command")?,
        kernel: top.text("kernel")?,
        base: top.text("base")?,
        x: top.text("x")?,
        assumed: top.texts("assumed")?,
        not_judged: not_judged.unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests;
