// SPDX-License-Identifier: GPL-2.0-only
//! Boots all units with all their seeds, beside each other where that moves no figure.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Mutex;
use std::time::Instant;

use anyhow::Result;

use super::plan::Unit;
use crate::model::Boot;
use crate::progress::Progress;

/// Boots one unit (by index) with one seed.
pub type BootOne<'a> = &'a (dyn Fn(usize, u64) -> Result<Boot> + Sync);
/// Whether a boot counts; one that does not is repeated with a further seed.
pub type Counts<'a> = &'a (dyn Fn(usize, &Boot) -> bool + Sync);

/// Boots of each unit in the order of their seeds, those that do not count among them. Seeds begin
/// at `seed`; the result does not depend on how many `workers` there are.
pub fn boot_all(
    units: &[Unit],
    seed: u64,
    workers: usize,
    boot: BootOne,
    counts: Counts,
    progress: &Progress,
) -> Result<Vec<Vec<Boot>>> {
    let mut done: Vec<Vec<Boot>> = units.iter().map(|_| Vec::new()).collect();
    let clock = Clock::new(units.iter().map(|u| u.runs as usize).sum(), progress);
    loop {
        let tasks = missing(units, &done, seed, counts);
        if tasks.is_empty() {
            return Ok(done);
        }
        let (beside, single): (Vec<_>, Vec<_>) =
            tasks.into_iter().partition(|t| units[t.unit].side_by_side());
        for (tasks, workers) in [(beside, workers), (single, 1)] {
            for (task, result) in round(&tasks, workers, units, boot, &clock)? {
                done[task.unit].push(result);
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Task {
    seed: u64,
    unit: usize,
}

/// The boots that are still needed, seed by seed, so that an interrupted run has all columns.
fn missing(units: &[Unit], done: &[Vec<Boot>], seed: u64, counts: Counts) -> Vec<Task> {
    let mut tasks = Vec::new();
    for (i, unit) in units.iter().enumerate() {
        let tried = done[i].len() as u32;
        let good = done[i].iter().filter(|b| counts(i, b)).count() as u32;
        let more = unit.runs.saturating_sub(good).min(unit.tries.saturating_sub(tried));
        let first = seed.wrapping_add(u64::from(tried));
        tasks.extend((0..u64::from(more)).map(|k| Task { seed: first.wrapping_add(k), unit: i }));
    }
    tasks.sort();
    tasks
}

/// Runs tasks on `workers` threads; results in the order of the tasks. The first error in that
/// order ends the run.
fn round(
    tasks: &[Task],
    workers: usize,
    units: &[Unit],
    boot: BootOne,
    clock: &Clock,
) -> Result<Vec<(Task, Boot)>> {
    let next = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let results: Mutex<BTreeMap<usize, Result<Boot>>> = Mutex::new(BTreeMap::new());
    let work = || {
        while !stop.load(Ordering::Relaxed) {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let Some(task) = tasks.get(i) else { return };
            clock.begin(&format!("{} seed {}", units[task.unit].name, task.seed));
            let result = boot(task.unit, task.seed);
            stop.fetch_or(result.is_err(), Ordering::Relaxed);
            results.lock().unwrap_or_else(|e| e.into_inner()).insert(i, result);
            clock.end();
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..workers.min(tasks.len()) {
            scope.spawn(work);
        }
    });
    let results = results.into_inner().unwrap_or_else(|e| e.into_inner());
    results.into_iter().map(|(i, result)| Ok((tasks[i], result?))).collect()
}

/// Counts boots and says how long the rest takes.
struct Clock<'a> {
    start: Instant,
    expected: usize,
    finished: AtomicUsize,
    progress: &'a Progress,
}

impl<'a> Clock<'a> {
    fn new(expected: usize, progress: &'a Progress) -> Self {
        Self { start: Instant::now(), expected, finished: AtomicUsize::new(0), progress }
    }

    fn begin(&self, what: &str) {
        let finished = self.finished.load(Ordering::Relaxed);
        let spent = self.start.elapsed().as_secs_f64();
        self.progress.set(&line(finished, self.expected, spent, what));
    }

    fn end(&self) {
        self.finished.fetch_add(1, Ordering::Relaxed);
    }
}

fn line(finished: usize, expected: usize, spent_s: f64, what: &str) -> String {
    let expected = expected.max(finished + 1);
    let left = match finished {
        0 => String::new(),
        n => format!(", about {:.0} s left", spent_s / n as f64 * (expected - n) as f64),
    };
    format!("{finished} of {expected} boots done{left}; now {what}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use crate::emulator::Accel;
    use crate::error::Failure;
    use crate::model::{GuestSched, Job, Mode, Status, Topology};
    use std::time::Duration;

    fn unit(runs: u32, tries: u32, mode: Mode) -> Unit {
        Unit {
            kernel: 0,
            name: "x".to_owned(),
            benches: Vec::new(),
            topology: Topology { cpus: 1, nodes: 1, smt: 1 },
            mode,
            accel: Accel::TcgSingle,
            append: Vec::new(),
            job: Job::plain(GuestSched::Kernel, Vec::new()),
            files: Vec::new(),
            runs,
            tries,
            limit: Duration::from_secs(1),
            complained: None,
        }
    }

    fn ended(seed: u64) -> Boot {
        let (reason, log) = (String::new(), String::new());
        Boot { seed, status: Status::Ok, reason, log, lines: Vec::new(), repeats: 0 }
    }

    fn seeds(boots: &[Boot]) -> Vec<u64> {
        boots.iter().map(|b| b.seed).collect()
    }

    #[test]
    fn the_order_does_not_depend_on_the_workers() {
        let units = [unit(5, 5, Mode::Instructions), unit(3, 3, Mode::Instructions)];
        let boot = |unit: usize, seed: u64| {
            std::thread::sleep(Duration::from_millis((7 * seed + 3 * unit as u64) % 5));
            Ok(ended(seed))
        };
        let run = |workers| {
            boot_all(&units, 10, workers, &boot, &|_, _| true, &Progress::default()).unwrap()
        };
        assert_eq!(seeds(&run(1)[0]), [10, 11, 12, 13, 14]);
        assert_eq!(seeds(&run(1)[1]), [10, 11, 12]);
        assert_eq!(run(1), run(4));
    }

    #[test]
    fn parallel_mode_boots_one_at_a_time() {
        let units = [unit(4, 4, Mode::Parallel), unit(4, 4, Mode::Parallel)];
        let running = AtomicUsize::new(0);
        let most = AtomicUsize::new(0);
        let boot = |_: usize, seed: u64| {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(2));
            running.fetch_sub(1, Ordering::SeqCst);
            Ok(ended(seed))
        };
        boot_all(&units, 1, 8, &boot, &|_, _| true, &Progress::default()).unwrap();
        assert_eq!(most.into_inner(), 1);
    }

    #[test]
    fn voided_boots_are_repeated_with_further_seeds_up_to_the_limit() {
        let units = [unit(3, 9, Mode::Parallel)];
        let run = |counts: Counts| {
            let boot = |_: usize, seed: u64| Ok(ended(seed));
            boot_all(&units, 1, 1, &boot, counts, &Progress::default()).unwrap()
        };
        assert_eq!(seeds(&run(&|_, b| b.seed % 2 == 0)[0]), [1, 2, 3, 4, 5, 6]);
        assert_eq!(run(&|_, _| false)[0].len(), 9);
        assert_eq!(run(&|_, _| true)[0].len(), 3);
    }

    #[test]
    fn an_error_ends_the_run() {
        let units = [unit(50, 50, Mode::Instructions)];
        let tried = AtomicUsize::new(0);
        let boot = |_: usize, seed: u64| {
            tried.fetch_add(1, Ordering::SeqCst);
            match seed {
                3 => Err(Failure::machine("no space left")),
                _ => Ok(ended(seed)),
            }
        };
        let error = boot_all(&units, 1, 2, &boot, &|_, _| true, &Progress::default()).unwrap_err();
        assert_eq!(error.to_string(), "no space left");
        assert!(tried.into_inner() < 50);
    }

    #[test]
    fn progress_estimates_from_what_is_done() {
        assert_eq!(line(0, 9, 0.0, "null"), "0 of 9 boots done; now null");
        assert_eq!(line(3, 9, 30.0, "null"), "3 of 9 boots done, about 60 s left; now null");
        assert!(line(9, 9, 30.0, "null").starts_with("9 of 10"), "a repeated one");
    }
}
