// SPDX-License-Identifier: GPL-2.0-only
//! How a boot ended, from what its agent sent, its console and the emulator's end.

use super::process::Ended;
use super::Accel;
use crate::agent::kmsg::is_complaint;
use crate::kernel::build::is_patched;
use crate::model::{Boot, Line, Status, BARE};

/// Lines of the console that are kept of a boot that went wrong.
const LOG_LINES: usize = 40;
/// Functions with static branches that run on every CPU all the time: where guests die when QEMU
/// 7.2 with a thread a CPU runs code that another CPU is patching.
const PATCHED: [&str; 6] = [
    "set_next_task_idle",
    "ttwu_do_activate",
    "__schedule",
    "text_poke",
    "jump_label",
    "static_key",
];

/// A panic of x86's when it looks for its timer's interrupt, early at boot.
const NO_TICK: &str = "IO-APIC + timer doesn't work";

/// The agent's lines, and the first text that is none (a cut last line aside).
pub fn parse_lines(text: &str) -> (Vec<Line>, Option<String>) {
    let mut lines = Vec::new();
    for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
        match serde_json::from_str(line) {
            Ok(line) => lines.push(line),
            Err(_) => return (lines, Some(line.trim_end().chars().take(120).collect())),
        }
    }
    (lines, None)
}

/// How the boot ended, and why if not well.
pub fn judge(
    lines: &[Line],
    garbled: Option<String>,
    console: &str,
    ended: &Ended,
) -> (Status, String) {
    let panic = console.lines().find_map(|line| line.split_once("Kernel panic - "));
    if let Some((_, text)) = panic {
        let text = text.trim_start_matches("not syncing: ").trim_end();
        return (Status::Panicked, format!("the guest's kernel panicked {}: {text}", place(lines)));
    }
    if let Ended::Limit(limit) = ended {
        let seconds = limit.as_secs_f64();
        let place = place(lines);
        return (Status::Hung, format!("no end within {seconds:.0} s; it was {place}"));
    }
    for line in lines {
        match line {
            Line::Refused { status, log } => return (Status::Refused, refusal(*status, log)),
            Line::Ejected { index, reason, .. } => {
                return (Status::Ejected, format!("ejected in step {}: {reason}", index + 1))
            }
            _ => (),
        }
    }
    match failure(lines, garbled, console, ended) {
        Some(reason) => (Status::Failed, reason),
        None => (Status::Ok, String::new()),
    }
}

fn refusal(status: Option<i32>, log: &str) -> String {
    let said = last_line(log);
    match status {
        Some(status) => format!("its program ended with status {status}: {said}"),
        None => said.to_string(),
    }
}

fn failure(
    lines: &[Line],
    garbled: Option<String>,
    console: &str,
    ended: &Ended,
) -> Option<String> {
    if let Some(text) = garbled {
        return Some(format!("the guest sent a line that is none: {text}"));
    }
    let complaint = lines.iter().find_map(|line| match line {
        Line::Kernel { warnings } => warnings.first(),
        _ => None,
    });
    if let Some(complaint) = complaint {
        return Some(format!("the guest's kernel complained: {complaint}"));
    }
    let bad = lines.iter().find_map(|line| match line {
        Line::Step { index, status, output, .. } if *status != 0 => Some((index, status, output)),
        _ => None,
    });
    if let Some((index, status, output)) = bad {
        let said = last_line(output);
        return Some(format!("step {} ended with status {status}: {said}", index + 1));
    }
    if matches!(lines.last(), Some(Line::End { .. })) {
        return None;
    }
    let place = place(lines);
    let said = last_line(console);
    Some(match ended {
        Ended::Killed(signal) => format!("the emulator was killed by signal {signal} {place}"),
        Ended::Flood => format!("the guest wrote without end {place}: {said}"),
        Ended::Exited(0) => format!("the guest ended early, {place}: {said}"),
        Ended::Exited(status) => format!("the emulator ended with status {status} {place}: {said}"),
        Ended::Limit(_) => format!("no end within the time allowed, {place}: {said}"),
    })
}

/// Where in its job a boot was, from the last line sent.
fn place(lines: &[Line]) -> String {
    match lines.last() {
        None => "before the agent's first line".into(),
        Some(Line::Hello { .. }) => "while the scheduler was started".into(),
        Some(Line::Loaded { .. }) => "in a warm-up or in step 1".into(),
        Some(Line::Step { index, .. }) => format!("in step {} or at the end", index + 2),
        Some(_) => "at the end".into(),
    }
}

fn last_line(text: &str) -> &str {
    text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or("(it said nothing)")
}

/// The end of the console, without the carriage returns of a terminal; before it the first complaint of the
/// kernel's, if that was earlier.
pub fn log_of(console: &str) -> String {
    let lines: Vec<&str> = console.lines().map(str::trim_end).collect();
    let end = lines.len().saturating_sub(LOG_LINES);
    let complaint = lines[..end].iter().position(|line| is_complaint(line));
    let mut log: Vec<&str> = Vec::new();
    if let Some(first) = complaint {
        log.extend(&lines[first..end.min(first + LOG_LINES / 2)]);
        log.push("…");
    }
    log.extend(&lines[end..]);
    log.join("\n")
}

/// Whether the emulator, not the guest, is to blame: a kernel that sees no tick in the 40 ms that it
/// waits for one, on a host that is too busy to emulate it; with a thread a CPU, a guest that dies or
/// stops before its agent speaks, that dies where the kernel patches its own code or of the breakpoint
/// that it patches with, or whose kernel panics with nothing loaded into it. (A wild jump may meet such a
/// breakpoint too, in the padding that surrounds BPF programs: those are left to the guest.)
pub fn broken_by_emulator(accel: Accel, boot: &Boot) -> bool {
    if boot.status == Status::Panicked && boot.lines.is_empty() && boot.reason.contains(NO_TICK) {
        return true;
    }
    if accel != Accel::TcgMulti {
        return false;
    }
    let at_patching = || {
        let at = |line: &str| PATCHED.iter().any(|function| line.contains(function));
        let lines = || boot.log.lines().filter(|line| line.contains("RIP: "));
        let breakpoint = boot.log.contains("Oops: int3") && !lines().any(|l| l.contains("bpf_"));
        breakpoint || lines().any(at)
    };
    let bare = || {
        let eevdf = |line: &Line| matches!(line, Line::Loaded { ops } if ops == BARE);
        let ours = |line: &Line| matches!(line, Line::Hello { kernel, .. } if is_patched(kernel));
        boot.lines.iter().any(eevdf) && !boot.lines.iter().any(ours)
    };
    match boot.status {
        Status::Panicked => boot.lines.is_empty() || bare() || at_patching(),
        Status::Hung => boot.lines.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
