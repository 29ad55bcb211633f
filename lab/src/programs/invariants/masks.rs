// SPDX-License-Identifier: GPL-2.0-only
//! At rest a CPU is marked as overloaded if and only if it has two runnable fair tasks or more, and
//! STEAL is on (stealing, invariant 5): after everything that changes the count, the mask or its
//! pointers. The tasks that wait are pinned, so that the mark is all that a thief can find.

use std::os::unix::net::UnixDatagram;

use anyhow::{bail, Result};

use super::super::churn::cgroups;
use super::super::process::cpu_clock_ns;
use super::ground::{hotplug, until, wait_ms, Ground};
use super::never::{DST, OTHER, SRC};
use super::read;
use super::task::Task;

/// CPUs that go and come, or become a partition: a core that nobody uses.
const AWAY: [usize; 2] = [6, 7];

/// Source, and the CPU that looks for marks.
fn begin(ground: &Ground) -> Result<(u32, u32)> {
    ground.flags(&["STEAL", "NO_NEWIDLE"])?;
    ground.expect_marked(ground.near[DST], false, "at first")?;
    Ok((ground.near[SRC], ground.near[DST]))
}

/// The same with two tasks on the source.
fn overloaded(ground: &Ground) -> Result<(Vec<Task<'_>>, u32, u32)> {
    let (src, dst) = begin(ground)?;
    let tasks = ground.hogs(2, &[src])?;
    ground.expect_marked(dst, true, "two tasks")?;
    Ok((tasks, src, dst))
}

pub fn fork_and_exit(ground: &mut Ground) -> Result<String> {
    let (src, dst) = begin(ground)?;
    let mut tasks = Vec::new();
    for n in 1..=4 {
        tasks.push(ground.hog(&[src])?);
        ground.expect_marked(dst, n >= 2, &format!("{n} tasks"))?;
    }
    while tasks.pop().is_some() {
        let n = tasks.len();
        ground.expect_marked(dst, n >= 2, &format!("{n} tasks left"))?;
    }
    Ok("from 0 to 4 tasks and back".into())
}

pub fn stop_and_continue(ground: &mut Ground) -> Result<String> {
    let (tasks, _, dst) = overloaded(ground)?;
    for _ in 0..3 {
        tasks[0].stop(true)?;
        ground.expect_marked(dst, false, "one of two is stopped")?;
        tasks[0].stop(false)?;
        ground.expect_marked(dst, true, "it goes on")?;
    }
    Ok("3 times".into())
}

/// A task that has run ahead of its share sleeps: it stays in the queue, but is not runnable.
pub fn delayed_dequeue(ground: &mut Ground) -> Result<String> {
    /// Of processor time, in one go; at nice 19 that puts it ahead by 140 ms.
    const AHEAD_NS: u64 = 2_000_000;
    let (src, dst) = begin(ground)?;
    let hog = ground.hog(&[src])?;
    hog.set_nice(0)?;
    let (ours, theirs) = UnixDatagram::pair()?;
    let sleeper = ground.task(&[src], |slot| delayed(&slot, &theirs, AHEAD_NS))?;
    sleeper.set_nice(19)?;
    let (mut seen, mut orders) = (0, 0);
    while seen < 3 {
        ours.send(b"s")?;
        let asleep = 2 * orders + 1;
        orders += 1;
        until("a task has not gone to sleep", || Ok(sleeper.slot().done() == asleep))?;
        wait_ms(1);
        // the hog, and the sleeper in the queue; a thread of the kernel's may be there too
        let is_delayed = || -> Result<bool> {
            let queue = read::queue(src)?;
            Ok((queue.queued, queue.runnable) == (2, 1))
        };
        let before = is_delayed()?;
        let marked = ground.expect_marked(dst, false, "one runs, one sleeps in the queue");
        if before && is_delayed()? {
            marked?;
            seen += 1;
        }
        ours.send(b"w")?;
        until("a task has not woken", || Ok(sleeper.slot().done() == asleep + 1))?;
        ground.expect_marked(dst, true, "the sleeper is awake")?;
        if orders == 10 && seen == 0 {
            bail!("sleepers leave the queue at once: this scene shows nothing");
        }
    }
    drop(hog);
    Ok("3 sleepers in the queue, not counted; counted when awake".into())
}

