// SPDX-License-Identifier: GPL-2.0-only
//! The search for an idle CPU (idle search, invariants 1 to 5). All CPUs of the LLC are busy but
//! those that a scene empties; a *waker* that never sleeps wakes one *sleeper* that always comes
//! from the waker's CPU, so that this is target and previous CPU of every search.
//!
//! With 2 threads a core `SIS_LIMIT` ends a scan at the 4th CPU without looking at it.

use std::os::unix::net::UnixDatagram;

use anyhow::{anyhow, bail, Result};

use super::super::random::Random;
use super::ground::{hotplug, until, wait_ms, Ground, TRIES};
use super::read::{self, Counters, Follow, Trace};
use super::task::Task;
use crate::agent::{setup, system};

/// CPUs that a search with `SIS_LIMIT` looks at: 2 · max(2, siblings) − 1.
const LOOKED_AT: usize = 3;
/// CPUs of the LLC.
const SPAN: usize = 8;
/// Rounds of a scene that wake-ups of the kernel's own threads may spoil: these move the start of
/// the next search on, too.
const SPOILED: usize = 3;
/// Searches until all of them have been looked at.
const TO_REACH_ALL: usize = SPAN.div_ceil(LOOKED_AT);

/// Waker, sleeper, and a hog on every other CPU of the LLC.
struct Hall<'a> {
    target: u32,
    waker: Task<'a>,
    sleeper: Task<'a>,
    /// By CPU.
    hogs: Vec<(u32, Task<'a>)>,
    /// The sleeper's wake-ups, with the CPU that was chosen; ends last, when nothing is busy.
    wakeups: Follow,
}

/// What came of a wake-up.
#[derive(Debug)]
struct Woken {
    /// Where the sleeper was sent.
    cpu: u32,
    seen: Counters,
}

impl Woken {
    /// Whether the search has found this CPU.
    fn found(&self, cpu: u32) -> bool {
        self.cpu == cpu && self.seen.cpu_hit + self.seen.core_hit > 0
    }
}

impl<'a> Hall<'a> {
    fn new(ground: &'a Ground, at: usize, flags: &[&str]) -> Result<Self> {
        let target = ground.near[at];
        // a sleeper that is still queued wakes without a search
        ground.flags(&["NO_STEAL", "NO_DELAY_DEQUEUE", "NO_NEWIDLE"])?;
        ground.flags(flags)?;
        let (bell, ear) = UnixDatagram::pair()?;
        let sleeper = ground.task(&[target], |slot| sleep_at(&slot, target, &ear))?;
        let wakeups = Trace::follow("sched/sched_wakeup", sleeper.pid())?;
        let waker = ground.task(&[target], |slot| loop {
            slot.come_round();
            if slot.done() == 1 {
                slot.finish(0);
                if bell.send(b"w").is_err() {
                    return 1;
                }
            }
        })?;
        // so that a sleeper that stays here runs soon
        waker.set_nice(19)?;
        let others = ground.near.iter().filter(|&&c| c != target);
        let hogs: Result<Vec<_>> = others.map(|&c| Ok((c, ground.hog(&[c])?))).collect();
        Ok(Self { target, waker, sleeper, wakeups, hogs: hogs? })
    }

    fn hog(&self, cpu: u32) -> Result<&Task<'a>> {
        match self.hogs.iter().find(|h| h.0 == cpu) {
            Some(hog) => Ok(&hog.1),
            None => bail!("CPU {cpu} has the waker"),
        }
    }

    /// Makes a CPU idle, or busy again.
    fn idle(&self, cpu: u32, idle: bool) -> Result<()> {
        self.hog(cpu)?.stop(idle)?;
        // until the CPU has seen it
        wait_ms(2);
        Ok(())
    }

    /// Wakes the sleeper, which may run on `allowed`.
    fn wake(&mut self, allowed: &[u32]) -> Result<Woken> {
        until("the sleeper does not sleep", || {
            Ok(self.sleeper.slot().done() == 0 && self.sleeper.state()? == 'S')
        })?;
        self.sleeper.allow(allowed)?;
        let before = Counters::of(&[self.target])?;
        self.waker.slot().finish(1);
        until("the sleeper has not woken", || Ok(self.sleeper.slot().done() > 0))?;
        let seen = Counters::of(&[self.target])?.since(&before);
        let chosen = self.wakeups.newest().and_then(|e| e.number("target_cpu="));
        self.sleeper.slot().finish(0);
        match chosen {
            Some(cpu) => Ok(Woken { cpu: cpu as u32, seen }),
            None => bail!("the trace does not show a wake-up"),
        }
    }

    /// Wakes it as often while no CPU is idle.
    fn wake_in_vain(&mut self, times: usize, allowed: &[u32]) -> Result<()> {
        for _ in 0..times {
            let woken = self.wake(allowed)?;
            if woken.seen.cpu_hit + woken.seen.core_hit > 0 && woken.cpu != self.target {
                bail!("all CPUs are busy, and a search found CPU {}", woken.cpu);
            }
        }
        Ok(())
    }

    /// How many searches it takes to find `cpu`, if no more than `most` do.
    fn searches_for(&mut self, cpu: u32, most: usize, allowed: &[u32]) -> Result<Option<usize>> {
        for n in 1..=most {
            if self.wake(allowed)?.found(cpu) {
                return Ok(Some(n));
            }
        }
        Ok(None)
    }
}

