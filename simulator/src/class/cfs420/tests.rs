// SPDX-License-Identifier: GPL-2.0-only
//! Parts of the class that hackbench hardly moves, each alive in a small scene of its own.

#![allow(clippy::unwrap_used)]

use super::balance::Kind;
use crate::machine::MachineSpec;
use crate::os::{Sim, Stage};
use crate::policy::NONE;
use crate::sched::Sched;
use crate::simulate;
use crate::workload::Hackbench;

/// A machine without a workload.
fn scene(sched: &str) -> Sim {
    let sched = Sched::parse(sched).unwrap();
    Sim::new(&MachineSpec::e5_2630v4(), &Hackbench::new(0, 1, 0), &sched, 0)
}

/// `cpu` runs one task, and `waiting` more wait there.
fn occupy(s: &mut Sim, cpu: u32, waiting: u32) -> Vec<u32> {
    s.here = cpu;
    let tasks: Vec<u32> = (0..=waiting).map(|_| s.spawn(Stage::Send, 0, 0, cpu)).collect();
    tasks.iter().for_each(|t| s.activate(*t, cpu));
    s.cpus[cpu as usize].curr = s.pick_next(cpu);
    tasks
}

fn queues(s: &Sim) -> Vec<u32> {
    s.cpus.iter().map(|c| c.rq.nr).collect()
}

/// Newidle balancing pulls from an overloaded core, if the gates are open and the part is on.
#[test]
fn newidle_pulls_only_behind_its_gates() {
    let pulled = |avg_idle: u64, overload: bool, without: &[&str]| {
        let mut s = scene("cfs-4.20");
        occupy(&mut s, 4, 2);
        s.now = 10_000_000;
        s.here = 0;
        without.iter().for_each(|part| assert!(s.sched.parts.leave_out(part)));
        s.balance.overload = overload;
        s.cpus[0].rq.avg_idle = avg_idle;
        s.newly_idle(0);
        s.cpus[0].rq.nr
    };
    assert_eq!(pulled(600_000, true, &[]), 1);
    assert_eq!(pulled(400_000, true, &[]), 0, "idle for less than a migration costs");
    assert_eq!(pulled(400_000, true, &["avg_idle_gate"]), 1);
    assert_eq!(pulled(600_000, false, &[]), 0, "nobody has too much");
    assert_eq!(pulled(600_000, true, &["newidle"]), 0);
    assert_eq!(pulled(400_000, true, &["newidle", "avg_idle_gate"]), 0);
    let dear = |without: &[&str]| {
        let mut s = scene("cfs-4.20");
        occupy(&mut s, 4, 2);
        s.now = 10_000_000;
        s.here = 0;
        without.iter().for_each(|part| assert!(s.sched.parts.leave_out(part)));
        s.cpus[0].rq.avg_idle = 600_000;
        s.cpus[0].rq.domains.iter_mut().for_each(|d| d.max_newidle_lb_cost = 700_000);
        s.newly_idle(0);
        s.cpus[0].rq.nr
    };
    assert_eq!(dear(&[]), 0, "a pass costs more than the CPU is idle");
    assert_eq!(dear(&["avg_idle_gate"]), 1);
    let in_hackbench = |without: &[&str]| {
        let mut sched = Sched::parse("cfs-4.20").unwrap();
        without.iter().for_each(|part| assert!(sched.parts.leave_out(part)));
        let o = simulate(&MachineSpec::e5_2630v4(), &Hackbench::new(2, 100, 1700), &sched, 1);
        o.counters.iter().map(|c| c.newidle).sum::<u64>()
    };
    assert_eq!(in_hackbench(&[]), 0);
    let pulled = in_hackbench(&["avg_idle_gate"]);
    assert!(pulled > 100, "{pulled}");
    assert_eq!(in_hackbench(&["newidle", "avg_idle_gate"]), 0);
}

/// A cache-hot task stays: it ran within the migration cost.
#[test]
fn newidle_leaves_hot_tasks() {
    let mut s = scene("cfs-4.20");
    let tasks = occupy(&mut s, 4, 2);
    s.now = 10_000_000;
    tasks.iter().for_each(|t| s.tasks[*t as usize].se.exec_start = s.now - 400_000);
    s.here = 0;
    assert_eq!(s.load_balance(0, 1, Kind::Newidle), 0);
}

