// SPDX-License-Identifier: GPL-2.0-only
//! A report as tables of at most 100 columns: published beside simulated, the error of each cell.

use super::judge::{factor, judge, speedup_bound, speedup_within};
use super::text::{bar, grid, number, signed, wrap};
use super::{null, pairs, plus_one_percent, Pair, Report, Role, Score, Simulated};
use crate::figure::{Printed, Seeds};
use crate::reader::BaseCell;

/// Columns of a bar: two stand in a line.
const BAR: usize = 26;

impl Report {
    /// Everything: tables, bars, bounds, models, constants.
    pub fn text(&self) -> String {
        let mut out = self.head();
        for metric in self.table.metrics() {
            out.push('\n');
            out.push_str(&self.block(metric));
        }
        out.push('\n');
        out.push_str(&self.legend());
        for assumed in &self.table.experiment.assumed {
            out.push_str(&wrap("assumed: ", "    ", assumed));
        }
        out.push('\n');
        out.push_str(&self.models());
        out.push('\n');
        for check in judge(&self.table, &self.cells) {
            out.push_str(&wrap("", "    ", &check.line()));
        }
        out.push('\n');
        out.push_str(&self.constants_text());
        out.push_str(&self.variants_text());
        out.push_str(&self.sensitivity_text());
        out
    }

    pub(super) fn head(&self) -> String {
        let e = &self.table.experiment;
        let seeds = self.cells.iter().map(|c| c.base.0.len()).max().unwrap_or(0);
        let mut out = wrap("", "", &format!("{}: {}", self.table.name, e.title));
        out.push_str(&wrap("  published: ", "    ", &e.source));
        out.push_str(&wrap("  ", "    ", &format!("{}; {}; {}", e.machine, e.kernel, e.command)));
        let seeds = format!("{}; {seeds} seeds from {}", self.scale, self.seed);
        out.push_str(&wrap("  simulated: ", "    ", &seeds));
        out
    }

    fn block(&self, metric: &str) -> String {
        let all = pairs(&self.table, &self.cells);
        let rows: Vec<&Pair> = all.iter().filter(|p| p.cell.metric == metric).collect();
        let Some(first) = rows.first() else { return String::new() };
        if rows.iter().all(|p| p.ours.is_none()) {
            return format!("{metric}: not modelled\n");
        }
        let better = match first.cell.better.word() {
            "none" => String::new(),
            word => format!(", {word} is better"),
        };
        let judged = self.table.experiment.not_judged.iter().any(|m| m == metric);
        let judged = if judged { ", never judged" } else { "" };
        let mut out = format!("{metric}, {}{better}{judged}\n", first.cell.unit);
        if first.cell.unit == "%" && metric == "busy_pct" {
            out.push_str(&self.bars(&rows));
            return out;
        }
        out.push_str(&self.figures(&rows));
        if rows.iter().any(|p| p.cell.judged) {
            out.push_str(&self.effects(&rows));
        }
        out
    }

    /// Published, simulated and error of both sides.
    fn figures(&self, rows: &[&Pair]) -> String {
        let patched = rows.first().map_or("", |p| p.cell.variant.as_str());
        let head = [
            self.table.experiment.x.as_str(),
            "baseline",
            "simulated",
            "error",
            patched,
            "simulated",
            "error",
            "",
        ];
        let mut table = vec![head.map(str::to_owned).to_vec()];
        for pair in rows {
            let mut row = vec![pair.cell.x.clone()];
            for (printed, mean, seeds) in [
                (&pair.cell.base, pair.base, pair.ours.map(|s| &s.base)),
                (&pair.cell.new, pair.new, pair.ours.map(|s| &s.new)),
            ] {
                row.push(published(printed));
                row.push(simulated(printed, mean, seeds));
                row.push(error(pair, printed, mean));
            }
            row.push(self.role_text(pair).to_owned());
            table.push(row);
        }
        grid(&table)
    }

