// SPDX-License-Identifier: GPL-2.0-only
//! From the simulator's data to the simulator: machines, workloads, the one fitted constant.

use anyhow::Result;
use ballast_lab::error::Failure;
use ballast_sim::{fit, Costs, Hackbench, Kernel, MachineSpec, Place, Sched};
use ballast_sim_data::costs::COSTS;
use ballast_sim_data::machine::MachineFile;
use ballast_sim_data::published::{Baseline, Experiment, Table};
use ballast_sim_data::reader::BaseCell;
use ballast_sim_data::workload::Workload;

/// The published table whose baseline the work of a message is fitted to.
pub const TABLE: &str = "steal-hackbench";
/// Loops with which it is fitted, at most.
const FIT_LOOPS: u32 = 300;
/// What the simulator's sockets are; another file's model is refused, not misread.
const SOCKET: (u64, u64, u64) = (100, 278, 4);

/// Of input that is not right.
pub fn usage(error: impl std::fmt::Display) -> anyhow::Error {
    Failure::usage(error.to_string())
}

/// A machine's file as the simulator wants it.
pub fn machine(file: &MachineFile) -> Result<MachineSpec> {
    let mut costs = Costs::default();
    for cost in COSTS {
        let set = file.costs.get(cost.name).is_some_and(|value| costs.set(cost.name, value));
        if !set {
            return Err(Failure::failed(format!("the simulator knows no cost `{}`", cost.name)));
        }
    }
    let place =
        |p: &ballast_sim_data::machine::Place| Place { core: p.core, llc: p.llc, node: p.node };
    let cpus = file.cpus.iter().map(place).collect();
    Ok(MachineSpec { name: file.name.clone(), cpus, costs, kernel: Kernel::default() })
}

/// A workload as the simulator wants it; times are scaled to `published` loops, or not at all.
pub fn hackbench(word: &str, message_ns: u64, published: Option<u32>) -> Result<Hackbench> {
    let workload = Workload::find(word).map_err(usage)?;
    let model = &workload.file.model;
    let socket = (model.message_bytes, model.capacity_messages, model.resume_divisor);
    if model.senders != model.receivers || socket != SOCKET {
        let (bytes, capacity, divisor) = SOCKET;
        return Err(usage(format!(
            "{word}: the simulator has as many senders as receivers, message_bytes = {bytes}, \
             capacity_messages = {capacity} and resume_divisor = {divisor}"
        )));
    }
    let number = |name: &str| {
        let value = workload.get(name).and_then(|v| u32::try_from(v).ok());
        value.ok_or_else(|| usage(format!("{word}: no {name}")))
    };
    let loops = number("loops")?;
    let mut hackbench = Hackbench::new(number("groups")?, loops, message_ns);
    hackbench.fan = model.senders as u32;
    hackbench.published_loops = published.unwrap_or(loops);
    Ok(hackbench)
}

/// What is different in a model: a part left out, a defect planted.
pub type Change = fn(&mut Sched);

/// The model as it is.
pub fn unchanged(_: &mut Sched) {}

/// A scheduler's word, in a model that may be changed.
pub fn sched(word: &str, change: Change) -> Result<Sched> {
    let mut sched = Sched::parse(word).map_err(|e| Failure::failed(e.to_string()))?;
    change(&mut sched);
    Ok(sched)
}

/// The baseline's time at the largest x, to fit the work of a message to. Nothing else of a table
/// is given, so that no patched figure can be read. The fit is part of a changed model too.
pub fn fitted_cell(
    base: &Baseline,
    e: &Experiment,
    change: Change,
) -> Result<(fit::Cell, BaseCell)> {
    let lacks = || Failure::failed("the baseline has no time at a number of groups");
    let x = base.largest_x().ok_or_else(lacks)?;
    let seconds = base.get("time", x).ok_or_else(lacks)?;
    let groups = x.parse().map_err(|_| lacks())?;
    let sched = sched(&e.base, change)?;
    let cell = fit::Cell { groups, sched, time_ns: (seconds * 1e9).round() as u64 };
    Ok((cell, BaseCell::new("time", x)))
}

/// What a fit says that finds nothing: a patched scheduler stands where the baseline should.
pub fn not_fitted() -> anyhow::Error {
    Failure::failed("the work of a message is fitted to a baseline only")
}

/// The work of a message with which the baseline's time at the largest x is met, in ns, and that
/// cell.
pub fn message_ns(
    base: &Baseline,
    e: &Experiment,
    loops: u32,
    change: Change,
) -> Result<(u64, BaseCell)> {
    let (cell, name) = fitted_cell(base, e, change)?;
    let machine = machine(&MachineFile::find(&e.machine).map_err(usage)?)?;
    let work = fit::message_ns(&machine, &cell, loops.min(FIT_LOOPS), 1).ok_or_else(not_fitted)?;
    Ok((work, name))
}

/// The same from the table that is named above.
pub fn fitted() -> Result<u64> {
    let table = Table::find(TABLE).map_err(usage)?;
    Ok(message_ns(&table.baseline(), &table.experiment, FIT_LOOPS, unchanged)?.0)
}
