// SPDX-License-Identifier: GPL-2.0-only
//! The bounds that the stealing table sets us. They were set before anything was simulated; the
//! figures that they judge are rounded as the published ones are.
//!
//! | bound | figures |
//! |---|---|
//! | signs | all effects that are judged have the published sign |
//! | time | within 5 % where saturated, 15 % elsewhere |
//! | speedup | at least 4 of 5 within 3 points or a quarter of the published effect, whichever is larger |
//! | order | speedups fall as the groups grow |
//! | busy | within 5 points (baseline), 3 points (patched) |
//! | sched, wake, steal; idle of the baseline | within a factor of 1.5 |
//! | idle of the patched | at most a fifth of the baseline's |
//! | sched = idle + wake | within 0.5 % |
//! | seeds | at least 3 a cell |

use serde::Serialize;

use super::text::signed;
use super::{pairs, Pair, Simulated};
use crate::figure::Seeds;
use crate::published::{Load, Table};

const TIME_SATURATED_PCT: f64 = 5.0;
const TIME_LOW_PCT: f64 = 15.0;
const SPEEDUP_POINTS: f64 = 3.0;
const SPEEDUP_PART: f64 = 0.25;
/// Judged effects that may be outside their bound.
const SPEEDUPS_OUTSIDE: usize = 1;
const BUSY_BASE_POINTS: f64 = 5.0;
const BUSY_NEW_POINTS: f64 = 3.0;
const COUNTER_FACTOR: f64 = 1.5;
const IDLE_FEWER: f64 = 5.0;
const SUM_PCT: f64 = 0.5;
const SEEDS: usize = 3;
/// A figure on its bound is inside; binary fractions must not put it outside.
const HAIR: f64 = 1e-9;

/// A bound and whether it was met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Short.
    pub name: String,
    /// Met.
    pub ok: bool,
    /// The figures and the bound.
    pub text: String,
}

impl Check {
    /// `ok NAME: …` or `MISSED NAME: …`.
    pub fn line(&self) -> String {
        format!("{} {}: {}", if self.ok { "ok" } else { "MISSED" }, self.name, self.text)
    }
}

/// How a model does, in numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Score {
    /// Whose figures.
    pub model: String,
    /// Bounds met.
    pub bounds_met: usize,
    /// Of so many.
    pub bounds: usize,
    /// Judged effects with the published sign.
    pub signs_right: usize,
    /// Judged effects within their bound.
    pub speedups_within: usize,
    /// Of so many.
    pub judged: usize,
}

impl Score {
    /// Scores figures under the name of their model.
    pub fn of(model: &str, table: &Table, simulated: &[Simulated]) -> Self {
        let checks = judge(table, simulated);
        let all = pairs(table, simulated);
        let judged: Vec<&Pair> = all.iter().filter(|p| p.cell.judged).collect();
        Self {
            model: model.to_owned(),
            bounds_met: checks.iter().filter(|c| c.ok).count(),
            bounds: checks.len(),
            signs_right: judged.iter().filter(|p| sign_right(p)).count(),
            speedups_within: judged.iter().filter(|p| speedup_within(p)).count(),
            judged: judged.len(),
        }
    }
}

/// Baseline or patched.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Base,
    New,
}

impl Side {
    /// In the order of all tables.
    pub(super) const BOTH: [Self; 2] = [Self::Base, Self::New];

    /// Ours, by seed.
    pub(super) fn seeds(self, cell: &Simulated) -> &Seeds {
        match self {
            Self::Base => &cell.base,
            Self::New => &cell.new,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Base => "baseline",
            Self::New => "patched",
        }
    }

    /// Published and simulated.
    fn figures(self, pair: &Pair) -> (f64, Option<f64>) {
        match self {
            Self::Base => (pair.cell.base.value, pair.base),
            Self::New => (pair.cell.new.value, pair.new),
        }
    }
}

const SIDES: [Side; 2] = [Side::Base, Side::New];

