// SPDX-License-Identifier: GPL-2.0-only
#![allow(clippy::unwrap_used, clippy::expect_used)]
//! The sweep on constructed records, against a slow model of it, and on text that two kernels
//! wrote; the parser on strange names and broken lines.

use std::collections::{BTreeMap, BTreeSet};

use super::allowed::{Snapshot, Thread};
use super::cpuset::CpuSet;
use super::event::{parse_line, Event, Kind, Parsed};
use super::idle::{summarise, Record, Summary};
use super::read_trace;

const BLOCKED: bool = false;
const RUNNABLE: bool = true;

/// Times in tests are microseconds.
fn switch(at: u64, cpu: u32, prev: u32, runnable: bool, next: u32) -> Event {
    Event { at_ns: at * 1000, cpu, kind: Kind::Switch { prev, runnable, next } }
}

fn wakeup(at: u64, pid: u32) -> Event {
    Event { at_ns: at * 1000, cpu: 0, kind: Kind::Wakeup { pid } }
}

fn fork(at: u64, parent: u32, pid: u32) -> Event {
    Event { at_ns: at * 1000, cpu: 0, kind: Kind::WakeupNew { pid, parent } }
}

fn set(list: &str) -> CpuSet {
    CpuSet::parse(list).unwrap()
}

fn snapshot(at: u64, threads: &[(u32, &str)]) -> Snapshot {
    let thread = |&(pid, list): &(u32, &str)| (pid, Thread { allowed: set(list), runnable: false });
    Snapshot { at_ns: at * 1000, threads: threads.iter().map(thread).collect() }
}

/// A record of `cpus` CPUs from 0 to `end`, tasks allowed as `snapshots` say.
fn sweep(events: &[Event], snapshots: &[Snapshot], cpus: &str, end: u64) -> Summary {
    summarise(&Record {
        events,
        snapshots,
        cpus: &set(cpus),
        bench: &set(cpus),
        begin_ns: 0,
        end_ns: end * 1000,
        lost: 0,
        odd: 0,
    })
}

/// Microseconds wasted.
fn wasted(summary: &Summary) -> u64 {
    let pct = summary.idle_while_waiting_pct.expect(&summary.note);
    (pct / 100.0 * f64::from(summary.cpus) * summary.span_ns as f64 / 1000.0).round() as u64
}

#[test]
fn idle_30_us_beside_a_waiting_task_counts_10() {
    // CPU 0 runs 1; CPU 1 goes idle at 100; 2 is woken at 90 and gets CPU 1 at 130.
    let events = [
        switch(10, 0, 5, BLOCKED, 1),
        wakeup(90, 2),
        switch(100, 1, 3, BLOCKED, 0),
        switch(130, 1, 0, RUNNABLE, 2),
    ];
    let summary = sweep(&events, &[], "0-1", 1000);
    assert_eq!(wasted(&summary), 10);
    assert_eq!(summary.idle_while_waiting_pct, Some(100.0 * 10.0 / 2000.0));
    assert_eq!(summary.idle_pct, Some(100.0 * 30.0 / 2000.0));
    assert_eq!((summary.events, summary.unannounced), (4, 0));
}

#[test]
fn idle_20_us_is_free() {
    let events = [
        switch(10, 0, 5, BLOCKED, 1),
        wakeup(90, 2),
        switch(100, 1, 3, BLOCKED, 0),
        switch(120, 1, 0, RUNNABLE, 2),
    ];
    assert_eq!(wasted(&sweep(&events, &[], "0-1", 1000)), 0);
}

#[test]
fn idle_without_a_waiting_task_is_free() {
    let events = [
        switch(10, 0, 5, BLOCKED, 1),
        switch(100, 1, 3, BLOCKED, 0),
        wakeup(500, 2),
        switch(507, 1, 0, RUNNABLE, 2),
    ];
    // Only the 7 µs from wake-up to switch.
    assert_eq!(wasted(&sweep(&events, &[], "0-1", 1000)), 7);
}

