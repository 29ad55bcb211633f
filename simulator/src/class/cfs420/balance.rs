// SPDX-License-Identifier: GPL-2.0-only
//! load_balance() over the scheduling domains: newidle, periodic and nohz.

use crate::machine::Topology;
use crate::os::{Act, RqLine, Sim};
use crate::policy::NONE;

/// Machine-wide state of the class.
#[derive(Clone, Debug)]
pub(crate) struct Balance {
    /// Some CPU may have more than one runnable task (rd->overload).
    pub(super) overload: bool,
    /// By LLC: some core may be wholly idle.
    pub(super) idle_cores: Vec<bool>,
    /// When nohz balancing is due.
    nohz_next: u64,
}

impl Balance {
    pub(crate) fn new(t: &Topology) -> Self {
        Balance { overload: false, idle_cores: vec![true; t.nr_llcs()], nohz_next: 0 }
    }
}

/// Why a CPU balances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Newidle,
    Idle,
    Busy,
}

/// What a pass knows of a group.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    load: u64,
    nr: u64,
    weight: u64,
    idle: u64,
    max_load_cpu: u32,
    max_load: u64,
}

impl Group {
    fn avg(&self) -> u64 {
        self.load / self.weight.max(1)
    }

    fn overloaded(&self) -> bool {
        self.nr > self.weight
    }
}

impl Sim {
    /// update_sg_lb_stats(): three lines of every run queue.
    fn group_stats(&mut self, cpu: u32, level: usize, group: usize) -> Group {
        let mut g = Group { max_load_cpu: NONE, ..Group::default() };
        for i in 0..self.topology.domains[cpu as usize][level].groups[group].len() {
            let other = self.topology.domains[cpu as usize][level].groups[group][i];
            for line in [RqLine::Lock, RqLine::Curr, RqLine::Load] {
                self.charge_load(Sim::rq_line(other, line));
            }
            self.clock += self.costs.look_ns;
            let rq = &self.cpus[other as usize].rq;
            let load = rq.load.get();
            g.load += load;
            g.nr += u64::from(rq.nr);
            g.weight += 1;
            g.idle += u64::from(self.cpus[other as usize].idle());
            if rq.nr > 1 && (g.max_load_cpu == NONE || load > g.max_load) {
                g.max_load = load;
                g.max_load_cpu = other;
            }
        }
        g
    }

    /// One pass at one level: tasks moved to `cpu`.
    ///
    /// 1. The busiest group; overloaded ones come before others.
    /// 2. Is the difference worth it? An overloaded group against room of ours always is, for a
    ///    CPU without work.
    /// 3. Waiting tasks from the busiest queue, the one that ran longest ago first.
    pub(super) fn load_balance(&mut self, cpu: u32, level: usize, kind: Kind) -> u64 {
        let d = &self.topology.domains[cpu as usize][level];
        let (groups, top) =
            (d.groups.len(), level + 1 == self.topology.domains[cpu as usize].len());
        let pct = self.kernel.imbalance_pct(d.level);
        let local = self.group_stats(cpu, level, 0);
        let mut busiest = Group { max_load_cpu: NONE, ..Group::default() };
        let mut sum = local;
        let mut overload = local.max_load_cpu != NONE;
        for group in 1..groups {
            let g = self.group_stats(cpu, level, group);
            sum.load += g.load;
            sum.weight += g.weight;
            overload |= g.max_load_cpu != NONE;
            if (g.overloaded(), g.avg()) > (busiest.overloaded(), busiest.avg()) {
                busiest = g;
            }
        }
        if top {
            self.balance.overload = overload;
        }
        let src = busiest.max_load_cpu;
        if src == NONE {
            return 0;
        }
        let room = local.nr < local.weight;
        let force = kind != Kind::Busy && room && busiest.overloaded();
        if !force {
            let level_with = local.avg() >= busiest.avg() || local.avg() >= sum.avg();
            let even = match kind {
                Kind::Idle => !busiest.overloaded() && local.idle <= busiest.idle + 1,
                _ => 100 * busiest.avg() <= pct * local.avg(),
            };
            if level_with || even {
                return 0;
            }
        }
        let pull = (busiest.avg().saturating_sub(sum.avg())) * busiest.weight;
        let take = (sum.avg().saturating_sub(local.avg())) * local.weight;
        let imbalance = pull.min(take).max(busiest.load / busiest.nr.max(1));
        self.move_tasks(cpu, src, level, kind, imbalance)
    }