/// Waits for an order, runs ahead, sleeps in the queue; runs again when woken; and so on.
fn delayed(slot: &super::task::Slot, orders: &UnixDatagram, ahead_ns: u64) -> i32 {
    let mut byte = [0];
    let _ = orders.set_nonblocking(true);
    slot.come_round();
    loop {
        while orders.recv(&mut byte).is_err() {
            slot.come_round();
        }
        let end = cpu_clock_ns() + ahead_ns;
        while cpu_clock_ns() < end {
            slot.come_round();
        }
        let _ = orders.set_nonblocking(false);
        slot.finish(slot.done() + 1);
        if orders.recv(&mut byte).is_err() {
            return 1;
        }
        slot.finish(slot.done() + 1);
        let _ = orders.set_nonblocking(true);
    }
}

pub fn classes(ground: &mut Ground) -> Result<String> {
    let (tasks, src, dst) = overloaded(ground)?;
    for (policy, priority, marked, when) in [
        (libc::SCHED_FIFO, 1, false, "one is SCHED_FIFO"),
        (libc::SCHED_RR, 1, false, "one is SCHED_RR"),
        (libc::SCHED_OTHER, 0, true, "both are fair again"),
        (libc::SCHED_FIFO, 1, false, "one is SCHED_FIFO again"),
        (libc::SCHED_IDLE, 0, true, "one is SCHED_IDLE"),
        (libc::SCHED_BATCH, 0, true, "one is SCHED_BATCH"),
        (libc::SCHED_OTHER, 0, true, "both are ordinary"),
    ] {
        tasks[0].set_policy(policy, priority)?;
        // threads of the kernel that wait behind a real-time task count too, until they have run
        let mut wrong = 0;
        until(&format!("{when}: threads of the kernel wait"), || {
            let alone = || -> Result<bool> { Ok(marked || read::queue(src)?.runnable == 1) };
            let before = alone()?;
            let seen = ground.expect_marked(dst, marked, when);
            if !before || !alone()? {
                return Ok(false);
            }
            wrong += u32::from(seen.is_err());
            match wrong {
                3.. => seen.map(|()| true),
                _ => Ok(seen.is_ok()),
            }
        })?;
    }
    for nice in [-20, 19, 0] {
        tasks[1].set_nice(nice)?;
        ground.expect_marked(dst, true, &format!("one has nice {nice}"))?;
    }
    Ok("fair, FIFO, RR, batch, idle; nice -20 to 19".into())
}

pub fn moved(ground: &mut Ground) -> Result<String> {
    let (tasks, src, dst) = overloaded(ground)?;
    let other = ground.near[OTHER];
    for (first, second, marked) in
        [(other, src, false), (other, other, true), (src, other, false), (src, src, true)]
    {
        tasks[0].allow(&[first])?;
        tasks[1].allow(&[second])?;
        let when = format!("on CPUs {first} and {second}");
        ground.expect_marked(dst, marked, &when)?;
        let steals = ground.naps(src.min(other), 1)?.steals;
        if steals > 0 {
            bail!("{when}: a pinned task was stolen");
        }
    }
    Ok("two tasks apart and together, on either CPU".into())
}

/// With core scheduling nothing is stolen; the mask goes on.
pub fn core_scheduling(ground: &mut Ground) -> Result<String> {
    let (mut tasks, src, dst) = overloaded(ground)?;
    let far = ground.far[0];
    let cookie = ground.task(&[far], |slot| {
        // SAFETY: a plain system call: a cookie for the calling task.
        let status =
            unsafe { libc::prctl(libc::PR_SCHED_CORE, libc::PR_SCHED_CORE_CREATE, 0, 0, 0) };
        slot.finish(if status == 0 { 1 } else { 2 });
        loop {
            slot.come_round();
        }
    })?;
    if cookie.slot().done() != 1 {
        bail!("the kernel gives no cookie (PR_SCHED_CORE)");
    }
    ground.expect_marked(dst, false, "core scheduling is on, so nobody looks")?;
    tasks.pop();
    drop(cookie);
    tasks.push(ground.hog(&[src])?);
    // it is switched off by work of the kernel's
    until("nobody looks after core scheduling", || Ok(ground.naps(dst, 4)?.misses > 2))?;
    tasks.pop();
    ground.expect_marked(dst, false, "one task is left")?;
    Ok("on, a task goes, off".into())
}

