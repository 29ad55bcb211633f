// SPDX-License-Identifier: GPL-2.0-only
#![allow(clippy::unwrap_used, clippy::expect_used)]
use std::time::Duration;

use super::*;
use crate::model::Meter;

const PANIC: &str = "\
[    4.011817] Oops: int3: 0000 [#1] SMP NOPTI\r
[    4.012211] CPU: 2 UID: 0 PID: 0 Comm: swapper/2 Not tainted 7.2.13+deb14-cloud-amd64 #1\r
[    4.013405] RIP: 0010:set_next_task_idle+0x15/0xa0\r
[    4.021544] Kernel panic - not syncing: Attempted to kill the idle task!\r
[    4.022211] Rebooting in 1 seconds..\r
";

fn hello() -> Line {
    Line::Hello { kernel: "7.2.13".into(), cpus: 4, nodes: 1, llcs: 1 }
}

fn loaded() -> Line {
    Line::Loaded { ops: "ballast".into() }
}

fn step(index: usize, status: i32) -> Line {
    let output = "Time: 0.144\nhackbench: out of luck\n".into();
    Line::Step { index, wall_ns: 1, status, output, meter: Meter::default() }
}

fn kernel(warnings: &[&str]) -> Line {
    Line::Kernel { warnings: warnings.iter().map(|w| w.to_string()).collect() }
}

fn end() -> Line {
    Line::End { log: String::new() }
}

fn verdict(lines: &[Line], console: &str, ended: Ended) -> (Status, String) {
    judge(lines, None, console, &ended)
}

#[track_caller]
fn expect(lines: &[Line], console: &str, ended: Ended, status: Status, reason: &str) {
    let verdict = verdict(lines, console, ended);
    assert_eq!(verdict, (status, reason.into()));
    assert!(!verdict.1.contains('\n'));
}

#[test]
fn a_whole_boot_is_ok() {
    let lines = [hello(), loaded(), step(0, 0), kernel(&[]), end()];
    expect(&lines, "anything", Ended::Exited(0), Status::Ok, "");
}

#[test]
fn a_panic_is_one_wherever_it_comes() {
    let text = "Attempted to kill the idle task!";
    let early = format!("the guest's kernel panicked before the agent's first line: {text}");
    expect(&[], PANIC, Ended::Exited(0), Status::Panicked, &early);
    let late = format!("the guest's kernel panicked in step 2 or at the end: {text}");
    let lines = [hello(), loaded(), step(0, 0)];
    expect(&lines, PANIC, Ended::Limit(Duration::from_secs(9)), Status::Panicked, &late);
}

#[test]
fn a_limit_says_where_it_struck() {
    for (lines, place) in [
        (&[][..], "before the agent's first line"),
        (&[hello()], "while the scheduler was started"),
        (&[hello(), loaded()], "in a warm-up or in step 1"),
        (&[hello(), loaded(), step(0, 0)], "in step 2 or at the end"),
        (&[hello(), loaded(), step(0, 0), kernel(&[])], "at the end"),
    ] {
        let reason = format!("no end within 60 s; it was {place}");
        expect(lines, "", Ended::Limit(Duration::from_secs(60)), Status::Hung, &reason);
    }
}

#[test]
fn refusals_and_ejections_are_told() {
    let refused = Line::Refused { status: Some(3), log: "a\nno sched_ext\n".into() };
    let reason = "its program ended with status 3: no sched_ext";
    let lines = [hello(), refused, kernel(&[])];
    expect(&lines, "", Ended::Exited(0), Status::Refused, reason);
    let said = "sched_ext: BPF scheduler \"x\" disabled (runnable task stall)";
    let ejected = Line::Ejected { index: 1, reason: said.into(), log: String::new() };
    let lines = [hello(), loaded(), step(0, 0), kernel(&[said]), ejected];
    let reason = format!("ejected in step 2: {said}");
    expect(&lines, "", Ended::Exited(0), Status::Ejected, &reason);
}

#[test]
fn everything_else_failed() {
    let warning = "watchdog: BUG: soft lockup - CPU#1 stuck for 26s!";
    let lines = [hello(), loaded(), step(0, 0), kernel(&[warning, "more"]), end()];
    let reason = format!("the guest's kernel complained: {warning}");
    expect(&lines, "", Ended::Exited(0), Status::Failed, &reason);
    let lines = [hello(), loaded(), step(0, 0), step(1, 2), kernel(&[]), end()];
    let reason = "step 2 ended with status 2: hackbench: out of luck";
    expect(&lines, "", Ended::Exited(0), Status::Failed, reason);
    let lines = [hello(), loaded()];
    for (ended, reason) in [
        (Ended::Killed(9), "the emulator was killed by signal 9 in a warm-up or in step 1"),
        (Ended::Exited(0), "the guest ended early, in a warm-up or in step 1: the last words"),
        (
            Ended::Exited(1),
            "the emulator ended with status 1 in a warm-up or in step 1: the last words",
        ),
        (Ended::Flood, "the guest wrote without end in a warm-up or in step 1: the last words"),
    ] {
        expect(&lines, "first\r\nthe last words\r\n\r\n", ended, Status::Failed, reason);
    }
}

