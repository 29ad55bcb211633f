// SPDX-License-Identifier: GPL-2.0-only
//! The sched_ext scheduler under test: started, watched, ended.

use std::fs;

use anyhow::Result;

use super::children::{Children, Output};
use super::{kmsg, system};

/// How often the agent looks whether something has come about.
pub const POLL_MS: u64 = 20;
/// Time for a scheduler to take charge.
const START_MS: u64 = 20_000;
/// Time for its program to end after SIGINT, or after it was ejected.
const STOP_MS: u64 = 10_000;
/// Lines of its output that are reported.
const LOG_LINES: usize = 40;

/// How a start went.
pub enum Start {
    /// The kernel enabled it.
    InCharge(Scheduler),
    /// It did not take charge; its program is gone.
    Refused {
        /// Exit status; `None` when it had to be killed.
        status: Option<i32>,
        /// The last lines it printed.
        log: String,
    },
}

/// A scheduler in charge.
pub struct Scheduler {
    pid: i32,
    ops: String,
    sequence: String,
}

impl Scheduler {
    /// Starts the program and waits until the kernel says that it is in charge.
    pub fn start(argv: &[String], children: &mut Children) -> Result<Start> {
        let refused = |status, log| Ok(Start::Refused { status, log });
        if state().is_empty() {
            return refused(None, "this kernel has no sched_ext (/sys/kernel/sched_ext)".into());
        }
        let before = entry("enable_seq");
        let pid = match children.start(argv, None, &output()) {
            Ok(pid) => pid,
            Err(error) => return refused(None, format!("{error:#}")),
        };
        for _ in 0..START_MS / POLL_MS {
            // the kernel counts a start only after its state has changed
            let sequence = entry("enable_seq");
            if state() == "enabled" && sequence != before {
                return Ok(Start::InCharge(Self { pid, ops: entry("root/ops"), sequence }));
            }
            if let Some(status) = children.poll(pid) {
                return refused(Some(status), log());
            }
            system::sleep_ms(POLL_MS);
        }
        children.kill(pid);
        refused(None, format!("{}not in charge after {} s", log(), START_MS / 1000))
    }

    /// The name by which the kernel knows it.
    pub fn ops(&self) -> &str {
        &self.ops
    }

    /// Whether it has been in charge without a break since its start.
    pub fn in_charge(&self) -> bool {
        state() == "enabled" && entry("enable_seq") == self.sequence
    }

    /// After the kernel threw it out: (reason, log of its program).
    pub fn ejected(&self, children: &mut Children) -> (String, String) {
        let status = children.wait_ms(self.pid, STOP_MS);
        if status.is_none() {
            children.kill(self.pid);
        }
        let said = kmsg::of_sched_ext(&kmsg::read_all().unwrap_or_default());
        let ended = match status {
            Some(status) => format!("its program ended with status {status}"),
            None => "its program went on".to_string(),
        };
        let kernel = said.last().map_or("the kernel says nothing", |line| line);
        (format!("{kernel}; {ended}"), log())
    }

    /// Ends it with SIGINT. `Ok(log)` when its program ended with 0 and nothing is left in charge,
    /// else `Err((reason, log))`.
    pub fn stop(self, children: &mut Children) -> Result<Result<String, (String, String)>> {
        system::signal(self.pid, libc::SIGINT);
        let Some(status) = children.wait_ms(self.pid, STOP_MS) else {
            children.kill(self.pid);
            let reason = format!("still there {} s after SIGINT; killed", STOP_MS / 1000);
            return Ok(Err((reason, log())));
        };
        if status != 0 {
            let said = kmsg::of_sched_ext(&kmsg::read_all()?);
            let kernel = said.last().map_or("", |line| line);
            return Ok(Err((format!("ended with status {status} at SIGINT; {kernel}"), log())));
        }
        for _ in 0..STOP_MS / POLL_MS {
            if state() == "disabled" {
                return Ok(Ok(log()));
            }
            system::sleep_ms(POLL_MS);
        }
        Ok(Err((format!("its program is gone, the kernel's state is {}", state()), log())))
    }
}

fn output() -> Output {
    Output::joined("scheduler")
}

/// The last lines that its program printed.
fn log() -> String {
    last_lines(&output().text(), LOG_LINES)
}

fn last_lines(text: &str, n: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(n)..].iter().map(|line| format!("{line}\n")).collect()
}

/// `enabled`, `disabled` …; empty where the kernel has no sched_ext.
fn state() -> String {
    entry("state")
}

fn entry(name: &str) -> String {
    let text = fs::read_to_string(format!("/sys/kernel/sched_ext/{name}"));
    text.unwrap_or_default().trim().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_keeps_the_last_lines() {
        assert_eq!(last_lines("", 2), "");
        assert_eq!(last_lines("a\nb\nc", 2), "b\nc\n");
    }
}