#[test]
fn a_task_that_may_not_run_there_does_not_count() {
    let events = [
        switch(10, 0, 5, BLOCKED, 1),
        switch(100, 1, 3, BLOCKED, 0),
        wakeup(200, 2),
        switch(600, 0, 1, BLOCKED, 2),
        switch(700, 1, 0, RUNNABLE, 3),
    ];
    let pinned = [snapshot(0, &[(2, "0")])];
    assert_eq!(wasted(&sweep(&events, &pinned, "0-1", 1000)), 0);
    let free = [snapshot(0, &[(2, "0-1")])];
    assert_eq!(wasted(&sweep(&events, &free, "0-1", 1000)), 400);
}

#[test]
fn two_idle_cpus_beside_one_waiting_task_both_count() {
    let events = [
        switch(10, 0, 5, BLOCKED, 1),
        switch(100, 1, 3, BLOCKED, 0),
        switch(100, 2, 4, BLOCKED, 0),
        wakeup(200, 2),
        switch(230, 0, 1, BLOCKED, 2),
    ];
    assert_eq!(wasted(&sweep(&events, &[], "0-2", 1000)), 60);
}

#[test]
fn a_preempted_task_waits_until_it_runs_elsewhere() {
    let events = [
        switch(10, 1, 3, BLOCKED, 0),
        wakeup(100, 2),
        switch(100, 0, 1, RUNNABLE, 2),
        Event { at_ns: 149_000, cpu: 1, kind: Kind::Migrate { pid: 1 } },
        switch(150, 1, 0, RUNNABLE, 1),
    ];
    let summary = sweep(&events, &[], "0-1", 1000);
    assert_eq!(wasted(&summary), 50);
    assert_eq!((summary.migrations, summary.unannounced), (1, 0));
}

#[test]
fn a_wakeup_of_a_task_that_still_runs_is_no_waiting() {
    // 1 is about to sleep on CPU 0 when it is woken: it runs on.
    let events = [
        switch(10, 1, 3, BLOCKED, 0),
        switch(20, 0, 5, BLOCKED, 1),
        wakeup(100, 1),
        wakeup(400, 6),
        switch(400, 0, 1, BLOCKED, 6),
    ];
    assert_eq!(wasted(&sweep(&events, &[], "0-1", 1000)), 0);
    // The same when no switch before has told that it runs.
    let events = [events[0], events[2], events[3], events[4]];
    assert_eq!(wasted(&sweep(&events, &[], "0-1", 1000)), 0);
}

#[test]
fn who_is_switched_in_unannounced_waited_from_the_start() {
    let events = [
        switch(10, 0, 5, BLOCKED, 0),
        switch(10, 1, 3, BLOCKED, 4),
        switch(110, 0, 0, RUNNABLE, 2),
    ];
    // 4 waits to 10, 2 waits to 110; CPU 0 idles past 30.
    assert_eq!(wasted(&sweep(&events, &[], "0-1", 1000)), 80);
}

#[test]
fn a_task_that_slept_and_runs_without_a_wakeup_is_counted() {
    let events = [
        switch(10, 0, 5, BLOCKED, 0),
        switch(40, 0, 0, RUNNABLE, 5),
        switch(50, 0, 5, RUNNABLE, 0),
        switch(60, 0, 0, RUNNABLE, 5),
    ];
    let summary = sweep(&events, &[], "0", 1000);
    assert_eq!((summary.unannounced, wasted(&summary)), (1, 0));
}

#[test]
fn who_is_runnable_and_never_seen_waits_throughout() {
    let events = [switch(10, 0, 5, BLOCKED, 0), switch(10, 1, 3, BLOCKED, 0)];
    let mut start = snapshot(0, &[(9, "1"), (8, "0")]);
    start.threads.get_mut(&9).unwrap().runnable = true;
    assert_eq!(wasted(&sweep(&events, &[start], "0-1", 1000)), 1000 - 30);
}

#[test]
fn a_cpu_that_idles_from_before_the_start_is_known_by_its_first_switch() {
    let events = [
        wakeup(0, 7),
        switch(50, 0, 5, RUNNABLE, 6),
        switch(100, 1, 0, RUNNABLE, 7),
        switch(101, 0, 6, BLOCKED, 5),
    ];
    assert_eq!(wasted(&sweep(&events, &[], "0-1", 1000)), 80);
}

