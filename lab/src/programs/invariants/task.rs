// SPDX-License-Identifier: GPL-2.0-only
//! Tasks of a scene: where they may run, what they do, and where they were.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{bail, Context, Result};

use super::super::churn::cgroups;
use super::super::process::{become_ordinary, now_ns, set_class, Child};
use super::ground::{until, TRIES};
use super::read::{self, Counters};
use crate::agent::system;

/// Words of a task.
pub const WORDS: usize = 5;
/// A nap, in which a CPU goes idle.
pub const NAP: Duration = Duration::from_millis(1);

/// The words of one task.
#[derive(Clone, Copy)]
pub struct Slot<'a>(pub &'a [AtomicU64]);

impl Slot<'_> {
    /// Notes where the caller runs, and runs for a few microseconds.
    pub fn come_round(&self) {
        let cpu = current_cpu();
        let bit = 1 << cpu;
        if self.0[0].fetch_or(bit, Ordering::Relaxed) & bit == 0 {
            self.0[3].store(now_ns(), Ordering::Relaxed);
        }
        self.0[1].fetch_add(1, Ordering::Relaxed);
        for _ in 0..500 {
            std::hint::black_box(cpu);
        }
        // where guest CPUs take turns: the next one's, so that nobody waits for this one's tick
        std::hint::spin_loop();
    }

    /// A time that the task notes.
    fn note(&self, ns: u64) {
        self.0[4].store(ns, Ordering::Relaxed);
    }

    /// What an [`Idler`] does.
    pub fn nap_when_told(self) -> i32 {
        loop {
            self.come_round();
            let naps = self.done();
            if naps > 0 {
                self.note(now_ns());
                for _ in 0..naps {
                    std::thread::sleep(NAP);
                    self.come_round();
                }
                self.finish(0);
            }
        }
    }

    fn rounds(&self) -> u64 {
        self.0[1].load(Ordering::Relaxed)
    }

    /// A task's own word.
    pub fn finish(&self, word: u64) {
        self.0[2].store(word, Ordering::Release);
    }

    /// The same, read.
    pub fn done(&self) -> u64 {
        self.0[2].load(Ordering::Acquire)
    }
}

/// A task that keeps its only CPU busy until it is told to let it go idle.
pub struct Idler<'a> {
    task: Task<'a>,
    cpu: u32,
}

impl<'a> Idler<'a> {
    /// `task` does [`Slot::nap_when_told`] on `cpu`.
    pub fn new(task: Task<'a>, cpu: u32) -> Self {
        Self { task, cpu }
    }

    /// Lets its CPU go idle for so many times: what the CPU's counters say of it.
    pub fn naps(&self, naps: u64) -> Result<Counters> {
        let before = Counters::of(&[self.cpu])?;
        self.task.slot.finish(naps);
        until("naps have not ended", || Ok(self.task.slot.done() == 0))?;
        Ok(Counters::of(&[self.cpu])?.since(&before))
    }

    /// Lets tasks wait on `src`, then allows them this CPU too and lets it go idle: what its counters
    /// say of the first of some tries in which it has taken any.
    pub fn tempt<'b>(
        &self,
        tasks: impl Iterator<Item = &'b Task<'b>> + Clone,
        src: u32,
        naps: u64,
    ) -> Result<Counters> {
        let mut seen = Counters::default();
        for _ in 0..TRIES {
            for cpus in [&[src][..], &[src, self.cpu]] {
                tasks.clone().try_for_each(|t| t.allow(cpus))?;
            }
            seen = self.naps(naps)?;
            if seen.steals > 0 {
                break;
            }
        }
        Ok(seen)
    }

    /// When it went to its last first nap, nanoseconds.
    pub fn napped_at(&self) -> u64 {
        self.task.slot.0[4].load(Ordering::Relaxed)
    }
}

/// A task in a scene; it is gone when dropped.
pub struct Task<'a> {
    child: Child,
    slot: Slot<'a>,
}

impl<'a> Task<'a> {
    /// Starts an ordinary task in a control group ("": the root) on `cpus`; returns when it has run.
    pub fn start(
        slot: Slot<'a>,
        group: &str,
        cpus: &[u32],
        work: impl FnOnce(Slot<'a>) -> i32,
    ) -> Result<Self> {
        let child = Child::fork(|| match begin(group, cpus) {
            Ok(()) => work(slot),
            Err(error) => {
                eprintln!("invariants: {error:#}");
                1
            }
        })?;
        until("a task has not run", || Ok(slot.rounds() > 0 || slot.done() > 0))?;
        Ok(Self { child, slot })
    }

    pub fn pid(&self) -> libc::pid_t {
        self.child.pid()
    }

    pub fn slot(&self) -> Slot<'a> {
        self.slot
    }

    /// CPUs that it may use.
    pub fn allow(&self, cpus: &[u32]) -> Result<()> {
        let set = system::confine_process(self.pid(), cpus);
        set.with_context(|| format!("cannot confine a task to CPUs {cpus:?}"))
    }

    /// Forgets where it was.
    pub fn forget(&self) {
        self.slot.0[0].store(0, Ordering::Relaxed);
    }

    /// Whether it was on `cpu` since.
    pub fn was_on(&self, cpu: u32) -> bool {
        self.slot.0[0].load(Ordering::Relaxed) & (1 << cpu) != 0
    }

    /// When it was first on the CPU that it came to last, nanoseconds.
    pub fn came_at(&self) -> u64 {
        self.slot.0[3].load(Ordering::Relaxed)
    }

    /// Waits until it has not come round for a while: it is throttled.
    pub fn stand_still(&self) -> Result<()> {
        let mut seen = (self.rounds(), now_ns());
        until("a task is not throttled", || {
            if self.rounds() != seen.0 {
                seen = (self.rounds(), now_ns());
            }
            Ok(now_ns() - seen.1 > 10_000_000)
        })
    }

    /// How often it came round.
    pub fn rounds(&self) -> u64 {
        self.slot.rounds()
    }

    /// Its state in one letter: `R`, `S`, `T` …
    pub fn state(&self) -> Result<char> {
        let stat = read::file(&format!("/proc/{}/stat", self.pid()))?;
        let after = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
        after.context("a task without a state")
    }

    /// Stops it, or lets it go on; returns when that has come about.
    pub fn stop(&self, stopped: bool) -> Result<()> {
        self.signal(if stopped { libc::SIGSTOP } else { libc::SIGCONT });
        let rounds = self.rounds();
        until("a task has not stopped or not gone on", || {
            Ok(if stopped { self.state()? == 'T' } else { self.rounds() > rounds })
        })
    }

    pub fn signal(&self, signal: i32) {
        system::signal(self.pid(), signal);
    }

    pub fn set_nice(&self, nice: i32) -> Result<()> {
        self.child.set_nice(nice)
    }

    /// Sets its policy, with the priority of real-time ones.
    pub fn set_policy(&self, policy: i32, priority: i32) -> Result<()> {
        set_class(self.pid(), policy, priority)
    }
}

fn begin(group: &str, cpus: &[u32]) -> Result<()> {
    if !group.is_empty() && !cgroups::enter(group, 0) {
        bail!("a task cannot enter the group {group}");
    }
    system::confine(cpus)?;
    become_ordinary()
}

fn current_cpu() -> u32 {
    // SAFETY: sched_getcpu has no preconditions.
    unsafe { libc::sched_getcpu() as u32 }
}