/// All domains of the machine are built anew, with empty masks.
pub fn other_cpu_goes(ground: &mut Ground) -> Result<String> {
    let (mut tasks, _, dst) = overloaded(ground)?;
    let goes = ground.near[AWAY[1]];
    for _ in 0..2 {
        hotplug(goes, false)?;
        let away = ground.expect_marked(dst, true, "another CPU has gone");
        hotplug(goes, true)?;
        away?;
        ground.expect_marked(dst, true, "another CPU has come back")?;
    }
    hotplug(goes, false)?;
    tasks.pop();
    let away = ground.expect_marked(dst, false, "a task went while another CPU was away");
    hotplug(goes, true)?;
    away?;
    ground.expect_marked(dst, false, "the CPU is back")?;
    Ok("3 times, with two tasks and with one".into())
}

pub fn cpu_goes(ground: &mut Ground) -> Result<String> {
    let (mut tasks, src, dst) = overloaded(ground)?;
    hotplug(src, false)?;
    wait_ms(5);
    hotplug(src, true)?;
    // their masks were widened when their only CPU went
    for task in &tasks {
        task.allow(&[src])?;
    }
    ground.expect_marked(dst, true, "the source has been away")?;
    hotplug(dst, false)?;
    hotplug(dst, true)?;
    ground.expect_marked(dst, true, "the thief has been away")?;
    tasks.pop();
    ground.expect_marked(dst, false, "one task is left")?;
    Ok("source and thief".into())
}

pub fn partitions(ground: &mut Ground) -> Result<String> {
    let (tasks, src, dst) = overloaded(ground)?;
    let (first, last) = (ground.near[AWAY[0]], ground.near[AWAY[1]]);
    let apart = |cpus: &str, kind: &str| -> Result<()> {
        if !cgroups::set(cgroups::PART, "cpuset.cpus", cpus)
            || !cgroups::set(cgroups::PART, "cpuset.cpus.partition", kind)
            || cgroups::get(cgroups::PART, "cpuset.cpus.partition") != kind
        {
            bail!("CPUs {cpus} do not become a `{kind}`");
        }
        Ok(())
    };
    let played = (|| {
        apart(&format!("{first}-{last}"), "root")?;
        ground.expect_marked(dst, true, "other CPUs are a partition")?;
        apart(&format!("{first}-{last}"), "member")?;
        ground.expect_marked(dst, true, "they are none again")?;
        apart(&format!("{src},{dst}"), "member")?;
        for task in &tasks {
            cgroups::enter(cgroups::PART, task.pid());
        }
        ground.enter(cgroups::PART);
        apart(&format!("{src},{dst}"), "root")?;
        ground.expect_marked(dst, true, "source and thief are a partition")?;
        apart(&format!("{src},{dst}"), "isolated")?;
        ground.expect_marked(dst, false, "isolated CPUs have no domain, so nobody looks")?;
        apart(&format!("{src},{dst}"), "member")?;
        ground.expect_marked(dst, true, "all CPUs are together again")
    })();
    ground.enter("");
    cgroups::set(cgroups::PART, "cpuset.cpus.partition", "member");
    drop(tasks);
    played?;
    Ok("of others, of source and thief, without domains, and back".into())
}

pub fn flag_under_load(ground: &mut Ground) -> Result<String> {
    let (mut tasks, src, dst) = overloaded(ground)?;
    for _ in 0..3 {
        ground.flags(&["NO_STEAL"])?;
        ground.expect_marked(dst, false, "STEAL is off, so nobody looks")?;
        ground.flags(&["STEAL"])?;
        ground.expect_marked(dst, true, "STEAL is on again")?;
    }
    ground.flags(&["NO_STEAL"])?;
    tasks.pop();
    ground.flags(&["STEAL"])?;
    ground.expect_marked(dst, false, "a task went while STEAL was off")?;
    ground.flags(&["NO_STEAL"])?;
    tasks.push(ground.hog(&[src])?);
    ground.flags(&["STEAL"])?;
    ground.expect_marked(dst, true, "a task came while STEAL was off")?;
    Ok("5 times; tasks came and went meanwhile".into())
}
