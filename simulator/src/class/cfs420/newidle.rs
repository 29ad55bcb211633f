// SPDX-License-Identifier: GPL-2.0-only
//! A CPU has nothing to run: idle_balance(), then try_steal(), as the series orders them.

use super::balance::Kind;
use crate::os::{RqLine, Sim};
use crate::policy::NONE;
use crate::sched::{Mutant, STEAL};

impl Sim {
    /// idle_balance(), then try_steal(). The idle span begins here, so that searching counts as
    /// idle. What came is attached when the lock is taken again: search_over().
    pub(crate) fn newly_idle(&mut self, cpu: u32) {
        self.cpus[cpu as usize].rq.idle_stamp = self.now.max(1);
        if self.sched.mutant == Some(Mutant::NewidleAlways) {
            self.pull_any(cpu);
        } else if self.sched.parts.newidle {
            self.idle_balance(cpu);
        }
        if self.cpus[cpu as usize].rq.nr == 0 && self.sched.has(STEAL) {
            self.try_steal(cpu);
        }
        if self.cpus[cpu as usize].rq.nr > 0 {
            self.cpus[cpu as usize].rq.idle_stamp = 0;
        }
    }

    /// The lock is ours again.
    pub(crate) fn search_over(&mut self, cpu: u32) {
        let stolen = std::mem::replace(&mut self.cpus[cpu as usize].stolen, NONE);
        if stolen != NONE {
            self.work(self.requeue_ns());
            self.move_in(stolen, cpu);
        }
        if self.cpus[cpu as usize].rq.nr > 0 {
            self.cpus[cpu as usize].rq.idle_stamp = 0;
        }
    }

    /// Taking a task off a queue, or putting it there, under a lock that is held anyway.
    pub(super) fn requeue_ns(&self) -> u64 {
        self.costs.wake_local_ns * self.kernel.queue_permille / 1000
    }

    /// A detached task joins a queue; its vruntime was made relative when it left the other.
    pub(super) fn move_in(&mut self, task: u32, cpu: u32) {
        self.tasks[task as usize].se.vruntime += self.cpus[cpu as usize].rq.min_vruntime;
        self.attach(task, cpu, self.now);
    }

    /// A waiting task leaves its queue for another CPU.
    pub(super) fn move_out(&mut self, task: u32) {
        let src = self.tasks[task as usize].cpu;
        self.update_curr(src, self.now);
        self.detach(task, self.now);
        self.tasks[task as usize].se.vruntime -= self.cpus[src as usize].rq.min_vruntime;
    }

    /// A pass over all domains for a CPU that is idle for so long on average.
    pub(crate) fn newidle_pass(&mut self, cpu: u32, avg_idle: u64) {
        self.cpus[cpu as usize].rq.avg_idle = avg_idle;
        self.balance.overload = true;
        self.idle_balance(cpu);
    }

    /// Newidle balancing, with its gates.
    fn idle_balance(&mut self, cpu: u32) {
        let rq = &self.cpus[cpu as usize].rq;
        let short = self.sched.parts.avg_idle_gate && rq.avg_idle < self.kernel.migration_cost_ns;
        if short || !self.balance.overload {
            return;
        }
        self.drop_lock(cpu);
        let mut spent = 0;
        for level in 0..self.topology.domains[cpu as usize].len() {
            let rq = &self.cpus[cpu as usize].rq;
            let expect = rq.domains[level].max_newidle_lb_cost;
            if self.sched.parts.avg_idle_gate && rq.avg_idle < spent + expect {
                break;
            }
            let began = self.clock;
            let pulled = self.load_balance(cpu, level, Kind::Newidle);
            let cost = self.clock - began;
            let d = &mut self.cpus[cpu as usize].rq.domains[level];
            d.max_newidle_lb_cost = d.max_newidle_lb_cost.max(cost);
            spent += cost;
            if pulled > 0 || self.cpus[cpu as usize].rq.nr > 0 {
                self.cpus[cpu as usize].counters.newidle += pulled;
                break;
            }
        }
        let rq = &mut self.cpus[cpu as usize].rq;
        rq.max_idle_balance_cost = rq.max_idle_balance_cost.max(spent);
    }

    /// Mutant::NewidleAlways.
    fn pull_any(&mut self, cpu: u32) {
        let Some(src) = self.cpus.iter().find(|c| c.rq.nr >= 2) else { return };
        if let Some(task) = src.rq.by_run.iter().copied().find(|t| *t != src.curr) {
            self.move_out(task);
            self.move_in(task, cpu);
        }
    }

    /// Remember when schedule() dropped its lock, the first time.
    fn drop_lock(&mut self, cpu: u32) {
        let clock = self.clock;
        self.cpus[cpu as usize].open_from.get_or_insert(clock);
    }

    fn try_steal(&mut self, cpu: u32) {
        let gate = match self.sched.mutant {
            Some(Mutant::StealGated) => self.kernel.migration_cost_ns,
            _ => self.kernel.steal_cost_ns,
        };
        if self.cpus[cpu as usize].rq.avg_idle < gate {
            return;
        }
        let began = self.clock;
        let from = self.policy_steal(cpu);
        let c = &mut self.cpus[cpu as usize];
        c.counters.find_ns += self.clock - began;
        if from != NONE {
            c.counters.steal += 1;
        } else if c.open_from.is_some() {
            c.counters.steal_fail += 1;
        }
    }

    /// policy_take(): steal_from() of the series. A peek without the lock; ours is dropped before
    /// src's is taken; the first task from the tail that is not running goes with us.
    pub(crate) fn take(&mut self, dst: u32, src: u32) -> bool {
        self.charge_load(Sim::rq_line(src, RqLine::Lock));
        if self.cpus[src as usize].rq.nr < 2 {
            return false;
        }
        self.drop_lock(dst);
        self.clock = self.clock.max(self.cpus[src as usize].lock_until);
        let locked = self.clock;
        self.charge_store(Sim::rq_line(src, RqLine::Lock));
        self.charge_store(Sim::rq_line(src, RqLine::Curr));
        self.charge_store(Sim::rq_line(src, RqLine::Load));
        let c = &self.cpus[src as usize];
        let found = c.rq.by_run.iter().copied().find(|t| *t != c.curr);
        if let Some(task) = found {
            self.move_out(task);
            self.cpus[dst as usize].stolen = task;
        }
        self.work(self.requeue_ns());
        self.hold_rq(src, locked, self.clock);
        found.is_some()
    }
}
