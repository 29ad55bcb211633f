// SPDX-License-Identifier: GPL-2.0-only
//! The `scx_ballast` program: loads the scheduler and keeps it in charge until it is told to stop.

mod session;

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Parser;
use libbpf_rs::btf::Btf;
use libbpf_rs::{set_print, PrintLevel};
use scx_ballast::settings::{Settings, FEATURES, TUNABLES};
use scx_ballast::{refuse, stats};

use session::{End, Options, Session};

const EXIT_FAILED: u8 = 1;
const EXIT_USAGE: u8 = 2;
const EXIT_REFUSED: u8 = 3;

/// Ballast as a sched_ext scheduler for Linux 6.18 and later.
///
/// Runs until interrupted; the kernel's own scheduler takes over at once when it ends, whatever
/// the cause. Exit status: 0 ended by you, 1 ended by the kernel or failed, 2 wrong usage, 3 this
/// machine cannot run it now.
#[derive(Parser)]
#[command(
    version,
    after_help = "Examples:\n  scx_ballast --stats 1\n  scx_ballast --set NO_STEAL --set slice_us=3000\n  \
                  scx_ballast --monitor 2"
)]
struct Args {
    /// A feature (NAME or NO_NAME) or a tunable (name=value); repeatable, see --help-settings
    #[arg(short, long = "set", value_name = "WORD")]
    set: Vec<String>,
    /// Use the kernel's queued wake-ups (fixed while loaded)
    #[arg(long)]
    queued_wakeup: bool,
    /// Print counters every SEC seconds
    #[arg(long, value_name = "SEC")]
    stats: Option<f64>,
    /// Print the counters of a running scx_ballast every SEC seconds; loads nothing
    #[arg(long, value_name = "SEC")]
    monitor: Option<f64>,
    /// Say what the counters mean
    #[arg(long)]
    help_stats: bool,
    /// List features and tunables
    #[arg(long)]
    help_settings: bool,
    /// Print what libbpf and the verifier say
    #[arg(short, long)]
    verbose: bool,
}

fn help_settings() -> String {
    let mut text = String::from("features (NAME on, NO_NAME off):\n");
    for f in FEATURES {
        let _ = writeln!(text, "  {:<17} {} ({})", f.name, f.help, if f.on { "on" } else { "off" });
    }
    text.push_str("tunables (name=value):\n");
    for t in TUNABLES {
        let range = format!("{}, {}..{}", t.default, t.min, t.max);
        let _ = writeln!(text, "  {:<17} {} ({range})", t.name, t.help);
    }
    text
}

/// SIGINT and SIGTERM as a file descriptor, so that one poll() waits for everything.
fn signals() -> Result<i32> {
    // SAFETY: sigset_t is plain data that sigemptyset initialises; all pointers are to locals.
    let fd = unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGINT);
        libc::sigaddset(&mut set, libc::SIGTERM);
        libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
        libc::signalfd(-1, &set, libc::SFD_CLOEXEC)
    };
    if fd < 0 {
        return Err(io::Error::last_os_error()).context("signalfd");
    }
    Ok(fd)
}

fn listen() -> Result<UnixListener> {
    let path = Path::new(stats::SOCKET);
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir).with_context(|| format!("creating {}", dir.display()))?;
    }
    // Nobody else is loaded (refuse.rs has looked), so a socket that is there is a dead one's.
    let _ = fs::remove_file(path);
    UnixListener::bind(path).with_context(|| format!("listening on {}", path.display()))
}

/// Waits for a signal (true), serving counters and printing them meanwhile; false: the kernel
/// ended the scheduler.
fn serve(
    session: &Session<'_>,
    signal: i32,
    socket: &UnixListener,
    every: Option<f64>,
) -> Result<bool> {
    // The kernel tells nobody when it throws a scheduler out, so it is looked at once a second.
    let period = Duration::from_secs_f64(every.unwrap_or(1.0).clamp(0.05, 3600.0));
    let mut before = session.counters();
    loop {
        let mut fds = [signal, socket.as_raw_fd()].map(|fd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        });
        // SAFETY: `fds` is a live array of two pollfd.
        let ready = unsafe { libc::poll(fds.as_mut_ptr(), 2, period.as_millis() as i32) };
        if session.over() {
            return Ok(false);
        }
        if fds[0].revents != 0 {
            return Ok(true);
        }
        if fds[1].revents != 0 {
            if let Ok((client, _)) = socket.accept() {
                stats::answer(client, &session.counters());
            }
        }
        if ready == 0 && every.is_some() {
            let now = session.counters();
            writeln!(io::stdout(), "{}", stats::line(&now, &before))?;
            before = now;
        }
    }
}

/// Loads, again after each CPU hotplug, until a signal or the kernel ends it.
fn run(args: &Args, settings: &Settings) -> Result<u8> {
    let signal = signals()?;
    let socket = listen()?;
    let options = Options { queued_wakeup: args.queued_wakeup };
    loop {
        let mut object = MaybeUninit::uninit();
        let session = Session::start(&mut object, settings, &options)?;
        eprintln!("scx_ballast {} is in charge", env!("CARGO_PKG_VERSION"));
        serve(&session, signal, &socket, args.stats)?;
        match session.end() {
            End::Unloaded => {
                eprintln!("EXIT: unloaded; the kernel's own scheduler is in charge");
                return Ok(0);
            }
            End::Restart => eprintln!("a CPU came or went: loading again"),
            End::Ejected { reason, dump } => {
                eprint!("{dump}");
                eprintln!("EXIT: {reason}; the kernel's own scheduler is in charge");
                return Ok(EXIT_FAILED);
            }
        }
    }
}

fn refused() -> Option<String> {
    // SAFETY: geteuid has no preconditions.
    let root = unsafe { libc::geteuid() } == 0;
    if let Some(reason) = refuse::reason(Path::new("/sys"), root) {
        return Some(reason);
    }
    let btf = match Btf::from_vmlinux() {
        Ok(btf) => btf,
        Err(e) => return Some(format!("this kernel has no usable type information (BTF): {e}")),
    };
    refuse::malformed_kfunc(&btf).map(|name| {
        format!(
            "this kernel's type information is malformed: {name} shows a parameter that should be \
             hidden, because it was built with pahole before 1.31; use a kernel built with a newer \
             one"
        )
    })
}

fn main() -> ExitCode {
    let args = Args::parse();
    if args.help_stats || args.help_settings {
        print!("{}", if args.help_stats { stats::help() } else { help_settings() });
        return ExitCode::SUCCESS;
    }
    let fail = |status: u8, what: &str| {
        eprintln!("scx_ballast: {what}");
        ExitCode::from(status)
    };
    let mut settings = Settings::default();
    for word in &args.set {
        if let Err(e) = settings.apply(word) {
            return fail(EXIT_USAGE, &e.to_string());
        }
    }
    if let Some(every) = args.monitor {
        let every = Duration::from_secs_f64(every.clamp(0.05, 3600.0));
        return match stats::monitor(Path::new(stats::SOCKET), every) {
            Ok(()) => ExitCode::SUCCESS,
            Err(e) => fail(EXIT_FAILED, &format!("{e:#}")),
        };
    }
    if let Some(reason) = refused() {
        return fail(EXIT_REFUSED, &reason);
    }
    let level = if args.verbose { PrintLevel::Debug } else { PrintLevel::Warn };
    set_print(Some((level, |_, text| eprint!("{text}"))));
    match run(&args, &settings) {
        Ok(status) => ExitCode::from(status),
        Err(e) => fail(EXIT_FAILED, &format!("{e:#}")),
    }
}
