// SPDX-License-Identifier: GPL-2.0-only
//! Tables at most 100 columns wide. A figure never stands without its switches, effective CPUs
//! and IPIs.

use std::fmt::Write;

use super::{Document, KernelInfo};
use crate::compare::{Comparison, Entry, IdleShares, Reading};
use crate::model::{Mode, Status};
use crate::sched::UNPATCHED;
use crate::stats::Summary;

/// Columns of a terminal that is never exceeded.
pub const WIDTH: usize = 100;
/// The counter of a scheduler that stands in the table; the document has all of them.
const STEALS: &str = "steals";
/// Counters of our fair class that stand below it, and how they are read.
const FAIR: [(&str, &str); 6] = [
    ("easy", "easy"),
    ("cpu_hit", "cpu hit"),
    ("core_hit", "core hit"),
    ("none", "none"),
    ("find_ns", "find us"),
    ("misses", "misses"),
];

/// Kernels whose columns are compared, and so stand in one block: one, or all of one base.
type Family<'a> = Vec<&'a KernelInfo>;

fn families(doc: &Document) -> Vec<Family<'_>> {
    let mut out: Vec<Family> = Vec::new();
    for kernel in &doc.kernels {
        let same = |f: &&mut Family| kernel.base.is_some() && f[0].base == kernel.base;
        match out.iter_mut().find(same) {
            Some(family) => family.push(kernel),
            None => out.push(vec![kernel]),
        }
    }
    out
}

fn is_of(family: &Family, kernel: &str) -> bool {
    family.iter().any(|k| k.release == kernel)
}

fn names(family: &Family) -> String {
    let names: Vec<&str> = family.iter().map(|k| k.release.as_str()).collect();
    names.join(" and ")
}

/// The schedulers with a column on these kernels, in order.
fn scheds_on(doc: &Document, on: impl Fn(&str) -> bool) -> Vec<&str> {
    let mut scheds: Vec<&str> = Vec::new();
    for entry in doc.results.iter().filter(|e| on(&e.kernel)) {
        if !scheds.contains(&entry.sched.as_str()) {
            scheds.push(&entry.sched);
        }
    }
    scheds
}

/// All blocks, comparisons and notes.
pub fn tables(doc: &Document) -> String {
    let mut out = String::new();
    head(&mut out, doc);
    let families = families(doc);
    who_runs_where(&mut out, doc, &families);
    for family in &families {
        let mut benches: Vec<&str> = Vec::new();
        for entry in doc.results.iter().filter(|e| is_of(family, &e.kernel)) {
            if !benches.contains(&entry.bench.as_str()) {
                benches.push(&entry.bench);
            }
        }
        for bench in benches {
            block(&mut out, doc, family, bench);
        }
        sleepers(&mut out, doc, family);
    }
    out
}

/// Where columns do not all run on every kernel: which runs where, and what that means.
fn who_runs_where(out: &mut String, doc: &Document, families: &[Family]) {
    let all = scheds_on(doc, |_| true);
    let on = |kernel: &str| scheds_on(doc, |k| k == kernel);
    if doc.kernels.iter().all(|k| on(&k.release) == all) {
        return;
    }
    for kernel in &doc.kernels {
        let scheds = on(&kernel.release).join(", ");
        lines(out, &format!("{scheds}: on {} ({})", kernel.release, kernel.origin), "");
    }
    if families.len() > 1 {
        let text = "what runs on one kernel is not compared with what runs on another";
        let except = match families.iter().any(|f| f.len() > 1) {
            true => ", but for those of one source and configuration",
            false => "",
        };
        lines(out, &format!("{text}{except}"), "");
    }
}

fn head(out: &mut String, doc: &Document) {
    let s = doc.topology;
    let _ = writeln!(
        out,
        "{} CPUs, {} nodes, {} threads a core; {} boots a column, seeds {}..{}; {}",
        s.cpus,
        s.nodes,
        s.smt,
        doc.runs,
        doc.seed,
        doc.seed.saturating_add(u64::from(doc.runs) - 1),
        doc.qemu
    );
    let mode = match (doc.mode, doc.accelerator.as_str(), doc.cpus_at_once) {
        (Mode::Instructions, ..) => {
            "instruction mode: emulated, 1 instruction = 1 ns of guest time; prices code and \
             switches,\nblind to parallelism and waiting"
        }
        (Mode::Parallel, "kvm", true) => "parallel mode: KVM, guest CPUs run at once",
        (Mode::Parallel, "kvm", false) => {
            "parallel mode: KVM, more guest CPUs than cores: they take turns"
        }
        (Mode::Parallel, _, true) => "parallel mode: emulated, a thread a CPU",
        (Mode::Parallel, _, false) => "parallel mode: emulated, CPUs take turns in one thread",
    };
    let _ = writeln!(out, "{mode}");
}