/// Sleeps, says that it woke, and goes back to sleep on `home`.
fn sleep_at(slot: &super::task::Slot, home: u32, ear: &UnixDatagram) -> i32 {
    let mut byte = [0];
    slot.come_round();
    loop {
        if ear.recv(&mut byte).is_err() {
            return 1;
        }
        slot.finish(1);
        // until the trace has been read: going home wakes it once more
        while slot.done() != 0 {
            slot.come_round();
        }
        if system::confine(&[home]).is_err() {
            return 1;
        }
    }
}

/// Random masks and random idle CPUs, in this LLC and in the other one, which is all idle.
pub fn allowed(ground: &mut Ground) -> Result<String> {
    const ROUNDS: usize = 12;
    let mut hall = Hall::new(ground, 0, &["SIS_LIMIT", "SIS_ROTATE", "NO_SIS_CORE"])?;
    let seed = setup::seed_of(&read::file("/proc/cmdline")?);
    let mut random = Random::new(seed, 1);
    let (mut hits, mut forbidden) = (0, 0);
    for _ in 0..ROUNDS {
        let idle: Vec<u32> = hall.hogs.iter().map(|h| h.0).filter(|_| random.one_in(2)).collect();
        for &cpu in &idle {
            hall.hog(cpu)?.stop(true)?;
        }
        let mut mask = vec![hall.target];
        let others = ground.near.iter().chain(&ground.far).filter(|&&c| c != hall.target);
        mask.extend(others.filter(|_| random.one_in(3)));
        wait_ms(2);
        for _ in 0..TO_REACH_ALL {
            let woken = hall.wake(&mask)?;
            // a hit of a thread of the kernel's does not move the sleeper
            if woken.seen.cpu_hit == 0 || woken.cpu == hall.target {
                continue;
            }
            if !idle.contains(&woken.cpu) || !mask.contains(&woken.cpu) {
                bail!("found CPU {} with {mask:?} allowed and {idle:?} idle in the LLC", woken.cpu);
            }
            hits += 1;
        }
        forbidden += idle.iter().filter(|c| !mask.contains(c)).count();
        for &cpu in &idle {
            hall.hog(cpu)?.stop(false)?;
        }
    }
    if hits < ROUNDS / 2 {
        bail!("{hits} CPUs found in {ROUNDS} rounds: too few");
    }
    Ok(format!("{hits} found, {forbidden} idle ones of the LLC forbidden"))
}

/// One idle CPU at each distance from the target: found if among the first three, else not.
pub fn limit(ground: &mut Ground) -> Result<String> {
    for at in [0, 4] {
        let mut hall = Hall::new(ground, at, &["SIS_LIMIT", "NO_SIS_ROTATE", "NO_SIS_CORE"])?;
        for distance in 1..SPAN {
            let idle = ground.near[(at + distance) % SPAN];
            hall.idle(idle, true)?;
            // a thread of the kernel's may keep the CPU busy for a moment, or make the hit
            let mut woken = hall.wake(&ground.near)?;
            for _ in 1..TRIES {
                if woken.found(idle) == (distance <= LOOKED_AT) {
                    break;
                }
                woken = hall.wake(&ground.near)?;
            }
            if woken.found(idle) != (distance <= LOOKED_AT) {
                bail!("the idle CPU is {distance} after the target, and the search: {woken:?}");
            }
            hall.idle(idle, false)?;
        }
    }
    Ok(format!("{LOOKED_AT} CPUs and no more, from 2 targets"))
}

/// The CPU that a search has found, where the next one begins, goes away.
pub fn start_is_gone(ground: &mut Ground) -> Result<String> {
    let mut hall = Hall::new(ground, 0, &["SIS_LIMIT", "SIS_ROTATE", "NO_SIS_CORE"])?;
    let mut spoiled = 0;
    for n in 1..SPAN {
        let (gone, idle) = (ground.near[n], ground.near[1 + n % (SPAN - 1)]);
        while let Err(error) = found_while_gone(&mut hall, ground, gone, idle)? {
            spoiled += 1;
            if spoiled > SPOILED {
                return Err(error);
            }
        }
    }
    Ok(format!("{} CPUs, each in turn", SPAN - 1))
}

