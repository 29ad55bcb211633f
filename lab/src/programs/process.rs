// SPDX-License-Identifier: GPL-2.0-only
//! Processes that a benchmark forks: their class and nice level, their end, and the words of
//! memory that they share with it.

use std::arch::asm;
use std::io;
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::error::Failure;

/// How long all children may take to come up.
const START_LIMIT: Duration = Duration::from_secs(60);

/// Time between two looks at whether the children are up; also the least they get to settle.
const SETTLE: Duration = Duration::from_millis(20);

/// A forked process; killed and reaped when dropped.
pub(super) struct Child {
    pid: libc::pid_t,
    /// Its wait status once it was reaped: the pid may be another's then.
    ended: Option<i32>,
}

impl Child {
    /// Forks. The child dies with its parent, runs `work` and ends with the status it returns.
    /// The calling program must have no other thread.
    pub(super) fn fork(work: impl FnOnce() -> i32) -> anyhow::Result<Self> {
        // SAFETY: getpid has no preconditions.
        let parent = unsafe { libc::getpid() };
        // SAFETY: the program has one thread, so no lock can be held by another in the child.
        match unsafe { libc::fork() } {
            -1 => Err(system("fork")),
            0 => {
                // SAFETY: plain system calls; a parent that died before prctl is seen by getppid.
                let orphan = unsafe {
                    libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                    libc::getppid() != parent
                };
                let status = if orphan { 1 } else { work() };
                // SAFETY: ends the child without running destructors that belong to the parent.
                unsafe { libc::_exit(status) }
            }
            pid => Ok(Self { pid, ended: None }),
        }
    }

    /// Its process id.
    pub(super) fn pid(&self) -> libc::pid_t {
        self.pid
    }

    /// Its wait status, if it has ended.
    pub(super) fn ended(&mut self) -> Option<i32> {
        if self.ended.is_none() {
            let mut status = 0;
            // SAFETY: `status` is a valid place to write to.
            let pid = unsafe { libc::waitpid(self.pid, &mut status, libc::WNOHANG) };
            self.ended = (pid == self.pid).then_some(status);
        }
        self.ended
    }

    /// The process's CPU time so far, in nanoseconds; a running process's is up to date.
    pub(super) fn cpu_ns(&self) -> anyhow::Result<u64> {
        let mut clock: libc::clockid_t = 0;
        // SAFETY: `clock` is a valid place to write to.
        match unsafe { libc::clock_getcpuclockid(self.pid, &mut clock) } {
            0 => Ok(clock_ns(clock)),
            error => Err(Failure::failed(format!(
                "no CPU clock for process {}: {}",
                self.pid,
                io::Error::from_raw_os_error(error)
            ))),
        }
    }

    /// Sets the nice level.
    pub(super) fn set_nice(&self, nice: i32) -> anyhow::Result<()> {
        set_nice(self.pid, nice)
    }

    /// Makes the process SCHED_FIFO with this priority.
    pub(super) fn set_fifo(&self, priority: i32) -> anyhow::Result<()> {
        set_class(self.pid, libc::SCHED_FIFO, priority)
    }

    /// Waits for the process to end by itself; an error if its status is not 0.
    pub(super) fn wait(mut self) -> anyhow::Result<()> {
        let (pid, status) = (self.pid, self.ended.or_else(|| reap(self.pid)));
        // there is nothing left to kill or to reap
        self.ended = Some(status.unwrap_or_default());
        match status {
            Some(0) => Ok(()),
            _ => Err(Failure::failed(format!("child {pid} did not end well: {status:?}"))),
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.ended.is_some() {
            return;
        }
        // SAFETY: the child has not been reaped, so its pid cannot have been taken by another.
        unsafe { libc::kill(self.pid, libc::SIGKILL) };
        reap(self.pid);
    }
}

/// Waits for `pid`; its wait status, `None` when there is no such child.
fn reap(pid: libc::pid_t) -> Option<i32> {
    let mut status = 0;
    loop {
        // SAFETY: `status` is a valid place to write to.
        if unsafe { libc::waitpid(pid, &mut status, 0) } == pid {
            return Some(status);
        }
        if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return None;
        }
    }
}

/// Words shared with the processes forked after it was made, all zero at first.
pub(super) struct Shared {
    words: NonNull<AtomicU64>,
    count: usize,
}

