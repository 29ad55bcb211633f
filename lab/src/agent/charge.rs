// SPDX-License-Identifier: GPL-2.0-only
//! What is in charge while the steps run: nothing but the kernel, the kernel's fair class with
//! flags, or a sched_ext scheduler.

use anyhow::Result;

use super::children::Children;
use super::fair::Fair;
use super::scheduler::{Scheduler, Start};
use super::steps;
use crate::model::{GuestSched, Job, Line, BARE};

/// What took charge.
pub enum Charge {
    /// The kernel as it is; or a step loads the scheduler itself.
    Bare,
    /// The fair class with flags.
    Fair(Fair),
    /// A sched_ext program.
    Scx(Scheduler),
}

impl Charge {
    /// Puts the job's scheduler in charge; `Err` is the line that ends the boot.
    pub fn take(job: &Job, children: &mut Children) -> Result<Result<Self, Line>> {
        Ok(match &job.sched {
            GuestSched::Kernel => Ok(Self::Bare),
            GuestSched::Fair { flags } => match Fair::start(flags)? {
                Ok(fair) => Ok(Self::Fair(fair)),
                Err(log) => Err(Line::Refused { status: None, log }),
            },
            GuestSched::Scx { .. } if steps::loads_itself(job) => Ok(Self::Bare),
            GuestSched::Scx { argv } => match Scheduler::start(argv, children)? {
                Start::InCharge(started) => Ok(Self::Scx(started)),
                Start::Refused { status, log } => Err(Line::Refused { status, log }),
            },
        })
    }

    /// What the host is told.
    pub fn ops(&self) -> String {
        match self {
            Self::Bare => BARE.to_string(),
            Self::Fair(fair) => fair.ops(),
            Self::Scx(scheduler) => scheduler.ops().to_string(),
        }
    }

    /// Whether it is no longer as it was after a step with this exit status: the line that ends
    /// the boot. A step that changes flags puts them back, unless it failed.
    pub fn lost(&self, index: usize, status: i32, children: &mut Children) -> Option<Line> {
        let (reason, log) = match self {
            Self::Bare => None,
            Self::Fair(_) if status != 0 => None,
            Self::Fair(fair) => fair.changed().map(|reason| (reason, String::new())),
            Self::Scx(scheduler) if scheduler.in_charge() => None,
            Self::Scx(scheduler) => Some(scheduler.ejected(children)),
        }?;
        Some(Line::Ejected { index, reason, log })
    }

    /// Ends it; the boot's last line. `index` is the last step's.
    pub fn end(self, index: usize, children: &mut Children) -> Result<Line> {
        Ok(match self {
            Self::Bare | Self::Fair(_) => Line::End { log: String::new() },
            Self::Scx(scheduler) => match scheduler.stop(children)? {
                Ok(log) => Line::End { log },
                Err((reason, log)) => Line::Ejected { index, reason, log },
            },
        })
    }
}
