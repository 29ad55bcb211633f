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

/// ns; sysctl_sched_latency with 8 CPUs or more: 6 ms x (1 + log2 8).
const LATENCY: u64 = 24_000_000;
/// ns; sysctl_sched_min_granularity: 0.75 ms x 4.
const MIN_GRANULARITY: u64 = 3_000_000;
/// ns; sysctl_sched_wakeup_granularity, set for all runs of the published table.
const WAKEUP_GRANULARITY: i64 = 15_000_000;
/// ns; what avg_idle begins with. The kernel begins with 1 ms; a short run would spend much of its
/// time on the way down.
const AVG_IDLE_FIRST: u64 = 50_000;
/// ns; the first bound of avg_idle is twice this: sysctl_sched_migration_cost.
const MAX_IDLE_BALANCE_COST: u64 = 500_000;
/// The load of a task that is always runnable.
const SCALE: u64 = 1024;
