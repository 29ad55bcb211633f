// SPDX-License-Identifier: GPL-2.0-only
//! Idle: which state a CPU rests in, and what waking it takes.

use super::task::Act;
use super::Sim;
use crate::engine::{Time, NEVER};

/// The stay to expect: the middle of the last eight, as the menu governor looks for a typical one.
fn expected(stays: &[u32; 8]) -> u64 {
    let mut sorted = *stays;
    sorted.sort_unstable();
    u64::from(sorted[3])
}

impl Sim {
    /// The switch to the idle task is over: rest, unless work has come meanwhile.
    pub(super) fn enter_idle(&mut self, cpu: u32) {
        let now = self.now;
        let expect = expected(&self.cpus[cpu as usize].stays);
        let k = &self.costs;
        let states = [
            (k.c6_exit_ns, k.c6_target_ns),
            (k.c1e_exit_ns, k.c1e_target_ns),
            (k.c1_exit_ns, k.c1_target_ns),
        ];
        let state = states.iter().find(|s| expect >= s.0.max(s.1));
        let exit_ns = state.map_or(0, |s| s.0);
        let stop_tick = expect > self.tick_ns;
        let c = &mut self.cpus[cpu as usize];
        if c.rq.nr > 0 || !c.wake_list.is_empty() {
            c.act = Act::LeaveIdle;
            self.post(cpu, now);
            return;
        }
        c.act = Act::Rest;
        c.resting = true;
        c.exit_ns = exit_ns;
        c.tick_stopped = stop_tick;
        self.post(cpu, NEVER);
        if stop_tick {
            self.ticks.set(cpu as usize, NEVER);
        }
    }

    /// Work has come to a CPU at `at`. One that rests notices through the line that it watches.
    pub(crate) fn kick(&mut self, cpu: u32, at: Time) {
        let ipi = if self.sched.parts.ipi_cost { self.costs.ipi_ns } else { 0 };
        let c = &mut self.cpus[cpu as usize];
        if c.act != Act::Rest {
            return;
        }
        let exit = if self.sched.parts.idle_states { c.exit_ns } else { 0 };
        c.act = Act::LeaveIdle;
        c.resting = false;
        let restart_tick = std::mem::take(&mut c.tick_stopped);
        self.post(cpu, at + ipi + exit);
        if restart_tick {
            self.ticks.set(cpu as usize, (self.now / self.tick_ns + 1) * self.tick_ns);
        }
    }

    /// The idle loop has seen that there is work: sched_ttwu_pending(), then schedule().
    pub(super) fn leave_idle(&mut self, cpu: u32) {
        if !self.cpus[cpu as usize].wake_list.is_empty() && self.own_lock(cpu) {
            self.empty_wake_list(cpu);
            return self.post(cpu, self.clock);
        }
        self.schedule(cpu);
    }

    /// A stay in idle is over: remember how long it was.
    pub(super) fn note_stay(&mut self, cpu: u32, at: Time) {
        let c = &mut self.cpus[cpu as usize];
        let stay = at - c.idle_since;
        c.counters.idle_ns += stay;
        c.stays[c.stay] = stay.min(u64::from(u32::MAX)) as u32;
        c.stay = (c.stay + 1) % c.stays.len();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::machine::MachineSpec;
    use crate::sched::Sched;
    use crate::workload::Hackbench;

    /// The kick is noticed after an IPI's time, and the task begins after the idle state's exit.
    #[test]
    fn a_wake_up_waits_for_the_idle_state() {
        let begins = |stay: u32, without: &[&str]| {
            let mut sched = Sched::parse("cfs-4.20").unwrap();
            without.iter().for_each(|part| assert!(sched.parts.leave_out(part)));
            let mut s = Sim::new(&MachineSpec::e5_2630v4(), &Hackbench::new(0, 1, 0), &sched, 0);
            s.cpus[3].stays = [stay; 8];
            s.enter_idle(3);
            assert_eq!(s.slots.get(3), NEVER, "it rests");
            s.kick(3, 5000);
            s.slots.get(3) - 5000
        };
        let (polls, c1e) = (500, 30_000);
        assert_eq!([begins(polls, &[]), begins(c1e, &[])], [1000, 11_000]);
        assert_eq!([begins(polls, &["ipi_cost"]), begins(c1e, &["ipi_cost"])], [0, 10_000]);
        assert_eq!([begins(polls, &["idle_states"]), begins(c1e, &["idle_states"])], [1000, 1000]);
    }

    #[test]
    fn one_long_stay_is_not_typical() {
        assert_eq!(expected(&[40, 50, 60, 45, 55, 9000, 52, 48]), 50);
    }
}
