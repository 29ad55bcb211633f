// SPDX-License-Identifier: GPL-2.0-only
//! Programs that the agent starts. As process 1 it also inherits every orphan, so all waiting
//! goes through one place that buries orphans and remembers whose end it saw.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use super::system;

/// Where a program's output is caught, and how much of its end is reported.
pub struct Output {
    /// File of standard output.
    pub out: PathBuf,
    /// File of standard error; may be the same.
    pub err: PathBuf,
}

/// At most so much of standard output's end is reported …
const OUT_BYTES: u64 = 48 << 10;
/// … and so much of standard error's.
const ERR_BYTES: u64 = 16 << 10;

impl Output {
    /// Two files under /tmp.
    pub fn separate(name: &str) -> Self {
        let file = |end: &str| PathBuf::from(format!("/tmp/{name}.{end}"));
        Self { out: file("out"), err: file("err") }
    }

    /// One file under /tmp for both.
    pub fn joined(name: &str) -> Self {
        let file = PathBuf::from(format!("/tmp/{name}.log"));
        Self { out: file.clone(), err: file }
    }

    /// What was printed: the end of standard output, then that of standard error.
    pub fn text(&self) -> String {
        let mut text = tail(&self.out, OUT_BYTES);
        if self.err != self.out {
            text += &tail(&self.err, ERR_BYTES);
        }
        text
    }
}

/// The last `bytes` of a file; an unreadable one is empty.
fn tail(path: &Path, bytes: u64) -> String {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let from = file.metadata()?.len().saturating_sub(bytes);
        file.seek(SeekFrom::Start(from))?;
        let mut end = Vec::new();
        file.take(bytes).read_to_end(&mut end)?;
        Ok(end)
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
}

/// The programs started and not yet waited for.
#[derive(Default)]
pub struct Children {
    /// Exit statuses of those that ended while another was waited for.
    ended: BTreeMap<i32, i32>,
}

impl Children {
    /// Starts `argv` in a process group of its own, confined to `cpus`; returns its process id.
    pub fn start(&mut self, argv: &[String], cpus: Option<&[u32]>, to: &Output) -> Result<i32> {
        let (program, arguments) = argv.split_first().context("an empty command")?;
        let create = |path: &Path| {
            let file = File::options().append(true).create(true).open(path);
            file.with_context(|| format!("{}: cannot write", path.display()))
        };
        for path in [&to.out, &to.err] {
            let _ = std::fs::remove_file(path);
        }
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).process_group(0);
        command.stdout(create(&to.out)?).stderr(create(&to.err)?);
        if let Some(cpus) = cpus {
            let cpus = cpus.to_vec();
            // SAFETY: `confine` makes one system call and allocates nothing.
            unsafe { command.pre_exec(move || system::confine(&cpus)) };
        }
        let child = command.spawn().with_context(|| format!("{program}: cannot start it"))?;
        Ok(child.id() as i32)
    }

    /// Waits for `pid`: its exit status, 128 + n when signal n ended it.
    pub fn wait(&mut self, pid: i32) -> i32 {
        loop {
            if let Some(status) = self.ended.remove(&pid) {
                return status;
            }
            if !self.bury(0) {
                // nothing left to wait for: `pid` was never a child
                return 127;
            }
        }
    }

    /// The exit status of `pid` if it has ended.
    pub fn poll(&mut self, pid: i32) -> Option<i32> {
        while self.bury(libc::WNOHANG) {}
        self.ended.remove(&pid)
    }

    /// Waits for `pid` as long as `ms`; `None` when it has not ended by then.
    pub fn wait_ms(&mut self, pid: i32, ms: u64) -> Option<i32> {
        let end = system::clock_ns(libc::CLOCK_MONOTONIC) + ms * 1_000_000;
        loop {
            if let Some(status) = self.poll(pid) {
                return Some(status);
            }
            if system::clock_ns(libc::CLOCK_MONOTONIC) >= end {
                return None;
            }
            system::sleep_ms(super::scheduler::POLL_MS);
        }
    }

    /// Kills `pid` with its process group and waits for it.
    pub fn kill(&mut self, pid: i32) {
        system::signal(-pid, libc::SIGKILL);
        self.wait(pid);
    }

    /// Takes note of one ended child; false when there is none.
    fn bury(&mut self, flags: i32) -> bool {
        let mut status = 0;
        // SAFETY: `status` outlives the call.
        let pid = unsafe { libc::waitpid(-1, &mut status, flags) };
        if pid > 0 {
            self.ended.insert(pid, exit_status(status));
        }
        pid > 0
    }
}

/// A shell's view of a wait status.
fn exit_status(status: i32) -> i32 {
    if libc::WIFSIGNALED(status) {
        return 128 + libc::WTERMSIG(status);
    }
    libc::WEXITSTATUS(status)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn output_is_cut_to_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let output = Output { out: folder.path().join("o"), err: folder.path().join("e") };
        assert_eq!(output.text(), "");
        std::fs::write(&output.out, format!("{}the end\n", "x".repeat(100_000))).unwrap();
        std::fs::write(&output.err, b"bad \xff byte\n").unwrap();
        let text = output.text();
        assert!(text.len() < 64 << 10);
        assert!(text.ends_with("the end\nbad \u{fffd} byte\n"), "{}", text.len());
    }

    #[test]
    fn statuses_read_as_a_shell_reads_them() {
        assert_eq!(exit_status(3 << 8), 3);
        assert_eq!(exit_status(libc::SIGKILL), 137);
    }
}
