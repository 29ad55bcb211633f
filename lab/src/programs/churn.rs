// SPDX-License-Identifier: GPL-2.0-only
//! `ballast-guest churn`: everything that moves tasks and CPUs about, all at once, and a verdict.
//!
//! 1. *Workers* (three a CPU) run, nap, yield and fork, and count how often they came round; three
//!    more are pinned to CPU 0 from birth to end and must never find themselves elsewhere.
//! 2. *Acts* disturb them and the CPUs below them, each a process of its own with its own random
//!    numbers: see [`acts`].
//! 3. This process watches both: a complaint in the kernel's log, an act or worker that ends, or a
//!    worker that does not come round within [`LOST_NS`] ends the run with status 1.
//! 4. When the time is over, acts put back what they changed, then the workers end.
//!
//! The seed on the kernel's command line decides all choices. Needs root, in a guest of its own.

mod acts;
pub(super) mod cgroups;
mod workers;

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

use super::process::{become_fifo, now_ns, sleep_until, Child, Shared};
use super::{print_line, Arguments};
use crate::agent::{kmsg, setup};
use crate::error::Failure;
use acts::ACTS;
use workers::ELSEWHERE;

/// Between two looks.
const LOOK_NS: u64 = 100_000_000;
/// A worker that has not come round for so long is lost: far longer than the least share (nice 10
/// among nice −10, a twentieth of a CPU by quota) takes.
const LOST_NS: u64 = 60_000_000_000;
/// All workers must have come round so often meanwhile: on a busy host the whole guest is slow.
const LOST_ROUNDS: u64 = 20_000;
/// Time for acts, and then for workers, to end: a debug build takes 10 s for a hackbench.
const END_NS: u64 = 120_000_000_000;
/// Lines of the kernel's log that are shown from a complaint on.
const SHOWN: usize = 36;
/// Workers a CPU that acts move about.
const WORKERS_A_CPU: usize = 3;
/// Workers that are pinned: enough that their CPU is one to steal from.
const PINNED: usize = 3;

/// What was asked for.
struct Options {
    seconds: u64,
    hackbench: PathBuf,
}

impl Options {
    fn parse(args: &[String]) -> anyhow::Result<Self> {
        let (mut seconds, mut hackbench) = (60, None);
        let mut args = Arguments::new("churn", args);
        while let Some(option) = args.option() {
            match option {
                "--seconds" => seconds = args.number(option, 1, 3600)?,
                "--hackbench" => hackbench = Some(PathBuf::from(args.text(option)?)),
                _ => return Err(args.unknown(option, "--seconds N, --hackbench PATH")),
            }
        }
        let missing = || Failure::usage("churn: --hackbench PATH is missing");
        Ok(Self { seconds, hackbench: hackbench.ok_or_else(missing)? })
    }
}

/// What all processes share.
struct Stage {
    words: Shared,
    /// Process ids of the workers, the pinned ones last; written before the acts begin.
    workers: Vec<libc::pid_t>,
    cpus: u64,
    seed: u64,
    hackbench: PathBuf,
}

/// What begins when a run's time is over; before that the word is 0.
#[derive(Clone, Copy)]
enum Phase {
    ActsEnd = 1,
    AllEnd = 2,
}

impl Stage {
    /// Word 0 is the phase, word 1 a lock; then one an act, two a worker.
    fn new(options: &Options, cpus: u64, seed: u64) -> anyhow::Result<Self> {
        let workers = WORKERS_A_CPU * cpus as usize + PINNED;
        let words = Shared::new(2 + ACTS.len() + 2 * workers)?;
        let hackbench = options.hackbench.clone();
        Ok(Self { words, workers: Vec::new(), cpus, seed, hackbench })
    }

    /// The workers that acts move about.
    fn movable(&self) -> &[libc::pid_t] {
        &self.workers[..self.workers.len() - PINNED]
    }

    fn phase(&self) -> &AtomicU64 {
        &self.words[0]
    }

    fn is_before(&self, phase: Phase) -> bool {
        self.phase().load(Ordering::Relaxed) < phase as u64
    }

    /// How often an act has done what it does.
    fn done(&self, act: usize) -> &AtomicU64 {
        &self.words[2 + act]
    }

    /// How often a worker came round.
    fn rounds(&self, worker: usize) -> &AtomicU64 {
        &self.words[2 + ACTS.len() + 2 * worker]
    }

    /// The longest that a worker took to come round, nanoseconds.
    fn longest(&self, worker: usize) -> &AtomicU64 {
        &self.words[3 + ACTS.len() + 2 * worker]
    }

    /// Two acts never do this at once.
    fn alone<T>(&self, what: impl FnOnce() -> T) -> T {
        let lock = &self.words[1];
        while lock.swap(1, Ordering::Acquire) != 0 {
            sleep_until(now_ns() + 1_000_000);
        }
        let done = what();
        lock.store(0, Ordering::Release);
        done
    }
}