#[test]
fn a_new_task_may_run_where_its_parent_may() {
    let events = [
        switch(10, 0, 5, BLOCKED, 1),
        switch(20, 1, 3, BLOCKED, 0),
        fork(100, 1, 2),
        switch(200, 0, 1, RUNNABLE, 2),
        switch(300, 0, 2, BLOCKED, 1),
    ];
    let bound = [snapshot(0, &[(1, "0")])];
    assert_eq!(wasted(&sweep(&events, &bound, "0-1", 1000)), 0);
    let free = [snapshot(0, &[(1, "0-1")])];
    // 2 waits from 100 to 200, 1 from 200 to 300.
    assert_eq!(wasted(&sweep(&events, &free, "0-1", 1000)), 200);
    // A snapshot that has it knows better.
    let told = [snapshot(0, &[(1, "0-1")]), snapshot(250, &[(1, "0"), (2, "0")])];
    // 1 is free to run on CPU 1 until the snapshot at 250.
    assert_eq!(wasted(&sweep(&events, &told, "0-1", 1000)), 50);
}

#[test]
fn a_new_task_stays_within_the_cpus_of_the_bench() {
    let events = [
        switch(10, 0, 5, BLOCKED, 1),
        switch(20, 1, 3, BLOCKED, 0),
        fork(100, 1, 2),
        switch(200, 0, 1, BLOCKED, 2),
    ];
    let confined = |bench, parent| {
        let (snapshots, cpus, bench) = ([snapshot(0, &[(1, parent)])], set("0-1"), set(bench));
        wasted(&summarise(&Record {
            events: &events,
            snapshots: &snapshots,
            cpus: &cpus,
            bench: &bench,
            begin_ns: 0,
            end_ns: 1_000_000,
            lost: 0,
            odd: 0,
        }))
    };
    assert_eq!(confined("0", "0-1"), 0);
    assert_eq!(confined("0-1", "0-1"), 100);
    // A task that is bound elsewhere makes tasks that are bound there.
    assert_eq!(confined("0", "1"), 100);
}

#[test]
fn a_pid_used_again_is_another_task() {
    let events = [
        switch(10, 0, 5, BLOCKED, 1),
        switch(20, 1, 3, BLOCKED, 0),
        switch(50, 0, 1, RUNNABLE, 2),
        switch(60, 0, 2, BLOCKED, 1),
        fork(100, 1, 2),
        switch(150, 0, 1, BLOCKED, 2),
    ];
    // The first 2 was bound to CPU 0, the second inherits from 1.
    let start = [snapshot(0, &[(1, "0-1"), (2, "0")])];
    assert_eq!(wasted(&sweep(&events, &start, "0-1", 1000)), 10 + 50);
}

#[test]
fn what_is_before_the_span_only_sets_the_scene() {
    let events = [
        switch(10, 0, 5, BLOCKED, 1),
        switch(100, 1, 3, BLOCKED, 0),
        wakeup(200, 2),
        switch(600, 1, 0, RUNNABLE, 2),
    ];
    let cpus = set("0-1");
    let summary = summarise(&Record {
        events: &events,
        snapshots: &[],
        cpus: &cpus,
        bench: &cpus,
        begin_ns: 450_000,
        end_ns: 550_000,
        lost: 0,
        odd: 0,
    });
    assert_eq!((wasted(&summary), summary.span_ns, summary.events), (100, 100_000, 0));
    assert_eq!(summary.idle_pct, Some(50.0));
}

#[test]
fn a_record_with_gaps_gives_no_share() {
    let events = [switch(10, 0, 5, BLOCKED, 1), switch(10, 1, 5, BLOCKED, 1)];
    let cpus = set("0-1");
    let with = |lost, odd, end_ns| {
        let (events, snapshots) = (&events, &[]);
        let (cpus, bench) = (&cpus, &cpus);
        summarise(&Record { events, snapshots, cpus, bench, begin_ns: 0, end_ns, lost, odd })
    };
    assert_eq!(with(0, 0, 100).idle_while_waiting_pct, Some(0.0));
    for (summary, says) in [
        (with(3, 0, 100), "3 events were lost"),
        (with(0, 2, 100), "2 lines of the trace were not understood"),
        (with(0, 0, 0), "the traced span is empty"),
        (sweep(&events, &[], "0-2", 100), "nothing is known of 1 CPU"),
    ] {
        assert_eq!((summary.idle_while_waiting_pct, summary.idle_pct), (None, None), "{says}");
        assert!(summary.note.starts_with(says), "{}", summary.note);
    }
}

