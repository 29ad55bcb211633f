// SPDX-License-Identifier: GPL-2.0-only
//! What must hold whatever is simulated. Small runs, looked at after every event.

#![allow(clippy::unwrap_used)]

use super::*;

/// A run-queue lock was held.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) by: u32,
    pub(crate) rq: u32,
    pub(crate) from: Time,
    pub(crate) until: Time,
}

fn sim(machine: &MachineSpec, sched: &str, groups: u32, loops: u32, seed: u64) -> Sim {
    let sched = Sched::parse(sched).unwrap();
    Sim::new(machine, &Hackbench::new(groups, loops, 1700), &sched, seed)
}

fn runs(check: impl Fn(&mut Sim)) {
    for machine in [MachineSpec::e5_2630v4(), MachineSpec::e5_2630v4_2s()] {
        for sched in ["cfs-4.20", "cfs-4.20+STEAL", "cfs-4.20+SIS_LIMIT+SIS_ROTATE"] {
            for groups in [1, 3] {
                check(&mut sim(&machine, sched, groups, 12, 5));
            }
        }
    }
}

/// Where a task is: the queues that count it, the CPUs that run it, the thieves that carry it.
fn places(s: &Sim) -> Vec<[u32; 3]> {
    let mut places = vec![[0; 3]; s.tasks.len()];
    for c in &s.cpus {
        c.rq.tasks().for_each(|t| places[t as usize][0] += 1);
        if c.curr != NONE {
            places[c.curr as usize][1] += 1;
        }
        if c.stolen != NONE {
            places[c.stolen as usize][2] += 1;
        }
    }
    places
}

/// A task that is lost never runs again; one that is on two queues runs twice at once.
#[test]
fn a_task_is_in_one_place() {
    runs(|s| {
        while s.run_event() {
            let places = places(s);
            for (id, t) in s.tasks.iter().enumerate() {
                let [queued, running, carried] = places[id];
                assert!(running <= 1 && queued + carried <= 1, "task {id}: {:?}", places[id]);
                assert_eq!(queued == 1, t.on_rq, "task {id}");
                if t.state == State::Runnable {
                    assert_eq!(queued + carried, 1, "task {id} is lost: {t:?}");
                }
            }
            for c in &s.cpus {
                assert_eq!(c.rq.nr as usize, c.rq.tasks().count());
            }
        }
        assert!(s.tasks.iter().all(|t| t.state == State::Dead));
    });
}

/// A running task cannot be moved: its registers are on its CPU.
#[test]
fn what_a_thief_carries_runs_nowhere() {
    let mut carried = 0;
    let mut s = sim(&MachineSpec::e5_2630v4(), "cfs-4.20+STEAL", 2, 60, 1);
    while s.run_event() {
        for c in s.cpus.iter().filter(|c| c.stolen != NONE) {
            carried += 1;
            assert!(s.cpus.iter().all(|other| other.curr != c.stolen));
        }
    }
    assert!(carried > 0, "nothing was stolen");
}

/// Two run-queue locks at once need an order among all who do so; the series needs none because a
/// CPU drops its own first. And a lock has one holder.
#[test]
fn one_run_queue_lock_at_a_time() {
    runs(|s| {
        s.run();
        let mut by_holder = s.locks.clone();
        by_holder.sort_by_key(|h| (h.by, h.from, h.until));
        for pair in by_holder.windows(2).filter(|p| p[0].by == p[1].by) {
            assert!(pair[0].until <= pair[1].from, "{pair:?}");
        }
        let mut by_lock = s.locks.clone();
        by_lock.sort_by_key(|h| (h.rq, h.from, h.until));
        for pair in by_lock.windows(2).filter(|p| p[0].rq == p[1].rq) {
            assert!(pair[0].until <= pair[1].from, "{pair:?}");
        }
    });
}

/// Every stretch of running begins with a wake-up and ends with schedule(); every stay in idle
/// begins and ends with one. A wake-up or a switch that is not counted breaks it.
#[test]
fn sched_is_idle_and_wake_and_preempted() {
    runs(|s| {
        s.run();
        let sum = |f: fn(&Counters) -> u64| s.cpus.iter().map(|c| f(&c.counters)).sum::<u64>();
        assert_eq!(sum(|c| c.sched), sum(|c| c.idle) + sum(|c| c.wake) + sum(|c| c.preempted));
    });
}

/// A switch is a change of the running task, the idle task included: schedule() that keeps the
/// task, or leaves the CPU idle again, is none.
#[test]
fn a_switch_is_a_change_of_the_running_task() {
    runs(|s| {
        let mut running: Vec<u32> = s.cpus.iter().map(|c| c.curr).collect();
        let mut changes = vec![0; running.len()];
        while s.run_event() {
            for (cpu, c) in s.cpus.iter().enumerate() {
                changes[cpu] += u64::from(c.curr != running[cpu]);
                running[cpu] = c.curr;
            }
        }
        let counted: Vec<u64> = s.cpus.iter().map(|c| c.counters.switches).collect();
        assert_eq!(counted, changes);
    });
}

/// All messages arrive, whatever the scheduler does.
#[test]
fn all_messages_arrive() {
    runs(|s| {
        s.run();
        assert_eq!(s.received, s.workload.messages());
        assert!(s.channels.iter().all(|c| c.is_empty()));
    });
}

/// A release that leaves more than a quarter wakes nobody; the next one wakes all senders that
/// sleep, the last that came first, because the kernel's wait list is filled at its head.
#[test]
fn writers_are_woken_together_the_last_first() {
    let mut s = sim(&MachineSpec::e5_2630v4(), "cfs-4.20", 1, 100, 0);
    let reader = s.channels[3].reader;
    s.here = s.tasks[reader as usize].cpu;
    let here = s.here as usize;
    s.cpus[here].curr = reader;
    s.allocate();
    s.channels[3].fill(71, &[5, 9, 2]);
    for (left, woken) in [(70, vec![]), (69, vec![5, 9, 2])] {
        s.release(reader);
        assert_eq!(s.channels[3].len(), left);
        assert_eq!(s.cpus[here].wakes, woken, "the next to be woken is the last");
    }
    assert_eq!(s.cpus[here].act, Act::Select);
}

/// The same seed gives the same run to the last event; another seed another.
#[test]
fn a_seed_is_a_run() {
    let digest = |seed| {
        let mut s = sim(&MachineSpec::e5_2630v4(), "cfs-4.20+STEAL", 2, 20, seed);
        s.run();
        s.outcome()
    };
    assert_eq!(digest(3), digest(3));
    assert_ne!(digest(3).digest, digest(4).digest);
}

/// Debug and release builds, and any C compiler at any level, take the same decisions. The figure
/// changes with every change of the model, and only then.
#[test]
fn every_build_gives_the_same_digest() {
    let mut s = sim(&MachineSpec::e5_2630v4(), "cfs-4.20+STEAL", 2, 20, 0);
    s.run();
    assert_eq!(s.digest.value(), 0x5956_cc64_6b5f_2e22, "{:#x}", s.digest.value());
}
