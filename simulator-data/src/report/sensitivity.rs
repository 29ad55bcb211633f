// SPDX-License-Identifier: GPL-2.0-only
//! The table again with one constant moved: what rests on it.

use super::ablation::{change, named, short, width};
use super::judge::Side;
use super::noise::{Noise, ERRORS};
use super::text::{grid, wrap};
use super::{Report, Score, Simulated, Variant};

/// The table with each constant a fifth lower and higher.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensitivity {
    /// The size of these runs, for people.
    pub scale: String,
    /// The model as it is, at that size, from more seeds: all others are compared with it.
    pub ours: Variant,
    /// The same from as many seeds as the others: a figure that a constant has no part in is the
    /// same to the last digit.
    pub same: Vec<Simulated>,
    /// One constant moved.
    pub variants: Vec<Variant>,
    /// Where that gives the very same figures as the model as it is.
    pub unchanged: Vec<String>,
    /// Where there is no such value: `smt_permille above 1000`.
    pub at_their_end: Vec<String>,
}

/// Longer names are cut.
const NAME: usize = 27;

impl Report {
    pub(super) fn sensitivity_text(&self) -> String {
        let Some(s) = &self.sensitivity else { return String::new() };
        let noise = s.noise(&self.table);
        let text = format!(
            "constants moved, one by one, by 20 % (whole numbers, so more or less of small ones), \
             {}: the shortest runs that meet the bounds. message_ns is fitted again in each row, \
             to the same cell and on its own seeds, because that cell defines it: had the constant \
             that value, this is what we would have fitted. So the baseline's time at the most {} \
             stays. * beyond the noise, {ERRORS} standard errors of a difference, that of the fit \
             among them. =: every figure at that point is as without the change, to the last digit. \
             Below the bounds stands how many ours meets from other seeds.",
            s.scale,
            self.by()
        );
        let mut out = wrap("\n", "", &text);
        let points = self.table.points();
        out.push_str(&format!(
            "\nmessage_ns; effect, % by {}; bounds met; largest change of a time, %\n",
            self.by()
        ));
        let mut head = vec!["ns ".to_owned()];
        head.extend(points.iter().map(|x| format!("{x} ")));
        head.extend(["bounds ", "time "].map(str::to_owned));
        let mut table = vec![named("", NAME, head)];
        for v in std::iter::once(&s.ours).chain(&s.variants) {
            let mut row = vec![format!("{} ", v.message_ns)];
            let effects = self.effects_of(&noise, &s.ours.cells, &v.cells);
            row.extend(points.iter().zip(effects).map(|(x, effect)| match s.is_same(v, x) {
                true => "= ".to_owned(),
                false => effect,
            }));
            row.push(format!("{} ", self.met(&v.cells)));
            row.push(self.largest(s, &noise, v));
            table.push(named(&v.name, NAME, row));
        }
        let mut row = vec![String::new()];
        row.extend(points.iter().map(|x| width(noise.effect(x))));
        let times = self.times().filter_map(|(x, side)| self.time_noise(&noise, x, side));
        row.extend([format!("{} ", self.bounds_by_chance(s)), width(times.reduce(f64::max))]);
        table.push(named("noise", NAME, row));
        out.push_str(&grid(&table));
        for (what, names) in [
            ("no figure changes at all: ", &s.unchanged),
            ("not moved, at the end of their range: ", &s.at_their_end),
        ] {
            if !names.is_empty() {
                out.push_str(&wrap(what, "    ", &format!("{}.", names.join(", "))));
            }
        }
        out
    }

    fn times(&self) -> impl Iterator<Item = (&str, Side)> {
        self.table.points().into_iter().flat_map(|x| Side::BOTH.map(|side| (x, side)))
    }

    /// The largest change of a time; marked if any is beyond its noise.
    fn largest(&self, s: &Sensitivity, noise: &Noise, v: &Variant) -> String {
        let of = |(x, side)| {
            let change = change(&s.ours.cells, &v.cells, "time", x, side);
            let change = change.filter(|_| !s.is_same(v, x))?;
            let width = self.time_noise(noise, x, side);
            Some((change, width.is_some_and(|w| change.abs() > w)))
        };
        let all: Vec<(f64, bool)> = self.times().filter_map(of).collect();
        let largest = all.iter().map(|c| c.0).max_by(|a, b| a.abs().total_cmp(&b.abs()));
        let mark = if all.iter().any(|c| c.1) { '*' } else { ' ' };
        format!("{}{mark}", largest.map_or("-".to_owned(), short))
    }

