// SPDX-License-Identifier: GPL-2.0-only
//! try_to_wake_up(): first a CPU is chosen, then its lock is taken and the task put there. Between
//! the two others act: several wakers may choose one idle CPU, as in the kernel.
//!
//! A CPU that shares no cache with the waker is only told; it queues the task itself (TTWU_QUEUE,
//! recalled).

use super::task::{Act, State};
use super::{RqLine, Sim};
use crate::engine::NEVER;

impl Sim {
    /// Of a wake-up, choosing a CPU; the rest is queueing.
    fn choose_ns(&self) -> u64 {
        self.costs.wake_local_ns * self.kernel.choose_permille / 1000
    }

    /// Choose a CPU for the next task to be woken.
    pub(super) fn wake_select(&mut self, cpu: u32) {
        let Some(&task) = self.cpus[cpu as usize].wakes.last() else {
            self.cpus[cpu as usize].act = Act::Run;
            return self.run_task(cpu);
        };
        let t = &self.tasks[task as usize];
        if t.on_rq {
            return self.wake_in_place(cpu, task);
        }
        if t.off_cpu_at > self.now {
            let at = t.off_cpu_at;
            return self.post(cpu, at);
        }
        self.tasks[task as usize].state = State::Waking;
        self.work(self.choose_ns());
        let target = self.select_task_rq(task, cpu);
        self.cpus[cpu as usize].act = Act::Enqueue { task, target };
        self.post(cpu, self.clock);
    }

    /// It has not left its queue yet: schedule() will find it runnable (ttwu_remote()).
    fn wake_in_place(&mut self, cpu: u32, task: u32) {
        let home = self.tasks[task as usize].cpu;
        if self.cpus[home as usize].lock_until > self.now && home != cpu {
            return self.post(cpu, self.cpus[home as usize].lock_until);
        }
        self.charge_store(Sim::rq_line(home, RqLine::Lock));
        self.tasks[task as usize].state = State::Runnable;
        self.work(self.costs.wake_local_ns - self.choose_ns());
        self.hold_rq(home, self.now, self.clock);
        self.woken(cpu);
    }

    /// Put the task into the queue that was chosen.
    pub(super) fn wake_enqueue(&mut self, cpu: u32, task: u32, target: u32) {
        if !self.topology.share_cache(cpu, target) {
            return self.wake_remote(cpu, task, target);
        }
        let until = self.cpus[target as usize].lock_until;
        if until > self.now {
            return self.post(cpu, until);
        }
        self.charge_store(Sim::rq_line(target, RqLine::Lock));
        self.charge_store(Sim::rq_line(target, RqLine::Curr));
        self.charge_store(Sim::rq_line(target, RqLine::Load));
        self.work(self.costs.wake_local_ns - self.choose_ns());
        if target != cpu {
            self.work(self.costs.wake_remote_ns);
        }
        self.activate(task, target);
        self.hold_rq(target, self.now, self.clock);
        self.kick(target, self.clock);
        self.woken(cpu);
    }

    /// ttwu_queue_remote(): onto the other CPU's list, whose lines alone are touched. Who finds it
    /// empty tells that CPU, unless it is on its way into idle or out of it and looks by itself.
    fn wake_remote(&mut self, cpu: u32, task: u32, target: u32) {
        self.charge_store(Sim::rq_line(target, RqLine::Wakes));
        let c = &mut self.cpus[target as usize];
        let (first, act) = (c.wake_list.is_empty(), c.act);
        c.wake_list.push(task);
        if first {
            self.work(self.costs.wake_remote_ns);
            match act {
                Act::Rest => self.kick(target, self.clock),
                Act::EnterIdle | Act::LeaveIdle => {}
                _ => {
                    let ipi = if self.sched.parts.ipi_cost { self.costs.ipi_ns } else { 0 };
                    self.ipis.set(target as usize, self.clock + ipi);
                }
            }
        }
        self.woken(cpu);
    }

    /// scheduler_ipi(): the interrupt itself is taken for a system call.
    pub(super) fn ipi(&mut self, cpu: u32) {
        let c = &self.cpus[cpu as usize];
        let until = c.lock_until.max(c.deaf_until);
        if until > self.now {
            return self.ipis.set(cpu as usize, until);
        }
        self.ipis.set(cpu as usize, NEVER);
        let began = self.clock;
        self.work(self.costs.syscall_ns);
        self.empty_wake_list(cpu);
        self.interrupted(cpu, self.clock - began);
    }

    /// sched_ttwu_pending(): under its own lock, which is free, the CPU queues what others have
    /// woken for it, the last first.
    pub(super) fn empty_wake_list(&mut self, cpu: u32) {
        self.charge_store(Sim::rq_line(cpu, RqLine::Wakes));
        let mut list = std::mem::take(&mut self.cpus[cpu as usize].wake_list);
        if list.is_empty() {
            return;
        }
        for line in [RqLine::Lock, RqLine::Curr, RqLine::Load] {
            self.charge_store(Sim::rq_line(cpu, line));
        }
        while let Some(task) = list.pop() {
            self.work(self.costs.wake_local_ns / 2);
            self.activate(task, cpu);
        }
        self.hold_rq(cpu, self.now, self.clock);
    }

    /// One task is woken; the next one, or on.
    fn woken(&mut self, cpu: u32) {
        let clock = self.clock;
        let c = &mut self.cpus[cpu as usize];
        c.counters.wake += 1;
        c.wakes.pop();
        c.act = if c.wakes.is_empty() { Act::Run } else { Act::Select };
        self.post(cpu, clock);
    }
}