    fn role_text(&self, pair: &Pair) -> &'static str {
        match self.role(pair) {
            Role::Fitted => "fitted (baseline)",
            Role::Predicted if self.constants.iter().any(|c| c.derived_here(pair)) => "predicted*",
            role => role.word(),
        }
    }

    /// Effects beside those of models that know nothing of the patch.
    fn effects(&self, rows: &[&Pair]) -> String {
        let head = ["effect, %", "published", "simulated", "error", "allowed", "", "null", "+1 %"];
        let mut table = vec![head.map(str::to_owned).to_vec()];
        let shown = |gain: Option<f64>| gain.map_or("-".to_owned(), |g| format!("{g:.1}"));
        let null = null(&self.cells);
        let one = plus_one_percent(&self.table, &self.cells);
        let of = |model: &[Simulated], pair: &Pair| {
            let all = pairs(&self.table, model);
            let same = all.iter().find(|p| p.cell == pair.cell);
            shown(same.and_then(|p| p.gain_pct()).map(|g| g + 0.0))
        };
        for pair in rows.iter().filter(|p| p.cell.judged) {
            let gap = pair.gain_pct().zip(pair.cell.gain_pct).map(|(ours, theirs)| ours - theirs);
            table.push(vec![
                pair.cell.x.clone(),
                shown(pair.cell.gain_pct),
                shown(pair.gain_pct()),
                gap.map_or("-".to_owned(), |g| signed(g, 1)),
                speedup_bound(pair).map_or("-".to_owned(), |b| format!("± {b:.1}")),
                if speedup_within(pair) { "within" } else { "outside" }.to_owned(),
                of(&null, pair),
                of(&one, pair),
            ]);
        }
        grid(&table)
    }

    pub(super) fn bars(&self, rows: &[&Pair]) -> String {
        let x = &self.table.experiment.x;
        let patched = rows.first().map_or("", |p| p.cell.variant.as_str());
        let name = "baseline".len().max(patched.chars().count());
        let lead = x.chars().count();
        let side = 7 + BAR;
        let mut out =
            format!("{x}  {:<name$}  {:<side$}  {:<side$} error\n", "", "published", "simulated");
        for pair in rows {
            let sides =
                [("baseline", &pair.cell.base, pair.base), (patched, &pair.cell.new, pair.new)];
            let seeds = pair.ours.map(|s| [&s.base, &s.new]);
            for (i, (word, printed, ours)) in sides.into_iter().enumerate() {
                let x = if i == 0 { pair.cell.x.as_str() } else { "" };
                let theirs = format!("{:>6} {}", printed.text, bar(printed.value, BAR));
                let ours = match ours {
                    Some(o) => {
                        let value = number(o, printed.decimals);
                        let sd = seeds.and_then(|s| s[i].sd_pct());
                        let sd = sd.map_or(String::new(), |sd| format!(" ±{sd:.1}"));
                        let gap = signed(o - printed.value, 1);
                        format!("{value:>6} {} {gap}{sd}", bar(o, BAR))
                    }
                    None => "not modelled".to_owned(),
                };
                out.push_str(&format!("{x:>lead$}  {word:<name$}  {theirs}  {ours}\n"));
            }
        }
        out
    }

    fn legend(&self) -> String {
        let text = "error: per cent of times, points of shares, a factor for counts. ± is the \
                    standard deviation over the seeds in per cent. Ours is rounded to the \
                    published digits. fitted (baseline): the one fitted constant comes from this \
                    cell's baseline; its patched figure is predicted, as all others are.";
        let derived = "* a constant was derived from this cell's baseline, among others.";
        match self.constants.iter().any(|c| !c.derived_from.is_empty()) {
            true => wrap("", "", text) + &wrap("", "", derived),
            false => wrap("", "", text),
        }
    }

    /// Ours and the models that know nothing of the patch.
    pub fn scores(&self) -> Vec<Score> {
        let one = plus_one_percent(&self.table, &self.cells);
        vec![
            Score::of("ours", &self.table, &self.cells),
            Score::of("null: patched = baseline", &self.table, &null(&self.cells)),
            Score::of("+1 %", &self.table, &one),
        ]
    }

    pub(super) fn models(&self) -> String {
        let head = ["model                   ", "signs right", "effects within", "bounds met"];
        let mut table = vec![head.map(str::to_owned).to_vec()];
        for s in self.scores() {
            let of = |n: usize, all: usize| format!("{n} of {all}");
            table.push(vec![
                format!("{:<24}", s.model),
                of(s.signs_right, s.judged),
                of(s.speedups_within, s.judged),
                of(s.bounds_met, s.bounds),
            ]);
        }
        grid(&table)
    }

    fn constants_text(&self) -> String {
        let mut out = "constants\n".to_owned();
        for c in &self.constants {
            let fitted = BaseCell::words(c.fitted_from.as_slice());
            let fitted = fitted.map(|cell| format!("; fitted from the {cell}"));
            let derived = BaseCell::words(&c.derived_from);
            let derived = derived.map(|cells| format!("; derived from the {cells}"));
            let from = [fitted, derived].into_iter().flatten().collect::<String>();
            let first = format!("  {} = {} {}: ", c.name, c.value, c.unit);
            out.push_str(&wrap(&first, "      ", &format!("{}{from}", c.source)));
        }
        out
    }
}

fn published(printed: &Printed) -> String {
    match printed.decimals {
        0 => number(printed.value, 0),
        _ => printed.text.clone(),
    }
}

fn simulated(printed: &Printed, mean: Option<f64>, seeds: Option<&Seeds>) -> String {
    let Some(mean) = mean else { return "-".to_owned() };
    let value = number(mean, printed.decimals);
    match seeds.and_then(Seeds::sd_pct) {
        Some(sd) => format!("{value} ±{sd:.1}"),
        None => value,
    }
}

fn error(pair: &Pair, printed: &Printed, ours: Option<f64>) -> String {
    match ours {
        None => "-".to_owned(),
        Some(o) if pair.cell.primary => {
            format!("{} %", signed(100.0 * (o / printed.value - 1.0), 1))
        }
        Some(o) if pair.cell.unit == "%" => signed(o - printed.value, 2),
        Some(o) => format!("x {:.2}", factor(printed.value, o)),
    }
}