/// A small generator: the sweep must agree with the model on what it makes.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Events of a machine of four CPUs and eight tasks that does what it likes, and the time that
/// it wastes, counted microsecond by microsecond. Task n may run where bits of `masks[n]` say.
fn play(random: &mut Random, masks: &[u64; 9], end: u64) -> (Vec<Event>, u64) {
    let mut events: Vec<Event> = (0..4).map(|cpu| switch(0, cpu, 99, BLOCKED, 0)).collect();
    let mut running = [0u32; 4];
    let mut idle_since = [0u64; 4];
    let mut waiting = BTreeSet::new();
    let mut total = 0;
    for now in 0..end {
        if random.below(6) == 0 {
            let pid = 1 + random.below(8) as u32;
            if !running.contains(&pid) {
                waiting.insert(pid);
            }
            events.push(wakeup(now, pid));
        }
        let cpu = random.below(4) as usize;
        if random.below(12) == 0 {
            let prev = running[cpu];
            let fits = |&&pid: &&u32| masks[pid as usize] >> cpu & 1 != 0;
            let next = waiting.iter().find(fits).filter(|_| random.below(3) > 0);
            let next = next.copied().unwrap_or(0);
            let runnable = random.below(2) == 0;
            if prev != next {
                waiting.remove(&next);
                if prev != 0 && runnable {
                    waiting.insert(prev);
                }
                if next == 0 {
                    idle_since[cpu] = now;
                }
                running[cpu] = next;
                events.push(switch(now, cpu as u32, prev, runnable, next));
            }
        }
        for cpu in 0..4 {
            let idle = running[cpu] == 0 && now >= idle_since[cpu] + 20;
            let wanted = waiting.iter().any(|&pid| masks[pid as usize] >> cpu & 1 != 0);
            total += u64::from(idle && wanted);
        }
    }
    (events, total)
}

#[test]
fn the_sweep_agrees_with_counting_every_microsecond() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let mut nonzero = 0;
    for round in 0..200 {
        let masks = std::array::from_fn(|_| 1 + random.below(15));
        let (events, expected) = play(&mut random, &masks, 3000);
        let thread = |pid: usize| {
            let allowed = (0..4).filter(|cpu| masks[pid] >> cpu & 1 != 0).collect();
            (pid as u32, Thread { allowed, runnable: false })
        };
        let threads: BTreeMap<u32, Thread> = (1..9).map(thread).collect();
        let summary = sweep(&events, &[Snapshot { at_ns: 0, threads }], "0-3", 3000);
        assert_eq!(wasted(&summary), expected, "round {round}");
        assert_eq!(summary.unannounced, 0);
        nonzero += u32::from(expected > 0);
    }
    assert!(nonzero > 150, "{nonzero}");
}

/// What a kernel wrote under hackbench on four emulated CPUs, swept over the CPUs given; the
/// expected figures were counted microsecond by microsecond by another program.
fn recorded(text: &str, cpus: &str) -> Summary {
    let trace = read_trace(text.as_bytes()).unwrap();
    let (cpus, first) = (set(cpus), trace.events[0].at_ns);
    summarise(&Record {
        events: &trace.events,
        snapshots: &[],
        cpus: &cpus,
        bench: &cpus,
        begin_ns: first,
        end_ns: trace.events.last().unwrap().at_ns,
        lost: trace.lost,
        odd: trace.odd,
    })
}

#[test]
fn text_of_kernel_7_2_13_is_understood() {
    let summary = recorded(include_str!("recorded-7.2.13.txt"), "0-3");
    assert_eq!((summary.events, summary.odd, summary.migrations), (37, 0, 3));
    assert_eq!((wasted(&summary), summary.span_ns), (62157, 33_962_000));
    assert_eq!(summary.unannounced, 0);
}

#[test]
fn text_of_kernel_6_18_15_is_understood() {
    let text = include_str!("recorded-6.18.15.txt");
    let summary = recorded(text, "0-1,3");
    assert_eq!((summary.events, summary.odd, summary.migrations), (45, 0, 3));
    assert_eq!((wasted(&summary), summary.span_ns), (10339, 16_319_000));
    // CPU 2 ran one task throughout this piece.
    assert_eq!(recorded(text, "0-3").note, "nothing is known of 1 CPUs");
}

