// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's own log: what in it is a complaint.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;

use anyhow::{Context, Result};

/// Text that only a complaint of the kernel's has.
const COMPLAINTS: [&str; 29] = [
    "BUG: ",
    "kernel BUG at",
    "Oops: ",
    "general protection fault",
    "detected stall",
    "self-detected stall",
    "rcu_sched kthread starved",
    "soft lockup",
    "hard LOCKUP",
    "blocked for more than",
    "UBSAN: ",
    "KASAN: ",
    "INFO: possible",
    "INFO: suspicious",
    "Out of memory: ",
    "Unable to handle",
    // of our kernel's debug build: says what is wrong, before the warning that says where
    "sched: ballast: ",
    // of debug builds: locks, lists, objects
    "WARNING: possible ",
    "WARNING: suspicious ",
    "WARNING: inconsistent lock",
    "WARNING: bad unlock",
    "WARNING: lock held",
    "WARNING: held lock",
    "WARNING: Nested lock",
    "INFO: trying to register",
    "DEBUG_LOCKS_WARN_ON",
    "list_add corruption",
    "list_del corruption",
    "ODEBUG: ",
];
/// More lines than these add nothing.
const SHOWN: usize = 20;

/// The kernel's log, read as it grows.
pub struct Log(File);

impl Log {
    /// From the oldest message that is still there.
    pub fn open() -> Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.read(true).custom_flags(libc::O_NONBLOCK).open("/dev/kmsg");
        file.map(Self).context("/dev/kmsg: cannot read the kernel's log")
    }

    /// All messages since the last call, in order.
    pub fn more(&mut self) -> Result<Vec<String>> {
        let mut messages = Vec::new();
        let mut record = [0; 8192];
        loop {
            match self.0.read(&mut record) {
                Ok(n) => messages.extend(message(&String::from_utf8_lossy(&record[..n]))),
                // overwritten while it was read: the next read goes on with what is left
                Err(e) if e.raw_os_error() == Some(libc::EPIPE) => (),
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(messages),
                Err(e) => return Err(e).context("/dev/kmsg: cannot read the kernel's log"),
            }
        }
    }
}

/// All messages of the kernel's log, in order.
pub fn read_all() -> Result<Vec<String>> {
    Log::open()?.more()
}

/// The text of one record: `priority,number,time,flags;text\n key=value\n…`.
fn message(record: &str) -> Option<String> {
    let (_, text) = record.split_once(';')?;
    Some(text.lines().next().unwrap_or_default().to_string())
}

/// The messages that are complaints; a scheduler's ejection is one.
pub fn warnings(messages: &[String]) -> Vec<String> {
    messages.iter().filter(|m| is_complaint(m)).take(SHOWN).cloned().collect()
}

/// Whether a message is a complaint.
pub fn is_complaint(message: &str) -> bool {
    COMPLAINTS.iter().any(|c| message.contains(c)) || is_warning(message) || is_ejection(message)
}

/// What the kernel said of sched_ext, newest last.
pub fn of_sched_ext(messages: &[String]) -> Vec<String> {
    messages.iter().filter(|m| m.contains("sched_ext: ")).cloned().collect()
}

/// The head of a warning with a call trace: `WARNING: CPU: 1 PID: 77 at FILE:LINE …`, from 7.0 on
/// `WARNING: FILE:LINE at …, CPU#1: …`. Plain advice begins with the same word, about the host's
/// processor for instance.
fn is_warning(message: &str) -> bool {
    let traced = message.contains("CPU: ") || message.contains("CPU#");
    message.starts_with("WARNING: ") && message.contains(" at ") && traced
}

/// `sched_ext: BPF scheduler "x" disabled (runtime error)`, but not `(unregistered from …)`.
fn is_ejection(message: &str) -> bool {
    message.contains("sched_ext: ")
        && message.contains(" disabled (")
        && !message.contains("(unregistered from")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn records_are_taken_apart() {
        let record = "6,339,5140900,-;NET: Registered\n SUBSYSTEM=net\n DEVICE=+net:lo\n";
        assert_eq!(message(record).unwrap(), "NET: Registered");
        assert_eq!(message("4,1,2,-;\n").unwrap(), "");
        assert_eq!(message("nothing"), None);
    }

    #[test]
    fn complaints_are_told_from_talk() {
        let log: Vec<String> = [
            "sched_ext: BPF scheduler \"ballast\" enabled",
            "sched_ext: BPF scheduler \"ballast\" disabled (unregistered from user space)",
            "clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable",
            "WARNING: Unprivileged eBPF is enabled with eIBRS+LFENCE mitigation and SMT",
            "Warning: unsupported option",
            "WARNING: CPU: 1 PID: 77 at kernel/sched/ext.c:2000 task_tick_scx+0x1/0x2",
            "WARNING: kernel/bpf/verifier.c:2731 at reg_bounds_sanity_check+0x1/0x2, CPU#0: scx/138",
            "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:",
            "watchdog: BUG: soft lockup - CPU#1 stuck for 26s! [hackbench:90]",
            "sched_ext: BPF scheduler \"ballast\" disabled (runtime error)",
            "WARNING: possible recursive locking detected",
            "WARNING: suspicious RCU usage",
            "INFO: task hackbench:12 blocked for more than 120 seconds.",
            "sched: ballast: CPU 2: overload bit 1, 1 runnable fair tasks, counted as 1 of 2",
        ]
        .map(String::from)
        .into();
        assert_eq!(warnings(&log), log[5..]);
        assert_eq!(of_sched_ext(&log).len(), 3);
        let flood = vec![log[5].clone(); 100];
        assert_eq!(warnings(&flood).len(), SHOWN);
    }
}
