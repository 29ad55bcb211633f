// SPDX-License-Identifier: GPL-2.0-only
//! How long CPUs idled while a task that may run there waited: one sweep over the events.
//!
//! A CPU is idle from a switch to its idle task to the switch away from it. A task waits from its
//! wake-up, or from being switched out while runnable, until it is switched in. Of each idle
//! stretch the first 20 µs are free; past them, the time during which at least one waiting task
//! is allowed on that CPU counts. Two CPUs that idle while one task waits both count: either was
//! free to run it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::allowed::Snapshot;
use super::cpuset::CpuSet;
use super::event::{Event, Kind};

/// What an idle CPU may take to find work, in nanoseconds.
pub const GRACE_NS: u64 = 20_000;

/// What was recorded.
pub struct Record<'a> {
    /// In the order of time.
    pub events: &'a [Event],
    /// In the order of time, at least one.
    pub snapshots: &'a [Snapshot],
    /// The CPUs that count.
    pub cpus: &'a CpuSet,
    /// Where a task may run that no snapshot and no fork tells about.
    pub bench: &'a CpuSet,
    /// The span that counts, in nanoseconds of CLOCK_MONOTONIC; what is before it only sets the
    /// scene.
    pub begin_ns: u64,
    /// Its end.
    pub end_ns: u64,
    /// Events that the kernel could not record.
    pub lost: u64,
    /// Lines that were not understood.
    pub odd: u64,
}

/// What the tracer found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Share of all CPU time (CPUs × span), in per cent, in which a CPU idled past its first
    /// 20 µs while a task that may run there waited; `None` when the record has gaps.
    pub idle_while_waiting_pct: Option<f64>,
    /// Why there is no share; empty otherwise.
    pub note: String,
    /// Share of all CPU time in which CPUs idled at all, in per cent; `None` likewise.
    pub idle_pct: Option<f64>,
    /// Events in the span.
    pub events: u64,
    /// Of these, tasks moved between CPUs.
    pub migrations: u64,
    /// Of these, switches to a task that was not known to wait (its wake-up was not seen).
    pub unannounced: u64,
    /// Events that the kernel could not record.
    pub lost: u64,
    /// Lines that were not understood.
    pub odd: u64,
    /// CPUs that count.
    pub cpus: u32,
    /// Length of the span in nanoseconds.
    pub span_ns: u64,
}

#[derive(Clone, Copy, Default)]
struct Cpu {
    /// Since when it idles.
    idle_since: Option<u64>,
    /// How many waiting tasks may run here.
    waiters: u32,
    /// Since when that is not 0.
    waiters_since: u64,
    /// Whether a switch told what it does.
    known: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Running,
    Waiting,
    Asleep,
}

struct Task {
    state: State,
    /// Confined to CPUs that count.
    allowed: CpuSet,
}

struct Sweep<'a> {
    record: &'a Record<'a>,
    /// The bench's CPUs, of those that count.
    bench: CpuSet,
    /// By CPU number.
    cpus: Vec<Cpu>,
    tasks: BTreeMap<u32, Task>,
    wasted_ns: u64,
    idle_ns: u64,
    migrations: u64,
    unannounced: u64,
    events: u64,
}

/// Sweeps over a record. A record with gaps (lost events, lines not understood, a CPU of which
/// nothing is known) gives no share.
pub fn summarise(record: &Record) -> Summary {
    let mut sweep = Sweep::new(record);
    sweep.set_scene();
    let mut snapshots = record.snapshots.iter().skip(1).peekable();
    for event in record.events.iter().take_while(|event| event.at_ns <= record.end_ns) {
        while let Some(snapshot) = snapshots.next_if(|next| next.at_ns <= event.at_ns) {
            sweep.apply(snapshot);
        }
        sweep.step(event);
    }
    sweep.finish()
}

impl<'a> Sweep<'a> {
    fn new(record: &'a Record<'a>) -> Self {
        let highest = record.cpus.iter().last().unwrap_or(0);
        Self {
            record,
            bench: record.bench.both(record.cpus),
            cpus: vec![Cpu::default(); highest as usize + 1],
            tasks: BTreeMap::new(),
            wasted_ns: 0,
            idle_ns: 0,
            migrations: 0,
            unannounced: 0,
            events: 0,
        }
    }

