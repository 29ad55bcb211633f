// SPDX-License-Identifier: GPL-2.0-only
//! What is never stolen (stealing, invariants 2 and 3). Each scene first shows that the thief tried
//! and took nothing, and then that it takes the very task once nothing forbids it.

use std::fs;

use anyhow::{bail, Context, Result};

use super::ground::{hotplug, until, wait_ms, Ground, NAPS, TRIES};
use super::read::{Counters, Trace};
use super::task::{Task, NAP};

/// Source, thief, and one that is neither; of different cores.
pub const SRC: usize = 2;
pub const DST: usize = 4;
pub const OTHER: usize = 6;

/// Fails unless `dst` tried and took nothing.
fn refused(ground: &Ground, dst: u32, what: &str) -> Result<()> {
    let tried = |seen: &Counters| seen.misses >= NAPS / 2;
    let seen = ground.naps_until(dst, |seen| seen.steals > 0 || tried(seen))?;
    if seen.steals > 0 {
        bail!("{what}: stolen");
    }
    if !tried(&seen) {
        bail!("{what}: the thief has not tried ({} misses in {NAPS} naps)", seen.misses);
    }
    Ok(())
}

/// Fails unless `dst` takes one of these from `src`, where they are and wait.
pub fn taken<'a>(
    ground: &Ground,
    tasks: impl Iterator<Item = &'a Task<'a>> + Clone,
    (src, dst): (u32, u32),
    what: &str,
) -> Result<()> {
    let seen = ground.idler(dst)?.tempt(tasks, src, NAPS)?;
    if seen.steals == 0 {
        let misses = seen.misses;
        bail!("{what}: nothing is stolen in {NAPS} naps, though it may be ({misses} misses)");
    }
    Ok(())
}

fn stealing(ground: &Ground) -> Result<(u32, u32, u32)> {
    ground.flags(&["STEAL", "NO_NEWIDLE"])?;
    Ok((ground.near[SRC], ground.near[DST], ground.near[OTHER]))
}

/// One runs all the time, and the one that waits is pinned.
pub fn running(ground: &mut Ground) -> Result<String> {
    let (src, dst, _) = stealing(ground)?;
    let waits = ground.hog(&[src])?;
    waits.set_policy(libc::SCHED_IDLE, 0)?;
    let runs = ground.hog(&[src])?;
    runs.set_nice(-20)?;
    let mut held = Ok(());
    for _ in 0..TRIES {
        runs.allow(&[src])?;
        wait_ms(2);
        runs.allow(&[src, dst])?;
        held = refused(ground, dst, "the running task, beside one that is pinned and waits");
        // it waits for a moment when a thread of the kernel's runs, and may be taken then; the
        // debug build complains of one that is taken while it runs
        if held.is_ok() {
            break;
        }
    }
    held?;
    waits.set_policy(libc::SCHED_OTHER, 0)?;
    waits.set_nice(-20)?;
    runs.set_nice(19)?;
    taken(ground, [&runs].into_iter(), (src, dst), "the same task when it waits")?;
    Ok("tried, and taken only when it waits".into())
}

/// Tasks whose mask has other CPUs, but not the thief's.
pub fn not_allowed(ground: &mut Ground) -> Result<String> {
    let (src, dst, other) = stealing(ground)?;
    let busy = ground.hog(&[other])?;
    let tasks = ground.hogs(3, &[src])?;
    for task in &tasks {
        task.allow(&[src, other])?;
    }
    refused(ground, dst, "a task that may not run there")?;
    if tasks.iter().any(|t| t.was_on(dst)) {
        bail!("a task ran on CPU {dst}, which its mask does not have");
    }
    drop(busy);
    taken(ground, tasks.iter(), (src, dst), "a task that may run there")?;
    Ok("none of 3, and one once its mask allows it".into())
}

/// Tasks with one CPU.
pub fn pinned(ground: &mut Ground) -> Result<String> {
    let (src, dst, _) = stealing(ground)?;
    let tasks = ground.hogs(3, &[src])?;
    for thief in ground.near.iter().copied().filter(|&c| c != src) {
        refused(ground, thief, &format!("a pinned task, by CPU {thief}"))?;
    }
    if let Some(cpu) = ground.near.iter().find(|&&c| c != src && tasks.iter().any(|t| t.was_on(c)))
    {
        bail!("a pinned task ran on CPU {cpu}");
    }
    taken(ground, tasks.iter(), (src, dst), "a task that is no longer pinned")?;
    Ok("none of 3 by any of 7 thieves".into())
}

