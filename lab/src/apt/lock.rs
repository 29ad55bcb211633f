// SPDX-License-Identifier: GPL-2.0-only
//! A lock between processes that outlives its owner as long as a command of its runs.
//!
//! A killed lab cannot stop the apt that it started (apt sheds the signal that a parent's death
//! would send), so the apt holds the lock too: nobody sweeps away what it is writing.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Held until it and every command that it was passed to have ended.
pub struct Lock(File);

impl Lock {
    /// Takes the lock of a file, which is made if need be; calls `waiting` if it has to wait.
    pub fn take(path: &Path, waiting: impl FnOnce()) -> io::Result<Self> {
        let file = File::create(path)?;
        if flock(&file, libc::LOCK_EX | libc::LOCK_NB).is_err() {
            waiting();
            flock(&file, libc::LOCK_EX)?;
        }
        Ok(Self(file))
    }

    /// Lets a command hold the lock too.
    pub fn pass_to(&self, command: &mut Command) {
        let descriptor = self.0.as_raw_fd();
        // SAFETY: fcntl is async-signal-safe; where the descriptor is not open it only fails.
        unsafe {
            command.pre_exec(move || match libc::fcntl(descriptor, libc::F_SETFD, 0) {
                -1 => Err(io::Error::last_os_error()),
                _ => Ok(()),
            });
        }
    }
}

fn flock(file: &File, operation: i32) -> io::Result<()> {
    loop {
        // SAFETY: flock takes no pointers, and the descriptor is open as long as `file` lives.
        if unsafe { libc::flock(file.as_raw_fd(), operation) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn is_free(path: &Path) -> bool {
        flock(&File::open(path).unwrap(), libc::LOCK_EX | libc::LOCK_NB).is_ok()
    }

    #[test]
    fn a_command_holds_the_lock_after_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let lock = Lock::take(&path, || panic!("nobody holds it")).unwrap();
        assert!(!is_free(&path));
        let mut command = Command::new("cat");
        command.stdin(std::process::Stdio::piped());
        lock.pass_to(&mut command);
        let mut child = command.spawn().unwrap();
        drop(lock);
        assert!(!is_free(&path), "the command holds it");
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(is_free(&path));
    }

    #[test]
    fn a_second_owner_waits() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let first = Lock::take(&path, || {}).unwrap();
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let second = scope.spawn(|| Lock::take(&path, move || tell.send(()).unwrap()).is_ok());
            told.recv().unwrap();
            assert!(!second.is_finished());
            drop(first);
            assert!(second.join().unwrap());
        });
    }
}
