// SPDX-License-Identifier: GPL-2.0-only
//! Enqueue, dequeue, pick, preemption.

use super::load::Load;
use super::SCALE;
use crate::engine::Time;
use crate::os::{Sim, State};
use crate::policy::NONE;
use crate::sched::STEAL;

impl Sim {
    /// The running task's time until now is booked.
    pub(super) fn update_curr(&mut self, cpu: u32, now: Time) {
        let c = &mut self.cpus[cpu as usize];
        if c.curr == NONE {
            return c.rq.update_min(None);
        }
        let t = &mut self.tasks[c.curr as usize];
        if !t.on_rq {
            return c.rq.update_min(None);
        }
        t.se.vruntime += now.saturating_sub(t.se.exec_start) as i64;
        t.se.exec_start = t.se.exec_start.max(now);
        c.rq.update_min(Some(t.se.vruntime));
    }

    /// A task joins a queue: counts, load, and what others may see of it.
    pub(super) fn attach(&mut self, task: u32, cpu: u32, now: Time) {
        let t = &mut self.tasks[task as usize];
        let rq = &mut self.cpus[cpu as usize].rq;
        rq.load.advance(&self.decay, now, u64::from(rq.nr) * SCALE);
        rq.load.add(t.se.load);
        rq.nr += 1;
        rq.insert(t.se.vruntime, task);
        rq.touch(task);
        t.cpu = cpu;
        t.on_rq = true;
        if rq.nr == 2 {
            self.balance.overload = true;
            self.set_overloaded(cpu, true);
        }
    }

    /// A task leaves a queue.
    pub(super) fn detach(&mut self, task: u32, now: Time) {
        let t = &mut self.tasks[task as usize];
        let cpu = t.cpu;
        let rq = &mut self.cpus[cpu as usize].rq;
        t.se.load.advance(&self.decay, now, SCALE);
        rq.load.advance(&self.decay, now, u64::from(rq.nr) * SCALE);
        rq.load.sub(t.se.load);
        rq.nr -= 1;
        rq.remove(task);
        rq.forget(task);
        t.on_rq = false;
        if rq.nr == 1 {
            self.set_overloaded(cpu, false);
        }
    }

    /// The mask of overloaded CPUs: at the transitions between 1 and 2 runnable tasks.
    fn set_overloaded(&mut self, cpu: u32, set: bool) {
        if self.sched.has(STEAL) {
            let began = self.clock;
            self.policy_overload(cpu, set);
            self.cpus[self.here as usize].counters.find_ns += self.clock - began;
        }
    }

    /// A sleeper is runnable: place_entity(), enqueue, and may it preempt? The first time: go.
    pub(crate) fn activate(&mut self, task: u32, cpu: u32) {
        let now = self.now;
        self.update_curr(cpu, now);
        let old_min = self.cpus[self.tasks[task as usize].cpu as usize].rq.min_vruntime;
        let min = self.cpus[cpu as usize].rq.min_vruntime;
        let t = &mut self.tasks[task as usize];
        if t.se.begun {
            t.se.load.advance(&self.decay, now, 0);
            t.se.vruntime += min - old_min;
            t.se.vruntime = t.se.vruntime.max(min - (self.kernel.latency_ns / 2) as i64);
        } else {
            t.se.begun = true;
            t.se.load = Load::full(now);
            t.se.vruntime = min;
            t.se.recent_used_cpu = cpu;
        }
        t.state = State::Runnable;
        let vruntime = t.se.vruntime;
        self.attach(task, cpu, now);
        let c = &mut self.cpus[cpu as usize];
        c.rq.idle_span(now);
        if c.curr != NONE {
            let curr = &self.tasks[c.curr as usize];
            let ahead = curr.se.vruntime - vruntime;
            if curr.on_rq && ahead > self.kernel.wakeup_granularity_ns as i64 {
                c.need_resched = true;
            }
        }
    }

    /// A task goes to sleep, or ends.
    pub(crate) fn deactivate(&mut self, task: u32) {
        let cpu = self.tasks[task as usize].cpu;
        self.update_curr(cpu, self.now);
        self.detach(task, self.now);
        self.cpus[cpu as usize].rq.update_min(None);
    }

    /// schedule() found the running task runnable.
    pub(crate) fn put_back(&mut self, cpu: u32, task: u32) {
        self.update_curr(cpu, self.now);
        let vruntime = self.tasks[task as usize].se.vruntime;
        self.cpus[cpu as usize].rq.insert(vruntime, task);
    }

    /// pick_next_task_fair(): the least vruntime, or NONE.
    pub(crate) fn pick_next(&mut self, cpu: u32) -> u32 {
        let rq = &mut self.cpus[cpu as usize].rq;
        let next = rq.pop();
        if next == NONE {
            return NONE;
        }
        rq.touch(next);
        let t = &mut self.tasks[next as usize];
        t.se.exec_start = self.clock;
        t.se.picked_at = self.clock;
        next
    }

    /// check_preempt_tick(), then periodic balancing.
    pub(crate) fn class_tick(&mut self, cpu: u32) {
        let now = self.now;
        self.update_curr(cpu, now);
        let c = &mut self.cpus[cpu as usize];
        c.rq.load.advance(&self.decay, now, u64::from(c.rq.nr) * SCALE);
        let nr = u64::from(c.rq.nr);
        if c.curr != NONE && nr > 1 {
            let (latency, least) = (self.kernel.latency_ns, self.kernel.min_granularity_ns);
            let period = if nr > latency / least.max(1) { nr * least } else { latency };
            let slice = period / nr;
            let t = &self.tasks[c.curr as usize];
            let ran = now.saturating_sub(t.se.picked_at);
            let ahead = c.rq.leftmost().map_or(0, |l| t.se.vruntime - l.0);
            if ran > slice || (ran >= least && ahead > slice as i64) {
                c.need_resched = true;
            }
        }
        self.trigger_balance(cpu);
    }
}
