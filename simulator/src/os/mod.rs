// SPDX-License-Identifier: GPL-2.0-only
//! The operating system: tasks, sockets, wake-ups, schedule(), idle, ticks; and the main loop.
//!
//! An event is something that one CPU does at one instant. What it does takes time, so the CPU's
//! own clock runs ahead of the event's, and its next event is posted there. State changes at the
//! event's instant. Whoever meets a taken lock tries again when it is free: a lock is never
//! reserved for a future instant, because those who come in between would wait for nothing.

mod idle;
mod schedule;
mod socket;
mod task;
#[cfg(test)]
mod tests;
mod wake;

use crate::engine::{Digest, Random, Slots, Time, NEVER};
use crate::ledger::Ledger;
use crate::machine::{Costs, Kernel, MachineSpec, Topology};
use crate::observe::{Counters, Mark, Outcome};
use crate::policy::{Shared, NONE};
use crate::sched::Sched;
use crate::workload::Hackbench;

use crate::class::cfs420::{Balance, Decay};
use socket::Channel;
pub(crate) use task::{Act, Stage, State};
use task::{Cpu, Task};

/// Lines of a run queue that others look at.
#[derive(Clone, Copy)]
pub(crate) enum RqLine {
    /// The lock and nr_running.
    Lock = 0,
    /// curr, idle and the clock.
    Curr = 1,
    /// The load and the capacity.
    Load = 2,
    /// wake_list.
    Wakes = 3,
}

/// Lines of each run queue.
const RQ_LINES: usize = 4;

/// One simulation.
pub(crate) struct Sim {
    pub(crate) topology: Topology,
    pub(crate) costs: Costs,
    pub(crate) kernel: Kernel,
    pub(crate) sched: Sched,
    workload: Hackbench,
    pub(crate) shared: Shared,
    pub(crate) ledger: Ledger,
    /// By CPU: its next event, its next tick, and an interrupt from another CPU.
    slots: Slots,
    ticks: Slots,
    ipis: Slots,
    /// The instant of the event at hand.
    pub(crate) now: Time,
    /// The CPU that it happens on, and that CPU's clock.
    pub(crate) here: u32,
    pub(crate) clock: Time,
    pub(crate) cpus: Vec<Cpu>,
    pub(crate) tasks: Vec<Task>,
    channels: Vec<Channel>,
    buffers: Vec<socket::Buffer>,
    /// By CPU: its buffers that came back.
    free_buffers: Vec<Vec<u32>>,
    /// By CPU: the page that new buffers come from, and how many have.
    new_buffers: Vec<Option<(u32, u64)>>,
    pub(crate) balance: Balance,
    pub(crate) decay: Decay,
    random: Random,
    send_ns: u64,
    recv_ns: u64,
    pub(crate) tick_ns: u64,
    alive: usize,
    received: u64,
    marks: [(u64, Mark); 2],
    events: u64,
    digest: Digest,
    #[cfg(test)]
    locks: Vec<tests::Held>,
}

impl Sim {
    pub(crate) fn new(m: &MachineSpec, w: &Hackbench, sched: &Sched, seed: u64) -> Self {
        let topology = Topology::new(m);
        let nr = topology.nr_cpus();
        let mut ledger = Ledger::new(nr);
        ledger.add(RQ_LINES * nr);
        let shared = Shared::new(&mut ledger, nr, topology.nr_llcs());
        let k = &m.costs;
        let parts = (k.send_part + k.recv_part).max(1);
        let send_ns = w.message_ns * k.send_part / parts;
        let total = w.messages();
        let marks = [total / 10, total - total / 10].map(|at| (at, Mark::default()));
        let mut sim = Sim {
            cpus: (0..nr).map(|c| Cpu::new(topology.domains[c].len(), &m.kernel)).collect(),
            balance: Balance::new(&topology),
            topology,
            costs: m.costs.clone(),
            kernel: m.kernel.clone(),
            sched: sched.clone(),
            workload: w.clone(),
            shared,
            ledger,
            slots: Slots::new(nr),
            ticks: Slots::new(nr),
            ipis: Slots::new(nr),
            now: 0,
            here: 0,
            clock: 0,
            tasks: Vec::new(),
            channels: Vec::new(),
            buffers: Vec::new(),
            free_buffers: vec![Vec::new(); nr],
            new_buffers: vec![None; nr],
            decay: Decay::new(m.kernel.half_life_ns),
            random: Random::new(seed),
            send_ns,
            recv_ns: w.message_ns - send_ns,
            tick_ns: 1_000_000_000 / k.tick_hz.max(1),
            alive: 0,
            received: 0,
            marks,
            events: 0,
            digest: Digest::new(),
            #[cfg(test)]
            locks: Vec::new(),
        };
        sim.populate();
        sim
    }

