// SPDX-License-Identifier: GPL-2.0-only
//! Models that know nothing of the patch, on our own baseline: what a figure of ours has to beat.

use super::Simulated;
use crate::figure::Seeds;
use crate::published::{Better, Table};

/// Patched = baseline.
pub fn null(ours: &[Simulated]) -> Vec<Simulated> {
    ours.iter().map(|s| Simulated { new: s.base.clone(), ..s.clone() }).collect()
}

/// Every metric that has a better direction is 1 % better; the others stay.
pub fn plus_one_percent(table: &Table, ours: &[Simulated]) -> Vec<Simulated> {
    let better = |s: &Simulated| table.cell(&s.metric, &s.x).map_or(Better::None, |c| c.better);
    let model = |s: &Simulated| {
        let factor = match better(s) {
            Better::Lower => 1.0 / 1.01,
            Better::Higher => 1.01,
            Better::None => 1.0,
        };
        let new = Seeds(s.base.0.iter().map(|v| v * factor).collect());
        Simulated { new, ..s.clone() }
    };
    ours.iter().map(model).collect()
}