/// The top domain's pass clears rd->overload when nobody has more than one task.
#[test]
fn only_a_pass_over_all_clears_overload() {
    let mut s = scene("cfs-4.20");
    s.balance.overload = true;
    s.load_balance(0, 0, Kind::Newidle);
    assert!(s.balance.overload, "the lowest level does not know");
    s.load_balance(0, 1, Kind::Newidle);
    assert!(!s.balance.overload);
}

/// A tick of an idle CPU balances when its interval is over.
#[test]
fn ticks_balance() {
    for on in [true, false] {
        let mut s = scene("cfs-4.20");
        occupy(&mut s, 10, 3);
        s.sched.parts.periodic = on;
        s.sched.parts.nohz = false;
        s.now = 50_000_000;
        s.here = 0;
        s.trigger_balance(0);
        assert_eq!(queues(&s)[0] > 0, on, "{:?}", queues(&s));
    }
}

/// CPUs whose tick is stopped do not balance; one of them is told to, for all.
#[test]
fn a_busy_tick_has_stopped_cpus_balance() {
    for on in [true, false] {
        let mut s = scene("cfs-4.20");
        occupy(&mut s, 4, 5);
        s.sched.parts.nohz = on;
        s.cpus.iter_mut().for_each(|c| c.tick_stopped = true);
        s.cpus[4].act = crate::os::Act::Run;
        s.now = 5_000_000_000;
        s.here = 4;
        s.trigger_balance(4);
        assert_eq!(queues(&s)[4] < 6, on, "{:?}", queues(&s));
    }
}

/// A waker alone on its CPU is about to leave it to its wakee.
#[test]
fn a_waker_about_to_sleep_pulls() {
    for on in [true, false] {
        let mut s = scene("cfs-4.20");
        (0..20).for_each(|c| drop(occupy(&mut s, c, 0)));
        let wakee = s.spawn(Stage::Send, 0, 0, 9);
        s.sched.parts.wake_affine = on;
        s.here = 4;
        assert_eq!(s.select_task_rq(wakee, 4), if on { 4 } else { 9 });
    }
}

/// A waker with many partners, waking one with many, leaves it where it was; with few it pulls.
#[test]
fn wide_wakers_do_not_pull() {
    let chosen = |master: u32, slave: u32, wide: bool| {
        let mut s = scene("cfs-4.20");
        let waker = occupy(&mut s, 4, 0)[0];
        (0..20).filter(|c| *c != 4).for_each(|c| drop(occupy(&mut s, c, 0)));
        let wakee = s.spawn(Stage::Send, 0, 0, 9);
        s.sched.parts.wake_wide = wide;
        s.tasks[waker as usize].se.wakee_flips = master;
        s.tasks[wakee as usize].se.wakee_flips = slave;
        s.here = 4;
        s.select_task_rq(wakee, 4)
    };
    assert_eq!(chosen(5, 5, true), 4, "alone on its CPU and about to sleep");
    assert_eq!(chosen(2000, 30, true), 9);
    assert_eq!(chosen(2000, 30, false), 4);
}

/// The CPU before the last one is tried, and replaced by the last.
#[test]
fn the_cpu_before_the_last_is_tried() {
    for on in [true, false] {
        let mut s = scene("cfs-4.20+NO_SIS_CORE");
        let waker = occupy(&mut s, 4, 1)[0];
        (0..20).filter(|c| *c != 4 && *c != 17).for_each(|c| drop(occupy(&mut s, c, 1)));
        let wakee = s.spawn(Stage::Send, 0, 0, 9);
        s.tasks[wakee as usize].se.recent_used_cpu = 17;
        s.tasks[waker as usize].se.wakee_flips = 0;
        s.sched.parts.recent_used_cpu = on;
        s.cpus[4].rq.avg_idle = 0;
        s.here = 4;
        assert_eq!(s.select_task_rq(wakee, 4) == 17, on);
    }
}

/// Stealing takes what ran longest ago, and never the running task; with its gate shut, nothing.
#[test]
fn a_thief_takes_the_one_that_waits_longest() {
    let mut s = scene("cfs-4.20+STEAL");
    let tasks = occupy(&mut s, 7, 2);
    s.here = 0;
    s.newly_idle(0);
    let running = s.cpus[7].curr;
    let stolen = s.cpus[0].stolen;
    assert_eq!(stolen, *tasks.iter().find(|t| **t != running).unwrap());
    s.search_over(0);
    assert_eq!((s.cpus[0].rq.nr, s.cpus[7].rq.nr), (1, 2));
    s.here = 1;
    s.cpus[1].rq.avg_idle = 9_999;
    s.newly_idle(1);
    assert_eq!(s.cpus[1].stolen, NONE);
}
