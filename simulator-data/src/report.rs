// SPDX-License-Identifier: GPL-2.0-only
//! Published figures beside simulated ones: compared, judged, as a document and as tables.
//!
//! Whoever simulates fills in a [`Report`]; [`Report::text`] and [`Report::document`] say the rest.

mod ablation;
mod document;
mod judge;
mod models;
mod noise;
mod render;
mod sensitivity;
mod short;
pub(crate) mod text;

use crate::costs::{Cost, COSTS};
use crate::figure::Seeds;
use crate::machine::MachineFile;
use crate::published::{Cell, Table};
use crate::reader::{BaseCell, Sourced};

pub use ablation::Variant;
pub use document::Document;
pub use judge::{judge, Check, Score};
pub use models::{null, plus_one_percent};
pub use sensitivity::Sensitivity;

/// A simulated cell, in the published unit at the published size.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulated {
    /// The point within the table.
    pub x: String,
    /// The table's metric.
    pub metric: String,
    /// Baseline, a value a seed.
    pub base: Seeds,
    /// Patched, a value a seed.
    pub new: Seeds,
}

/// A constant that the simulated figures rest on.
#[derive(Clone, Debug, PartialEq)]
pub struct Constant {
    /// Its key.
    pub name: String,
    /// In its unit.
    pub value: f64,
    /// Unit.
    pub unit: String,
    /// Where it comes from, with its mark.
    pub source: String,
    /// The baseline cell that it was fitted to: one constant a table.
    pub fitted_from: Option<BaseCell>,
    /// The baseline cells that it was derived from; they are no pure predictions, and are marked.
    pub derived_from: Vec<BaseCell>,
}

/// What one reproduction gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// What was published.
    pub table: Table,
    /// What was simulated; cells that are not modelled are left out.
    pub cells: Vec<Simulated>,
    /// What it rests on.
    pub constants: Vec<Constant>,
    /// The size that was simulated, for people, and what became of the figures.
    pub scale: String,
    /// The first seed.
    pub seed: u64,
    /// The table with one part left out; empty unless asked for.
    pub variants: Vec<Variant>,
    /// The table with one constant moved; none unless asked for.
    pub sensitivity: Option<Sensitivity>,
}

/// What a simulated cell is beside its published one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A constant was fitted to its baseline; its patched figure is predicted even so.
    Fitted,
    /// Nothing was fitted to it.
    Predicted,
    /// There is no figure of ours.
    NotModelled,
}

impl Role {
    /// As documents write it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Fitted => "fitted",
            Self::Predicted => "predicted",
            Self::NotModelled => "not modelled",
        }
    }
}

/// A published cell and the means of ours, rounded to as many digits as it has.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair<'a> {
    /// Published.
    pub cell: &'a Cell,
    /// Ours, if it is modelled.
    pub ours: Option<&'a Simulated>,
    /// Mean of our baseline, rounded.
    pub base: Option<f64>,
    /// Mean of our patched, rounded.
    pub new: Option<f64>,
}

impl Pair<'_> {
    /// Our effect, positive is better.
    pub fn gain_pct(&self) -> Option<f64> {
        self.cell.better.gain_pct(self.base?, self.new?)
    }
}

/// Every published cell with ours, in the published order.
pub fn pairs<'a>(table: &'a Table, simulated: &'a [Simulated]) -> Vec<Pair<'a>> {
    let pair = |cell: &'a Cell| {
        let ours = simulated.iter().find(|s| s.metric == cell.metric && s.x == cell.x);
        let base = ours.and_then(|s| s.base.mean()).map(|m| cell.base.round_alike(m));
        let new = ours.and_then(|s| s.new.mean()).map(|m| cell.new.round_alike(m));
        let ours = ours.filter(|_| base.is_some() && new.is_some());
        Pair { cell, ours, base, new }
    };
    table.cells.iter().map(pair).collect()
}

impl Report {
    /// What the cell of a pair is.
    pub fn role(&self, pair: &Pair) -> Role {
        let here = |c: &Constant| {
            c.fitted_from
                .as_ref()
                .is_some_and(|f| f.metric == pair.cell.metric && f.x == pair.cell.x)
        };
        match (pair.ours.is_some(), self.constants.iter().any(here)) {
            (false, _) => Role::NotModelled,
            (true, true) => Role::Fitted,
            (true, false) => Role::Predicted,
        }
    }
}

impl Constant {
    /// Whether the baseline of a pair's cell was read to derive it.
    fn derived_here(&self, pair: &Pair) -> bool {
        self.derived_from.iter().any(|c| c.metric == pair.cell.metric && c.x == pair.cell.x)
    }
}

/// The costs of a machine as constants: taken, or derived where its file says so.
pub fn constants(machine: &MachineFile) -> Vec<Constant> {
    let constant = |(cost, sourced): (&Cost, &Sourced)| Constant {
        name: cost.name.to_owned(),
        value: sourced.value as f64,
        unit: cost.unit.to_owned(),
        source: sourced.source.clone(),
        fitted_from: None,
        derived_from: sourced.derived_from.clone(),
    };
    COSTS.iter().zip(&machine.sources).map(constant).collect()
}

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;