/// Every bound, in the order of the table above.
pub fn judge(table: &Table, simulated: &[Simulated]) -> Vec<Check> {
    let all = pairs(table, simulated);
    let of =
        |metric: &str| -> Vec<&Pair> { all.iter().filter(|p| p.cell.metric == metric).collect() };
    let mut out = vec![signs(&all)];
    for side in SIDES {
        for (load, pct) in [(Load::Low, TIME_LOW_PCT), (Load::Saturated, TIME_SATURATED_PCT)] {
            let cells: Vec<&Pair> =
                all.iter().filter(|p| p.cell.primary && p.cell.load == load).collect();
            out.push(time(&cells, side, load, pct));
        }
    }
    out.push(speedups(&all));
    out.push(order(&all));
    out.push(busy(&of("busy_pct"), Side::Base, BUSY_BASE_POINTS));
    out.push(busy(&of("busy_pct"), Side::New, BUSY_NEW_POINTS));
    for metric in ["sched", "wake", "steal"] {
        out.extend(SIDES.map(|side| counter(&of(metric), metric, side)));
    }
    out.push(counter(&of("idle"), "idle", Side::Base));
    out.push(idle_fewer(&of("idle")));
    out.extend(SIDES.map(|side| sum(table, simulated, side)));
    out.push(seeds(table, &all));
    out
}

/// The one shape of a bound over several points: all figures are there and inside.
fn each(
    name: String,
    figures: Vec<(String, Option<f64>)>,
    show: impl Fn(f64) -> String,
    inside: impl Fn(f64) -> bool,
    bound: &str,
) -> Check {
    let ok = !figures.is_empty() && figures.iter().all(|f| f.1.is_some_and(&inside));
    let one = |(x, value): &(String, Option<f64>)| match value {
        Some(v) if inside(*v) => format!("{x}: {}", show(*v)),
        Some(v) => format!("{x}: {} (outside)", show(*v)),
        None => format!("{x}: no figure"),
    };
    let list: Vec<String> = figures.iter().map(one).collect();
    let list = if list.is_empty() { "no such cell".to_owned() } else { list.join(", ") };
    Check { name, ok, text: format!("{list}; {bound}") }
}

/// A measure of each cell beside its x.
fn at(cells: &[&Pair], measure: impl Fn(&Pair) -> Option<f64>) -> Vec<(String, Option<f64>)> {
    cells.iter().map(|p| (p.cell.x.clone(), measure(p))).collect()
}

fn sign_right(pair: &Pair) -> bool {
    match (pair.gain_pct(), pair.cell.gain_pct) {
        (Some(ours), Some(published)) => ours * published > 0.0,
        _ => false,
    }
}

/// Points by which our effect may differ from the published one.
pub fn speedup_bound(pair: &Pair) -> Option<f64> {
    Some(SPEEDUP_POINTS.max(SPEEDUP_PART * pair.cell.gain_pct?.abs()))
}

/// Whether our effect is within its bound.
pub fn speedup_within(pair: &Pair) -> bool {
    match (pair.gain_pct(), pair.cell.gain_pct, speedup_bound(pair)) {
        (Some(ours), Some(published), Some(bound)) => (ours - published).abs() <= bound + HAIR,
        _ => false,
    }
}

fn signs(all: &[Pair]) -> Check {
    let judged: Vec<&Pair> = all.iter().filter(|p| p.cell.judged).collect();
    let right = judged.iter().filter(|p| sign_right(p)).count();
    let text = format!("{right} of {} effects have the published sign; all of them", judged.len());
    Check { name: "signs".to_owned(), ok: right == judged.len() && right > 0, text }
}

fn time(cells: &[&Pair], side: Side, load: Load, pct: f64) -> Check {
    let error = |p: &Pair| {
        let (published, ours) = side.figures(p);
        ours.map(|o| 100.0 * (o / published - 1.0))
    };
    each(
        format!("time {} {}", side.word(), load.word()),
        at(cells, error),
        |e| format!("{} %", signed(e, 1)),
        |e| e.abs() <= pct + HAIR,
        &format!("at most {pct} %"),
    )
}

fn speedups(all: &[Pair]) -> Check {
    let judged: Vec<&Pair> = all.iter().filter(|p| p.cell.judged).collect();
    let within = judged.iter().filter(|p| speedup_within(p)).count();
    let one = |p: &&Pair| {
        let ours = p.gain_pct().map_or("no figure".to_owned(), |g| format!("{g:.1}"));
        let published = p.cell.gain_pct.unwrap_or_default();
        let bound = speedup_bound(p).unwrap_or_default();
        format!("{}: {ours} for {published:.1} ± {bound:.1}", p.cell.x)
    };
    let list: Vec<String> = judged.iter().map(one).collect();
    let wanted = judged.len().saturating_sub(SPEEDUPS_OUTSIDE);
    Check {
        name: "speedup".to_owned(),
        ok: within >= wanted && within > 0,
        text: format!(
            "{}; {within} of {} within, at least {wanted}",
            list.join(", "),
            judged.len()
        ),
    }
}

