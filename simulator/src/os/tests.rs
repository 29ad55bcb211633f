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

/// Two sockets and `tasks` tasks, with nothing yet to do.
fn scene(tasks: u32) -> Sim {
    let mut s = sim(&MachineSpec::e5_2630v4_2s(), "cfs-4.20", 0, 1, 0);
    for _ in 0..tasks {
        s.spawn(Stage::Send, 0, 0, 0);
    }
    s.alive = tasks as usize;
    s
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
    s.channels[3].fill(71, &[5, 9, 2], &Kernel::default());
    for (left, woken) in [(70, vec![]), (69, vec![5, 9, 2])] {
        s.release(reader);
        assert_eq!(s.channels[3].len(), left);
        assert_eq!(s.cpus[here].wakes, woken, "the next to be woken is the last");
    }
    assert_eq!(s.cpus[here].act, Act::Select);
}

/// `cpu` runs `task` of a workload that has not begun, until `until`.
fn running(s: &mut Sim, task: u32, cpu: u32, until: Time) {
    s.here = cpu;
    s.tasks[task as usize].cpu = cpu;
    s.activate(task, cpu);
    let curr = s.pick_next(cpu);
    let c = &mut s.cpus[cpu as usize];
    (c.curr, c.act, c.resting) = (curr, Act::Run, false);
    s.post(cpu, until);
}

/// TTWU_QUEUE: a waker never waits for the run-queue lock of a CPU without a cache in common. That
/// CPU queues the task when the interrupt has come, or as it leaves idle; a running task takes
/// longer by that, and nobody takes the CPU for idle meanwhile.
#[test]
fn a_wake_up_across_sockets_is_queued_there() {
    let woken = |target: u32, busy: bool| {
        let mut s = scene(3);
        running(&mut s, 0, 0, 500_000);
        if busy {
            running(&mut s, 1, target, 50_000);
            s.cpus[target as usize].lock_until = 20_000;
            s.cpus[target as usize].deaf_until = 22_000;
        }
        (s.now, s.clock, s.here) = (10_000, 10_000, 0);
        s.cpus[0].wakes = vec![2];
        s.tasks[2].state = State::Waking;
        s.wake_enqueue(0, 2, target);
        assert!(!s.cpus[target as usize].idle(), "{target}");
        s
    };
    // In the same LLC: at once if the lock is free, not before it is free if it is not.
    assert_eq!((woken(5, false).cpus[5].rq.nr, woken(5, true).cpus[5].rq.nr), (1, 1));
    assert_eq!(woken(5, true).slots.get(0), 20_000, "spins");
    for busy in [false, true] {
        let mut s = woken(15, busy);
        assert!(s.slots.get(0) < 15_000, "the waker goes on");
        assert_eq!((s.cpus[15].rq.nr, s.cpus[15].wake_list.len()), (u32::from(busy), 1));
        assert_eq!(s.cpus[0].counters.wake, 1);
        s.post(0, NEVER);
        while s.cpus[15].rq.nr == u32::from(busy) {
            assert!(s.run_event());
        }
        assert!(s.cpus[15].wake_list.is_empty() && s.tasks[2].on_rq && s.tasks[2].cpu == 15);
        assert!(s.locks.iter().filter(|h| h.rq == 15).all(|h| h.by == 15), "{:?}", s.locks);
        let queued = s.locks.last().unwrap();
        assert_eq!(queued.from, s.now);
        if busy {
            assert_eq!(s.now, 22_000, "it holds a lock: no interrupt before");
            assert_eq!(s.slots.get(15), 50_000 + (queued.until - queued.from));
        } else {
            let exit = s.cpus[15].exit_ns;
            assert!(s.now >= 10_000 + s.costs.ipi_ns + exit, "{}", s.now);
        }
    }
}

/// Two sockets: everybody works, on both, and a thief stays within its cache.
#[test]
fn two_sockets_work_and_steals_stay_in_one() {
    for sched in ["cfs-4.20", "cfs-4.20+STEAL"] {
        let mut s = sim(&MachineSpec::e5_2630v4_2s(), sched, 8, 40, 3);
        let mut queued_by = [0u64; 2];
        let mut stolen = [0u64; 2];
        while s.run_event() {
            for (cpu, c) in s.cpus.iter().enumerate().filter(|(_, c)| c.stolen != NONE) {
                let from = s.tasks[c.stolen as usize].cpu;
                assert!(s.topology.share_cache(from, cpu as u32), "{from} to {cpu}");
                stolen[s.topology.llc(from)] += 1;
            }
            for (cpu, c) in s.cpus.iter().enumerate() {
                queued_by[s.topology.llc(cpu as u32)] += c.wake_list.len() as u64;
            }
        }
        assert!(queued_by.iter().all(|n| *n > 0), "{sched}: {queued_by:?}");
        let steals = sched.ends_with("STEAL");
        assert!(stolen.iter().all(|n| (*n > 0) == steals), "{sched}: {stolen:?}");
        let busy = |c: &Cpu| 1.0 - c.counters.idle_ns as f64 / s.now as f64;
        for (cpu, c) in s.cpus.iter().enumerate() {
            assert!(busy(c) > 0.5 && c.counters.wake > 0, "{sched}: CPU {cpu} {:.2}", busy(c));
        }
    }
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

/// Every service time is drawn: within 1 % of the mean, and the mean is kept.
#[test]
fn service_times_vary_by_a_per_cent() {
    let mut s = sim(&MachineSpec::e5_2630v4(), "cfs-4.20", 1, 20, 5);
    let drawn: Vec<u64> = (0..20_000).map(|_| s.service(1000)).collect();
    assert_eq!(drawn.iter().min().zip(drawn.iter().max()), Some((&990, &1010)));
    let sum: u64 = drawn.iter().sum();
    assert!(sum.abs_diff(20_000_000) < 4_000, "{sum}: the mean within 0.02 %");
}

/// Debug and release builds, and any C compiler at any level, take the same decisions. The figure
/// changes with every change of the model, and only then.
#[test]
fn every_build_gives_the_same_digest() {
    let mut s = sim(&MachineSpec::e5_2630v4(), "cfs-4.20+STEAL", 2, 20, 0);
    s.run();
    assert_eq!(s.digest.value(), 0x6f28_5fc3_3706_a016, "{:#x}", s.digest.value());
}