    /// detach_tasks() and attach_tasks().
    fn move_tasks(&mut self, cpu: u32, src: u32, level: usize, kind: Kind, imbalance: u64) -> u64 {
        self.clock = self.clock.max(self.cpus[src as usize].lock_until);
        let locked = self.clock;
        self.charge_store(Sim::rq_line(src, RqLine::Lock));
        self.charge_store(Sim::rq_line(src, RqLine::Load));
        let tries = self.topology.domains[cpu as usize][level].level.cache_nice_tries();
        let failed = self.cpus[cpu as usize].rq.domains[level].nr_failed;
        let mut left = imbalance as i64;
        let mut moved = 0;
        let curr = self.cpus[src as usize].curr;
        let queue = self.cpus[src as usize].rq.by_run.clone();
        for task in queue.into_iter().take(self.kernel.nr_migrate as usize) {
            if left <= 0 || self.cpus[src as usize].rq.nr < 2 {
                break;
            }
            let t = &self.tasks[task as usize];
            let hot = self.now.saturating_sub(t.se.exec_start) < self.kernel.migration_cost_ns
                && failed <= tries;
            let load = t.se.load.get() as i64;
            if task == curr || hot || load / 2 > left {
                continue;
            }
            self.work(2 * self.requeue_ns());
            self.move_out(task);
            self.move_in(task, cpu);
            left -= load.max(1);
            moved += 1;
        }
        self.hold_rq(src, locked, self.clock);
        let d = &mut self.cpus[cpu as usize].rq.domains[level];
        if moved > 0 {
            d.nr_failed = 0;
        } else if kind != Kind::Newidle {
            d.nr_failed += 1;
        }
        moved
    }

    /// At a tick: periodic balancing of this CPU, and is nohz balancing due?
    pub(super) fn trigger_balance(&mut self, cpu: u32) {
        let idle = self.cpus[cpu as usize].idle();
        if self.sched.parts.periodic {
            self.rebalance(cpu, if idle { Kind::Idle } else { Kind::Busy });
        }
        let due = self.now >= self.balance.nohz_next && self.cpus[cpu as usize].rq.nr >= 2;
        if self.sched.parts.nohz && due {
            self.nohz_balance();
        }
    }

    /// rebalance_domains(): levels whose interval is over. Only the first idle CPU of our group,
    /// or else its first CPU, does it (should_we_balance()).
    fn rebalance(&mut self, cpu: u32, kind: Kind) {
        for level in 0..self.topology.domains[cpu as usize].len() {
            let d = &self.topology.domains[cpu as usize][level];
            let own = &d.groups[0];
            let factor = if kind == Kind::Busy { self.kernel.busy_factor } else { 1 };
            let interval = u64::from(d.weight) * self.kernel.interval_ns * factor;
            let chosen = own.iter().find(|c| self.cpus[**c as usize].idle()).or(own.first());
            let chosen = chosen == Some(&cpu);
            let state = &mut self.cpus[cpu as usize].rq.domains[level];
            if self.now >= state.cost_decays_at + self.kernel.newidle_decay_ns {
                state.max_newidle_lb_cost = state.max_newidle_lb_cost * 253 / 256;
                state.cost_decays_at = self.now;
            }
            if self.now < state.balanced_at + interval {
                continue;
            }
            state.balanced_at = self.now;
            if chosen {
                let moved = self.load_balance(cpu, level, kind);
                self.cpus[cpu as usize].counters.balanced += moved;
                if moved > 0 {
                    self.kick(cpu, self.clock);
                }
            }
        }
    }

    /// nohz_idle_balance(): the first CPU whose tick is stopped balances for all of them. It does
    /// so when the IPI has reached it; the CPU that noticed pays nothing.
    fn nohz_balance(&mut self) {
        let stopped: Vec<u32> = (0..self.cpus.len() as u32)
            .filter(|c| self.cpus[*c as usize].act == Act::Rest)
            .filter(|c| self.cpus[*c as usize].tick_stopped)
            .collect();
        self.balance.nohz_next = self.now + self.tick_ns;
        let Some(first) = stopped.first().copied() else { return };
        self.cpus[first as usize].counters.nohz += 1;
        let (here, clock) = (self.here, self.clock);
        self.here = first;
        for cpu in stopped {
            self.rebalance(cpu, Kind::Idle);
        }
        self.here = here;
        self.clock = clock;
    }
}
