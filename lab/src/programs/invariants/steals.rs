// SPDX-License-Identifier: GPL-2.0-only
//! What stealing does: it loses nothing (stealing, invariant 1), holds one lock (4), leaves no CPU
//! of an LLC idle beside a waiting task (6), and comes after newidle balance (10).

use std::time::Duration;

use anyhow::{bail, Result};

use super::super::process::now_ns;
use super::super::random::Random;
use super::ground::{until, wait_ms, Ground};
use super::never::{DST, SRC};
use super::read::{self, Counters};
use super::task::Task;
use crate::agent::{setup, system};

/// Steals that count as many.
const MANY: u64 = 2000;
/// Guest time for them.
const MANY_NS: u64 = 20_000_000_000;
/// Rounds of a scene that is about chance.
const ROUNDS: usize = 20;
/// A nap that is longer than newidle balance takes where CPUs take turns.
const LONG: Duration = Duration::from_millis(20);
/// A waiting task is taken long before: a steal takes tens of microseconds in the debug build, and
/// periodic balance comes with a tick, every 4 ms.
const SOON_NS: u64 = 1_500_000;

fn allow(tasks: &[Task], cpus: &[u32]) -> Result<()> {
    tasks.iter().try_for_each(|task| task.allow(cpus))
}

/// Every CPU takes from every other one.
pub fn every_pair(ground: &mut Ground) -> Result<String> {
    ground.flags(&["STEAL", "NO_NEWIDLE"])?;
    let near = &ground.near;
    let mut pairs = 0;
    for &src in near {
        let tasks = ground.hogs(3, &[src])?;
        for &dst in near.iter().filter(|&&c| c != src) {
            let idler = ground.idler(dst)?;
            // a timer may end a nap before the CPU is idle
            if idler.tempt(tasks.iter(), src, 1)?.steals == 0 {
                bail!("CPU {dst} goes idle while tasks wait on CPU {src}, and takes none");
            }
            allow(&tasks, &[src])?;
            pairs += 1;
        }
    }
    Ok(format!("{pairs} pairs"))
}

/// How many rounds out of [`ROUNDS`] a waiting task ran on a CPU soon after that went idle; and the
/// longest that it took there.
fn soon(ground: &Ground) -> Result<(usize, u64)> {
    let (src, dst) = (ground.near[SRC], ground.near[DST]);
    let tasks = ground.hogs(3, &[src])?;
    let idler = ground.idler(dst)?;
    let (mut taken, mut longest) = (0, 0);
    for _ in 0..ROUNDS {
        tasks.iter().for_each(Task::forget);
        allow(&tasks, &[src, dst])?;
        idler.naps(5)?;
        let came = tasks.iter().filter(|t| t.was_on(dst)).map(Task::came_at).min();
        let delay = came.and_then(|at| at.checked_sub(idler.napped_at()));
        if let Some(delay) = delay.filter(|&d| d < SOON_NS) {
            taken += 1;
            longest = longest.max(delay);
        }
        allow(&tasks, &[src])?;
    }
    Ok((taken, longest))
}

/// With nothing else that would bring it work, a CPU that goes idle has some at once; and without
/// stealing it has not, so that it was stealing.
pub fn work_conservation(ground: &mut Ground) -> Result<String> {
    ground.flags(&["STEAL", "NO_NEWIDLE"])?;
    let (with, longest) = soon(ground)?;
    ground.flags(&["NO_STEAL"])?;
    let (without, _) = soon(ground)?;
    // a timer may end a nap before the CPU is idle, and periodic balance may come at once
    if with < ROUNDS * 3 / 4 || without > ROUNDS / 4 {
        bail!("a task ran soon in {with} of {ROUNDS} rounds, without STEAL in {without}");
    }
    let us = longest / 1000;
    Ok(format!("{with} of {ROUNDS} within {us} us; without STEAL {without} within 1500 us"))
}

