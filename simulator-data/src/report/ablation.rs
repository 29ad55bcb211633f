// SPDX-License-Identifier: GPL-2.0-only
//! The table again with one part of the model left out: what each is worth.

use super::judge::{judge, Side};
use super::noise::{Noise, ERRORS};
use super::text::{grid, signed, wrap};
use super::{Report, Simulated};

/// One part left out, or one constant moved.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// What is different: `no newidle`, `line_llc_ns -20 %`.
    pub name: String,
    /// The work of a message, ns.
    pub message_ns: u64,
    /// The cells that it gives.
    pub cells: Vec<Simulated>,
    /// What shows that the part is alive, whatever moves.
    pub alive: Option<String>,
}

/// Longer names are cut.
const NAME: usize = 20;

/// Figures whose changes are shown.
pub(super) const METRICS: [(&str, &str); 4] = [
    ("time, change in %", "time"),
    ("busy, change in points", "busy_pct"),
    ("idle, change in %", "idle"),
    ("wake, change in %", "wake"),
];

impl Report {
    /// Change of times and counts in per cent and of busy in points, then the effects.
    pub(super) fn variants_text(&self) -> String {
        if self.variants.is_empty() {
            return String::new();
        }
        let noise = self.noise();
        let text = format!(
            "parts left out, one by one, with the same loops, seeds and message_ns: that constant \
             is not fitted again, so that a part's own share of the time shows. * beyond the \
             noise: {ERRORS} standard errors of a difference, from the spread over seeds of all \
             tables here. A table of 40 changes has one by chance in one case of nine."
        );
        let mut out = wrap("\n", "", &text);
        for (title, metric) in METRICS {
            out.push_str(&format!("\n{title}: baseline, then patched, by {}\n", self.by()));
            let mut table = vec![self.points_head(2)];
            for v in &self.variants {
                let cells = self.each_side(|x, side| {
                    let change = change(&self.cells, &v.cells, metric, x, side);
                    marked(change.map(short), change, noise.change(metric, x, side))
                });
                table.push(named(&v.name, NAME, cells));
            }
            let widths = self.each_side(|x, side| width(noise.change(metric, x, side)));
            table.push(named("noise", NAME, widths));
            out.push_str(&grid(&table));
        }
        out.push_str(&format!("\neffect, % by {}; bounds met\n", self.by()));
        let mut table = vec![self.points_head(1)];
        let row = |name: &str, cells: &[Simulated]| {
            let mut row = self.effects_of(&noise, &self.cells, cells);
            row.push(self.met(cells));
            named(name, NAME, row)
        };
        table.push(row("ours", &self.cells));
        table.extend(self.variants.iter().map(|v| row(&v.name, &v.cells)));
        let widths = self.table.points().into_iter().map(|x| width(noise.effect(x))).collect();
        table.push(named("noise", NAME, widths));
        out.push_str(&grid(&table));
        out.push('\n');
        for v in &self.variants {
            let text = self.moves(&noise, v);
            out.push_str(&wrap(&format!("{}: ", v.name), "    ", &text));
        }
        out
    }

    /// By the tables of the parts, and ours.
    pub(super) fn noise(&self) -> Noise<'_> {
        Noise::new(&self.table, &self.cells, self.variants.iter().map(|v| v.cells.as_slice()))
    }

    /// How many figures move without a part, and what shows that it is alive.
    pub(super) fn moves(&self, noise: &Noise, v: &Variant) -> String {
        let mut moved = 0;
        let (mut all, mut known) = (0, true);
        for (_, metric) in METRICS {
            for x in self.table.points() {
                for side in Side::BOTH {
                    let change = change(&self.cells, &v.cells, metric, x, side);
                    let width = noise.change(metric, x, side);
                    known &= change.is_none_or(|c| c == 0.0) || width.is_some();
                    moved += usize::from(beyond(change, width));
                    all += 1;
                }
            }
        }
        let text = match (moved, known) {
            (0, true) => "no figure moves".to_owned(),
            (n, true) => format!("{n} of {all} figures move"),
            (_, false) => "one seed does not tell what moves".to_owned(),
        };
        match &v.alive {
            Some(alive) => format!("{text}; alive in the {alive}"),
            None => text,
        }
    }

    pub(super) fn by(&self) -> &str {
        &self.table.experiment.x
    }

    /// Bounds that a table meets.
    pub(super) fn met(&self, cells: &[Simulated]) -> String {
        let checks = judge(&self.table, cells);
        format!("{} of {}", checks.iter().filter(|c| c.ok).count(), checks.len())
    }

    /// Effects, marked where they differ from those of `ours` beyond the noise.
    pub(super) fn effects_of(
        &self,
        noise: &Noise,
        ours: &[Simulated],
        theirs: &[Simulated],
    ) -> Vec<String> {
        let one = |x: &&str| {
            let theirs = self.effect(theirs, x);
            let change = self.effect(ours, x).zip(theirs).map(|(o, t)| t - o);
            let decimals = |t: f64| usize::from(t.abs() < 99.95);
            let text = theirs.map(|t| format!("{t:.*}", decimals(t)));
            marked(text, change, noise.effect(x))
        };
        self.table.points().iter().map(one).collect()
    }

    /// The judged effect at a point.
    fn effect(&self, cells: &[Simulated], x: &str) -> Option<f64> {
        let judged = self.table.cells.iter().find(|c| c.judged && c.x == x)?;
        let ours = cells.iter().find(|c| c.metric == judged.metric && c.x == x)?;
        judged.better.gain_pct(ours.base.mean()?, ours.new.mean()?)
    }

    /// Of both sides, at every point.
    fn each_side(&self, cell: impl Fn(&str, Side) -> String) -> Vec<String> {
        let points = self.table.points();
        let of = |side: Side| points.iter().map(|x| cell(x, side)).collect::<Vec<String>>();
        Side::BOTH.into_iter().flat_map(of).collect()
    }

    fn points_head(&self, sides: usize) -> Vec<String> {
        let points = self.table.points().repeat(sides);
        named("", NAME, points.into_iter().map(|x| format!("{x} ")).collect())
    }
}

