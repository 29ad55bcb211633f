// SPDX-License-Identifier: GPL-2.0-only
//! A report for those who see it first: times, effects, busy bars, and what it is worth.

use super::judge::{speedup_bound, speedup_within};
use super::text::{grid, number, signed, wrap};
use super::{pairs, Pair, Report};
use crate::reader::BaseCell;

impl Report {
    /// The heart of it, without bounds, constants and what only they explain.
    pub fn short_text(&self) -> String {
        let all = pairs(&self.table, &self.cells);
        let of = |metric: &str| all.iter().filter(|p| p.cell.metric == metric).collect::<Vec<_>>();
        [
            self.head(),
            format!("time, s, and what the patch gains, %\n{}", self.gains(&of("time"))),
            format!("busy: CPU time with a task, %\n{}", self.bars(&of("busy_pct"))),
            self.models(),
            self.given(),
        ]
        .join("\n")
    }

    /// What was read of the published table.
    fn given(&self) -> String {
        let fitted = self.constants.iter().filter_map(|c| {
            let cell = BaseCell::words(c.fitted_from.as_slice())?;
            Some(format!("{} is fitted to the {cell}", c.name))
        });
        let derived = self.constants.iter().filter_map(|c| {
            let cells = BaseCell::words(&c.derived_from)?;
            Some(format!("{} is derived from the {cells}", c.name))
        });
        let read: Vec<String> = fitted.chain(derived).collect();
        let text = format!(
            "Simulated figures are means over the seeds, error of shares and gains in points. {}. \
             No patched figure is read: all are predicted.",
            read.join("; ")
        );
        wrap("", "", &text)
    }

    /// Both sides with their gains in one table.
    fn gains(&self, rows: &[&Pair]) -> String {
        let patched = rows.first().map_or("", |p| p.cell.variant.as_str());
        let x = self.table.experiment.x.as_str();
        let above = ["", "", "published", "", "", "SIMULATED", "", "", "", ""];
        let sides = ["baseline", patched, "gain"];
        let head = [&[x][..], &sides, &sides, &["error", "allowed", ""]].concat();
        let mut table: Vec<Vec<String>> =
            [&above[..], &head].map(|row| row.iter().map(|w| (*w).to_owned()).collect()).to_vec();
        let shown =
            |value: Option<f64>, decimals| value.map_or("-".to_owned(), |v| number(v, decimals));
        for pair in rows {
            let cell = pair.cell;
            let gap = pair.gain_pct().zip(cell.gain_pct).map(|(ours, theirs)| ours - theirs);
            table.push(vec![
                cell.x.clone(),
                cell.base.text.clone(),
                cell.new.text.clone(),
                shown(cell.gain_pct, 1),
                shown(pair.base, cell.base.decimals),
                shown(pair.new, cell.new.decimals),
                shown(pair.gain_pct(), 1),
                gap.map_or("-".to_owned(), |g| signed(g, 1)),
                speedup_bound(pair).map_or("-".to_owned(), |b| format!("± {b:.1}")),
                if speedup_within(pair) { "within" } else { "outside" }.to_owned(),
            ]);
        }
        grid(&table)
    }
}