    /// Channels and tasks; and "go": all become runnable within some microseconds, spread over the
    /// CPUs as fork() has left them.
    fn populate(&mut self) {
        let w = self.workload.clone();
        let mut tasks = Vec::new();
        for group in 0..w.groups {
            let first = group * w.fan;
            for i in 0..w.fan {
                let lines = self.ledger.add(3);
                self.channels.push(Channel::new(lines));
                tasks.push((Stage::Send, first, first));
                tasks.push((Stage::Receive, first, first + i));
            }
        }
        self.random.shuffle(&mut tasks);
        let nr = self.cpus.len() as u32;
        for (i, (stage, first_channel, channel)) in tasks.into_iter().enumerate() {
            let cpu = i as u32 % nr;
            self.spawn(stage, first_channel, channel, cpu);
            if stage == Stage::Receive {
                self.channels[channel as usize].reader = i as u32;
            }
        }
        self.alive = self.tasks.len();
        for task in 0..self.tasks.len() as u32 {
            let cpu = self.tasks[task as usize].cpu;
            self.here = cpu;
            self.clock = 0;
            self.cpus[cpu as usize].counters.wake += 1;
            self.activate(task, cpu);
            let start = self.random.below(self.kernel.start_spread_ns);
            self.kick(cpu, start);
        }
        for cpu in 0..nr {
            let phase = u64::from(cpu) * self.tick_ns / u64::from(nr);
            self.ticks.set(cpu as usize, self.tick_ns + phase);
        }
    }

    /// A task that has yet to be woken; its number.
    pub(crate) fn spawn(&mut self, stage: Stage, first: u32, channel: u32, cpu: u32) -> u32 {
        let w = &self.workload;
        self.tasks.push(Task {
            stage,
            state: State::Asleep,
            channel,
            first_channel: first,
            left: u64::from(w.loops) * u64::from(w.fan),
            buffer: NONE,
            pid_line: self.ledger.add(1),
            cpu,
            warm_on: cpu,
            on_rq: false,
            off_cpu_at: 0,
            se: Default::default(),
        });
        self.tasks.len() as u32 - 1
    }

    /// The CPU's next event.
    #[inline]
    pub(crate) fn post(&mut self, cpu: u32, at: Time) {
        self.slots.set(cpu as usize, at);
    }

    /// The CPU's clock goes on by work, which is slower while another thread of the core works.
    #[inline]
    pub(crate) fn work(&mut self, ns: u64) {
        let here = self.here;
        let smt = self.costs.smt_permille;
        if smt == 1000 {
            self.clock += ns;
            return;
        }
        let busy = self
            .topology
            .threads(here)
            .iter()
            .any(|c| *c != here && !self.cpus[*c as usize].resting);
        self.clock += if busy { ns * 1000 / smt.max(1) } else { ns };
    }

    /// A load of a shared line by the CPU at hand.
    #[inline]
    pub(crate) fn charge_load(&mut self, line: u32) {
        self.clock += self.ledger.load(&self.topology, line, self.here);
    }

    /// A store or an atomic operation.
    #[inline]
    pub(crate) fn charge_store(&mut self, line: u32) {
        self.clock += self.ledger.store(&self.topology, line, self.here);
    }

    pub(crate) fn rq_line(cpu: u32, line: RqLine) -> u32 {
        RQ_LINES as u32 * cpu + line as u32
    }

    pub(crate) fn run(&mut self) {
        while self.run_event() {}
    }

