// SPDX-License-Identifier: GPL-2.0-only
//! The guest's init: sets the guest up, takes the job from its image, runs it step by step and
//! sends one [`Line`](crate::model::Line) after the other on its second serial port.

mod children;
mod kmsg;
mod meter;
mod port;
mod scheduler;
mod setup;
mod steps;
mod system;

use anyhow::{Context, Result};

use crate::model::{GuestSched, Job, Line, BARE};
use children::Children;
use port::Port;
use scheduler::{Scheduler, Start};

/// Runs as process 1 and ends with the guest; what went wrong stands on the console.
pub fn main() -> ! {
    if let Err(error) = run() {
        eprintln!("ballast-guest: {error:#}");
    }
    system::end_guest()
}

fn run() -> Result<()> {
    setup::mount_all()?;
    setup::limits_and_network()?;
    setup::spend_seed();
    let mut port = Port::open()?;
    let text = std::fs::read_to_string("/job.json").context("/job.json: cannot read the job")?;
    let job: Job = serde_json::from_str(&text).context("/job.json: not a job")?;
    system::sleep_ms(job.settle_ms);
    port.send(&setup::hello()?)?;
    let mut children = Children::default();
    let last = guided(&job, &mut port, &mut children)?;
    port.send(&Line::Kernel { warnings: kmsg::warnings(&kmsg::read_all()?) })?;
    port.send(&last)
}

/// The job from the scheduler's start to its end; returns the boot's last line.
fn guided(job: &Job, port: &mut Port, children: &mut Children) -> Result<Line> {
    let argv = match &job.sched {
        GuestSched::Kernel => {
            port.send(&Line::Loaded { ops: BARE.into() })?;
            None
        }
        GuestSched::Scx { argv } => Some(argv),
    };
    let mut scheduler = None;
    if let Some(argv) = argv.filter(|_| !steps::loads_itself(job)) {
        match Scheduler::start(argv, children)? {
            Start::Refused { status, log } => return Ok(Line::Refused { status, log }),
            Start::InCharge(started) => {
                port.send(&Line::Loaded { ops: started.ops().into() })?;
                scheduler = Some(started);
            }
        }
    }
    if let Err(bad) = steps::run_all(job, scheduler.as_ref(), port, children)? {
        return Ok(bad);
    }
    let Some(scheduler) = scheduler else { return Ok(Line::End { log: String::new() }) };
    let index = job.steps.len().saturating_sub(1);
    Ok(match scheduler.stop(children)? {
        Ok(log) => Line::End { log },
        Err((reason, log)) => Line::Ejected { index, reason, log },
    })
}
