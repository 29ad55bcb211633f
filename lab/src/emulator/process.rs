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

use crate::agent::kmsg::is_complaint;
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

/// Time that a program may take.
pub struct Limits {
    /// In all.
    pub whole: Duration,
    /// Until it has printed its first line.
    pub first: Duration,
    /// From the first complaint of a kernel's on its console; `None`: as without one.
    pub complained: Option<Duration>,
}

/// Runs `program`, which is killed when it takes longer than one of `limits`.
pub fn run(program: &str, words: &[String], limits: &Limits, talk: Option<Talk>) -> Result<Run> {
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
    let (mut seen, mut complaint) = (0, None);
    let ended = loop {
        if let Some(status) = child.0.try_wait().context("cannot wait for the emulator")? {
            break ended(status);
        }
        let (spoken, written) = (size(&lines)?, size(&lines)? + size(&console)?);
        let limit = if spoken > 0 { limits.whole } else { limits.first };
        if begin.elapsed() > limit {
            break Ended::Limit(limit);
        }
        if let Some(limit) = limits.complained {
            if written > seen && complaint.is_none() {
                complaint = content(&console)?.lines().any(is_complaint).then(Instant::now);
            }
            if complaint.is_some_and(|since| since.elapsed() > limit) {
                break Ended::Limit(begin.elapsed());
            }
            seen = written;
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

    const LIMITS: Limits =
        Limits { whole: Duration::from_secs(9), first: Duration::from_secs(9), complained: None };

    fn shell_within(limits: &Limits, script: &str) -> Run {
        run("/bin/sh", &["-c".to_string(), script.to_string()], limits, None).unwrap()
    }

    fn shell(script: &str, limit_ms: u64, first_ms: u64) -> Run {
        let ms = Duration::from_millis;
        shell_within(&Limits { whole: ms(limit_ms), first: ms(first_ms), ..LIMITS }, script)
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
    fn a_complaint_shortens_what_is_left() {
        let limits = Limits { complained: Some(Duration::from_millis(100)), ..LIMITS };
        let ended = |script: &str| shell_within(&limits, script).ended;
        assert_eq!(
            ended("echo a; echo smpboot: CPU 1 is now offline >&2; sleep 0.5"),
            Ended::Exited(0)
        );
        assert_eq!(ended("echo a; echo kernel BUG at x.c:1 >&2; exit 3"), Ended::Exited(3));
        let complains = "echo a; echo b >&2; sleep 0.1; echo kernel BUG at x.c:1 >&2; sleep 60";
        assert!(matches!(ended(complains), Ended::Limit(time) if time < LIMITS.whole));
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
        let run = run("/bin/sh", &words, &LIMITS, Some(&talk)).unwrap();
        assert_eq!((run.lines.as_str(), run.ended), ("hello heard\n", Ended::Exited(0)));
    }

    #[test]
    fn missing_emulator_is_one_line() {
        let error = run("no-such-qemu", &[], &LIMITS, None).unwrap_err();
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
