// SPDX-License-Identifier: GPL-2.0-only
//! The table again with one part of the model off, or one constant changed: what each is worth.

use super::judge::judge;
use super::text::{grid, signed, wrap};
use super::{pairs, Pair, Report, Simulated};

/// One part off or one constant changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// What is different: `no newidle`, `line_llc_ns -20 %`.
    pub name: String,
    /// The cells that it gives.
    pub cells: Vec<Simulated>,
    /// Where no cell moves: what shows that the part is alive.
    pub alive: Option<String>,
}

/// Longer names get a line of their own.
const NAME: usize = 24;

impl Report {
    /// Change of times and counts in per cent and of busy in points, then the effects.
    pub(super) fn variants_text(&self) -> String {
        if self.variants.is_empty() {
            return String::new();
        }
        let change = |ours: f64, theirs: f64| 100.0 * (theirs / ours - 1.0);
        let points = |ours: f64, theirs: f64| theirs - ours;
        let mut out = String::new();
        for (title, metric, how) in [
            ("time, change in %", "time", &change as &dyn Fn(f64, f64) -> f64),
            ("busy, change in points", "busy_pct", &points),
            ("idle, change in %", "idle", &change),
            ("wake, change in %", "wake", &change),
        ] {
            out.push_str(&format!("\n{title}: baseline, then patched, by {}\n", self.by()));
            let row = |v: &Variant| {
                let both = [|p: &Pair| p.base, |p: &Pair| p.new];
                both.iter().flat_map(|side| self.changes(v, metric, side, how)).collect()
            };
            out.push_str(&self.variant_rows(2, &row));
        }
        out.push_str(&format!("\neffect, % by {}; bounds met\n", self.by()));
        let row = |v: &Variant| {
            let mut cells = gains(&pairs(&self.table, &v.cells));
            let checks = judge(&self.table, &v.cells);
            let met = checks.iter().filter(|c| c.ok).count();
            cells.push(format!("{met} of {}", checks.len()));
            cells
        };
        let ours = Variant { name: "ours".to_owned(), cells: self.cells.clone(), alive: None };
        out.push_str(&self.rows(1, &mut std::iter::once(&ours).chain(&self.variants), &row));
        for v in &self.variants {
            if let Some(alive) = &v.alive {
                out.push_str(&wrap(&format!("{}: ", v.name), "    ", alive));
            }
        }
        out
    }

    fn by(&self) -> &str {
        &self.table.experiment.x
    }

    fn variant_rows(&self, sides: usize, row: &dyn Fn(&Variant) -> Vec<String>) -> String {
        self.rows(sides, &mut self.variants.iter(), row)
    }

    fn rows(
        &self,
        sides: usize,
        variants: &mut dyn Iterator<Item = &Variant>,
        row: &dyn Fn(&Variant) -> Vec<String>,
    ) -> String {
        let points = self.table.points().repeat(sides);
        let mut head = vec![format!("{:NAME$}", "")];
        head.extend(points.into_iter().map(str::to_owned));
        let mut table = vec![head];
        for v in variants {
            let short: String = v.name.chars().take(NAME).collect();
            table.push(std::iter::once(format!("{short:<NAME$}")).chain(row(v)).collect());
        }
        grid(&table)
    }

    /// A change at each point, `-` where a figure is missing.
    fn changes(
        &self,
        variant: &Variant,
        metric: &str,
        side: &dyn Fn(&Pair) -> Option<f64>,
        how: &dyn Fn(f64, f64) -> f64,
    ) -> Vec<String> {
        let mean = |cells: &[Simulated], x: &str| {
            let all = pairs(&self.table, cells);
            let pair = all.iter().find(|p| p.cell.metric == metric && p.cell.x == x);
            pair.and_then(side)
        };
        let points = self.table.points();
        let one = |x: &&str| {
            let both = mean(&self.cells, x).zip(mean(&variant.cells, x));
            let change = both.map(|(ours, theirs)| how(ours, theirs)).filter(|c| c.is_finite());
            change.map_or("-".to_owned(), short)
        };
        points.iter().map(one).collect()
    }
}

/// A change in at most 5 columns, so that ten stand in a line: from a hundredfold on, a factor.
fn short(change: f64) -> String {
    match change.abs() {
        small if small < 99.95 => signed(change, 1),
        large if large < 9999.5 => signed(change, 0),
        _ => format!("x {:.0}", change / 100.0 + 1.0),
    }
}

fn gains(all: &[Pair]) -> Vec<String> {
    let judged = all.iter().filter(|p| p.cell.judged);
    judged.map(|p| p.gain_pct().map_or("-".to_owned(), |g| format!("{g:.1}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_short() {
        let all = [0.0, -99.94, 99.96, -100.0, 9999.0, 10_000.0, 99_900.0];
        let shown: Vec<String> = all.into_iter().map(short).collect();
        assert_eq!(shown, ["+0.0", "-99.9", "+100", "-100", "+9999", "x 101", "x 1000"]);
    }
}
