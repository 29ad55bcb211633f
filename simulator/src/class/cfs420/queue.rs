// SPDX-License-Identifier: GPL-2.0-only
//! One CPU's fair tasks: by vruntime, and by when they last ran.

use super::load::Load;
use crate::engine::Time;
use crate::machine::Kernel;
use crate::policy::NONE;

/// What the class keeps of a task.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entity {
    pub(super) vruntime: i64,
    pub(super) exec_start: Time,
    /// When it was picked.
    pub(super) picked_at: Time,
    pub(super) load: Load,
    pub(super) begun: bool,
    pub(super) recent_used_cpu: u32,
    /// The last task that it woke, plus 1; 0: none.
    pub(super) last_wakee: u32,
    pub(super) wakee_flips: u32,
    pub(super) flips_since: Time,
}

/// What one CPU keeps of one of its domains.
#[derive(Clone, Debug, Default)]
pub(crate) struct DomainState {
    pub(super) max_newidle_lb_cost: u64,
    pub(super) cost_decays_at: Time,
    pub(super) balanced_at: Time,
    pub(super) nr_failed: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct RunQueue {
    /// Runnable tasks, the running one included.
    pub(crate) nr: u32,
    /// Those that wait, the next one last; of equal ones the first that came is the next.
    waiting: Vec<(i64, u32)>,
    /// cfs_tasks: all runnable tasks; the one that ran or came last is the last here, and the
    /// kernel's tail is our first.
    pub(super) by_run: Vec<u32>,
    pub(super) min_vruntime: i64,
    pub(super) load: Load,
    /// 0: not set.
    pub(super) idle_stamp: Time,
    pub(super) avg_idle: u64,
    pub(super) max_idle_balance_cost: u64,
    /// Of this CPU's LLC domain: the mean time of an idle search, ns.
    pub(super) avg_scan_cost: u64,
    /// By level.
    pub(super) domains: Vec<DomainState>,
}

impl RunQueue {
    pub(crate) fn new(levels: usize, k: &Kernel) -> Self {
        RunQueue {
            nr: 0,
            waiting: Vec::new(),
            by_run: Vec::new(),
            min_vruntime: 0,
            load: Load::default(),
            idle_stamp: 0,
            avg_idle: k.avg_idle_first_ns,
            max_idle_balance_cost: k.migration_cost_ns,
            avg_scan_cost: 0,
            domains: vec![DomainState::default(); levels],
        }
    }

    /// All runnable tasks.
    #[cfg(test)]
    pub(crate) fn tasks(&self) -> impl Iterator<Item = u32> + '_ {
        self.by_run.iter().copied()
    }

    /// What newidle balancing has cost at most, by level, ns.
    pub(crate) fn newidle_costs(&self) -> Vec<u64> {
        self.domains.iter().map(|d| d.max_newidle_lb_cost).collect()
    }

    pub(super) fn insert(&mut self, vruntime: i64, task: u32) {
        let at = self.waiting.partition_point(|w| w.0 > vruntime);
        self.waiting.insert(at, (vruntime, task));
    }

    pub(super) fn remove(&mut self, task: u32) {
        self.waiting.retain(|w| w.1 != task);
    }

    /// The task with the least vruntime.
    pub(super) fn leftmost(&self) -> Option<(i64, u32)> {
        self.waiting.last().copied()
    }

    pub(super) fn pop(&mut self) -> u32 {
        self.waiting.pop().map_or(NONE, |w| w.1)
    }

    /// The task has come, or is picked.
    pub(super) fn touch(&mut self, task: u32) {
        self.forget(task);
        self.by_run.push(task);
    }

    pub(super) fn forget(&mut self, task: u32) {
        if let Some(at) = self.by_run.iter().rposition(|t| *t == task) {
            self.by_run.remove(at);
        }
    }

    /// min_vruntime never goes back.
    pub(super) fn update_min(&mut self, running: Option<i64>) {
        let least = [running, self.leftmost().map(|l| l.0)].into_iter().flatten().min();
        self.min_vruntime = self.min_vruntime.max(least.unwrap_or(self.min_vruntime));
    }

    /// An idle span has ended (update_avg()).
    pub(super) fn idle_span(&mut self, now: Time) {
        if self.idle_stamp == 0 {
            return;
        }
        let span = now.saturating_sub(self.idle_stamp) as i64;
        let avg = self.avg_idle as i64;
        let bound = 2 * self.max_idle_balance_cost;
        self.avg_idle = ((avg + ((span - avg) >> 3)).max(0) as u64).min(bound);
        self.idle_stamp = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_vruntime_comes_first_and_equals_in_order() {
        let mut q = RunQueue::new(0, &Kernel::default());
        for (v, task) in [(5, 1), (3, 2), (5, 3), (3, 4)] {
            q.insert(v, task);
        }
        assert_eq!([q.pop(), q.pop(), q.pop(), q.pop(), q.pop()], [2, 4, 1, 3, NONE]);
    }

    #[test]
    fn avg_idle_counts_a_span_once() {
        let mut q = RunQueue::new(0, &Kernel::default());
        q.idle_stamp = 1000;
        q.idle_span(1000 + 10_000);
        q.idle_span(99_000_000);
        assert_eq!(q.avg_idle, Kernel::default().avg_idle_first_ns - 5000);
    }
}