#[test]
fn lines_are_read_up_to_the_first_bad_one() {
    let good = serde_json::to_string(&hello()).unwrap();
    let (lines, garbled) = parse_lines(&format!("{good}\n{good}\n{{\"line\":\"lo"));
    assert_eq!((lines.len(), garbled), (2, None));
    let (lines, garbled) = parse_lines(&format!("{good}\n\u{fffd}{}\n{good}\n", "x".repeat(999)));
    assert_eq!(lines, [hello()]);
    let garbled = garbled.unwrap();
    assert_eq!(garbled.chars().count(), 120);
    let verdict = judge(&lines, Some(garbled), "", &Ended::Exited(0));
    assert_eq!(verdict.0, Status::Failed);
    assert!(verdict.1.starts_with("the guest sent a line that is none: "), "{}", verdict.1);
}

#[test]
fn only_the_emulator_s_own_breakage_is_repeated() {
    let boot = |status, lines: &[Line], console: &str| Boot {
        seed: 1,
        status,
        reason: String::new(),
        log: log_of(console),
        lines: lines.to_vec(),
        repeats: 0,
    };
    let elsewhere = PANIC.replace("set_next_task_idle", "scx_exit").replace("int3", "fault");
    let breakpoint = PANIC.replace("set_next_task_idle", "update_rq_clock");
    let padding = PANIC.replace("set_next_task_idle", "bpf_prog_1f_ballast_enqueue");
    let running = [hello(), loaded()];
    let bare = [hello(), Line::Loaded { ops: BARE.into() }];
    let on = |kernel: &str| {
        let hello = Line::Hello { kernel: kernel.into(), cpus: 4, nodes: 1, llcs: 1 };
        [hello, bare[1].clone()]
    };
    let (ours, debug) = (on("7.2.13-ballast"), on("7.2.13-ballast-debug"));
    let unpatched = on("7.2.13-unpatched");
    for (boot, broken) in [
        (boot(Status::Panicked, &[], &elsewhere), true),
        (boot(Status::Hung, &[], ""), true),
        (boot(Status::Panicked, &running, PANIC), true),
        (boot(Status::Panicked, &running, &breakpoint), true),
        (boot(Status::Panicked, &running, &padding), false),
        (boot(Status::Panicked, &running, &elsewhere), false),
        (boot(Status::Panicked, &bare, &elsewhere), true),
        (boot(Status::Panicked, &unpatched, &elsewhere), true),
        // Our own kernel's panics are ours to explain, but for the breakpoint.
        (boot(Status::Panicked, &ours, &elsewhere), false),
        (boot(Status::Panicked, &debug, &elsewhere), false),
        (boot(Status::Panicked, &ours, PANIC), true),
        (boot(Status::Hung, &bare, ""), false),
        (boot(Status::Hung, &running, ""), false),
        (boot(Status::Failed, &[], ""), false),
        (boot(Status::Ok, &running, ""), false),
    ] {
        assert_eq!(broken_by_emulator(Accel::TcgMulti, &boot), broken, "{boot:?}");
        assert!(!broken_by_emulator(Accel::TcgSingle, &boot));
    }
}

#[test]
fn a_tick_that_never_came_is_the_hosts() {
    let reason = "the guest's kernel panicked before the agent's first line: IO-APIC + timer \
                  doesn't work!  Boot with apic=debug";
    let lost = |status, reason: &str| {
        let (reason, log) = (reason.to_owned(), String::new());
        Boot { seed: 1, status, reason, log, lines: Vec::new(), repeats: 0 }
    };
    for accel in [Accel::TcgSingle, Accel::TcgMulti, Accel::Kvm] {
        assert!(broken_by_emulator(accel, &lost(Status::Panicked, reason)));
    }
    assert!(!broken_by_emulator(Accel::TcgSingle, &lost(Status::Panicked, "init died")));
    assert!(!broken_by_emulator(Accel::TcgSingle, &lost(Status::Failed, reason)));
}

#[test]
fn the_log_is_the_console_s_end() {
    let console: String = (0..100).map(|n| format!("line {n}\r\n")).collect();
    let log = log_of(&console);
    assert!(log.starts_with("line 60\nline 61\n") && log.ends_with("line 99"), "{log}");
}

#[test]
fn the_first_complaint_is_kept() {
    let console = |at: usize| -> String {
        (0..100)
            .map(|n| format!("{} {n}\r\n", if n == at { "kernel BUG at" } else { "line" }))
            .collect()
    };
    let log = log_of(&console(3));
    assert!(log.starts_with("kernel BUG at 3\nline 4\n"), "{log}");
    assert!(log.contains("line 22\n…\nline 60\n") && log.ends_with("line 99"), "{log}");
    assert!(log_of(&console(58)).starts_with("kernel BUG at 58\nline 59\n…\nline 60\n"));
    assert!(log_of(&console(70)).starts_with("line 60\n"));
}
