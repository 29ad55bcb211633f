// SPDX-License-Identifier: GPL-2.0-only
//! How much a figure may change without meaning anything: by the spread over seeds.
//!
//! Three seeds tell little of one figure's spread. That of all tables of a kind together, figure by
//! figure, tells enough: each has the same workload at the same size. The middle one is taken,
//! because a variant may well be wilder than the others.

use super::judge::Side;
use super::Simulated;
use crate::figure::Seeds;
use crate::published::Table;

/// A change is one beyond so many standard errors of a difference. At two, a table of 40 figures
/// would have two by chance; at three, one such table in nine has one.
pub const ERRORS: f64 = 3.0;

/// The tables that tell the spread.
pub struct Noise<'a> {
    table: &'a Table,
    /// Ours is the first. A table that is the same as one before it tells nothing new.
    all: Vec<&'a [Simulated]>,
}

impl<'a> Noise<'a> {
    /// Of ours and its variants, of one size.
    pub fn new(
        table: &'a Table,
        ours: &'a [Simulated],
        variants: impl Iterator<Item = &'a [Simulated]>,
    ) -> Self {
        let mut all = vec![ours];
        for variant in variants {
            if !all.contains(&variant) {
                all.push(variant);
            }
        }
        Self { table, all }
    }

    /// Half the width of the noise of a change, in points of a share and in per cent of others;
    /// `None` where no figure has two seeds.
    pub fn change(&self, metric: &str, x: &str, side: Side) -> Option<f64> {
        let sd = |cell: &Simulated| match metric {
            "busy_pct" => side.seeds(cell).sd(),
            _ => side.seeds(cell).sd_pct(),
        };
        self.width(metric, x, &sd)
    }

    /// Half the width of the noise of an effect's change, in points.
    pub fn effect(&self, x: &str) -> Option<f64> {
        let cell = self.table.cells.iter().find(|c| c.judged && c.x == x)?;
        let sd = |ours: &Simulated| {
            let both = ours.base.0.iter().zip(&ours.new.0);
            let gains = both.map(|(base, new)| cell.better.gain_pct(*base, *new));
            Seeds(gains.collect::<Option<Vec<f64>>>()?).sd()
        };
        self.width(&cell.metric, x, &sd)
    }

    /// Of a difference between two means, so many standard errors.
    fn width(&self, metric: &str, x: &str, sd: &dyn Fn(&Simulated) -> Option<f64>) -> Option<f64> {
        let of = |cells: &&&'a [Simulated]| cells.iter().find(|c| c.metric == metric && c.x == x);
        let cells: Vec<&Simulated> = self.all.iter().filter_map(|t| of(&t)).collect();
        let variance = |c: &&Simulated| Some(sd(c)?.powi(2) / middle(c.base.0.len() - 1));
        let mut all: Vec<f64> = cells.iter().filter_map(variance).collect();
        all.sort_by(f64::total_cmp);
        let last = all.len().checked_sub(1)?;
        let variance = (all[last / 2] + all[last.div_ceil(2)]) / 2.0;
        let of_means = |c: &&Simulated| 1.0 / c.base.0.len() as f64;
        let both = cells.first().map(of_means)? + cells.last().map(of_means)?;
        Some(ERRORS * (variance * both).sqrt())
    }
}

/// The middle of variances of so many degrees of freedom, where their mean is 1
/// (E. B. Wilson and M. M. Hilferty).
fn middle(freedom: usize) -> f64 {
    (1.0 - 2.0 / (9.0 * freedom as f64)).powi(3)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::fixture::{perfect, spoil, table};
    use super::*;

    fn near(found: Option<f64>, wanted: f64) {
        assert!((found.unwrap() - wanted).abs() < 0.005, "{found:?}");
    }

    /// Seeds of the fixture are 99, 100 and 101 % of a figure: 1 % is their deviation, and 3 standard
    /// errors of a difference are 3 * sqrt(2 / 3), or 2.449. Where only two degrees of freedom are
    /// known, 1 % is a middle of what is 1.19 % in the mean.
    const WIDTH: f64 = 2.449 * 1.1926;

    fn noise<'a>(table: &'a Table, all: &'a [Vec<Simulated>]) -> Noise<'a> {
        Noise::new(table, &all[0], all[1..].iter().map(Vec::as_slice))
    }

    #[test]
    fn noise_is_that_of_a_difference_of_means() {
        let (table, mut all) = (table(), [perfect(), perfect()]);
        let noise = self::noise(&table, &all);
        near(noise.change("time", "1", Side::Base), WIDTH);
        near(noise.change("busy_pct", "1", Side::Base), WIDTH * 0.7502);
        all[1].iter_mut().for_each(|c| c.new.0[1] *= 1.01);
        all[0] = all[1].clone();
        let noise = self::noise(&table, &all);
        near(noise.change("time", "1", Side::Base), WIDTH);
        assert!(noise.change("time", "1", Side::New) > noise.change("time", "1", Side::Base));
        assert_eq!(noise.change("nothing", "1", Side::Base), None);
        assert_eq!(noise.change("time", "5", Side::Base), None);
    }

    /// One wild table of three does not hide what the others show, and one that was counted is not
    /// counted again.
    #[test]
    fn the_middle_of_different_tables_tells() {
        let (table, mut all) = (table(), vec![perfect(); 4]);
        spoil(&mut all[1], "time", "1", |c| c.base = Seeds(vec![4.0, 8.0, 12.0]));
        spoil(&mut all[2], "time", "1", |c| c.base = Seeds(vec![8.0; 3]));
        near(noise(&table, &all).change("time", "1", Side::Base), WIDTH);
        near(noise(&table, &all[..1]).change("time", "1", Side::Base), WIDTH);
        let two = [all[0].clone(), all[2].clone(), all[0].clone()];
        near(noise(&table, &two).change("time", "1", Side::Base), WIDTH / 2f64.sqrt());
    }

    #[test]
    fn one_seed_tells_nothing_and_many_of_ours_help() {
        let (table, mut all) = (table(), vec![perfect(); 2]);
        let twelve = |c: &mut Simulated| c.base.0 = c.base.0.repeat(4);
        all[0].iter_mut().for_each(twelve);
        spoil(&mut all[0], "time", "1", |c| c.base.0 = vec![f64::NAN; 12]);
        near(noise(&table, &all).change("time", "1", Side::Base), WIDTH * (5f64 / 8.0).sqrt());
        all.iter_mut().for_each(|t| spoil(t, "time", "1", |c| c.base.0.truncate(1)));
        assert_eq!(noise(&table, &all).change("time", "1", Side::Base), None);
    }

    /// Both sides of the fixture move alike, so that its effect does not: one side alone must move.
    #[test]
    fn effects_are_taken_seed_by_seed() {
        let (table, mut all) = (table(), vec![perfect()]);
        near(noise(&table, &all).effect("1"), 0.0);
        spoil(&mut all[0], "time", "1", |c| c.new.0 = vec![c.new.0[1]; 3]);
        near(noise(&table, &all).effect("1"), WIDTH * 1.3614);
        assert_eq!(noise(&table, &all).effect("5"), None);
    }
}
