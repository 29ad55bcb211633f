// SPDX-License-Identifier: GPL-2.0-only
//! The guest's init: sets the guest up, takes the job from its image, runs it step by step and
//! sends one [`Line`](crate::model::Line) after the other on its second serial port.

mod charge;
mod children;
pub mod fair;
pub(crate) mod kmsg;
mod meter;
mod port;
mod scheduler;
pub(crate) mod setup;
mod steps;
pub(crate) mod system;

use anyhow::{Context, Result};

use crate::model::{GuestSched, Job, Line};
use charge::Charge;
use children::Children;
use port::Port;

/// Whether the scheduler counts what costs time to count.
pub const SCHEDSTATS: &str = "/proc/sys/kernel/sched_schedstats";

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
    if job.schedstats {
        std::fs::write(SCHEDSTATS, "1").with_context(|| format!("{SCHEDSTATS}: cannot set"))?;
    }
    system::sleep_ms(job.settle_ms);
    port.send(&setup::hello()?)?;
    let mut children = Children::default();
    let last = guided(&job, &mut port, &mut children)?;
    port.send(&Line::Kernel { warnings: kmsg::warnings(&kmsg::read_all()?) })?;
    port.send(&last)
}

/// The job from the scheduler's start to its end; returns the boot's last line.
fn guided(job: &Job, port: &mut Port, children: &mut Children) -> Result<Line> {
    let charge = match Charge::take(job, children)? {
        Ok(charge) => charge,
        Err(line) => return Ok(line),
    };
    // a scheduler that the steps load themselves says so there
    if !steps::loads_itself(job) || !matches!(job.sched, GuestSched::Scx { .. }) {
        port.send(&Line::Loaded { ops: charge.ops() })?;
    }
    if let Err(bad) = steps::run_all(job, &charge, port, children)? {
        return Ok(bad);
    }
    charge.end(job.steps.len().saturating_sub(1), children)
}
