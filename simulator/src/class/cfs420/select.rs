// SPDX-License-Identifier: GPL-2.0-only
//! select_task_rq_fair(): where a waking task goes.

use crate::os::{RqLine, Sim};
use crate::policy::{idle_budget, NONE};
use crate::sched::{Mutant, SIS_CORE, SIS_PROP, SIS_ROTATE};

impl Sim {
    /// available_idle_cpu(), from the CPU at hand: curr, and if that is the idle task, nr_running
    /// and the wake list, a line that nobody writes on a machine of one LLC.
    pub(crate) fn look_idle(&mut self, cpu: u32) -> bool {
        self.clock += self.costs.look_ns;
        self.charge_load(Sim::rq_line(cpu, RqLine::Curr));
        if self.cpus[cpu as usize].curr != NONE {
            return false;
        }
        self.charge_load(Sim::rq_line(cpu, RqLine::Lock));
        if self.topology.nr_llcs() > 1 {
            self.charge_load(Sim::rq_line(cpu, RqLine::Wakes));
        }
        self.cpus[cpu as usize].idle()
    }

    /// Are all threads of the core idle? Asked of each CPU: the second thread of a core that was
    /// not idle is not looked at again.
    pub(crate) fn look_core_idle(&mut self, cpu: u32) -> bool {
        if self.topology.threads(cpu).first() != Some(&cpu) {
            return false;
        }
        let mut idle = true;
        for i in 0..self.topology.threads(cpu).len() {
            idle &= self.look_idle(self.topology.threads(cpu)[i]);
        }
        idle
    }

    /// A CPU for `task`, woken by the task that runs on `this_cpu`; all wake-ups of sockets are
    /// synchronous.
    ///
    /// 1. wake_affine(): the waker's CPU or the wakee's last one is the target.
    /// 2. select_idle_sibling(): an idle CPU near the target, or the target.
    /// 3. The waker remembers that it pulls to its CPU.
    pub(crate) fn select_task_rq(&mut self, task: u32, this_cpu: u32) -> u32 {
        let prev = self.tasks[task as usize].cpu;
        let waker = self.cpus[this_cpu as usize].curr;
        self.record_wakee(waker, task);
        let affine =
            self.sched.parts.wake_affine && !(self.sched.parts.wake_wide && self.wide(waker, task));
        let target = if affine && this_cpu != prev {
            self.wake_affine(task, waker, this_cpu, prev)
        } else {
            prev
        };
        let chosen = self.select_idle_sibling(task, prev, target, this_cpu);
        if affine {
            self.tasks[waker as usize].se.recent_used_cpu = this_cpu;
        }
        chosen
    }

    fn record_wakee(&mut self, waker: u32, task: u32) {
        let now = self.now;
        let w = &mut self.tasks[waker as usize].se;
        if now > w.flips_since + self.kernel.flips_decay_ns {
            w.wakee_flips /= 2;
            w.flips_since = now;
        }
        if w.last_wakee != task + 1 {
            w.last_wakee = task + 1;
            w.wakee_flips += 1;
        }
    }

    /// wake_wide(): one has many more partners than fit an LLC, and the other many.
    fn wide(&self, waker: u32, wakee: u32) -> bool {
        let flips = |t: u32| self.tasks[t as usize].se.wakee_flips;
        let master = flips(waker).max(flips(wakee));
        let slave = flips(waker).min(flips(wakee));
        let factor = self.topology.span(self.here).cpus.len() as u32;
        slave >= factor && master >= slave * factor
    }