    /// Bounds that the model as it is meets from other seeds, as many as the variants have.
    fn bounds_by_chance(&self, s: &Sensitivity) -> String {
        let nr = s.same.first().map_or(1, |c| c.base.0.len().max(1));
        let groups = s.ours.cells.first().map_or(0, |c| c.base.0.len() / nr);
        let met = |i: usize| {
            let mut cells = s.ours.cells.clone();
            for seeds in cells.iter_mut().flat_map(|c| [&mut c.base.0, &mut c.new.0]) {
                *seeds = seeds.iter().skip(i * nr).take(nr).copied().collect();
            }
            Score::of("", &self.table, &cells).bounds_met
        };
        let all: Vec<usize> = (0..groups).map(met).collect();
        match (all.iter().min(), all.iter().max()) {
            (Some(least), Some(most)) => format!("{least} to {most}"),
            _ => String::new(),
        }
    }

    /// A fit takes the noise of its cell into all others.
    fn time_noise(&self, noise: &Noise, x: &str, side: Side) -> Option<f64> {
        let fit = self.table.points().last().and_then(|x| noise.change("time", x, Side::Base));
        Some((noise.change("time", x, side)?.powi(2) + fit?.powi(2)).sqrt())
    }
}

impl Sensitivity {
    /// Every figure at a point is that of the model as it is.
    fn is_same(&self, v: &Variant, x: &str) -> bool {
        let at = |cells: &[Simulated]| -> Vec<Simulated> {
            cells.iter().filter(|c| c.x == x).cloned().collect()
        };
        v.name != self.ours.name && at(&v.cells) == at(&self.same)
    }

    fn noise<'a>(&'a self, table: &'a crate::published::Table) -> Noise<'a> {
        Noise::new(table, &self.ours.cells, self.variants.iter().map(|v| v.cells.as_slice()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{perfect, report, spoil};
    use super::*;

    /// The lines of a table in which one time of the patched is that much longer.
    fn lines(factor: f64) -> Vec<String> {
        let mut report = report(perfect());
        let mut cells = perfect();
        spoil(&mut cells, "time", "4", |c| c.new.0.iter_mut().for_each(|v| *v *= factor));
        let mut same = cells.clone();
        same.iter_mut().filter(|c| c.x == "4").for_each(|c| c.new.0[0] += 1.0);
        let mut twelve = perfect();
        twelve.iter_mut().for_each(|c| {
            c.base.0 = c.base.0.repeat(4);
            c.new.0 = c.new.0.repeat(4);
        });
        twelve.iter_mut().filter(|c| c.metric == "wake").for_each(|c| c.new.0[3..6].fill(1.0));
        let variant = |name: &str, message_ns, cells| Variant {
            name: name.to_owned(),
            message_ns,
            cells,
            alive: None,
        };
        report.sensitivity = Some(Sensitivity {
            scale: "200 loops".to_owned(),
            ours: variant("ours", 1885, twelve),
            same,
            variants: vec![variant("switch_ns +20 %", 1880, cells)],
            unchanged: Vec::new(),
            at_their_end: Vec::new(),
        });
        let text = report.sensitivity_text();
        let flat = |l: &str| l.split_whitespace().collect::<Vec<_>>().join(" ");
        text.lines().map(flat).collect()
    }

    /// The wakes of three of our twelve seeds are off: those three miss two bounds. The fit's cell has
    /// a noise of 2.03 % and so has each other: 2.87 % together.
    #[test]
    fn a_row_has_effects_bounds_and_the_largest_change() {
        let has = |factor: f64, line: &str| {
            let lines = lines(factor);
            assert!(lines.iter().any(|l| l == line), "{line}\n{}", lines.join("\n"));
        };
        has(1.0, "ours 1885 36.1 20.9 15.8 12.3 7.6 19 of 20 +0.0");
        has(1.0, "noise ±0.0 ±0.0 ±0.0 ±0.0 ±0.0 18 to 20 ±2.9");
        has(1.0, "switch_ns +20 % 1880 = = = 12.3 = 20 of 20 +0.0");
        has(1.028, "switch_ns +20 % 1880 = = = 9.3* = 20 of 20 +2.8");
        has(1.029, "switch_ns +20 % 1880 = = = 9.2* = 20 of 20 +2.9*");
        has(0.9, "switch_ns +20 % 1880 = = = 24.8* = 18 of 20 -10.0*");
        assert!(!lines(1.0).iter().any(|l| l.contains("end of their range")));
    }
}
