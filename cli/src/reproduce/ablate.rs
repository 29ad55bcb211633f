// SPDX-License-Identifier: GPL-2.0-only
//! `--ablate`: the table again without each part of the model, and with each constant moved.

use anyhow::Result;
use ballast_lab::error::Failure;
use ballast_lab::progress::Progress;
use ballast_sim::{fit, MachineSpec, PARTS};
use ballast_sim_data::costs::COSTS;
use ballast_sim_data::published::Table;
use ballast_sim_data::report::{Constant, Sensitivity, Variant};

use super::runs::{loops_at, parallel, simulated, simulated_here, Model};
use super::MESSAGE;
use crate::model::{fitted_cell, not_fitted};

/// Loops at the most groups with which constants are moved: the fewest with which the model meets
/// all the bounds that it meets with many.
const SHORT_LOOPS: u32 = 200;
/// The model as it is has so many times the seeds of the others there: they are all compared with it.
const MORE_SEEDS: u64 = 4;
/// A constant is moved by so much of itself, by one at least.
const PART: u64 = 5;

/// The table without each part. The work of a message is not fitted again.
pub fn parts(table: &Table, model: &Model, progress: &Progress) -> Result<Vec<Variant>> {
    let one = |(i, part): (usize, &ballast_sim::Part)| {
        let what = format!("part {} of {}: {}, ", i + 1, PARTS.len(), part.name);
        let without = Model { change: part.leave_out, ..model.clone() };
        Ok(Variant {
            name: format!("no {}", part.name),
            message_ns: model.message_ns,
            cells: simulated(table, &without, &what, progress)?,
            alive: Some(format!("test {}: {}", part.test, part.scene)),
        })
    };
    PARTS.iter().enumerate().map(one).collect()
}

/// One constant at another value.
struct Moved {
    name: String,
    model: Model,
    /// The work of a message is fitted again.
    fit: bool,
}

/// The table with each constant a fifth lower and a fifth higher. The work of a message is fitted
/// again, to the same cell: had the constant that value, that is what we would have fitted.
pub fn sensitivity(
    table: &Table,
    model: &Model,
    constants: &[Constant],
    progress: &Progress,
) -> Result<Sensitivity> {
    let model = Model { loops: model.loops.min(SHORT_LOOPS), ..model.clone() };
    let mut rows = Vec::new();
    let mut at_their_end = Vec::new();
    for constant in constants {
        let value = constant.value as u64;
        for up in [false, true] {
            match moved(&constant.name, value, up) {
                Some(to) => rows.push(row(&model, &constant.name, value, to)),
                None if up => at_their_end.push(format!("{} above {value}", constant.name)),
                None => at_their_end.push(format!("{} below {value}", constant.name)),
            }
        }
    }
    let as_it_is = |name: &str, seeds: u64| {
        let model = Model { seeds, ..model.clone() };
        Moved { name: name.to_owned(), model, fit: true }
    };
    rows.push(as_it_is("ours", model.seeds));
    rows.push(as_it_is("ours", MORE_SEEDS * model.seeds));
    let say = |done: usize| progress.set(&format!("constants at ± 20 %: {done} of {}", rows.len()));
    let variants = parallel(&rows, |row| variant(table, row), say);
    let mut variants = variants.into_iter().collect::<Result<Vec<Variant>>>()?;
    let lacks = || Failure::failed("no run of the model as it is");
    let ours = variants.pop().ok_or_else(lacks)?;
    let same = variants.pop().ok_or_else(lacks)?;
    let (unchanged, variants): (Vec<Variant>, Vec<Variant>) =
        variants.into_iter().partition(|v| v.cells == same.cells);
    let unchanged = unchanged.into_iter().map(|v| v.name).collect();
    let points = table.points();
    let loops = |x: Option<&&str>| x.map_or(0, |x| loops_at(table, model.loops, x));
    let (most, fewest) = (loops(points.first()), loops(points.last()));
    let scale = format!(
        "{most} to {fewest} loops, {} seeds from {}, {MORE_SEEDS} times as many for ours",
        model.seeds, model.seed
    );
    Ok(Sensitivity { scale, ours, same: same.cells, variants, unchanged, at_their_end })
}

/// A fifth lower or higher, by one at least, within the constant's range; `None` at its end.
fn moved(name: &str, value: u64, up: bool) -> Option<u64> {
    let cost = COSTS.iter().find(|c| c.name == name);
    let high = if name.ends_with("_permille") { 1000 } else { u64::MAX };
    let (low, high) = cost.map_or((1, high), |c| (c.low, c.high));
    let step = (value + PART / 2) / PART;
    let to = match up {
        true => value.saturating_add(step.max(1)).min(high),
        false => value.saturating_sub(step.max(1)).max(low),
    };
    (to != value).then_some(to)
}

fn row(model: &Model, name: &str, value: u64, to: u64) -> Moved {
    let mut model = model.clone();
    let fit = name != MESSAGE;
    if fit {
        set(&mut model.machine, name, to);
    } else {
        model.message_ns = to;
    }
    let pct = 100.0 * (to as f64 / value as f64 - 1.0);
    Moved { name: format!("{name} {pct:+.0} %"), model, fit }
}

fn set(machine: &mut MachineSpec, name: &str, to: u64) {
    let known = machine.costs.set(name, to) || machine.kernel.set(name, to);
    debug_assert!(known, "{name}");
}

fn variant(table: &Table, row: &Moved) -> Result<Variant> {
    let mut model = row.model.clone();
    if row.fit {
        let (cell, _) = fitted_cell(&table.baseline(), &table.experiment, model.change)?;
        let seeds: Vec<u64> = model.all_seeds().collect();
        let (m, near) = (&model.machine, model.message_ns);
        let work = fit::message_ns_near(m, &cell, model.loops, &seeds, near);
        model.message_ns = work.ok_or_else(not_fitted)?;
    }
    let cells = simulated_here(table, &model)?;
    Ok(Variant { name: row.name.clone(), message_ns: model.message_ns, cells, alive: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_move_by_a_fifth_within_their_range() {
        let both = |name, value| [moved(name, value, false), moved(name, value, true)];
        assert_eq!(both("switch_ns", 1100), [Some(880), Some(1320)]);
        assert_eq!(both("reuse_lines", 2), [Some(1), Some(3)]);
        assert_eq!(both("buffer_lines", 7), [Some(6), Some(8)]);
        assert_eq!(both("smt_permille", 1000), [Some(800), None]);
        assert_eq!(both("smt_permille", 900), [Some(720), Some(1000)]);
        assert_eq!(both("ipi_ns", 0), [None, Some(1)]);
        assert_eq!(both("line_smt_ns", 8), [Some(6), Some(10)]);
    }
}
