// SPDX-License-Identifier: GPL-2.0-only
//! The tasks that are disturbed: each comes round in less than 10 ms of CPU time.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::super::process::{become_ordinary, now_ns, Child};
use super::super::random::Random;
use super::{Phase, Stage};
use crate::agent::system;

/// What a pinned worker ends with when it finds itself on another CPU.
pub const ELSEWHERE: i32 = 3;
/// Where pinned workers are: the CPU that never goes away.
const HOME: u32 = 0;

/// Comes round until all end; the status that the process ends with.
pub fn work(stage: &Stage, worker: usize, pinned: bool) -> i32 {
    let mut random = Random::new(stage.seed, 1000 + worker as u64);
    let confined = if pinned { system::confine(&[HOME]) } else { Ok(()) };
    if let Err(error) = become_ordinary().and_then(|()| Ok(confined?)) {
        eprintln!("churn: worker {worker}: {error:#}");
        return 1;
    }
    let mut last = now_ns();
    while stage.is_before(Phase::AllEnd) {
        let ok = match worker % 4 {
            0 => spin(random.between(50, 5000)),
            1 => nap(&mut random, 50, 3000),
            2 => nap(&mut random, 5, 100),
            _ if random.one_in(2) => fork(&mut random),
            _ => give_way(random.between(50, 500)),
        };
        if !ok {
            return 1;
        }
        // SAFETY: sched_getcpu has no preconditions.
        if pinned && unsafe { libc::sched_getcpu() } != HOME as i32 {
            return ELSEWHERE;
        }
        let now = now_ns();
        stage.longest(worker).fetch_max(now - last, Ordering::Relaxed);
        stage.rounds(worker).fetch_add(1, Ordering::Relaxed);
        last = now;
    }
    0
}

/// Runs for `us` of its own CPU time.
pub fn spin(us: u64) -> bool {
    let end = super::super::process::cpu_clock_ns() + us * 1000;
    while super::super::process::cpu_clock_ns() < end {}
    true
}

/// Runs, then sleeps: long runs end in the lag that delays a dequeue.
fn nap(random: &mut Random, low: u64, high: u64) -> bool {
    spin(random.between(low, high));
    std::thread::sleep(Duration::from_micros(random.between(20, 2000)));
    true
}

/// A child that runs for a moment.
fn fork(random: &mut Random) -> bool {
    let us = random.between(10, 1000);
    match Child::fork(|| i32::from(!spin(us))) {
        Ok(child) => child.wait().is_ok(),
        Err(error) => {
            eprintln!("churn: {error:#}");
            false
        }
    }
}

/// Runs and yields by turns.
fn give_way(us: u64) -> bool {
    for _ in 0..4 {
        spin(us / 4);
        std::thread::yield_now();
    }
    true
}