/// Whether `gone` is found, and then `idle` while that is away.
fn found_while_gone(hall: &mut Hall, ground: &Ground, gone: u32, idle: u32) -> Result<Result<()>> {
    let left: Vec<u32> = ground.near.iter().copied().filter(|&c| c != gone).collect();
    hall.idle(gone, true)?;
    if hall.searches_for(gone, TO_REACH_ALL, &ground.near)?.is_none() {
        hall.idle(gone, false)?;
        return Ok(Err(anyhow!("CPU {gone} is not found by {TO_REACH_ALL} searches")));
    }
    hotplug(gone, false)?;
    hall.idle(idle, true)?;
    let found = hall.searches_for(idle, left.len().div_ceil(LOOKED_AT), &left);
    hall.idle(idle, false)?;
    hotplug(gone, true)?;
    hall.hog(gone)?.allow(&[gone])?;
    hall.idle(gone, false)?;
    Ok(match found? {
        Some(_) => Ok(()),
        None => Err(anyhow!("CPU {idle} is not found while CPU {gone}, where it begins, is away")),
    })
}

/// One idle CPU anywhere, and a start anywhere: found within the least number of searches that
/// looks at all. Without SIS_ROTATE a far one never is.
pub fn coverage(ground: &mut Ground) -> Result<String> {
    let mut hall = Hall::new(ground, 0, &["SIS_LIMIT", "SIS_ROTATE", "NO_SIS_CORE"])?;
    let (mut most, mut spoiled) = (0, 0);
    for distance in 1..SPAN {
        let idle = ground.near[distance];
        let mut begin = 0;
        while begin < 3 {
            hall.wake_in_vain(begin, &ground.near)?;
            hall.idle(idle, true)?;
            let found = hall.searches_for(idle, TO_REACH_ALL, &ground.near)?;
            hall.idle(idle, false)?;
            if let Some(n) = found {
                most = most.max(n);
                begin += 1;
                continue;
            }
            spoiled += 1;
            if spoiled > SPOILED {
                bail!("CPU {idle} is not found by {TO_REACH_ALL} searches");
            }
        }
    }
    ground.flags(&["NO_SIS_ROTATE"])?;
    let far = ground.near[LOOKED_AT + 1];
    hall.idle(far, true)?;
    if let Some(n) = hall.searches_for(far, 2 * SPAN, &ground.near)? {
        bail!(
            "without SIS_ROTATE the far CPU {far} is found by search {n}: this scene shows nothing"
        );
    }
    Ok(format!("within {most} searches each; without SIS_ROTATE not within {}", 2 * SPAN))
}

/// There is an idle core and the hint says so: only SIS_CORE finds it.
pub fn hint_not_read(ground: &mut Ground) -> Result<String> {
    let mut hall = Hall::new(ground, 0, &["SIS_LIMIT", "NO_SIS_ROTATE", "NO_SIS_CORE"])?;
    let core = [ground.near[6], ground.near[7]];
    for cpu in core {
        hall.idle(cpu, true)?;
    }
    for _ in 0..4 {
        let woken = hall.wake(&ground.near)?;
        if woken.seen.core_hit > 0 {
            bail!("without SIS_CORE an idle core was looked for, and found at CPU {}", woken.cpu);
        }
    }
    ground.flags(&["SIS_CORE"])?;
    // a thread of the kernel's may keep a CPU of the core busy for a moment
    for n in 1..=TRIES {
        let woken = hall.wake(&ground.near)?;
        if woken.seen.core_hit > 0 && core.contains(&woken.cpu) {
            return Ok(format!("4 times not found without, with it by search {n}"));
        }
    }
    bail!("with SIS_CORE {TRIES} searches have not found the idle core")
}

/// The hint says that there is an idle core, and there is none. Searches without SIS_CORE leave it
/// so: the first one with it believes the hint and so passes the target's idle sibling by, looks in
/// vain and clears it; the second one tries the sibling.
pub fn hint_not_cleared(ground: &mut Ground) -> Result<String> {
    let mut hall = Hall::new(ground, 1, &["SIS_LIMIT", "NO_SIS_ROTATE"])?;
    let sibling = ground.near[0];
    let mut found = (false, false);
    for _ in 0..=SPOILED {
        ground.flags(&["NO_SIS_CORE"])?;
        hall.idle(sibling, false)?;
        for idle in [true, false] {
            for cpu in [ground.near[6], ground.near[7]] {
                hall.idle(cpu, idle)?;
            }
        }
        hall.wake_in_vain(6, &ground.near)?;
        hall.idle(sibling, true)?;
        ground.flags(&["SIS_CORE"])?;
        let (first, second) = (hall.wake(&ground.near)?, hall.wake(&ground.near)?);
        found = (first.found(sibling), second.found(sibling));
        if found == (false, true) {
            return Ok("6 searches left it set, one with SIS_CORE cleared it".into());
        }
    }
    match found {
        (true, _) => bail!("6 searches without SIS_CORE have cleared the hint"),
        _ => bail!("a search with SIS_CORE has not cleared the hint: this scene shows nothing"),
    }
}