fn block(out: &mut String, doc: &Document, family: &Family, bench: &str) {
    let rows: Vec<&Entry> =
        doc.results.iter().filter(|e| is_of(family, &e.kernel) && e.bench == bench).collect();
    let Some(first) = rows.first() else { return };
    let better = if first.better == crate::compare::Better::Lower { "lower" } else { "higher" };
    let _ = writeln!(out);
    let text = format!("{bench} on {}: {}, {better} is better", names(family), first.unit);
    lines(out, &text, "");
    if first.bench_command != bench {
        lines(out, &first.bench_command, "  ");
    }
    grid(out, &rows);
    fair_counters(out, &rows);
    for entry in &rows {
        remarks(out, entry);
    }
    let of_block = |c: &&Comparison| c.bench == bench && is_of(family, &c.kernel);
    for comparison in doc.comparisons.iter().filter(of_block).filter(|c| best_first(c)) {
        lines(out, &sentence(comparison), "  ");
        if let Some(idle) = &comparison.idle {
            lines(out, &idle_sentence(comparison, idle), "  ");
        }
    }
}

/// Of the two directions of a pair, the one whose a has the better figure (all benches are better
/// lower so far); of equals, the one that comes first by name.
fn best_first(c: &Comparison) -> bool {
    match c.change_pct {
        Some(pct) if pct != 0.0 => pct < 0.0,
        _ => c.a < c.b,
    }
}

fn sentence(c: &Comparison) -> String {
    let mut text = format!("{} against {}: ", c.a, c.b);
    if let Some(pct) = c.change_pct {
        let _ = write!(text, "{pct:+.1} %");
    }
    if let Some([low, high]) = c.ci95_pct {
        let _ = write!(text, " ({low:+.1} to {high:+.1})");
    }
    match (c.verdict, c.change_pct) {
        (Some(verdict), _) => {
            let _ = write!(text, ", {}", verdict.word());
        }
        (None, Some(_)) => text.push_str(", no verdict"),
        (None, None) => text.push_str("no verdict"),
    }
    if let Some(note) = &c.note {
        let _ = write!(text, ": {note}");
    }
    text
}

fn idle_sentence(c: &Comparison, idle: &IdleShares) -> String {
    let share = |pct: f64, i: usize| {
        let half = idle.half_widths.map(|h| format!(" ± {:.2}", h[i]));
        format!("{pct:.2}{} %", half.unwrap_or_default())
    };
    let mut text = format!(
        "{} against {}, share of CPU time idle while a task waits: {} against {}, {:+.2} points",
        c.a,
        c.b,
        share(idle.a_pct, 0),
        share(idle.b_pct, 1),
        idle.points
    );
    if let Some([low, high]) = idle.ci95_points {
        let _ = write!(text, " ({low:+.2} to {high:+.2})");
    }
    text
}

/// The measured columns, a row a scheduler.
fn grid(out: &mut String, rows: &[&Entry]) {
    let meters = || rows.iter().flat_map(|e| &e.meter);
    let steals = meters().any(|m| m.counters.contains_key(STEALS));
    let idle = meters().any(|m| m.idle_while_waiting_pct.is_some());
    let mut names = vec!["mean", "± 95 %", "n", "switches", "eff.CPUs", "IPIs", "queued ms"];
    names.extend(steals.then_some("steals"));
    names.extend(idle.then_some("idle %"));
    names.push("status");
    let cells: Vec<Vec<String>> = rows.iter().map(|e| row(e, steals, idle)).collect();
    grid_of(out, "sched", &names, rows, &cells, "");
}

