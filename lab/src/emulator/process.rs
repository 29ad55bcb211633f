// SPDX-License-Identifier: GPL-2.0-only
//! The emulator as a child: it dies with us, and what it writes lies in memory, so that nothing is
//! left behind and no disk can be full.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::error::Failure;

/// How often the child is looked at.
const POLL: Duration = Duration::from_millis(10);
/// A guest that writes more than this has gone mad.
const MOST_BYTES: u64 = 64 << 20;

/// How the emulator came to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this status.
    Exited(i32),
    /// By this signal, not ours.
    Killed(i32),
    /// Killed here after this time.
    Limit(Duration),
    /// Killed here: it wrote without end.
    Flood,
}

/// What is left of a run.
#[derive(Debug)]
pub struct Run {
    /// Standard output: the agent's lines.
    pub lines: String,
    /// Standard error: the guest's console and the emulator's own messages.
    pub console: String,
    /// Its end.
    pub ended: Ended,
}

/// A child that is killed when it goes out of scope.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The child's descriptor on which it talks to the one who started it.
pub const TALK: RawFd = 3;

/// Talks to the child over [`TALK`] before it is waited for.
pub type Talk<'a> = &'a dyn Fn(UnixStream) -> Result<()>;

/// Runs `program`; it is killed after `limit`, or after `first` if it has printed no line by then.
pub fn run(
    program: &str,
    words: &[String],
    limit: Duration,
    first: Duration,
    talk: Option<Talk>,
) -> Result<Run> {
    let (lines, console) = (memory_file(c"lines")?, memory_file(c"console")?);
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::null());
    command.stdout(lines.try_clone()?).stderr(console.try_clone()?);
    // SAFETY: prctl and getppid allocate nothing.
    unsafe { command.pre_exec(die_with(std::process::id())) };
    let ends = talk.map(|_| UnixStream::pair()).transpose().context("cannot make a socket")?;
    if let Some((_, theirs)) = &ends {
        // SAFETY: dup2 and fcntl allocate nothing; `theirs` is open until the child was started.
        unsafe { command.pre_exec(hand_over(theirs.as_raw_fd())) };
    }
    let begin = Instant::now();
    let mut child = Guard(command.spawn().map_err(not_started(program))?);
    if let (Some(talk), Some((ours, theirs))) = (talk, ends) {
        drop(theirs);
        talk(ours)?;
    }
    let ended = loop {
        if let Some(status) = child.0.try_wait().context("cannot wait for the emulator")? {
            break ended(status);
        }
        let (spoken, written) = (size(&lines)?, size(&lines)? + size(&console)?);
        let limit = if spoken > 0 { limit } else { first };
        if begin.elapsed() > limit {
            break Ended::Limit(limit);
        }
        if written > MOST_BYTES {
            break Ended::Flood;
        }
        std::thread::sleep(POLL);
    };
    drop(child);
    Ok(Run { lines: content(&lines)?, console: content(&console)?, ended })
}

/// The error of a program that could not be started.
pub fn not_started(program: &str) -> impl Fn(io::Error) -> anyhow::Error + '_ {
    move |error| match error.kind() {
        io::ErrorKind::NotFound => {
            Failure::machine(format!("{program}: not found; install the package qemu-system-x86"))
        }
        _ => Failure::machine(format!("{program}: cannot be started: {error}")),
    }
}

/// Asks the kernel to kill the child when the thread that started it ends.
fn die_with(parent: u32) -> impl FnMut() -> io::Result<()> {
    move || {
        // SAFETY: prctl with PR_SET_PDEATHSIG and getppid take no pointers.
        let orphan = unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            libc::getppid() as u32 != parent
        };
        if orphan {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        Ok(())
    }
}

/// Makes an open descriptor the child's [`TALK`].
fn hand_over(descriptor: RawFd) -> impl FnMut() -> io::Result<()> {
    move || {
        // SAFETY: neither call takes a pointer; the flag is cleared for a descriptor that is
        // TALK already, which dup2 leaves as it is.
        let done = unsafe {
            libc::dup2(descriptor, TALK) == TALK && libc::fcntl(TALK, libc::F_SETFD, 0) == 0
        };
        done.then_some(()).ok_or_else(io::Error::last_os_error)
    }
}

