// SPDX-License-Identifier: GPL-2.0-only
//! A deterministic simulator of Linux schedulers, in which prices emerge.
//!
//! ```text
//! engine     integer time, event slots, chance from a seed, digest
//! machine    CPUs, domains, costs
//! ledger     cache lines: who has them, what getting them costs
//! policy     policy/, the C that the kernels run, over accessors that charge the ledger
//! os         tasks, sockets, wake-up path, schedule(), idle, tick
//! class      the scheduling classes: cfs-4.20
//! parts      what can be left out of the model
//! observe    counters
//! fit        the one fitted constant
//! prices     what a steal, a scan and a newidle pass come to
//! ```
//!
//! The same machine, workload, scheduler and seed give the same [`Outcome`] everywhere.

mod class;
mod engine;
pub mod fit;
mod ledger;
mod machine;
mod observe;
mod os;
mod parts;
mod policy;
mod prices;
mod sched;
mod workload;

pub use machine::{Constant, Costs, Kernel, MachineSpec, Place};
pub use observe::{Counters, Outcome};
pub use parts::{Part, Parts, PARTS};
pub use prices::{prices, Price};
pub use sched::{Mutant, Sched, Unknown};
pub use workload::Hackbench;

/// Run a workload on a machine under a scheduler.
pub fn simulate(machine: &MachineSpec, workload: &Hackbench, sched: &Sched, seed: u64) -> Outcome {
    let mut sim = os::Sim::new(machine, workload, sched, seed);
    sim.run();
    sim.outcome()
}