/// The kernel runs a socket's filter without migration: a long one is preempted in its midst.
pub fn migration_disabled(ground: &mut Ground) -> Result<String> {
    let (src, dst, _) = stealing(ground)?;
    let pinned = ground.hog(&[src])?;
    pinned.set_nice(0)?;
    let sender = ground.task(&[src], |slot| match send_for_ever(&slot) {
        Ok(never) => never,
        Err(error) => {
            eprintln!("invariants: {error:#}");
            1
        }
    })?;
    let thief = ground.napper(dst, NAP)?;
    let before = Counters::of(&[dst])?;
    for _ in 0..30 {
        sender.allow(&[src])?;
        wait_ms(1);
        sender.allow(&[src, dst])?;
        wait_ms(4);
    }
    let seen = Counters::of(&[dst])?.since(&before);
    drop((thief, sender, pinned));
    if seen.misses == 0 || seen.steals == 0 {
        bail!("{} steals, {} misses: no task was met in both states", seen.steals, seen.misses);
    }
    // a steal in the wrong state is a complaint of the kernel's
    Ok(format!("met {} times in a filter, taken {} times outside", seen.misses, seen.steals))
}

/// Sends itself datagrams through a filter of the greatest length.
fn send_for_ever(slot: &super::task::Slot) -> Result<i32> {
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixDatagram;
    let (to, from) = UnixDatagram::pair()?;
    // BPF_LD | BPF_IMM: load a constant; BPF_RET | BPF_K: 0 bytes pass
    let step = libc::sock_filter { code: 0x00, jt: 0, jf: 0, k: 1 };
    let end = libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: 0 };
    let mut filter = vec![step; 4095];
    filter.push(end);
    let program = libc::sock_fprog { len: 4096, filter: filter.as_mut_ptr() };
    // SAFETY: `program` and what it points to outlive the call, which copies them.
    let set = unsafe {
        libc::setsockopt(
            to.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const program).cast(),
            size_of_val(&program) as libc::socklen_t,
        )
    };
    if set != 0 {
        bail!("a socket takes no filter: {}", std::io::Error::last_os_error());
    }
    loop {
        for _ in 0..20 {
            slot.come_round();
        }
        from.send(b"x")?;
    }
}

/// Work that the kernel gives to a thread of each CPU, while a thief looks for work there.
pub fn kernel_threads(ground: &mut Ground) -> Result<String> {
    let (src, dst, _) = stealing(ground)?;
    let hog = ground.hog(&[src])?;
    hog.set_nice(-20)?;
    let thief = ground.napper(dst, NAP)?;
    let before = Counters::of(&[dst])?;
    let trace = Trace::start(&["sched/sched_migrate_task"])?;
    let mut seen = Counters::default();
    for round in 0..400 {
        if round >= 40 && seen.misses > 0 {
            break;
        }
        fs::read("/proc/sys/vm/stat_refresh").context("/proc/sys/vm/stat_refresh")?;
        wait_ms(1);
        seen = Counters::of(&[dst])?.since(&before);
    }
    drop((thief, hog));
    for event in trace.stop()? {
        let (comm, to) = (event.word("comm="), event.number("dest_cpu="));
        if let (Some(home), Some(to)) = (home(comm), to) {
            if home != to {
                bail!("{comm} came to CPU {to}");
            }
        }
    }
    if seen.steals > 0 {
        bail!("{} of a CPU's own threads were stolen", seen.steals);
    }
    if seen.misses == 0 {
        bail!("no thread was met while it waited");
    }
    Ok(format!("met {} times while they waited, none taken", seen.misses))
}

