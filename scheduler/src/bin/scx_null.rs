// SPDX-License-Identifier: GPL-2.0-only
//! `scx_null`: loads a sched_ext scheduler without a callback and waits for SIGINT or SIGTERM.

use std::mem::MaybeUninit;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use libbpf_rs::skel::{OpenSkel as _, SkelBuilder as _};
use scx_ballast::refuse;

#[allow(
    missing_docs,
    clippy::all,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::undocumented_unsafe_blocks
)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/null_skel.rs"));
}

fn wait() {
    let mut signal = 0;
    // SAFETY: sigset_t is plain data that sigemptyset initialises; all pointers are to locals.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGINT);
        libc::sigaddset(&mut set, libc::SIGTERM);
        libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
        libc::sigwait(&set, &mut signal);
    }
}

fn run() -> Result<()> {
    let mut object = MaybeUninit::uninit();
    let open = skel::NullSkelBuilder::default().open(&mut object).context("opening")?;
    let mut skel = open.load().context("loading")?;
    let _link = skel.maps.null_ops.attach_struct_ops().context("attaching")?;
    wait();
    Ok(())
}

fn main() -> ExitCode {
    // SAFETY: geteuid has no preconditions.
    let root = unsafe { libc::geteuid() } == 0;
    if let Some(reason) = refuse::reason(Path::new("/sys"), root) {
        eprintln!("scx_null: {reason}");
        return ExitCode::from(3);
    }
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("scx_null: {e:#}");
            ExitCode::from(1)
        }
    }
}