    /// Sets every CPU and every task to what they did when the record began. A CPU whose idle
    /// task is the first to be switched out was idle.
    fn set_scene(&mut self) {
        let start = self.record.events.first().map_or(self.record.begin_ns, |event| event.at_ns);
        for event in self.record.events {
            let Kind::Switch { prev, .. } = event.kind else { continue };
            if let Some(cpu) = self.cpus.get_mut(event.cpu as usize).filter(|cpu| !cpu.known) {
                cpu.known = true;
                cpu.idle_since = (prev == 0).then_some(start);
            }
        }
        for (pid, state) in first_states(self.record) {
            let allowed = self.snapshot_of(pid, 0);
            let allowed = allowed.unwrap_or_else(|| self.bench.clone());
            self.tasks.insert(pid, Task { state: State::Asleep, allowed });
            self.set_state(pid, state, start);
        }
    }

    /// The CPUs of a task by the first snapshot at or after `born` that has it.
    fn snapshot_of(&self, pid: u32, born: u64) -> Option<CpuSet> {
        self.record
            .snapshots
            .iter()
            .filter(|snapshot| snapshot.at_ns >= born)
            .find_map(|snapshot| snapshot.threads.get(&pid))
            .map(|thread| thread.allowed.both(self.record.cpus))
    }

    /// The CPUs of a new task that no snapshot has: the parent's, less what the bench is not
    /// confined to (a bench's first process is confined after its birth), if that leaves any.
    fn inherited(&self, parent: u32) -> CpuSet {
        match self.tasks.get(&parent) {
            Some(parent) => {
                let both = parent.allowed.both(&self.bench);
                if both.is_empty() {
                    parent.allowed.clone()
                } else {
                    both
                }
            }
            None => self.bench.clone(),
        }
    }

    /// From here on, tasks may run where the snapshot says.
    fn apply(&mut self, snapshot: &Snapshot) {
        for (&pid, thread) in &snapshot.threads {
            let allowed = thread.allowed.both(self.record.cpus);
            match self.tasks.get(&pid) {
                Some(task) if task.allowed != allowed => {
                    let state = task.state;
                    self.set_state(pid, State::Asleep, snapshot.at_ns);
                    if let Some(task) = self.tasks.get_mut(&pid) {
                        task.allowed = allowed;
                    }
                    self.set_state(pid, state, snapshot.at_ns);
                }
                _ => {}
            }
        }
    }

    fn step(&mut self, event: &Event) {
        let counts = u64::from(event.at_ns >= self.record.begin_ns);
        self.events += counts;
        match event.kind {
            Kind::Switch { prev, runnable, next } => {
                if prev == 0 {
                    self.end_idle(event.cpu, event.at_ns);
                } else {
                    let state = if runnable { State::Waiting } else { State::Asleep };
                    self.set_state(prev, state, event.at_ns);
                }
                if next == 0 {
                    self.begin_idle(event.cpu, event.at_ns);
                } else {
                    let waited = self.tasks.get(&next).is_some_and(|t| t.state == State::Waiting);
                    self.unannounced += counts * u64::from(!waited);
                    self.set_state(next, State::Running, event.at_ns);
                }
            }
            Kind::Wakeup { pid } => self.wake(pid, event.at_ns),
            Kind::WakeupNew { pid, parent } => {
                let allowed = self.snapshot_of(pid, event.at_ns);
                let allowed = allowed.unwrap_or_else(|| self.inherited(parent));
                self.set_state(pid, State::Asleep, event.at_ns);
                self.tasks.insert(pid, Task { state: State::Asleep, allowed });
                self.wake(pid, event.at_ns);
            }
            Kind::Migrate { .. } => self.migrations += counts,
        }
    }

    /// A wake-up of a task that still runs (it was about to sleep) leaves it running.
    fn wake(&mut self, pid: u32, at: u64) {
        if self.tasks.get(&pid).is_none_or(|task| task.state != State::Running) {
            self.set_state(pid, State::Waiting, at);
        }
    }