/// What our fair class counted, where it did: means over the boots, below the grid.
fn fair_counters(out: &mut String, rows: &[&Entry]) {
    let has = |e: &Entry, counter: &str| e.meter.iter().any(|m| m.counters.contains_key(counter));
    let is_ours = |name: &String| name == STEALS || FAIR.iter().any(|f| f.0 == name);
    let fair = |e: &&&Entry| e.meter.iter().all(|m| m.counters.keys().all(is_ours));
    let rows: Vec<&Entry> = rows.iter().filter(fair).filter(|e| has(e, STEALS)).copied().collect();
    let counted = |f: &&(&str, &str)| rows.iter().any(|e| has(e, f.0));
    let columns: Vec<&(&str, &str)> = FAIR.iter().filter(counted).collect();
    if columns.is_empty() {
        return;
    }
    let names: Vec<&str> = columns.iter().map(|(_, name)| *name).collect();
    let cell = |e: &Entry, counter: &str| {
        let unit = if counter == "find_ns" { 1000.0 } else { 1.0 };
        count(mean_of(e, &|m| Some(*m.counters.get(counter)? as f64 / unit)))
    };
    let cells: Vec<Vec<String>> =
        rows.iter().map(|e| columns.iter().map(|f| cell(e, f.0)).collect()).collect();
    grid_of(out, "its counters", &names, &rows, &cells, "  ");
}

/// One row a scheduler, columns as wide as their cells; `lead` begins each line. A scheduler's word
/// that leaves no room for them gets a line of its own.
fn grid_of(
    out: &mut String,
    first: &str,
    names: &[&str],
    rows: &[&Entry],
    cells: &[Vec<String>],
    lead: &str,
) {
    let width = |i: usize| {
        let widths = cells.iter().map(|r| r[i].chars().count());
        widths.chain([names[i].chars().count()]).max().unwrap_or(0)
    };
    let columns: usize = (0..names.len()).map(|i| 2 + width(i)).sum();
    let room = WIDTH.saturating_sub(lead.len() + columns);
    let fitting = rows.iter().map(|e| e.sched.chars().count()).filter(|&n| n <= room);
    let name_width = fitting.max().unwrap_or(0).max(first.len());
    let mut line = |name: &str, cells: &mut dyn Iterator<Item = &str>| {
        let mut text = format!("{lead}{name:<name_width$}");
        if name.chars().count() > name_width {
            lines(out, name, lead);
            text = format!("{lead}{}", " ".repeat(name_width));
        }
        for (i, cell) in cells.enumerate() {
            let _ = write!(text, "  {cell:>w$}", w = width(i));
        }
        let _ = writeln!(out, "{}", text.trim_end());
    };
    line(first, &mut names.iter().copied());
    for (entry, cells) in rows.iter().zip(cells) {
        line(&entry.sched, &mut cells.iter().map(String::as_str));
    }
}

/// Mean over the boots; `None` unless all have it.
fn mean_of(entry: &Entry, value: &dyn Fn(&Reading) -> Option<f64>) -> Option<f64> {
    let all: Option<Vec<f64>> = entry.meter.iter().map(value).collect();
    Summary::of(&all?).map(|s| s.mean)
}

fn none() -> String {
    "-".to_owned()
}

fn count(value: Option<f64>) -> String {
    value.map_or_else(none, |v| thousands(v.round() as u64))
}

fn row(entry: &Entry, steals: bool, idle: bool) -> Vec<String> {
    let mean = |value: &dyn Fn(&Reading) -> Option<f64>| mean_of(entry, value);
    let decimals = |value: Option<f64>, n: usize| value.map_or_else(none, |v| format!("{v:.n$}"));
    let summary = entry.summary();
    let spread = summary.and_then(|s| Some(100.0 * s.half_width()? / s.mean.abs()));
    let mut cells = vec![
        summary.map_or_else(none, |s| figure(s.mean)),
        spread.filter(|s| s.is_finite()).map_or_else(none, |s| format!("{s:.1} %")),
        entry.samples.len().to_string(),
        count(mean(&|m| Some(m.switches as f64))),
        decimals(mean(&|m| m.effective_cpus), 2),
        count(mean(&|m| Some(m.ipis as f64))),
        decimals(mean(&|m| Some(m.queue_delay_ns as f64 / 1e6)), 1),
    ];
    if steals {
        cells.push(count(mean(&|m| m.counters.get(STEALS).map(|&n| n as f64))));
    }
    if idle {
        cells.push(decimals(mean(&|m| m.idle_while_waiting_pct), 2));
    }
    cells.push(status_word(entry.status).to_owned());
    cells
}