#[test]
fn names_of_tasks_may_hold_anything() {
    let line = "  a-7  [001] x-123     [002] d..2.    14.982710: sched_switch: \
                prev_comm= prev_pid=1 x prev_pid=12 prev_prio=120 prev_state=R+ ==> \
                next_comm=y next_pid=3 next_pid=13 next_prio=120\n";
    let kind = Kind::Switch { prev: 12, runnable: RUNNABLE, next: 13 };
    assert_eq!(parse_line(line), Parsed::Event(Event { at_ns: 14_982_710_000, cpu: 2, kind }));
    let line = "           #evil-9       [000] d..2.     1.000001: sched_wakeup_new: \
                comm= pid=7 [LOST pid=10 prio=120 target_cpu=000";
    let kind = Kind::WakeupNew { pid: 10, parent: 9 };
    assert_eq!(parse_line(line), Parsed::Event(Event { at_ns: 1_000_001_000, cpu: 0, kind }));
}

#[test]
fn every_state_of_a_task_that_leaves_is_known() {
    for (state, runnable) in [
        ("R", RUNNABLE),
        ("R+", RUNNABLE),
        ("S", BLOCKED),
        ("D", BLOCKED),
        ("I", BLOCKED),
        ("S|N", BLOCKED),
        ("X", BLOCKED),
        ("Z", BLOCKED),
    ] {
        let line = format!(
            " <idle>-0 [003] d..2. 5.000000: sched_switch: prev_comm=a prev_pid=1 prev_prio=120 \
             prev_state={state} ==> next_comm=b next_pid=2 next_prio=120"
        );
        let kind = Kind::Switch { prev: 1, runnable, next: 2 };
        let event = Event { at_ns: 5_000_000_000, cpu: 3, kind };
        assert_eq!(parse_line(&line), Parsed::Event(event), "{state}");
    }
}

#[test]
fn broken_lines_are_counted_and_never_fatal() {
    let whole = "            init-1       [000] d..2.     4.534187: sched_switch: \
                 prev_comm=init prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=init \
                 next_pid=97 next_prio=120";
    for cut in 1..whole.len() - " next_prio=120".len() - 1 {
        assert_eq!(parse_line(&whole[..cut]), Parsed::Odd, "{}", &whole[..cut]);
    }
    for (from, to) in [
        ("4.534187", "4.53418"),
        ("4.534187", "99999999999999999999.534187"),
        ("[000]", "[x]"),
        ("prev_pid=1", "prev_pid=-1"),
        ("prev_state=S", "prev_state=?"),
        ("next_pid=97", "next_pid=99999999999"),
    ] {
        assert_eq!(parse_line(&whole.replace(from, to)), Parsed::Odd, "{from} -> {to}");
    }
    let line = "           #evil-9       [000] d..2.     1.000001: sched_wakeup: comm=x";
    assert_eq!(parse_line(line), Parsed::Odd);
    let text = "# tracer: nop\n\nCPU:3 [LOST 123 EVENTS]\nCPU:1 [LOST EVENTS]\nno event\n\
                ##### CPU 2 buffer started ####\n \u{fffd}: sched_wakeup: \n";
    let trace = read_trace(text.as_bytes()).unwrap();
    assert_eq!((trace.events.len(), trace.lost, trace.odd), (0, 2, 2));
    assert_eq!(read_trace(&b"\xff\xfe\n"[..]).unwrap().odd, 1);
}

#[test]
fn what_the_kernel_counts_as_lost_is_summed() {
    let stats = "entries: 959\noverrun: 5\ncommit overrun: 1\nbytes: 53564\n\
                 oldest event ts:     4.534181\nnow ts:     4.565470\ndropped events: 30\n\
                 read events: 7\n";
    assert_eq!(super::lost(stats), 36);
}

#[test]
fn buffers_fit_the_memory() {
    let kib = |free: u64, cpus: &str| {
        super::buffer_kib(&format!("MemTotal: 1 kB\nMemAvailable:  {free} kB\n"), &set(cpus))
    };
    assert_eq!(kib(128 << 10, "0-3"), 8 << 10);
    assert_eq!(kib(64 << 20, "0-3"), 16 << 10);
    assert_eq!(kib(1 << 10, "0-63"), 256);
    assert_eq!(super::buffer_kib("", &set("0")), 256);
}