/// What `churn` prints.
#[derive(Serialize)]
struct Report {
    seed: u64,
    workers: usize,
    /// How often each act did what it does.
    acts: BTreeMap<&'static str, u64>,
    /// How often the workers came round.
    rounds: u64,
    /// The longest that any took to.
    longest_wait_ms: f64,
}

/// `churn [--seconds 60] --hackbench PATH`.
pub fn churn(args: &[String]) -> anyhow::Result<()> {
    let options = Options::parse(args)?;
    let seed = setup::seed_of(&std::fs::read_to_string("/proc/cmdline").unwrap_or_default());
    let cpus = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    if cpus < 2 {
        return Err(Failure::usage("churn: needs at least 2 CPUs, one to take away"));
    }
    let mut log = Log { log: kmsg::Log::open()?, since_complaint: Vec::new() };
    cgroups::set_up()?;
    let mut stage = Stage::new(&options, cpus, seed)?;
    let mut workers = Vec::new();
    let movable = WORKERS_A_CPU * cpus as usize;
    for worker in 0..movable + PINNED {
        let child = Child::fork(|| workers::work(&stage, worker, worker >= movable))?;
        stage.workers.push(child.pid());
        workers.push(child);
    }
    let mut acts = Vec::new();
    for (i, act) in ACTS.iter().enumerate() {
        acts.push(Child::fork(|| acts::run(&stage, i, act))?);
    }
    let lived = live(&stage, options.seconds, &mut log, &mut acts, &mut workers);
    if lived.is_err() {
        // whoever is lost would be waited for without end
        std::mem::forget((acts, workers));
    }
    lived?;
    let count = |i: usize| stage.done(i).load(Ordering::Relaxed);
    let all = 0..stage.workers.len();
    let longest = all.clone().map(|w| stage.longest(w).load(Ordering::Relaxed)).max();
    print_line(&Report {
        seed,
        workers: all.len(),
        acts: ACTS.iter().enumerate().map(|(i, act)| (act.name, count(i))).collect(),
        rounds: all.map(|w| stage.rounds(w).load(Ordering::Relaxed)).sum(),
        longest_wait_ms: longest.unwrap_or(0) as f64 / 1e6,
    })
}

/// Steps 3 and 4 of the module's text.
fn live(
    stage: &Stage,
    seconds: u64,
    log: &mut Log,
    acts: &mut [Child],
    workers: &mut [Child],
) -> anyhow::Result<()> {
    become_fifo(90)?;
    let mut watch = Watch::new(stage);
    let begin = now_ns();
    while now_ns() < begin + seconds * 1_000_000_000 {
        watch.look(log)?;
        all_run(acts, |i| format!("{}: ", ACTS[i].name))?;
        all_run(workers, |i| format!("worker {i} "))?;
    }
    stage.phase().store(Phase::ActsEnd as u64, Ordering::Relaxed);
    all_end(acts, &mut || watch.look(log), |i| ACTS[i].name.to_owned())?;
    stage.phase().store(Phase::AllEnd as u64, Ordering::Relaxed);
    all_end(workers, &mut || pause(log), |i| stage.describe(i))?;
    pause(log)?;
    for (i, act) in ACTS.iter().enumerate() {
        if stage.done(i).load(Ordering::Relaxed) == 0 && !act.may_be_idle {
            return Err(Failure::failed(format!("churn: {} has done nothing", act.name)));
        }
    }
    Ok(())
}

/// Looks whether the workers come round.
struct Watch<'a> {
    stage: &'a Stage,
    /// By worker.
    seen: Vec<Seen>,
}

/// What was seen of a worker when it last came round.
#[derive(Clone, Copy)]
struct Seen {
    rounds: u64,
    at_ns: u64,
    rounds_of_all: u64,
}

impl<'a> Watch<'a> {
    fn new(stage: &'a Stage) -> Self {
        let seen = Seen { rounds: 0, at_ns: now_ns(), rounds_of_all: 0 };
        Self { stage, seen: vec![seen; stage.workers.len()] }
    }

    /// Waits until it is time for a look, then looks at the kernel's log and at all workers.
    fn look(&mut self, log: &mut Log) -> anyhow::Result<()> {
        pause(log)?;
        self.judge(now_ns())
    }

    fn judge(&mut self, now: u64) -> anyhow::Result<()> {
        let stage = self.stage;
        let rounds = |worker: usize| stage.rounds(worker).load(Ordering::Relaxed);
        let rounds_of_all = (0..self.seen.len()).map(rounds).sum();
        for (worker, seen) in self.seen.iter_mut().enumerate() {
            let (waited, meanwhile) = (now - seen.at_ns, rounds_of_all - seen.rounds_of_all);
            if rounds(worker) != seen.rounds {
                *seen = Seen { rounds: rounds(worker), at_ns: now, rounds_of_all };
            } else if waited > LOST_NS && meanwhile > LOST_ROUNDS {
                return Err(Failure::failed(format!(
                    "churn: lost: {} has not run for {} s, all others {meanwhile} times",
                    stage.describe(worker),
                    waited / 1_000_000_000
                )));
            }
        }
        Ok(())
    }
}

