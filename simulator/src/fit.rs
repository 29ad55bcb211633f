// SPDX-License-Identifier: GPL-2.0-only
//! The one fitted constant: the work of a message, from one baseline cell.

use crate::{simulate, Hackbench, MachineSpec, Sched};

/// A published cell that may be fitted to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// hackbench's groups.
    pub groups: u32,
    /// The scheduler, without any feature of the mail.
    pub sched: Sched,
    /// ns.
    pub time_ns: u64,
}

/// The work of a message, in ns, with which the cell's time is met; `seeds` runs a step.
///
/// The time grows with the work: bisection. None for a scheduler with a feature of a mail.
pub fn message_ns(machine: &MachineSpec, cell: &Cell, loops: u32, seeds: u64) -> Option<u64> {
    if !cell.sched.is_baseline() {
        return None;
    }
    let time = |work: u64| {
        let w = Hackbench::new(cell.groups, loops, work);
        (0..seeds).map(|s| simulate(machine, &w, &cell.sched, s).time_ns).sum::<u64>()
            / seeds.max(1)
    };
    let (mut low, mut high) = (1u64, 20_000u64);
    while high - low > 4 {
        let middle = low + (high - low) / 2;
        if time(middle) < cell.time_ns {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(low + (high - low) / 2)
}

/// The same on the runs of these seeds, from a work that is not far off: the time grows by about
/// what the CPUs have to do more. Met within 0.2 %, or as near as a few steps come.
pub fn message_ns_near(
    machine: &MachineSpec,
    cell: &Cell,
    loops: u32,
    seeds: &[u64],
    near: u64,
) -> Option<u64> {
    if !cell.sched.is_baseline() || seeds.is_empty() {
        return None;
    }
    let slope = Hackbench::new(cell.groups, 100_000, 0).messages() / machine.cpus.len() as u64;
    let mut best = (u64::MAX, near);
    let mut work = near;
    for _ in 0..5 {
        let w = Hackbench::new(cell.groups, loops, work);
        let sum = seeds.iter().map(|s| simulate(machine, &w, &cell.sched, *s).time_ns).sum::<u64>();
        let time = sum / seeds.len() as u64;
        best = best.min((time.abs_diff(cell.time_ns), work));
        if best.0 <= cell.time_ns / 500 {
            break;
        }
        let step = time.abs_diff(cell.time_ns) / slope.max(1);
        work = if time < cell.time_ns { work + step } else { work.saturating_sub(step) }.max(1);
    }
    Some(best.1)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_patched_scheduler_is_not_fitted() {
        let sched = Sched::parse("cfs-4.20+STEAL").unwrap();
        let patched = Cell { groups: 1, sched, time_ns: 1 };
        assert_eq!(message_ns(&MachineSpec::e5_2630v4(), &patched, 10, 1), None);
        assert_eq!(message_ns_near(&MachineSpec::e5_2630v4(), &patched, 10, &[0], 1500), None);
    }

    #[test]
    fn the_fitted_work_meets_the_time() {
        let machine = MachineSpec::e5_2630v4();
        let sched = Sched::parse("cfs-4.20").unwrap();
        let time_ns = simulate(&machine, &Hackbench::new(8, 60, 1500), &sched, 0).time_ns;
        let cell = Cell { groups: 8, sched: sched.clone(), time_ns };
        let work = message_ns(&machine, &cell, 60, 1).unwrap();
        let met = simulate(&machine, &Hackbench::new(8, 60, work), &sched, 0).time_ns;
        assert!(met.abs_diff(time_ns) * 20 < time_ns, "{work}: {met} for {time_ns}");
    }

    #[test]
    fn a_near_guess_leads_there() {
        let machine = MachineSpec::e5_2630v4();
        let sched = Sched::parse("cfs-4.20").unwrap();
        let time = |work| simulate(&machine, &Hackbench::new(8, 60, work), &sched, 7).time_ns;
        let cell = Cell { groups: 8, sched: sched.clone(), time_ns: time(1500) };
        for near in [1100, 1900] {
            let work = message_ns_near(&machine, &cell, 60, &[7], near).unwrap();
            let met = time(work);
            assert!(met.abs_diff(cell.time_ns) * 33 < cell.time_ns, "{work}: {met}");
        }
    }
}
