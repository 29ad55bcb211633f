// SPDX-License-Identifier: GPL-2.0-only
//! The steps of a job: warm-ups first, then each measured one with the meter around it.

use anyhow::{bail, Result};

use super::charge::Charge;
use super::children::{Children, Output};
use super::meter::Reading;
use super::port::Port;
use super::scheduler::{Scheduler, Start};
use super::system;
use crate::model::{Action, GuestSched, Job, Line, Step};
use crate::tracer::Tracer;

/// Guest time that the load runs under a scheduler before it is unloaded again.
const LOADED_MS: u64 = 200;

/// Whether a step loads the scheduler itself, so that it must not be in charge beforehand.
pub fn loads_itself(job: &Job) -> bool {
    job.steps.iter().any(|step| matches!(step.action, Action::Loads { .. }))
}

/// Runs everything; `Err` is the line that ends the boot early.
pub fn run_all(
    job: &Job,
    charge: &Charge,
    port: &mut Port,
    children: &mut Children,
) -> Result<Result<(), Line>> {
    for (index, step) in job.steps.iter().enumerate() {
        let Some(argv) = &step.warmup else { continue };
        let status = run(argv, step, children)?.status;
        if let Some(line) = charge.lost(index, status, children) {
            return Ok(Err(line));
        }
    }
    for (index, step) in job.steps.iter().enumerate() {
        system::sleep_ms(job.gap_ms);
        let tracer = job.trace.then(|| Tracer::start(&bench_cpus(step))).transpose()?;
        let begin = Reading::begin();
        let done = match &step.action {
            Action::Command { argv } => run(argv, step, children)?,
            Action::Loads { times, argv } => match loads(job, index, *times, argv, children)? {
                Ok(done) => done,
                Err(line) => return Ok(Err(line)),
            },
        };
        let mut meter = begin.until(&Reading::end());
        if let Some(tracer) = tracer {
            let summary = tracer.stop()?;
            meter.idle_while_waiting_pct = summary.idle_while_waiting_pct;
            if !summary.note.is_empty() {
                eprintln!("ballast-guest: no share of idle CPUs: {}", summary.note);
            }
        }
        if let Some(line) = charge.lost(index, done.status, children) {
            return Ok(Err(line));
        }
        let Done { wall_ns, status, output } = done;
        port.send(&Line::Step { index, wall_ns, status, output, meter })?;
    }
    Ok(Ok(()))
}

/// The CPUs that a step's tasks may use.
fn bench_cpus(step: &Step) -> Vec<u32> {
    let all = || std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    step.affinity.clone().unwrap_or_else(|| (0..all()).collect())
}

/// What came of one run.
struct Done {
    wall_ns: u64,
    status: i32,
    output: String,
}

/// Runs one command to its end. One that cannot be started ended with 127, as in a shell.
fn run(argv: &[String], step: &Step, children: &mut Children) -> Result<Done> {
    let output = Output::separate("step");
    let begin = system::clock_ns(libc::CLOCK_MONOTONIC);
    let started = children.start(argv, step.affinity.as_deref(), &output);
    let (status, text) = match &started {
        Ok(pid) => (children.wait(*pid), None),
        Err(error) => (127, Some(format!("{error:#}\n"))),
    };
    let wall_ns = system::clock_ns(libc::CLOCK_MONOTONIC) - begin;
    if let Ok(pid) = started {
        // what it left running in the background would run under the next step
        system::signal(-pid, libc::SIGKILL);
    }
    Ok(Done { wall_ns, status, output: text.unwrap_or_else(|| output.text()) })
}

/// The load that runs over and over while schedulers come and go.
struct Load<'a> {
    argv: &'a [String],
    affinity: Option<&'a [u32]>,
    pid: i32,
}

impl Load<'_> {
    fn start(&mut self, children: &mut Children) -> Result<()> {
        self.pid = children.start(self.argv, self.affinity, &Output::separate("load"))?;
        Ok(())
    }

    /// Starts it again when it has ended; its first failure ends the step.
    fn keep_going(&mut self, children: &mut Children) -> Result<Result<(), Done>> {
        let status = children.poll(self.pid);
        if let Some(status) = status.filter(|&s| s != 0) {
            let output = Output::separate("load").text();
            return Ok(Err(Done { wall_ns: 0, status, output }));
        }
        if status.is_some() {
            self.start(children)?;
        }
        Ok(Ok(()))
    }
}

/// Loads and unloads the job's scheduler `times` times under a load.
fn loads(
    job: &Job,
    index: usize,
    times: u32,
    argv: &[String],
    children: &mut Children,
) -> Result<Result<Done, Line>> {
    let GuestSched::Scx { argv: program } = &job.sched else {
        bail!("/job.json: loads need a sched_ext scheduler, not the kernel's own");
    };
    let begin = system::clock_ns(libc::CLOCK_MONOTONIC);
    let affinity = job.steps.get(index).and_then(|step| step.affinity.as_deref());
    let mut load = Load { argv, affinity, pid: 0 };
    load.start(children)?;
    for n in 1..=times {
        let of = |text: String| format!("load {n} of {times}: {text}");
        let scheduler = match Scheduler::start(program, children)? {
            Start::InCharge(scheduler) => scheduler,
            Start::Refused { status, log } => {
                return Ok(Err(Line::Refused { status, log: of(log) }))
            }
        };
        for _ in 0..LOADED_MS / super::scheduler::POLL_MS {
            if let Err(done) = load.keep_going(children)? {
                return Ok(Ok(done));
            }
            system::sleep_ms(super::scheduler::POLL_MS);
        }
        let ended = match scheduler.in_charge() {
            true => scheduler.stop(children)?.map(|_| ()),
            false => Err(scheduler.ejected(children)),
        };
        if let Err((reason, log)) = ended {
            return Ok(Err(Line::Ejected { index, reason: of(reason), log }));
        }
    }
    children.kill(load.pid);
    let wall_ns = system::clock_ns(libc::CLOCK_MONOTONIC) - begin;
    Ok(Ok(Done { wall_ns, status: 0, output: format!("loads={times}\n") }))
}
