// SPDX-License-Identifier: GPL-2.0-only
//! The system calls that the standard library lacks.

use std::ffi::CString;
use std::io;
use std::time::Duration;

use anyhow::{Context, Result};

/// Powers the guest off without looking back: the emulator is told not to reboot.
pub fn end_guest() -> ! {
    // SAFETY: sync and reboot take no pointers.
    unsafe {
        libc::sync();
        libc::reboot(libc::RB_AUTOBOOT);
    }
    loop {
        sleep_ms(1000);
    }
}

/// Sleeps in guest time.
pub fn sleep_ms(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms));
}

/// Nanoseconds of a clock of the guest's.
pub fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` outlives the call; both clocks used here always exist.
    unsafe { libc::clock_gettime(clock, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Mounts a file system of type `kind` on `at`, which is made.
pub fn mount(kind: &str, at: &str, options: &str) -> Result<()> {
    std::fs::create_dir_all(at).with_context(|| format!("{at}: cannot make the folder"))?;
    let (kind_c, at_c, options_c) =
        (CString::new(kind)?, CString::new(at)?, CString::new(options)?);
    // SAFETY: all strings are NUL-terminated and outlive the call.
    let status = unsafe {
        libc::mount(kind_c.as_ptr(), at_c.as_ptr(), kind_c.as_ptr(), 0, options_c.as_ptr().cast())
    };
    match status {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()).with_context(|| format!("{at}: cannot mount {kind}")),
    }
}

/// Raises a resource limit, soft and hard.
pub fn raise_limit(resource: libc::__rlimit_resource_t, to: u64) -> io::Result<()> {
    let limit = libc::rlimit { rlim_cur: to, rlim_max: to };
    // SAFETY: `limit` outlives the call.
    check(unsafe { libc::setrlimit(resource, &limit) })
}

/// Confines the calling thread to `cpus`; safe between fork and exec.
pub fn confine(cpus: &[u32]) -> io::Result<()> {
    confine_process(0, cpus)
}

/// Confines a process of one thread to `cpus`; 0 is the calling thread.
pub fn confine_process(pid: libc::pid_t, cpus: &[u32]) -> io::Result<()> {
    // SAFETY: a cpu_set_t is plain bits; zero is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for &cpu in cpus {
        if cpu as usize >= libc::CPU_SETSIZE as usize {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // SAFETY: `cpu` lies inside the set.
        unsafe { libc::CPU_SET(cpu as usize, &mut set) };
    }
    // SAFETY: `set` outlives the call.
    check(unsafe { libc::sched_setaffinity(pid, size_of_val(&set), &set) })
}

/// Sends a signal; a negative `pid` names a process group. A process that is gone is no error.
pub fn signal(pid: i32, signal: i32) {
    // SAFETY: kill takes no pointers.
    unsafe { libc::kill(pid, signal) };
}

/// Sets the loopback interface up.
pub fn loopback_up() -> io::Result<()> {
    // SAFETY: an ifreq is plain data; zero is valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = *from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: socket takes no pointers; `request` outlives ioctl; the socket is closed once.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        check(socket)?;
        let status = check(libc::ioctl(socket, libc::SIOCSIFFLAGS as _, &request));
        libc::close(socket);
        status
    }
}

/// `uname -r`.
pub fn kernel_release() -> Result<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/osrelease")?;
    Ok(text.trim().to_string())
}

fn check(status: libc::c_int) -> io::Result<()> {
    if status < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