    fn set_state(&mut self, pid: u32, state: State, at: u64) {
        let bench = &self.bench;
        let task = self
            .tasks
            .entry(pid)
            .or_insert_with(|| Task { state: State::Asleep, allowed: bench.clone() });
        let before = std::mem::replace(&mut task.state, state);
        if (before == State::Waiting) == (state == State::Waiting) {
            return;
        }
        for cpu in task.allowed.iter() {
            let cpu = &mut self.cpus[cpu as usize];
            if state == State::Waiting {
                if cpu.waiters == 0 {
                    cpu.waiters_since = at;
                }
                cpu.waiters += 1;
            } else {
                if cpu.waiters == 1 {
                    self.wasted_ns += wasted(cpu, at, self.record.begin_ns);
                }
                cpu.waiters -= 1;
            }
        }
    }

    fn begin_idle(&mut self, cpu: u32, at: u64) {
        if let Some(cpu) = self.cpus.get_mut(cpu as usize) {
            cpu.idle_since = Some(at);
        }
    }

    fn end_idle(&mut self, cpu: u32, at: u64) {
        if !self.record.cpus.contains(cpu) {
            return;
        }
        let cpu = &mut self.cpus[cpu as usize];
        self.wasted_ns += wasted(cpu, at, self.record.begin_ns);
        if let Some(since) = cpu.idle_since.take() {
            self.idle_ns += at.saturating_sub(since.max(self.record.begin_ns));
        }
    }

    fn finish(mut self) -> Summary {
        let record = self.record;
        for cpu in record.cpus.iter() {
            self.end_idle(cpu, record.end_ns);
        }
        let span_ns = record.end_ns.saturating_sub(record.begin_ns);
        let cpus = record.cpus.iter().count() as u32;
        let unknown = record.cpus.iter().filter(|&cpu| !self.cpus[cpu as usize].known).count();
        let note = if record.lost > 0 {
            format!("{} events were lost: the trace buffer is too small", record.lost)
        } else if record.odd > 0 {
            format!("{} lines of the trace were not understood", record.odd)
        } else if unknown > 0 {
            format!("nothing is known of {unknown} CPUs")
        } else if span_ns == 0 || cpus == 0 {
            "the traced span is empty".into()
        } else {
            String::new()
        };
        let pct = |ns: u64| {
            note.is_empty().then(|| 100.0 * ns as f64 / (span_ns as f64 * f64::from(cpus)))
        };
        Summary {
            idle_while_waiting_pct: pct(self.wasted_ns),
            idle_pct: pct(self.idle_ns),
            events: self.events,
            migrations: self.migrations,
            unannounced: self.unannounced,
            lost: record.lost,
            odd: record.odd,
            cpus,
            span_ns,
            note,
        }
    }
}

/// What every task did when the record began, by the first event that tells: the first to be
/// switched out was running; who is switched in without a wake-up had been waiting. Who is
/// runnable in the first snapshot and then never seen waited throughout.
fn first_states(record: &Record) -> BTreeMap<u32, State> {
    let mut first = BTreeMap::new();
    // Woken before any switch: asleep, unless its first switch is one away (a task may be woken
    // while it still runs, about to sleep).
    let mut woken = BTreeSet::new();
    for event in record.events {
        match event.kind {
            Kind::Switch { prev, next, .. } => {
                first.entry(prev).or_insert(State::Running);
                let before = if woken.contains(&next) { State::Asleep } else { State::Waiting };
                first.entry(next).or_insert(before);
            }
            Kind::Wakeup { pid } => {
                woken.insert(pid);
            }
            Kind::WakeupNew { pid, .. } => {
                first.entry(pid).or_insert(State::Asleep);
            }
            Kind::Migrate { .. } => {}
        }
    }
    for pid in woken {
        first.entry(pid).or_insert(State::Asleep);
    }
    for (&pid, thread) in record.snapshots.first().iter().flat_map(|first| &first.threads) {
        let unseen = if thread.runnable { State::Waiting } else { State::Asleep };
        first.entry(pid).or_insert(unseen);
    }
    first.remove(&0);
    first
}

/// What counts of an idle stretch when it, or the waiting, ends at `at`.
fn wasted(cpu: &Cpu, at: u64, begin: u64) -> u64 {
    match cpu.idle_since {
        Some(since) if cpu.waiters > 0 => {
            at.saturating_sub(begin.max(cpu.waiters_since).max(since.saturating_add(GRACE_NS)))
        }
        _ => 0,
    }
}
