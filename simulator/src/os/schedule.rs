// SPDX-License-Identifier: GPL-2.0-only
//! schedule(): take the task off, find another, switch.
//!
//! The run-queue lock is held from the beginning to the end of the switch, except while the CPU
//! looks for work elsewhere: then it is open, wakers may come in, and what they did is seen when
//! the lock is taken again. One lock at a time.

use super::task::{Act, State};
use super::{RqLine, Sim};
use crate::policy::NONE;

impl Sim {
    /// True if the CPU's own run-queue lock is free; otherwise it spins and tries again.
    pub(super) fn own_lock(&mut self, cpu: u32) -> bool {
        let until = self.cpus[cpu as usize].lock_until;
        if until > self.now {
            self.post(cpu, until);
        }
        until <= self.now
    }

    /// Of a switch, what schedule() needs before it can pick.
    fn pick_ns(&self) -> u64 {
        self.costs.switch_ns * self.kernel.pick_permille / 1000
    }

    /// __schedule(), up to the pick or to where it drops its lock.
    pub(super) fn schedule(&mut self, cpu: u32) {
        if !self.own_lock(cpu) {
            return;
        }
        self.charge_store(Sim::rq_line(cpu, RqLine::Lock));
        self.charge_store(Sim::rq_line(cpu, RqLine::Curr));
        let c = &mut self.cpus[cpu as usize];
        c.counters.sched += 1;
        c.open_from = None;
        let resched = std::mem::take(&mut c.need_resched);
        let prev = c.curr;
        self.work(self.pick_ns());
        if prev != NONE {
            match self.tasks[prev as usize].state {
                State::Runnable => {
                    // Either it is to make room, or it was woken on its way to sleep.
                    self.cpus[cpu as usize].counters.preempted += u64::from(resched);
                    self.put_back(cpu, prev);
                }
                _ => {
                    self.deactivate(prev);
                    self.tasks[prev as usize].off_cpu_at = self.clock + 1;
                }
            }
        }
        if self.cpus[cpu as usize].rq.nr == 0 {
            self.newly_idle(cpu);
        }
        if let Some(open) = self.cpus[cpu as usize].open_from {
            self.hold_rq(cpu, self.now, open);
            self.cpus[cpu as usize].deaf_until = self.clock;
            self.cpus[cpu as usize].act = Act::Pick;
            if prev != NONE {
                self.tasks[prev as usize].off_cpu_at = self.clock + 1;
            }
            return self.post(cpu, self.clock);
        }
        self.pick(cpu);
    }

    /// The search is over: take the lock again, and with it what was found and what has come.
    pub(super) fn pick_again(&mut self, cpu: u32) {
        if !self.own_lock(cpu) {
            return;
        }
        self.charge_store(Sim::rq_line(cpu, RqLine::Lock));
        self.search_over(cpu);
        self.pick(cpu);
    }

    /// Pick the next task, or the idle task, and switch.
    fn pick(&mut self, cpu: u32) {
        let prev = self.cpus[cpu as usize].curr;
        let next = self.pick_next(cpu);
        if next != NONE {
            if prev == NONE {
                self.note_stay(cpu, self.clock);
            }
        } else {
            self.cpus[cpu as usize].counters.idle += 1;
            if prev != NONE {
                self.cpus[cpu as usize].idle_since = self.clock;
            }
            self.core_may_be_idle(cpu);
        }
        if prev != next {
            self.cpus[cpu as usize].counters.switches += 1;
            self.work(self.costs.switch_ns - self.pick_ns());
        }
        if prev != NONE && prev != next {
            self.tasks[prev as usize].off_cpu_at = self.clock;
        }
        self.hold_rq(cpu, self.now, self.clock);
        let c = &mut self.cpus[cpu as usize];
        c.curr = next;
        c.act = if next == NONE { Act::EnterIdle } else { Act::Run };
        if next != NONE {
            self.warm(next, cpu);
        }
        self.post(cpu, self.clock);
    }

    /// A task that comes to another core fills its caches again.
    fn warm(&mut self, task: u32, cpu: u32) {
        let t = &mut self.tasks[task as usize];
        let from = std::mem::replace(&mut t.warm_on, cpu);
        t.off_cpu_at = 0;
        match self.topology.distance(from, cpu) {
            0 | 1 => {}
            2 => self.clock += self.costs.refill_llc_ns,
            _ => self.clock += self.costs.refill_socket_ns,
        }
    }
}
