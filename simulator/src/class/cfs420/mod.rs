// SPDX-License-Identifier: GPL-2.0-only
//! The fair class of Linux 4.20-rc1, with the patches of the stealing series and of the idle search
//! at their places: there it calls policy/.
//!
//! ```text
//! queue     one CPU's tasks by vruntime; what may be stolen
//! load      decaying loads of tasks and queues
//! fair      enqueue, dequeue, pick, preemption, tick
//! select    which CPU a waking task goes to: wake_affine and the idle search
//! newidle   a CPU has nothing to run: newidle balance, then stealing
//! balance   load_balance() over the domains: newidle, periodic, nohz
//! ```

mod balance;
mod fair;
mod load;
mod newidle;
mod queue;
mod select;
#[cfg(test)]
mod tests;

pub(crate) use balance::Balance;
pub(crate) use load::Decay;
pub(crate) use queue::{Entity, RunQueue};

/// The load of a task that is always runnable.
const SCALE: u64 = 1024;