/// Why a row is not whole, and what was repeated.
fn remarks(out: &mut String, entry: &Entry) {
    if entry.status != Status::Ok {
        lines(
            out,
            &format!("{}: {}: {}", entry.sched, status_word(entry.status), entry.reason),
            "  ",
        );
        let log: Vec<&str> = entry.log.lines().collect();
        for line in &log[log.len().saturating_sub(6)..] {
            lines(out, line, "    | ");
        }
    }
    if let Some(note) = &entry.note {
        lines(out, &format!("{}: {note}", entry.sched), "  ");
    }
    if entry.repeats > 0 {
        let text =
            format!("{}: {} boots that QEMU broke were repeated", entry.sched, entry.repeats);
        lines(out, &text, "  ");
    }
    if entry.voided > 0 {
        let text = format!("{}: {} boots voided by their control", entry.sched, entry.voided);
        lines(out, &text, "  ");
    }
    if let Some(shares) = entry.details.iter().find_map(shares) {
        lines(out, &format!("{}: first boot's {shares}", entry.sched), "  ");
    }
}

/// `shares by nice -10: 60.1 %, …` of what the program shares printed.
fn shares(details: &serde_json::Value) -> Option<String> {
    let nices = details.get("nices")?.as_array()?;
    let shares = details.get("shares_pct")?.as_array()?;
    let pairs: Option<Vec<String>> = nices
        .iter()
        .zip(shares)
        .map(|(nice, share)| Some(format!("{nice}: {:.1} %", share.as_f64()?)))
        .collect();
    Some(format!("shares by nice {}", pairs?.join(", ")))
}

fn sleepers(out: &mut String, doc: &Document, family: &Family) {
    let rows: Vec<&Entry> = doc.results.iter().filter(|e| is_of(family, &e.kernel)).collect();
    let mut seen: Vec<(&str, f64)> = Vec::new();
    for kernel in family {
        // of the kernel without patches, EEVDF is that column
        let unpatched = rows.iter().any(|e| e.kernel == kernel.release && e.sched == UNPATCHED);
        let eevdf = kernel.eevdf_sleeper_p99_us.filter(|_| !unpatched);
        seen.extend(eevdf.map(|us| ("eevdf", us)));
    }
    for entry in &rows {
        if let Some(us) = entry.sleeper_p99_us {
            if !seen.iter().any(|s| s.0 == entry.sched) {
                seen.push((&entry.sched, us));
            }
        }
    }
    if !seen.is_empty() {
        let list: Vec<String> = seen.iter().map(|(s, us)| format!("{s} {}", figure(*us))).collect();
        let text = format!(
            "1 ms sleeper beside 2 hogs, one-CPU guest, {}: p99, us: {}",
            names(family),
            list.join(", ")
        );
        let _ = writeln!(out);
        lines(out, &text, "");
    }
}

/// The documented name of a status.
pub fn status_word(status: Status) -> &'static str {
    match status {
        Status::Ok => "ok",
        Status::Refused => "refused",
        Status::Ejected => "ejected",
        Status::Panicked => "panicked",
        Status::Hung => "hung",
        Status::Failed => "failed",
    }
}

/// Four significant digits.
pub fn figure(value: f64) -> String {
    let digits = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    let decimals = (3 - digits).clamp(0, 9) as usize;
    if decimals == 0 && value >= 0.0 {
        return thousands(value.round() as u64);
    }
    format!("{value:.decimals$}")
}

/// 1,234,567.
fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Appends `text`, broken at blanks (or where it must be) to fit; `lead` begins each line.
pub(super) fn lines(out: &mut String, text: &str, lead: &str) {
    let room = WIDTH - lead.len();
    let mut rest = text.trim_end();
    loop {
        let end = rest.char_indices().nth(room).map_or(rest.len(), |(i, _)| i);
        if end == rest.len() {
            let _ = writeln!(out, "{lead}{rest}");
            return;
        }
        // a blank just behind the last character that fits is as good
        let blank = if rest[end..].starts_with(' ') { Some(end) } else { rest[..end].rfind(' ') };
        let cut = blank.filter(|&i| i > 0).unwrap_or(end);
        let _ = writeln!(out, "{lead}{}", rest[..cut].trim_end());
        rest = rest[cut..].trim_start();
    }
}
