// SPDX-License-Identifier: GPL-2.0-only
//! The ground that scenes are played on: the machine, its flags, tasks that can be placed, and the
//! means to see what a CPU that goes idle does.

use std::cell::Cell;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{anyhow, bail, Context, Result};

use super::super::churn::cgroups;
use super::super::process::{become_ordinary, now_ns, sleep_until, Child, Shared};
use super::read::{self, Counters};
use crate::agent::fair::FEATURES;
use crate::agent::{kmsg, setup, system, SCHEDSTATS};
use crate::error::Failure;
use crate::tracer::CpuSet;

const EXPEDITED: &str = "/sys/kernel/rcu_expedited";
/// Tasks that a run can have, and words each.
const TASKS: usize = 4096;
const WORDS: usize = 5;
/// Naps that show whether a CPU of the LLC is marked.
const NAPS: u64 = 8;
/// Each.
const NAP: Duration = Duration::from_millis(1);
/// A task has come up, or something else has come about, by then.
const LIMIT_NS: u64 = 20_000_000_000;

/// The machine and all that is shared with tasks.
pub struct Ground {
    /// CPUs of the first LLC, in order: scenes are played there.
    pub near: Vec<u32>,
    /// CPUs of the last LLC; the last of them is `control`.
    pub far: Vec<u32>,
    /// Where this program itself runs: it goes idle too, but in another LLC.
    pub control: u32,
    /// NUMA nodes.
    pub nodes: u32,
    /// Flags of the scheduler as they were found.
    found: Vec<String>,
    words: Shared,
    next: Cell<usize>,
    /// The control group that new tasks enter; "" is the root.
    group: Cell<&'static str>,
    log: kmsg::Log,
}

impl Ground {
    /// Looks at the machine; an error if no scene can be played on it.
    pub fn new() -> Result<Self> {
        let refuse = |text: &str| Err(Failure::usage(format!("invariants: {text}")));
        if !Path::new("/proc/lockdep_stats").exists() {
            return refuse("this kernel checks no locks; boot the debug build (--kernel debug)");
        }
        let llcs = llcs()?;
        let nodes = setup::nodes();
        let suits = match nodes {
            0..=2 => {
                llcs.len() == 2 && llcs.iter().all(|l| l.len() == 8) && threads(llcs[0][0])? == 2
            }
            _ => llcs.len() > 2 && llcs.iter().all(|l| l.len() >= 2),
        };
        let (Some(near), Some(far), true) = (llcs.first(), llcs.last(), suits) else {
            return refuse(
                "needs 16 CPUs in 2 nodes with 2 threads a core (--cpus 16 --nodes 2 --smt 2), \
                 or more than 2 nodes of at least 2 CPUs",
            );
        };
        let found = read::file(FEATURES)?.split_whitespace().map(str::to_owned).collect();
        fs::write(SCHEDSTATS, "1").context(SCHEDSTATS)?;
        // traces, flags and hotplug wait for grace periods, and those for all hogs
        fs::write(EXPEDITED, "1").context(EXPEDITED)?;
        cgroups::set_up()?;
        Ok(Self {
            near: near.clone(),
            far: far.clone(),
            control: far.last().copied().unwrap_or_default(),
            nodes,
            found,
            words: Shared::new(TASKS * WORDS)?,
            next: Cell::new(0),
            group: Cell::new(""),
            log: kmsg::Log::open()?,
        })
    }

    /// Plays one scene with all flags as they were found, and puts them back; a complaint of the
    /// kernel's is an error.
    pub fn play(&mut self, scene: fn(&mut Self) -> Result<String>) -> Result<String> {
        let said = scene(self);
        let back = self.flags(&self.found.iter().map(String::as_str).collect::<Vec<_>>());
        // what is still on its way to the log
        wait_ms(1);
        let complaint = self.log.more()?.into_iter().find(|m| kmsg::is_complaint(m));
        match (complaint, back.and(said)) {
            (None, said) => said,
            (Some(line), Ok(_)) => Err(anyhow!("the kernel complained: {line}")),
            (Some(line), Err(error)) => {
                Err(error.context(format!("the kernel complained: {line}")))
            }
        }
    }

    /// Sets flags of the scheduler that are not so yet.
    pub fn flags(&self, flags: &[&str]) -> Result<()> {
        let there = read::file(FEATURES)?;
        for flag in flags {
            if !there.split_whitespace().any(|w| w == *flag) {
                fs::write(FEATURES, flag).with_context(|| format!("{FEATURES}: {flag}"))?;
            }
        }
        Ok(())
    }

    /// New tasks are born in this control group.
    pub fn enter(&self, group: &'static str) {
        self.group.set(group);
    }