/// Where newidle balance brings a task, none is stolen; where it does not, one is.
pub fn after_newidle(ground: &mut Ground) -> Result<String> {
    // so that newidle balance does try: no dice, no task too warm, and idle for longer on average
    // than it takes, which is milliseconds where an emulator's CPUs take turns
    ground.flags(&["STEAL", "NO_NI_RANDOM"])?;
    let _warm = read::Setting::change("migration_cost_ns", "0")?;
    let (src, dst) = (ground.near[SRC], ground.near[DST]);
    let tasks = ground.hogs(4, &[src])?;
    let napper = ground.napper(dst, LONG)?;
    wait_ms(400);
    drop(napper);
    let idler = ground.idler(dst)?;
    let (mut balanced, mut stolen) = (0, 0);
    for round in 0..2 * ROUNDS {
        // every other round it may not
        ground.flags(if round % 2 == 0 { &["NEWIDLE"] } else { &["NO_NEWIDLE"] })?;
        let gained = read::newidle_gained(dst)?;
        allow(&tasks, &[src, dst])?;
        let steals = idler.naps(1)?.steals;
        let gained = read::newidle_gained(dst)? - gained;
        if steals > 0 && gained > 0 {
            bail!(
                "round {round}: newidle balance brought {gained} tasks, and {steals} were stolen"
            );
        }
        balanced += usize::from(gained > 0);
        stolen += usize::from(steals > 0);
        allow(&tasks, &[src])?;
    }
    if balanced == 0 || stolen == 0 {
        bail!("newidle balance helped {balanced} times, a steal {stolen} times: too few");
    }
    Ok(format!("{balanced} rounds by newidle balance, {stolen} by a steal, none by both"))
}

/// Thousands of steals, among tasks that run, nap and change places; then all stop, and no queue
/// may count anything; then all go on, and each has to come round.
pub fn conservation(ground: &mut Ground) -> Result<String> {
    ground.flags(&["STEAL", "NO_NEWIDLE"])?;
    let near = &ground.near;
    let seed = setup::seed_of(&read::file("/proc/cmdline")?);
    let mut tasks = Vec::new();
    for n in 0..near.len() + near.len() / 2 {
        let mut random = Random::new(seed, n as u64);
        tasks.push(ground.task(near, move |slot| loop {
            for _ in 0..random.between(10, 100) {
                slot.come_round();
            }
            std::thread::sleep(Duration::from_micros(random.between(20, 300)));
        })?);
    }
    let (before, begin) = (Counters::of(near)?, now_ns());
    let mut steals = 0;
    while steals < MANY {
        wait_ms(20);
        steals = Counters::of(near)?.since(&before).steals;
        if now_ns() > begin + MANY_NS {
            bail!("only {steals} steals");
        }
    }
    let rounds: Vec<u64> = tasks.iter().map(Task::rounds).collect();
    let all_ran = |since: &[u64]| tasks.iter().zip(since).all(|(t, &r)| t.rounds() > r);
    until("a task is lost: it has not come round", || Ok(all_ran(&rounds)))?;
    tasks.iter().for_each(|t| t.signal(libc::SIGSTOP));
    wait_ms(20);
    for &cpu in near {
        // a thread of the kernel's may be there for a moment
        let empty = || Ok(read::queue(cpu)? == read::Queue::default());
        until(&format!("all tasks are stopped, but CPU {cpu} counts some"), empty)?;
    }
    let rounds: Vec<u64> = tasks.iter().map(Task::rounds).collect();
    tasks.iter().for_each(|t| t.signal(libc::SIGCONT));
    until("a task is lost: it has not gone on", || Ok(all_ran(&rounds)))?;
    for task in &tasks {
        system::signal(task.pid(), 0);
    }
    Ok(format!("{} tasks after {steals} steals", tasks.len()))
}

/// The kernel's lock checker was on for all of them: two locks of one class at once end it.
pub fn one_lock(ground: &mut Ground) -> Result<String> {
    let all: Vec<u32> = ground.near.iter().chain(&ground.far).copied().collect();
    if !read::locks_are_checked()? {
        bail!("the kernel's lock checker has ended itself");
    }
    let before = Counters::of(&all)?.steals;
    if before < MANY {
        every_pair(ground)?;
    }
    let steals = Counters::of(&all)?.steals;
    match read::locks_are_checked()? && steals > 0 {
        true => Ok(format!("{steals} steals with locks checked")),
        false => bail!("locks were not checked, or nothing was stolen"),
    }
}