fn memory_file(name: &std::ffi::CStr) -> Result<File> {
    // SAFETY: `name` is NUL-terminated; the descriptor is new and owned by the file alone.
    let file = unsafe {
        let descriptor = libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC);
        if descriptor < 0 {
            return Err(io::Error::last_os_error()).context("cannot make a file in memory");
        }
        File::from_raw_fd(descriptor)
    };
    // the emulator's messages and the guest's console are both appended to one file
    // SAFETY: F_SETFL takes no pointer.
    unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFL, libc::O_APPEND) };
    Ok(file)
}

fn size(file: &File) -> Result<u64> {
    Ok(file.metadata().context("cannot read what the emulator wrote")?.len())
}

fn content(file: &File) -> Result<String> {
    let mut bytes = vec![0; size(file)? as usize];
    file.read_exact_at(&mut bytes, 0).context("cannot read what the emulator wrote")?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn ended(status: ExitStatus) -> Ended {
    match status.signal() {
        Some(signal) => Ended::Killed(signal),
        None => Ended::Exited(status.code().unwrap_or(0)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn shell(script: &str, limit_ms: u64, first_ms: u64) -> Run {
        let words = ["-c".to_string(), script.to_string()];
        let ms = Duration::from_millis;
        run("/bin/sh", &words, ms(limit_ms), ms(first_ms), None).unwrap()
    }

    #[test]
    fn both_outputs_are_kept() {
        // as QEMU does: one descriptor inherited, one opened again
        let run = shell("echo a; echo b >&2; echo c >>/dev/fd/2; echo d >&2; exit 3", 9999, 9999);
        assert_eq!((run.lines.as_str(), run.console.as_str()), ("a\n", "b\nc\nd\n"));
        assert_eq!(run.ended, Ended::Exited(3));
    }

    #[test]
    fn limits_kill() {
        let ms = Duration::from_millis;
        assert_eq!(shell("sleep 60", 9999, 50).ended, Ended::Limit(ms(50)));
        assert_eq!(shell("echo a; sleep 60", 300, 200).ended, Ended::Limit(ms(300)));
        assert_eq!(shell("kill -9 $$", 9999, 9999).ended, Ended::Killed(9));
        assert_eq!(shell("exec cat /dev/zero", 60_000, 60_000).ended, Ended::Flood);
    }

    #[test]
    fn the_child_is_talked_to_before_it_is_waited_for() {
        use std::io::{Read, Write};
        let words = ["-c".to_string(), "read -r word <&3; echo $word heard; echo bye >&3".into()];
        let talk = |mut stream: UnixStream| {
            stream.write_all(b"hello\n")?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            assert_eq!(answer, "bye\n");
            Ok(())
        };
        let limit = Duration::from_secs(9);
        let run = run("/bin/sh", &words, limit, limit, Some(&talk)).unwrap();
        assert_eq!((run.lines.as_str(), run.ended), ("hello heard\n", Ended::Exited(0)));
    }

    #[test]
    fn missing_emulator_is_one_line() {
        let error = run("no-such-qemu", &[], POLL, POLL, None).unwrap_err();
        assert_eq!(crate::error::exit_status(&error), 3);
        assert!(error.to_string().contains("install the package qemu-system-x86"), "{error}");
    }

    #[test]
    fn child_dies_with_its_parent() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let starter = std::thread::spawn(move || {
            let mut command = Command::new("/bin/sleep");
            command.arg("60");
            // SAFETY: as in `run`.
            unsafe { command.pre_exec(die_with(std::process::id())) };
            sender.send(command.spawn().unwrap()).unwrap();
        });
        starter.join().unwrap();
        let status = receiver.recv().unwrap().wait().unwrap();
        assert_eq!(status.signal(), Some(libc::SIGKILL));
    }
}