    /// wake_affine(): wake_affine_idle(), then wake_affine_weight(). The target.
    fn wake_affine(&mut self, task: u32, waker: u32, this_cpu: u32, prev: u32) -> u32 {
        // This CPU is not idle: the waker runs on it. What is left of wake_affine_idle(): a
        // synchronous waker alone on its CPU is about to leave it.
        if self.cpus[this_cpu as usize].rq.nr == 1 {
            return this_cpu;
        }
        self.charge_load(Sim::rq_line(prev, RqLine::Load));
        let current = self.tasks[waker as usize].se.load.get() as i64;
        let load = self.tasks[task as usize].se.load.get() as i64;
        let mut this_load = self.cpus[this_cpu as usize].rq.load.get() as i64;
        if current > this_load {
            return this_cpu;
        }
        this_load += load - current;
        // The wakee's load is subtracted although a sleeper is not in it: as in 4.20.
        let prev_load = self.cpus[prev as usize].rq.load.get() as i64 - load;
        let pct = self.topology.domains[this_cpu as usize]
            .iter()
            .find(|d| d.groups.iter().any(|g| g.contains(&prev)))
            .map_or(100, |d| self.kernel.imbalance_pct(d.level) as i64);
        if this_load * 100 < prev_load * (100 + (pct - 100) / 2) + 1 {
            this_cpu
        } else {
            prev
        }
    }

    /// select_idle_sibling().
    ///
    /// 1. The target, the previous CPU, the one used before it.
    /// 2. A wholly idle core, a bounded scan, a thread of the target's core.
    fn select_idle_sibling(&mut self, task: u32, prev: u32, target: u32, this_cpu: u32) -> u32 {
        if self.sched.mutant == Some(Mutant::NoIdleSearch) || self.look_idle(target) {
            return target;
        }
        if prev != target && self.topology.share_cache(prev, target) && self.look_idle(prev) {
            return prev;
        }
        let recent = self.tasks[task as usize].se.recent_used_cpu;
        if self.sched.parts.recent_used_cpu
            && recent != prev
            && recent != target
            && self.topology.share_cache(recent, target)
            && self.look_idle(recent)
        {
            self.tasks[task as usize].se.recent_used_cpu = prev;
            return recent;
        }
        let began = self.clock;
        let found = self.search(target, this_cpu);
        self.cpus[this_cpu as usize].counters.find_ns += self.clock - began;
        if found == NONE {
            target
        } else {
            found
        }
    }

    fn search(&mut self, target: u32, this_cpu: u32) -> u32 {
        let llc = self.topology.llc(target);
        if self.sched.has(SIS_CORE) && self.balance.idle_cores[llc] {
            let core = self.policy_scan_cores(target);
            if core != NONE {
                return core;
            }
            self.balance.idle_cores[llc] = false;
        }
        let cpu = self.scan(target, this_cpu);
        if cpu != NONE {
            return cpu;
        }
        for i in 0..self.topology.threads(target).len() {
            let sibling = self.topology.threads(target)[i];
            if self.look_idle(sibling) {
                return sibling;
            }
        }
        NONE
    }

    /// select_idle_cpu(): its own mean cost, of scans that did not end at their limit, bounds it.
    fn scan(&mut self, target: u32, this_cpu: u32) -> u32 {
        let span = self.topology.span(target).cpus.len() as u32;
        let siblings = self.topology.threads(target).len() as u32;
        let rq = &self.cpus[this_cpu as usize].rq;
        let budget =
            idle_budget(self.sched.features, span, siblings, rq.avg_idle, rq.avg_scan_cost);
        let began = self.clock;
        let cpu = self.policy_scan_cpus(target, self.sched.has(SIS_ROTATE), budget);
        let limited = cpu == NONE && budget <= span;
        if self.sched.has(SIS_PROP) && !limited {
            let rq = &mut self.cpus[this_cpu as usize].rq;
            let delta = (self.clock - began) as i64 - rq.avg_scan_cost as i64;
            rq.avg_scan_cost = (rq.avg_scan_cost as i64 + delta / 8).max(0) as u64;
        }
        cpu
    }

    /// update_idle_core(): the last thread of a core has gone idle.
    pub(crate) fn core_may_be_idle(&mut self, cpu: u32) {
        let llc = self.topology.llc(cpu);
        if self.balance.idle_cores[llc] || !self.sched.has(SIS_CORE) {
            return;
        }
        let threads = self.topology.threads(cpu);
        if threads.len() > 1 && threads.iter().all(|t| *t == cpu || self.cpus[*t as usize].idle()) {
            self.balance.idle_cores[llc] = true;
        }
    }
}