impl Shared {
    /// `count` words.
    pub(super) fn new(count: usize) -> anyhow::Result<Self> {
        // SAFETY: a fresh anonymous mapping; no existing memory is touched.
        let at = unsafe {
            libc::mmap(
                ptr::null_mut(),
                count * size_of::<AtomicU64>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        match NonNull::new(at.cast()) {
            Some(words) if at != libc::MAP_FAILED => Ok(Self { words, count }),
            _ => Err(system("mmap of shared memory")),
        }
    }
}

impl Deref for Shared {
    type Target = [AtomicU64];

    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: the mapping holds `count` words, is aligned to a page and lives as long as self.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr(), self.count) }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: unmaps what `new` mapped; no reference outlives self.
        unsafe { libc::munmap(self.words.as_ptr().cast(), self.count * size_of::<AtomicU64>()) };
    }
}

/// Burns CPU for ever, in user mode, without a system call and without `pause` (an emulator may
/// take that for a hint to run another CPU). Where instructions are counted a hog is most of what is
/// emulated, and an emulator has nothing to do for a `nop`: a sleeper's boot costs half of what it
/// does with a loop that counts.
pub(super) fn spin() -> ! {
    loop {
        // SAFETY: instructions that do nothing: no memory, no register, no flag.
        unsafe { asm!(".rept 400", "nop", ".endr", options(nomem, nostack, preserves_flags)) };
    }
}

/// Sleeps until `word` counts `expected` children, at least one settling time.
pub(super) fn await_children(word: &AtomicU64, expected: u64) -> anyhow::Result<()> {
    let start = Instant::now();
    loop {
        std::thread::sleep(SETTLE);
        let up = word.load(Ordering::Acquire);
        if up >= expected {
            return Ok(());
        }
        if start.elapsed() > START_LIMIT {
            return Err(Failure::failed(format!(
                "only {up} of {expected} children have run within {} s",
                START_LIMIT.as_secs()
            )));
        }
    }
}

/// Makes the calling process SCHED_FIFO.
pub(super) fn become_fifo(priority: i32) -> anyhow::Result<()> {
    set_class(0, libc::SCHED_FIFO, priority)
}

/// CPU time of the calling thread, in nanoseconds.
pub(super) fn cpu_clock_ns() -> u64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Makes the calling process an ordinary one: SCHED_OTHER, nice 0.
pub(super) fn become_ordinary() -> anyhow::Result<()> {
    set_class(0, libc::SCHED_OTHER, 0)?;
    set_nice(0, 0)
}

pub(super) fn set_nice(pid: libc::pid_t, nice: i32) -> anyhow::Result<()> {
    // SAFETY: a plain system call.
    match unsafe { libc::setpriority(libc::PRIO_PROCESS, pid as libc::id_t, nice) } {
        0 => Ok(()),
        _ => Err(privilege(&format!("set nice level {nice}"))),
    }
}

/// Sets policy and priority of a process; 0 is the calling one.
pub(super) fn set_class(pid: libc::pid_t, class: i32, priority: i32) -> anyhow::Result<()> {
    let param = libc::sched_param { sched_priority: priority };
    // SAFETY: `param` outlives the call.
    match unsafe { libc::sched_setscheduler(pid, class, &param) } {
        0 => Ok(()),
        _ => Err(privilege(&format!("set scheduling class {class} with priority {priority}"))),
    }
}

/// Now, in nanoseconds of CLOCK_MONOTONIC.
pub(super) fn now_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place to write to.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Sleeps until `at` (nanoseconds of CLOCK_MONOTONIC).
pub(crate) fn sleep_until(at: u64) {
    let time = libc::timespec {
        tv_sec: (at / 1_000_000_000) as libc::time_t,
        tv_nsec: (at % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: `time` outlives the call; with an absolute time nothing is written back.
    while unsafe {
        libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &time, ptr::null_mut())
    } == libc::EINTR
    {}
}

/// The error for a system call that failed.
pub(super) fn system(what: &str) -> anyhow::Error {
    Failure::failed(format!("{what} failed: {}", io::Error::last_os_error()))
}

/// The error for something that only root may do.
fn privilege(what: &str) -> anyhow::Error {
    Failure::machine(format!("cannot {what}: {} (run it as root)", io::Error::last_os_error()))
}
