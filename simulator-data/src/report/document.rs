// SPDX-License-Identifier: GPL-2.0-only
//! A report as the JSON document of `reproduce`. Keys are only ever added.

use serde::Serialize;

use super::judge::{judge, Check, Score};
use super::{pairs, Constant, Pair, Report, Role, Simulated};
use crate::figure::Seeds;
use crate::reader::BaseCell;

/// Of this document.
const SCHEMA: u32 = 1;

/// The document of `reproduce`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Document {
    schema: u32,
    ballast: String,
    command: Vec<String>,
    seed: u64,
    published: String,
    source: String,
    machine: String,
    workload: String,
    assumed: Vec<String>,
    scale: String,
    constants: Vec<ConstantEntry>,
    cells: Vec<CellEntry>,
    variants: Vec<VariantEntry>,
    sensitivity: Option<SensitivityEntry>,
    summary: Summary,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct ConstantEntry {
    name: String,
    value: f64,
    unit: String,
    source: String,
    fitted_from: Option<String>,
    derived_from: Option<String>,
}

/// The columns of the published table, then ours.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct CellEntry {
    machine: String,
    bench: String,
    variant: String,
    x: String,
    metric: String,
    unit: String,
    better: &'static str,
    base: f64,
    new: f64,
    sd_base_pct: Option<f64>,
    sd_new_pct: Option<f64>,
    gain_pct: Option<f64>,
    primary: u8,
    mechanism: u8,
    judged: u8,
    load: &'static str,
    role: &'static str,
    simulated_base: Option<f64>,
    simulated_new: Option<f64>,
    simulated_gain_pct: Option<f64>,
    simulated_base_seeds: Vec<f64>,
    simulated_new_seeds: Vec<f64>,
    note: Option<String>,
}

/// The same at a smaller size, with one constant moved.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct SensitivityEntry {
    scale: String,
    ours: VariantEntry,
    variants: Vec<VariantEntry>,
    unchanged: Vec<String>,
    at_their_end: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct VariantEntry {
    name: String,
    message_ns: u64,
    cells: Vec<VariantCell>,
    bounds_met: usize,
    note: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct VariantCell {
    x: String,
    metric: String,
    simulated_base: Option<f64>,
    simulated_new: Option<f64>,
    simulated_base_seeds: Vec<f64>,
    simulated_new_seeds: Vec<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct Summary {
    ok: bool,
    scores: Vec<Score>,
    checks: Vec<Check>,
}

impl Report {
    /// Whether every bound is met.
    pub fn ok(&self) -> bool {
        judge(&self.table, &self.cells).iter().all(|c| c.ok)
    }

    /// The document; `ballast` is VERSION+COMMIT, `command` the command line as typed.
    pub fn document(&self, ballast: &str, command: &[String]) -> Document {
        let e = &self.table.experiment;
        let all = pairs(&self.table, &self.cells);
        Document {
            schema: SCHEMA,
            ballast: ballast.to_owned(),
            command: command.to_vec(),
            seed: self.seed,
            published: self.table.name.clone(),
            source: e.source.clone(),
            machine: e.machine.clone(),
            workload: e.workload.clone(),
            assumed: e.assumed.clone(),
            scale: self.scale.clone(),
            constants: self.constants.iter().map(Self::constant).collect(),
            cells: all.iter().map(|p| self.cell(p)).collect(),
            variants: self.parts(),
            sensitivity: self.sensitivity.as_ref().map(|s| SensitivityEntry {
                scale: s.scale.clone(),
                ours: self.variant(&s.ours, None),
                variants: s.variants.iter().map(|v| self.variant(v, None)).collect(),
                unchanged: s.unchanged.clone(),
                at_their_end: s.at_their_end.clone(),
            }),
            summary: Summary {
                ok: self.ok(),
                scores: self.scores(),
                checks: judge(&self.table, &self.cells),
            },
        }
    }

    fn constant(c: &Constant) -> ConstantEntry {
        ConstantEntry {
            name: c.name.clone(),
            value: c.value,
            unit: c.unit.clone(),
            source: c.source.clone(),
            fitted_from: BaseCell::words(c.fitted_from.as_slice()),
            derived_from: BaseCell::words(&c.derived_from),
        }
    }

    fn cell(&self, pair: &Pair) -> CellEntry {
        let c = pair.cell;
        let role = self.role(pair);
        let ours = match role {
            Role::Fitted => Some("fitted: its baseline alone; the patched figure is predicted"),
            Role::Predicted => None,
            Role::NotModelled => Some("no figure: the model has none for this cell"),
        };
        let derived = self.constants.iter().filter(|k| k.derived_here(pair));
        let derived = derived.map(|k| format!("its baseline helped to derive {}", k.name));
        let notes = [c.note.clone()].into_iter().chain(ours.map(str::to_owned)).chain(derived);
        let notes: Vec<String> = notes.filter(|n| !n.is_empty()).collect();
        let seeds = |side: fn(&Simulated) -> &Seeds| {
            pair.ours.map(|s| side(s).0.clone()).unwrap_or_default()
        };
        CellEntry {
            machine: c.machine.clone(),
            bench: c.bench.clone(),
            variant: c.variant.clone(),
            x: c.x.clone(),
            metric: c.metric.clone(),
            unit: c.unit.clone(),
            better: c.better.word(),
            base: c.base.value,
            new: c.new.value,
            sd_base_pct: c.sd_base_pct,
            sd_new_pct: c.sd_new_pct,
            gain_pct: c.gain_pct,
            primary: c.primary.into(),
            mechanism: c.mechanism.into(),
            judged: c.judged.into(),
            load: c.load.word(),
            role: role.word(),
            simulated_base: pair.ours.and_then(|s| s.base.mean()),
            simulated_new: pair.ours.and_then(|s| s.new.mean()),
            simulated_gain_pct: pair.gain_pct(),
            simulated_base_seeds: seeds(|s| &s.base),
            simulated_new_seeds: seeds(|s| &s.new),
            note: (!notes.is_empty()).then(|| notes.join("; ")),
        }
    }

    fn parts(&self) -> Vec<VariantEntry> {
        let noise = self.noise();
        self.variants.iter().map(|v| self.variant(v, Some(self.moves(&noise, v)))).collect()
    }

    fn variant(&self, v: &super::Variant, note: Option<String>) -> VariantEntry {
        let cell = |s: &Simulated| VariantCell {
            x: s.x.clone(),
            metric: s.metric.clone(),
            simulated_base: s.base.mean(),
            simulated_new: s.new.mean(),
            simulated_base_seeds: s.base.0.clone(),
            simulated_new_seeds: s.new.0.clone(),
        };
        VariantEntry {
            name: v.name.clone(),
            message_ns: v.message_ns,
            cells: v.cells.iter().map(cell).collect(),
            bounds_met: judge(&self.table, &v.cells).iter().filter(|c| c.ok).count(),
            note,
        }
    }
}
