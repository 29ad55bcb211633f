// SPDX-License-Identifier: GPL-2.0-only
//! Figures for tests: the published ones themselves, and ways to spoil one.

use super::{Constant, Report, Simulated};
use crate::figure::Seeds;
use crate::published::Table;
use crate::reader::BaseCell;

/// The published table.
pub fn table() -> Table {
    Table::find("steal-hackbench").unwrap_or_else(|e| panic!("{e}"))
}

/// Three seeds a hundredth apart that mean `value`.
pub fn seeds(value: f64) -> Seeds {
    Seeds(vec![value * 0.99, value, value * 1.01])
}

/// A simulation that is exactly right.
pub fn perfect() -> Vec<Simulated> {
    let same = |c: &crate::published::Cell| Simulated {
        x: c.x.clone(),
        metric: c.metric.clone(),
        base: seeds(c.base.value),
        new: seeds(c.new.value),
    };
    table().cells.iter().map(same).collect()
}

/// Changes one cell's figures.
pub fn spoil(cells: &mut [Simulated], metric: &str, x: &str, change: impl Fn(&mut Simulated)) {
    let cell = cells.iter_mut().find(|c| c.metric == metric && c.x == x);
    change(cell.unwrap_or_else(|| panic!("no {metric} at {x}")));
}

/// A report on `cells`.
pub fn report(cells: Vec<Simulated>) -> Report {
    let fitted = Constant {
        name: "message_ns".to_owned(),
        value: 1907.5,
        unit: "ns".to_owned(),
        source: "fitted".to_owned(),
        fitted_from: Some(BaseCell::new("time", "8")),
        derived_from: Vec::new(),
    };
    let derived = Constant {
        name: "smt_permille".to_owned(),
        value: 830.0,
        unit: "permille".to_owned(),
        source: "derived".to_owned(),
        fitted_from: None,
        derived_from: vec![BaseCell::new("time", "1"), BaseCell::new("busy_pct", "1")],
    };
    Report {
        table: table(),
        cells,
        constants: vec![fitted, derived],
        scale: "4000 of 100000 loops, scaled to the published size".to_owned(),
        seed: 1,
        variants: Vec::new(),
        sensitivity: None,
    }
}