    /// The words of a new task.
    fn slot(&self) -> Result<Slot<'_>> {
        let at = self.next.get();
        self.next.set(at + 1);
        let words = self.words.get(at * WORDS..(at + 1) * WORDS);
        Ok(Slot(words.ok_or_else(|| anyhow!("more than {TASKS} tasks"))?))
    }

    /// Starts an ordinary task on `cpus`; returns when it has run there.
    pub fn task(&self, cpus: &[u32], work: impl FnOnce(Slot) -> i32) -> Result<Task<'_>> {
        let slot = self.slot()?;
        let child = Child::fork(|| match begin(self.group.get(), cpus) {
            Ok(()) => work(slot),
            Err(error) => {
                eprintln!("invariants: {error:#}");
                1
            }
        })?;
        let task = Task { child, slot };
        until("a task has not run", || Ok(slot.rounds() > 0 || task.slot.done() > 0))?;
        Ok(task)
    }

    /// A task that never sleeps, and makes way for threads of the kernel.
    pub fn hog(&self, cpus: &[u32]) -> Result<Task<'_>> {
        let hog = self.task(cpus, |slot| loop {
            slot.come_round();
        })?;
        hog.set_nice(19)?;
        Ok(hog)
    }

    /// Several.
    pub fn hogs(&self, n: usize, cpus: &[u32]) -> Result<Vec<Task<'_>>> {
        (0..n).map(|_| self.hog(cpus)).collect()
    }

    /// A task that naps on one CPU for as long as it lives, so that the CPU goes idle.
    pub fn napper(&self, cpu: u32) -> Result<Task<'_>> {
        self.task(&[cpu], |slot| loop {
            slot.come_round();
            std::thread::sleep(NAP);
        })
    }

    /// A task that keeps a CPU busy until it is told to let it go idle.
    pub fn idler(&self, cpu: u32) -> Result<Idler<'_>> {
        let task = self.task(&[cpu], |slot| loop {
            slot.come_round();
            let naps = slot.done();
            if naps > 0 {
                slot.note(now_ns());
                for _ in 0..naps {
                    std::thread::sleep(NAP);
                    slot.come_round();
                }
                slot.finish(0);
            }
        })?;
        Ok(Idler { task, cpu })
    }

    /// Lets `cpu` go idle for `naps` times: what its counters say of it.
    pub fn naps(&self, cpu: u32, naps: u64) -> Result<Counters> {
        self.idler(cpu)?.naps(naps)
    }

    /// Fails unless `cpu` finds some CPU of its LLC marked as overloaded, or with `want` false
    /// none. Only tasks that may not come here are to wait.
    pub fn expect_marked(&self, cpu: u32, want: bool, when: &str) -> Result<()> {
        let seen = self.naps(cpu, NAPS)?;
        if seen.steals > 0 {
            bail!("{when}: CPU {cpu} has stolen a task that may not run there");
        }
        // threads of the kernel that wait for a moment mark their CPU too
        let ok = if want { seen.misses >= NAPS * 3 / 4 } else { seen.misses <= NAPS / 4 };
        if !ok {
            let word = if want { "none" } else { "one" };
            bail!(
                "{when}: CPU {cpu} finds {word} marked ({} of {NAPS} times one)",
                seen.misses.min(NAPS)
            );
        }
        Ok(())
    }
}

/// The words of one task.
#[derive(Clone, Copy)]
pub struct Slot<'a>(&'a [AtomicU64]);

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

/// See [`Ground::idler`].
pub struct Idler<'a> {
    task: Task<'a>,
    cpu: u32,
}

impl Idler<'_> {
    /// Lets its CPU go idle for so many times: what the CPU's counters say of it.
    pub fn naps(&self, naps: u64) -> Result<Counters> {
        let before = Counters::of(&[self.cpu])?;
        self.task.slot.finish(naps);
        until("naps have not ended", || Ok(self.task.slot.done() == 0))?;
        Ok(Counters::of(&[self.cpu])?.since(&before))
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
        super::super::process::set_class(self.pid(), policy, priority)
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

/// Sleeps for so many milliseconds.
pub fn wait_ms(ms: u64) {
    sleep_until(now_ns() + ms * 1_000_000);
}

/// Waits until something is so, far longer than it takes.
pub fn until(what: &str, mut so: impl FnMut() -> Result<bool>) -> Result<()> {
    let end = now_ns() + LIMIT_NS;
    while !so()? {
        if now_ns() > end {
            bail!("{what} after {} s", LIMIT_NS / 1_000_000_000);
        }
        sleep_until(now_ns() + 500_000);
    }
    Ok(())
}

/// Takes a CPU away or brings it back.
pub fn hotplug(cpu: u32, online: bool) -> Result<()> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/online");
    let word = if online { "1" } else { "0" };
    fs::write(&path, word).with_context(|| format!("{path}: the kernel does not take {word}"))
}

/// The CPUs that share each last-level cache, by their first CPU.
fn llcs() -> Result<Vec<Vec<u32>>> {
    let lists = setup::llcs(Path::new("/sys/devices/system/cpu"));
    let mut llcs = lists.iter().map(|list| cpus_of(list)).collect::<Result<Vec<_>>>()?;
    llcs.sort();
    Ok(llcs)
}

fn threads(cpu: u32) -> Result<usize> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
    Ok(cpus_of(&read::file(&path)?)?.len())
}

/// A list such as `0-3,8`.
fn cpus_of(list: &str) -> Result<Vec<u32>> {
    let set = CpuSet::parse(list).with_context(|| format!("no list of CPUs: {list}"))?;
    Ok(set.iter().collect())
}