impl Stage {
    /// A worker and where it is.
    fn describe(&self, worker: usize) -> String {
        let pid = self.workers[worker];
        let read = |file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}"));
        let status = read("status").unwrap_or_default();
        let of = |key: &str| status.lines().find(|l| l.starts_with(key)).unwrap_or(key).to_owned();
        let cgroup = read("cgroup").unwrap_or_default();
        let words = [of("State:"), of("Cpus_allowed_list:"), cgroup].join(", ");
        format!("worker {worker} (process {pid}, {})", words.replace(['\t', '\n'], " ").trim())
    }
}

/// The kernel's log as it grows.
struct Log {
    log: kmsg::Log,
    since_complaint: Vec<String>,
}

impl Log {
    /// An error once the kernel has complained; what it said goes to the console, which the lab
    /// keeps the end of.
    fn look(&mut self) -> anyhow::Result<()> {
        for message in self.log.more()? {
            if !self.since_complaint.is_empty() || kmsg::is_complaint(&message) {
                self.since_complaint.push(message);
            }
        }
        if self.since_complaint.is_empty() {
            return Ok(());
        }
        // its call trace
        sleep_until(now_ns() + LOOK_NS);
        self.since_complaint.extend(self.log.more()?);
        self.since_complaint.truncate(SHOWN);
        if let Ok(mut console) = OpenOptions::new().write(true).open("/dev/console") {
            let _ = writeln!(console, "{}", self.since_complaint.join("\n"));
        }
        Err(Failure::failed(format!("churn: the kernel complained: {}", self.since_complaint[0])))
    }
}

fn pause(log: &mut Log) -> anyhow::Result<()> {
    sleep_until(now_ns() + LOOK_NS);
    log.look()
}

/// None may end by itself.
fn all_run(children: &mut [Child], name: impl Fn(usize) -> String) -> anyhow::Result<()> {
    for (i, child) in children.iter_mut().enumerate() {
        if let Some(status) = child.ended() {
            let why = match libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == ELSEWHERE {
                true => "ran on a CPU that it is not pinned to".to_owned(),
                false => format!("ended early with wait status {status}"),
            };
            return Err(Failure::failed(format!("churn: {}{why}", name(i))));
        }
    }
    Ok(())
}

/// All end with 0, in time; `look` waits a little.
fn all_end(
    children: &mut [Child],
    look: &mut dyn FnMut() -> anyhow::Result<()>,
    name: impl Fn(usize) -> String,
) -> anyhow::Result<()> {
    let begin = now_ns();
    loop {
        look()?;
        let late = now_ns() - begin > END_NS;
        let mut left = false;
        for (i, child) in children.iter_mut().enumerate() {
            match child.ended() {
                Some(0) => {}
                Some(status) => {
                    let text = format!("churn: {} ended with wait status {status}", name(i));
                    return Err(Failure::failed(text));
                }
                None if late => {
                    let text = format!("churn: lost: {} has not ended", name(i));
                    return Err(Failure::failed(text));
                }
                None => left = true,
            }
        }
        if !left {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use crate::error::exit_status;

    fn parse(line: &str) -> anyhow::Result<Options> {
        Options::parse(&line.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn arguments_are_checked() {
        let options = parse("--hackbench /h --seconds 5").unwrap();
        assert_eq!((options.seconds, options.hackbench), (5, PathBuf::from("/h")));
        for bad in ["", "--seconds 0 --hackbench /h", "--hackbnech /h", "--hackbench"] {
            assert_eq!(exit_status(&parse(bad).err().unwrap()), 2, "{bad}");
        }
    }

    #[test]
    fn a_worker_that_stands_still_is_lost() {
        let options = parse("--hackbench /h").unwrap();
        let mut stage = Stage::new(&options, 2, 1).unwrap();
        stage.workers = vec![1; 2 + PINNED];
        let mut watch = Watch::new(&stage);
        for seen in &mut watch.seen[..2] {
            seen.at_ns -= LOST_NS + 1_000_000_000;
        }
        watch.judge(now_ns()).unwrap();
        assert_eq!(watch.seen[1].rounds, 0, "the whole guest is slow");
        stage.rounds(0).store(LOST_ROUNDS + 1, Ordering::Relaxed);
        let line = watch.judge(now_ns()).unwrap_err().to_string();
        assert!(line.contains("lost: worker 1") && line.contains("61 s"), "{line}");
        stage.rounds(1).store(1, Ordering::Relaxed);
        watch.judge(now_ns()).unwrap();
    }
}