/// The CPU that a kernel thread's name, `NAME/CPU…`, has in it.
fn home(comm: &str) -> Option<u64> {
    let rest = comm.split_once('/')?.1;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// Tasks wait in one LLC, a CPU of the other goes idle.
pub fn across_llcs(ground: &mut Ground) -> Result<String> {
    let (_, dst, _) = stealing(ground)?;
    let (src, mate) = (ground.far[SRC], ground.far[DST]);
    let tasks = ground.hogs(4, &[src])?;
    for task in &tasks {
        task.allow(&[src, dst])?;
    }
    let seen = ground.naps_until(dst, |seen| seen.steals > 0 || seen.misses <= NAPS / 4)?;
    if seen.steals > 0 || seen.misses > NAPS / 4 {
        bail!("CPU {dst} looks at the other LLC: {} steals, {} misses", seen.steals, seen.misses);
    }
    taken(ground, tasks.iter(), (src, mate), "a task of the same LLC")?;
    Ok("neither taken nor looked at".into())
}

/// A CPU with one task is no source; one with two gives one.
pub fn last_task(ground: &mut Ground) -> Result<String> {
    let (src, dst, other) = stealing(ground)?;
    let first = ground.hog(&[src])?;
    first.allow(&[src, dst, other])?;
    // a thread of the kernel's may run for a moment, and the task wait
    let rare = |seen: &Counters| seen.steals + seen.misses <= NAPS / 4;
    let seen = ground.naps_until(dst, rare)?;
    if !rare(&seen) {
        bail!("the only task: {} steals, {} misses", seen.steals, seen.misses);
    }
    first.allow(&[src])?;
    let second = ground.hog(&[src])?;
    let seen = ground.idler(dst)?.tempt([&first, &second].into_iter(), src, NAPS)?;
    if seen.steals != 1 {
        bail!("one of two: {} steals in {NAPS} naps", seen.steals);
    }
    for task in [&first, &second] {
        task.allow(&[src, dst, other])?;
    }
    // CPUs src and dst have one each now, and a third one goes idle
    let seen = ground.naps_until(other, rare)?;
    if !rare(&seen) {
        bail!("the last tasks of two CPUs: {} steals, {} misses", seen.steals, seen.misses);
    }
    Ok("one of one stays, one of two".into())
}

/// The CPU that goes and comes.
const GOES: usize = 5;
/// So often.
const TIMES: u64 = 4;

/// CPUs go and come under load. From its step `sched:active` on until that step back, a CPU is
/// inactive; what moves is in the trace.
pub fn inactive(ground: &mut Ground) -> Result<String> {
    ground.flags(&["STEAL", "NO_NEWIDLE"])?;
    let near = [ground.near[SRC], ground.near[GOES], ground.near[DST]];
    let goes = near[1];
    let tasks = ground.hogs(6, &near)?;
    let nappers: Result<Vec<Task>> = near.iter().map(|&c| ground.napper(c, NAP)).collect();
    let nappers = nappers?;
    let before = Counters::of(&near)?;
    let trace = Trace::start(&["cpuhp/cpuhp_enter", "sched/sched_migrate_task"])?;
    for _ in 0..TIMES {
        hotplug(goes, false)?;
        wait_ms(3);
        hotplug(goes, true)?;
        // the napper of that CPU may go anywhere now
        nappers[1].allow(&[goes])?;
        wait_ms(10);
    }
    let events = trace.stop()?;
    let pids: Vec<u64> = tasks.iter().map(|t| t.pid() as u64).collect();
    let (mut away, mut steps, mut checked) = (false, 0, 0);
    for event in &events {
        if event.name == "cpuhp_enter" && event.number("cpu: ") == Some(u64::from(goes)) {
            if event.has("(sched_cpu_deactivate)") {
                (away, steps) = (true, steps + 1);
            } else if event.has("(sched_cpu_activate)") {
                away = false;
            }
        }
        let moved = event.name == "sched_migrate_task";
        if !moved || !away || !event.number(" pid=").is_some_and(|p| pids.contains(&p)) {
            continue;
        }
        checked += 1;
        let (from, to) = (event.number("orig_cpu="), event.number("dest_cpu="));
        if to == Some(u64::from(goes)) {
            bail!("a task came to CPU {goes} while it was inactive");
        }
        // its own stopper pushes tasks away; anybody else has stolen
        if from == Some(u64::from(goes)) && event.cpu != goes && to == Some(u64::from(event.cpu)) {
            bail!("CPU {} took a task from CPU {goes} while that was inactive", event.cpu);
        }
    }
    let steals = Counters::of(&near)?.since(&before).steals;
    if steps != TIMES || checked == 0 || steals == 0 {
        bail!("{steps} steps, {checked} moves, {steals} steals: the trace shows too little");
    }
    until("a task has not come round", || Ok(tasks.iter().all(|t| t.rounds() > 1)))?;
    Ok(format!("{TIMES} times, {checked} moves meanwhile, {steals} steals in all"))
}
