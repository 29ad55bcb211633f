// SPDX-License-Identifier: GPL-2.0-only
//! What operations of the scheduler come to on a machine: none is a constant, all follow from the
//! lines that they touch and how far away those are.

use crate::machine::MachineSpec;
use crate::os::{RqLine, Sim, Stage};
use crate::policy::NONE;
use crate::sched::Sched;
use crate::workload::Hackbench;

/// An operation and its price.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Price {
    /// The operation.
    pub name: &'static str,
    /// ns.
    pub ns: u64,
    /// What it is made of, in ns.
    pub parts: Vec<(&'static str, u64)>,
}

/// ns; long enough for every gate.
const LONG_IDLE: u64 = 900_000;

/// A machine at work without a workload: each CPU has its own run-queue lines, and has been
/// overloaded.
fn at_work(machine: &MachineSpec) -> Option<Sim> {
    let sched = Sched::parse("cfs-4.20+STEAL").ok()?;
    let mut sim = Sim::new(machine, &Hackbench::new(0, 1, 0), &sched, 0);
    for cpu in 0..machine.cpus.len() as u32 {
        sim.here = cpu;
        for line in [RqLine::Lock, RqLine::Curr, RqLine::Load] {
            sim.charge_store(Sim::rq_line(cpu, line));
        }
        sim.policy_overload(cpu, true);
        sim.policy_overload(cpu, false);
    }
    Some(sim)
}

/// `cpu` runs one task, and `waiting` more wait there.
fn occupy(sim: &mut Sim, cpu: u32, waiting: u32) {
    sim.here = cpu;
    for _ in 0..=waiting {
        let task = sim.spawn(Stage::Send, 0, 0, cpu);
        sim.activate(task, cpu);
    }
    let running = sim.pick_next(cpu);
    sim.cpus[cpu as usize].curr = running;
}

/// The clock of CPU 0 over something that it does.
fn timed(sim: &mut Sim, mut what: impl FnMut(&mut Sim)) -> u64 {
    sim.here = 0;
    sim.clock = sim.now;
    what(sim);
    sim.clock - sim.now
}

/// Prices on a machine of at least two cores: stealing from another core of the LLC, looking
/// through an empty mask, and a newidle pass that finds nothing to move.
pub fn prices(machine: &MachineSpec) -> Vec<Price> {
    [scan(machine), steal(machine), newidle(machine)].into_iter().flatten().collect()
}

fn scan(machine: &MachineSpec) -> Option<Price> {
    let mut sim = at_work(machine)?;
    let cold = timed(&mut sim, |s| {
        s.policy_steal(0);
    });
    let warm = timed(&mut sim, |s| {
        s.policy_steal(0);
    });
    let parts = vec![("lines of the mask from other CPUs", cold - warm), ("the rest", warm)];
    Some(Price { name: "scan of an empty mask", ns: cold, parts })
}

fn steal(machine: &MachineSpec) -> Option<Price> {
    let mut sim = at_work(machine)?;
    let llc = machine.cpus.first()?;
    let victim = machine.cpus.iter().position(|p| p.llc == llc.llc && p.core != llc.core)? as u32;
    occupy(&mut sim, victim, 2);
    let mut found = NONE;
    let search = timed(&mut sim, |s| found = s.policy_steal(0));
    let unlocked = sim.cpus[0].open_from.map_or(0, |at| at - sim.now);
    let attach = timed(&mut sim, |s| {
        s.charge_store(Sim::rq_line(0, RqLine::Lock));
        s.search_over(0);
    });
    (found == victim).then(|| Price {
        name: "steal",
        ns: search + attach,
        parts: vec![
            ("mask and a peek", unlocked),
            ("the victim's lock and lines, taking the task off", search - unlocked),
            ("attaching it here", attach),
        ],
    })
}

fn newidle(machine: &MachineSpec) -> Option<Price> {
    let mut sim = at_work(machine)?;
    (1..machine.cpus.len() as u32).for_each(|cpu| occupy(&mut sim, cpu, 0));
    let ns = timed(&mut sim, |s| s.newidle_pass(0, LONG_IDLE));
    let name = |level: usize| ["first level", "second level", "third level"].get(level).copied();
    let costs = sim.cpus[0].rq.newidle_costs();
    let parts = costs.into_iter().enumerate().filter_map(|(i, ns)| Some((name(i)?, ns))).collect();
    Some(Price { name: "newidle pass", ns, parts })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn price(machine: &MachineSpec, name: &str) -> u64 {
        prices(machine).into_iter().find(|p| p.name == name).unwrap().ns
    }

    /// The mail gives 1 to 2 us for a steal and tens of us and more for newidle balancing.
    #[test]
    fn prices_lie_where_they_were_measured() {
        let one = MachineSpec::e5_2630v4();
        let two = MachineSpec::e5_2630v4_2s();
        let steal = price(&one, "steal");
        assert!((500..=3000).contains(&steal), "{:?}", prices(&one));
        assert!(price(&one, "scan of an empty mask") < 300, "{:?}", prices(&one));
        assert!(price(&two, "newidle pass") >= 5 * steal, "{:?}", prices(&two));
    }

    #[test]
    fn a_price_is_the_sum_of_its_parts() {
        for p in prices(&MachineSpec::e5_2630v4_2s()) {
            assert_eq!(p.ns, p.parts.iter().map(|p| p.1).sum::<u64>(), "{p:?}");
        }
    }

    /// Twice the distance, twice the price of a scan: nothing in it is fixed.
    #[test]
    fn a_scan_is_made_of_lines() {
        let mut far = MachineSpec::e5_2630v4();
        let near = price(&far, "scan of an empty mask");
        far.costs.line_llc_ns *= 2;
        far.costs.line_smt_ns *= 2;
        assert_eq!(price(&far, "scan of an empty mask"), 2 * near);
    }
}