/// A row after its name, which is cut.
pub(super) fn named(name: &str, width: usize, cells: Vec<String>) -> Vec<String> {
    let short: String = name.chars().take(width).collect();
    std::iter::once(format!("{short:<width$}")).chain(cells).collect()
}

/// The change from ours to theirs: in points of a share, in per cent of others.
pub(super) fn change(
    ours: &[Simulated],
    theirs: &[Simulated],
    metric: &str,
    x: &str,
    side: Side,
) -> Option<f64> {
    let mean = |cells: &[Simulated]| {
        let cell = cells.iter().find(|c| c.metric == metric && c.x == x);
        cell.and_then(|c| side.seeds(c).mean())
    };
    let (ours, theirs) = (mean(ours)?, mean(theirs)?);
    let change = if metric == "busy_pct" { theirs - ours } else { 100.0 * (theirs / ours - 1.0) };
    change.is_finite().then_some(change)
}

/// With a star if the change is beyond the noise, and a blank to keep the column if not.
pub(super) fn marked(text: Option<String>, change: Option<f64>, width: Option<f64>) -> String {
    format!("{}{}", text.unwrap_or("-".to_owned()), if beyond(change, width) { '*' } else { ' ' })
}

fn beyond(change: Option<f64>, width: Option<f64>) -> bool {
    change.zip(width).is_some_and(|(c, w)| c.abs() > w)
}

/// The noise below what it is to be compared with, in as many columns.
pub(super) fn width(width: Option<f64>) -> String {
    match width {
        None => "- ".to_owned(),
        Some(small) if small < 99.95 => format!("±{small:.1} "),
        Some(large) => format!("±{:.0} ", large.min(9999.0)),
    }
}

/// A change in at most 5 columns, so that ten stand in a line: from a hundredfold on, a factor.
pub(super) fn short(change: f64) -> String {
    match change.abs() {
        small if small < 99.95 => signed(change, 1),
        large if large < 9999.5 => signed(change, 0),
        _ => format!("x {:.0}", change / 100.0 + 1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{perfect, report, spoil};
    use super::*;

    #[test]
    fn changes_are_short() {
        let all = [0.0, -99.94, 99.96, -100.0, 9999.0, 10_000.0, 99_900.0];
        let shown: Vec<String> = all.into_iter().map(short).collect();
        assert_eq!(shown, ["+0.0", "-99.9", "+100", "-100", "+9999", "x 101", "x 1000"]);
    }

    #[test]
    fn only_what_is_beyond_the_noise_is_marked() {
        let text = || Some("+2.0".to_owned());
        assert_eq!(marked(text(), Some(2.0), Some(1.9)), "+2.0*");
        assert_eq!(marked(text(), Some(-2.0), Some(1.9)), "+2.0*");
        assert_eq!(marked(text(), Some(2.0), Some(2.0)), "+2.0 ");
        assert_eq!(marked(text(), Some(2.0), None), "+2.0 ");
        assert_eq!(marked(None, None, Some(1.0)), "- ");
    }

    /// With a spread, what moves is counted; from one seed, only that nothing changes is known.
    #[test]
    fn a_part_says_what_moves_and_where_it_is_alive() {
        let says = |seeds: usize, factor: f64| {
            let mut report = report(perfect());
            report.cells.iter_mut().for_each(|c| {
                c.base.0.truncate(seeds);
                c.new.0.truncate(seeds);
            });
            let mut cells = report.cells.clone();
            spoil(&mut cells, "wake", "4", |c| c.new.0.iter_mut().for_each(|v| *v *= factor));
            let alive = Some("test t".to_owned());
            report.variants =
                vec![Variant { name: "no p".to_owned(), message_ns: 1, cells, alive }];
            let text = report.text();
            text.lines().find_map(|l| l.strip_prefix("no p: ")).map(str::to_owned)
        };
        let alive = |text: &str| Some(format!("{text}; alive in the test t"));
        assert_eq!(says(3, 1.0), alive("no figure moves"));
        assert_eq!(says(3, 1.029), alive("no figure moves"));
        assert_eq!(says(3, 1.03), alive("1 of 40 figures move"));
        assert_eq!(says(1, 1.0), alive("no figure moves"));
        assert_eq!(says(1, 1.001), alive("one seed does not tell what moves"));
    }
}