    /// The next event; false when all tasks have ended and all CPUs rest.
    fn run_event(&mut self) -> bool {
        if self.alive == 0 && self.cpus.iter().all(|c| c.act == Act::Rest) {
            return false;
        }
        let (event, tick, ipi) = (self.slots.next(), self.ticks.next(), self.ipis.next());
        self.now = event.min(tick).min(ipi);
        if self.now == NEVER {
            return false;
        }
        self.clock = self.now;
        self.events += 1;
        if ipi == self.now {
            self.here = self.ipis.first() as u32;
            self.ipi(self.here);
        } else if event <= tick {
            self.here = self.slots.first() as u32;
            self.step(self.here);
        } else {
            self.here = self.ticks.first() as u32;
            self.tick(self.here);
        }
        true
    }

    /// The CPU at hand has the lock of a run queue from then until its clock.
    pub(crate) fn hold_rq(&mut self, cpu: u32, from: Time, until: Time) {
        self.cpus[cpu as usize].lock_until = until;
        self.cpus[self.here as usize].deaf_until = until;
        #[cfg(test)]
        self.locks.push(tests::Held { by: self.here, rq: cpu, from, until });
        #[cfg(not(test))]
        let _ = from;
    }

    fn step(&mut self, cpu: u32) {
        let act = self.cpus[cpu as usize].act;
        self.digest.add(self.now ^ (u64::from(cpu) << 48));
        match act {
            Act::Run => self.run_task(cpu),
            Act::Select => self.wake_select(cpu),
            Act::Enqueue { task, target } => self.wake_enqueue(cpu, task, target),
            Act::Schedule => self.schedule(cpu),
            Act::LeaveIdle => self.leave_idle(cpu),
            Act::Pick => self.pick_again(cpu),
            Act::EnterIdle => self.enter_idle(cpu),
            Act::Rest => self.post(cpu, NEVER),
        }
    }

    /// The running task goes on, unless it is to make room.
    fn run_task(&mut self, cpu: u32) {
        let c = &mut self.cpus[cpu as usize];
        if c.need_resched {
            c.act = Act::Schedule;
            return self.schedule(cpu);
        }
        let task = c.curr;
        match self.tasks[task as usize].stage {
            Stage::Deliver => self.deliver(task),
            Stage::Release => self.release(task),
            Stage::Send | Stage::Receive => self.next(task),
        }
    }

    /// A scheduler tick: it delays what the CPU is doing.
    fn tick(&mut self, cpu: u32) {
        self.ticks.set(cpu as usize, self.now + self.tick_ns);
        let began = self.clock;
        if self.cpus[cpu as usize].act != Act::Rest {
            self.work(self.costs.tick_ns);
        }
        self.class_tick(cpu);
        self.interrupted(cpu, self.clock - began);
    }

    /// What the CPU is doing takes so much longer.
    pub(crate) fn interrupted(&mut self, cpu: u32, delay: Time) {
        let next = self.slots.get(cpu as usize);
        if next != NEVER {
            self.post(cpu, next + delay);
        }
    }

    fn mark(&self) -> Mark {
        let cpus = self
            .cpus
            .iter()
            .map(|c| {
                let mut counters = c.counters;
                if c.curr == NONE {
                    counters.idle_ns += self.now.saturating_sub(c.idle_since);
                }
                counters
            })
            .collect();
        Mark { time: self.now, messages: self.received, cpus }
    }

    /// A message has been received.
    #[inline]
    fn count_message(&mut self) {
        self.received += 1;
        if self.marks.iter().any(|mark| mark.0 == self.received) {
            self.set_marks();
        }
    }

    #[cold]
    fn set_marks(&mut self) {
        let now = self.mark();
        for mark in self.marks.iter_mut().filter(|mark| mark.0 == self.received) {
            mark.1 = now.clone();
        }
    }

    pub(crate) fn outcome(&self) -> Outcome {
        let w = &self.workload;
        let published = Hackbench { loops: w.published_loops, ..w.clone() }.messages();
        let mut outcome = Outcome::between(&self.marks[0].1, &self.marks[1].1, published);
        outcome.simulated_ns = self.now;
        outcome.counters = self.cpus.iter().map(|c| c.counters).collect::<Vec<Counters>>();
        outcome.messages = self.received;
        outcome.events = self.events;
        outcome.digest = self.digest.value();
        outcome
    }
}