fn order(all: &[Pair]) -> Check {
    let mut judged: Vec<(f64, Option<f64>)> = all
        .iter()
        .filter(|p| p.cell.judged)
        .filter_map(|p| Some((p.cell.x.parse().ok()?, p.gain_pct())))
        .collect();
    judged.sort_by(|a, b| a.0.total_cmp(&b.0));
    let gains: Option<Vec<f64>> = judged.iter().map(|g| g.1).collect();
    let gains = gains.unwrap_or_default();
    let list: Vec<String> = gains.iter().map(|g| format!("{g:.1}")).collect();
    let list = if list.is_empty() { "not all there".to_owned() } else { list.join(" ") };
    Check {
        name: "order".to_owned(),
        ok: gains.len() > 1 && gains.windows(2).all(|w| w[1] < w[0]),
        text: format!("speedups {list}; each below the one before"),
    }
}

fn busy(cells: &[&Pair], side: Side, points: f64) -> Check {
    let error = |p: &Pair| {
        let (published, ours) = side.figures(p);
        ours.map(|o| o - published)
    };
    each(
        format!("busy {}", side.word()),
        at(cells, error),
        |e| signed(e, 2),
        |e| e.abs() <= points + HAIR,
        &format!("at most {points} points"),
    )
}

/// Ours as a multiple of the published count; nothing for nothing is 1.
pub fn factor(published: f64, ours: f64) -> f64 {
    if published == 0.0 && ours == 0.0 {
        1.0
    } else {
        ours / published
    }
}

fn counter(cells: &[&Pair], metric: &str, side: Side) -> Check {
    let ratio = |p: &Pair| {
        let (published, ours) = side.figures(p);
        ours.map(|o| factor(published, o))
    };
    each(
        format!("{metric} {}", side.word()),
        at(cells, ratio),
        |f| format!("x {f:.2}"),
        |f| (1.0 / COUNTER_FACTOR - HAIR..=COUNTER_FACTOR + HAIR).contains(&f),
        &format!("within a factor of {COUNTER_FACTOR}"),
    )
}

fn idle_fewer(cells: &[&Pair]) -> Check {
    // No idle left is as few as can be, unless the baseline has none either (then NaN: outside).
    let ratio = |(base, new): (f64, f64)| match new == 0.0 && base > 0.0 {
        true => f64::INFINITY,
        false => base / new,
    };
    let fewer = |p: &Pair| p.base.zip(p.new).map(ratio);
    each(
        "idle patched".to_owned(),
        at(cells, fewer),
        |f| format!("{f:.1} x fewer"),
        |f| f >= IDLE_FEWER - HAIR,
        &format!("at least {IDLE_FEWER} x fewer than the baseline's"),
    )
}

fn sum(table: &Table, simulated: &[Simulated], side: Side) -> Check {
    let mean = |metric: &str, x: &str| {
        let cell = simulated.iter().find(|s| s.metric == metric && s.x == x)?;
        match side {
            Side::Base => cell.base.mean(),
            Side::New => cell.new.mean(),
        }
    };
    let error = |x: &'_ str| {
        let (sched, idle, wake) = (mean("sched", x)?, mean("idle", x)?, mean("wake", x)?);
        Some(100.0 * ((idle + wake) / sched - 1.0))
    };
    each(
        format!("sched = idle + wake {}", side.word()),
        table.points().into_iter().map(|x| (x.to_owned(), error(x))).collect(),
        |e| format!("{} %", signed(e, 2)),
        |e| e.abs() <= SUM_PCT + HAIR,
        &format!("within {SUM_PCT} %"),
    )
}

/// Every cell that any bound reads, both sides.
fn seeds(table: &Table, all: &[Pair]) -> Check {
    let judged = |p: &&Pair| !table.experiment.not_judged.contains(&p.cell.metric);
    let count = |p: &Pair| p.ours.map_or(0, |s| s.base.0.len().min(s.new.0.len()));
    let least = all.iter().filter(judged).map(count).min().unwrap_or(0);
    let text = format!("{least} in the cell with the fewest; at least {SEEDS}");
    Check { name: "seeds".to_owned(), ok: least >= SEEDS, text }
}
