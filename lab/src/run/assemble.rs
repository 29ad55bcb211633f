// SPDX-License-Identifier: GPL-2.0-only
//! From finished boots to the columns' figures.

use crate::bench::{details, fifo_p99_us, figure, Bench, What};
use crate::compare::{Better, Entry, Reading};
use crate::model::{Boot, Line, Mode, Status};
use crate::stats::Summary;

use super::plan::{nothing_to_do, Plan, Request};

/// A control that waits longer than this says that the machine, not the scheduler, was late.
const CONTROL_LIMIT_US: f64 = 1000.0;

/// One step's figure and what stands beside it.
struct Sample {
    seed: u64,
    figure: f64,
    reading: Reading,
    details: Option<serde_json::Value>,
}

/// How a boot's step ended for its column: a sample, or status, reason and log.
fn sample(boot: &Boot, step: usize, bench: &Bench) -> Result<Sample, (Status, String, String)> {
    if boot.status != Status::Ok {
        return Err((boot.status, boot.reason.clone(), boot.log.clone()));
    }
    let failed = |why: String| (Status::Failed, why, String::new());
    let line = boot.lines.iter().find_map(|line| match line {
        Line::Step { index, wall_ns, output, meter, .. } if *index == step => {
            Some((wall_ns, output, meter))
        }
        _ => None,
    });
    let (wall_ns, output, meter) = line.ok_or_else(|| failed("the step is missing".to_owned()))?;
    let figure = figure(bench, *wall_ns, output, meter).map_err(failed)?;
    let reading = Reading::from(meter);
    Ok(Sample { seed: boot.seed, figure, reading, details: details(bench, output) })
}

/// Whether a boot counts: one whose control was late does not, and is repeated. A boot that did
/// not end well counts, as what it is.
pub fn counts(mode: Mode, bench: &Bench, boot: &Boot) -> bool {
    if mode != Mode::Parallel || !matches!(bench.what, What::Sleeper { fifo: true, .. }) {
        return true;
    }
    match sample(boot, 0, bench) {
        Ok(sample) => {
            let control = sample.details.as_ref().and_then(fifo_p99_us);
            control.is_some_and(|us| us <= CONTROL_LIMIT_US)
        }
        Err(_) => true,
    }
}

/// p99 of the one-CPU sleeper in a step, mean over its boots; `None` unless every one ended well.
pub fn sleeper_p99_us(boots: &[Boot], step: usize) -> Option<f64> {
    let bench = Bench::parse("sleeper").ok()?;
    let figures: Option<Vec<f64>> =
        boots.iter().map(|b| sample(b, step, &bench).ok().map(|s| s.figure)).collect();
    Some(Summary::of(&figures?)?.mean)
}

/// All columns: by kernel, bench and scheduler. `kernels` by name and version, `versions` by
/// scheduler.
pub fn entries(
    request: &Request,
    plan: &Plan,
    boots: &[Vec<Boot>],
    kernels: &[(String, String)],
    versions: &[Option<String>],
) -> Vec<Entry> {
    let mut out = Vec::new();
    for (k, (kernel, version)) in kernels.iter().enumerate() {
        for (b, bench) in request.benches.iter().enumerate() {
            for &s in &request.kernels[k].scheds {
                let sched = &request.scheds[s];
                let mut entry = Entry {
                    sched: sched.word.clone(),
                    sched_version: versions[s].clone().unwrap_or_else(|| version.clone()),
                    bench: bench.word.clone(),
                    bench_command: bench.command_line(),
                    unit: bench.what.unit(request.mode).to_owned(),
                    better: Better::Lower,
                    kernel: kernel.clone(),
                    status: Status::Ok,
                    reason: String::new(),
                    log: String::new(),
                    samples: Vec::new(),
                    seeds: Vec::new(),
                    meter: Vec::new(),
                    details: Vec::new(),
                    sleeper_p99_us: plan
                        .gates
                        .get(&(k, s))
                        .and_then(|&(unit, step)| sleeper_p99_us(&boots[unit], step)),
                    repeats: 0,
                    voided: 0,
                    note: None,
                };
                if nothing_to_do(sched, bench) {
                    entry.note = Some("the kernel's own class is never loaded".to_owned());
                } else if let Some(&(unit, step)) = plan.columns.get(&(k, s, b)) {
                    fill(&mut entry, request, bench, &boots[unit], step);
                }
                out.push(entry);
            }
        }
    }
    out
}

fn fill(entry: &mut Entry, request: &Request, bench: &Bench, boots: &[Boot], step: usize) {
    for boot in boots {
        entry.repeats += boot.repeats;
        if !counts(request.mode, bench, boot) {
            entry.voided += 1;
            continue;
        }
        match sample(boot, step, bench) {
            Ok(sample) => {
                entry.samples.push(sample.figure);
                entry.seeds.push(sample.seed);
                entry.meter.push(sample.reading);
                entry.details.extend(sample.details);
            }
            Err((status, reason, log)) if entry.status == Status::Ok => {
                entry.status = status;
                entry.reason = format!("seed {}: {reason}", boot.seed);
                entry.log = log;
            }
            Err(_) => {}
        }
    }
    let valid = entry.samples.len();
    if entry.voided > 0 && entry.status == Status::Ok && valid < request.runs as usize {
        let tried = boots.len();
        entry.note = Some(format!(
            "not measured: only {valid} of {tried} boots had a control (SCHED_FIFO sleeper) with a \
             p99 up to 1 ms; this machine is too busy"
        ));
        entry.samples.clear();
        entry.seeds.clear();
        entry.meter.clear();
        entry.details.clear();
    }
}
