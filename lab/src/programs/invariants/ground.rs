// SPDX-License-Identifier: GPL-2.0-only
//! The ground that scenes are played on: the machine, its flags, tasks that can be placed, and the
//! means to see what a CPU that goes idle does.

use std::cell::Cell;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{anyhow, bail, Context, Result};

use super::super::churn::cgroups;
use super::super::process::{now_ns, sleep_until, Shared};
use super::read::{self, Counters};
use super::task::{Idler, Slot, Task, WORDS};
use crate::agent::fair::FEATURES;
use crate::agent::{kmsg, setup, system, SCHEDSTATS};
use crate::error::Failure;
use crate::tracer::CpuSet;

const EXPEDITED: &str = "/sys/kernel/rcu_expedited";
const WORKQUEUES: &str = "/sys/devices/virtual/workqueue/cpumask";
/// Tasks that a run can have.
const TASKS: usize = 4096;
/// Naps that show what a thief does, and whether a CPU of its LLC is marked.
pub const NAPS: u64 = 8;
/// Load balance may move a task before a thief does, or a thread of the kernel's spoil naps; not
/// so often in a row.
pub const TRIES: usize = 6;
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
        let control = far.last().copied().unwrap_or_default();
        herd_kernel_threads(control)?;
        Ok(Self {
            near: near.clone(),
            far: far.clone(),
            control,
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
        Task::start(self.slot()?, self.group.get(), cpus, work)
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
    pub fn napper(&self, cpu: u32, nap: Duration) -> Result<Task<'_>> {
        self.task(&[cpu], |slot| loop {
            slot.come_round();
            std::thread::sleep(nap);
        })
    }

    /// A task that keeps a CPU busy until it is told to let it go idle.
    pub fn idler(&self, cpu: u32) -> Result<Idler<'_>> {
        Ok(Idler::new(self.task(&[cpu], |slot| slot.nap_when_told())?, cpu))
    }

    /// Lets `cpu` go idle for `naps` times: what its counters say of it.
    pub fn naps(&self, cpu: u32, naps: u64) -> Result<Counters> {
        self.idler(cpu)?.naps(naps)
    }

    /// Lets `cpu` go idle for [`NAPS`] times, and some times over until it is as wanted: what its
    /// counters say of the last time.
    pub fn naps_until(&self, cpu: u32, so: impl Fn(&Counters) -> bool) -> Result<Counters> {
        let idler = self.idler(cpu)?;
        let mut seen = idler.naps(NAPS)?;
        for _ in 1..TRIES {
            if so(&seen) {
                break;
            }
            seen = idler.naps(NAPS)?;
        }
        Ok(seen)
    }

    /// Fails unless `cpu` finds some CPU of its LLC marked as overloaded, or with `want` false
    /// none, at rest: threads of the kernel that wait for a moment mark their CPU too, and have
    /// more to do after a task has gone or a CPU has come. Only tasks that may not come here are
    /// to wait.
    pub fn expect_marked(&self, cpu: u32, want: bool, when: &str) -> Result<()> {
        let as_wanted = |seen: &Counters| match want {
            true => seen.misses >= NAPS * 3 / 4,
            false => seen.misses <= NAPS / 4,
        };
        let seen = self.naps_until(cpu, |seen| seen.steals > 0 || as_wanted(seen))?;
        if seen.steals > 0 {
            bail!("{when}: CPU {cpu} has stolen a task that may not run there");
        }
        if !as_wanted(&seen) {
            let (word, times) = (if want { "none" } else { "one" }, seen.misses.min(NAPS));
            bail!("{when}: CPU {cpu} finds {word} marked ({times} of {NAPS} times one)");
        }
        Ok(())
    }
}

/// The kernel's threads that may run anywhere run on one CPU from now on, where nobody steals them
/// and they steal no idle CPU; those of a CPU stay.
fn herd_kernel_threads(cpu: u32) -> Result<()> {
    fs::write(WORKQUEUES, format!("{:x}", 1_u64 << cpu)).context(WORKQUEUES)?;
    for entry in fs::read_dir("/proc").context("/proc")? {
        let path = entry.context("/proc")?.path();
        let pid = path.file_name().and_then(|name| name.to_str()?.parse().ok());
        // they have no command line; one may be gone, and one of a CPU refuses
        if let (Some(pid), Ok("")) = (pid, fs::read_to_string(path.join("cmdline")).as_deref()) {
            let _ = system::confine_process(pid, &[cpu]);
        }
    }
    Ok(())
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
