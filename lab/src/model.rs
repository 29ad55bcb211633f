// SPDX-License-Identifier: GPL-2.0-only
//! What the parts of the lab tell each other: the job a guest is given, the lines it sends back,
//! and what is kept of a finished boot.
//!
//! A *boot* is one guest started with one seed under one scheduler; it runs every step of its
//! [`Job`] in order. The job is packed into the guest's image as `/job.json`; the guest's agent
//! (`ballast-guest`, the guest's init) answers with one [`Line`] a line on its second serial port.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How guest time passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// One thread, `-icount`: the guest's clock counts instructions (1 instruction = 1 ns).
    Instructions,
    /// KVM where a trial boot shows it, else emulation; the clock is the host's.
    Parallel,
}

/// The guest's machine: one LLC a node, `smt` threads a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Topology {
    /// CPUs in all; a multiple of `nodes * smt`.
    pub cpus: u32,
    /// NUMA nodes, each a socket with one LLC.
    pub nodes: u32,
    /// Threads a core.
    pub smt: u32,
}

/// The scheduler that is in charge while the steps run.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum GuestSched {
    /// The kernel's own fair class: nothing is loaded.
    Kernel,
    /// The fair class of a kernel that we built: nothing is loaded, flags are set.
    Fair {
        /// Written to `/sys/kernel/debug/sched/features` one after another, e.g. `NO_STEAL`; none
        /// on a kernel without the patches.
        flags: Vec<String>,
    },
    /// A sched_ext program: started with this command line, in charge once
    /// `/sys/kernel/sched_ext/state` reads `enabled`, ended with SIGINT.
    Scx {
        /// Program (path inside the guest) and arguments.
        argv: Vec<String>,
    },
}

/// One measured thing inside a boot.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Step {
    /// The bench's word as typed, e.g. `hackbench+groups=4`.
    pub bench: String,
    /// What the agent does.
    pub action: Action,
    /// CPUs that the step's tasks are confined to; `None` = all.
    pub affinity: Option<Vec<u32>>,
    /// A shorter run of the same before any step is measured; `None` = no warm-up.
    pub warmup: Option<Vec<String>>,
}

/// What the agent does for a step.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum Action {
    /// Runs a command to its end; elapsed guest time, output and exit status are reported.
    Command {
        /// Program (path inside the guest) and arguments.
        argv: Vec<String>,
    },
    /// Loads and unloads the scheduler `times` times while `argv` runs over and over.
    /// Only with [`GuestSched::Scx`], which is then *not* loaded at the start of the boot.
    Loads {
        /// How many loads.
        times: u32,
        /// The load kept running meanwhile.
        argv: Vec<String>,
    },
}

/// Everything a guest's agent needs to know; `/job.json` in the image.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Job {
    /// Under which the steps run.
    pub sched: GuestSched,
    /// Milliseconds slept after boot, before anything is loaded (EEVDF is over-charged before the
    /// guest's first idle moment).
    pub settle_ms: u64,
    /// Milliseconds slept before each measured step.
    pub gap_ms: u64,
    /// Record scheduler events during the measured steps and report the idle-while-waiting share.
    pub trace: bool,
    /// Set `kernel.sched_schedstats`: our fair class counts its searches then, for a little time.
    pub schedstats: bool,
    /// In order.
    pub steps: Vec<Step>,
}

impl Job {
    /// Steps without pauses, and without anything that is recorded beside: for trial boots.
    pub fn plain(sched: GuestSched, steps: Vec<Step>) -> Self {
        Self { sched, settle_ms: 0, gap_ms: 0, trace: false, schedstats: false, steps }
    }
}

/// What the guest's own /proc says of one measured step: differences, end minus begin.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Meter {
    /// Context switches (`ctxt` of /proc/stat).
    pub switches: u64,
    /// Nanoseconds each CPU ran tasks (/proc/schedstat), by CPU.
    pub run_ns: Vec<u64>,
    /// Nanoseconds that tasks waited in run queues (/proc/schedstat), all CPUs.
    pub queue_delay_ns: u64,
    /// Rescheduling and function-call interrupts (RES + CAL of /proc/interrupts), all CPUs.
    pub ipis: u64,
    /// Guest uptime when the step began.
    pub guest_uptime_ms: u64,
    /// The scheduler's own counters over the step (`steals` …); empty when it has none.
    pub counters: BTreeMap<String, u64>,
    /// Share of CPU time, in per cent, in which a CPU idled past 20 µs while a task that may run
    /// there waited; only with [`Job::trace`].
    pub idle_while_waiting_pct: Option<f64>,
}

impl Meter {
    /// (Σ run)² / Σ run² over CPUs; `None` when nothing ran or the figures are missing.
    pub fn effective_cpus(&self) -> Option<f64> {
        let sum: f64 = self.run_ns.iter().map(|&x| x as f64).sum();
        let squares: f64 = self.run_ns.iter().map(|&x| (x as f64) * (x as f64)).sum();
        (squares > 0.0).then(|| sum * sum / squares)
    }
}

/// What [`Line::Loaded`] names where nothing is loaded.
pub const BARE: &str = "eevdf";

/// One line of JSON from the guest's agent on its second serial port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "line")]
pub enum Line {
    /// First line: the guest is up.
    Hello {
        /// `uname -r`.
        kernel: String,
        /// Online CPUs.
        cpus: u32,
        /// NUMA nodes seen by the kernel.
        nodes: u32,
        /// LLCs seen by the kernel.
        llcs: u32,
    },
    /// The scheduler is in charge (for [`GuestSched::Kernel`]: nothing had to be loaded).
    Loaded {
        /// `/sys/kernel/sched_ext/root/ops`, or [`BARE`].
        ops: String,
    },
    /// The scheduler did not take charge; the boot ends here.
    Refused {
        /// Exit status of its program; `None` when it had to be killed.
        status: Option<i32>,
        /// The last lines it printed.
        log: String,
    },
    /// A measured step came to its end with the same scheduler in charge throughout.
    Step {
        /// Index into [`Job::steps`].
        index: usize,
        /// Guest time from start to end.
        wall_ns: u64,
        /// Exit status of the command (128 + n when a signal ended it).
        status: i32,
        /// What it printed, standard output then standard error, at most 64 KiB.
        output: String,
        /// The meter.
        meter: Meter,
    },
    /// The scheduler was no longer in charge when this step ended; the boot ends here.
    Ejected {
        /// Index into [`Job::steps`].
        index: usize,
        /// What the scheduler's program and the kernel said.
        reason: String,
        /// The last lines that its program printed.
        log: String,
    },
    /// Kernel warnings, stalls and bugs seen in the kernel's log up to the end; empty is good.
    Kernel {
        /// The offending lines.
        warnings: Vec<String>,
    },
    /// Last line: everything was done, the scheduler was unloaded cleanly.
    End {
        /// What the scheduler's program printed at its end; empty for the kernel's own.
        log: String,
    },
}

/// How a boot ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Every step counted.
    Ok,
    /// The scheduler's program said no (no sched_ext, malformed type information …).
    Refused,
    /// The kernel threw the scheduler out.
    Ejected,
    /// The guest's kernel panicked.
    Panicked,
    /// No end within the time allowed.
    Hung,
    /// Anything else: the bench failed, the emulator died or was killed, the kernel warned.
    Failed,
}

/// What is kept of one boot (this is also what the sample cache stores).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Boot {
    /// The seed it was started with.
    pub seed: u64,
    /// How it ended.
    pub status: Status,
    /// Why it did not end `ok`; empty otherwise.
    pub reason: String,
    /// The last lines of its console; empty when it ended `ok`.
    pub log: String,
    /// All lines that the agent sent.
    pub lines: Vec<Line>,
    /// Boots of the same that the emulator broke before this one (repeated, not counted as ours).
    pub repeats: u32,
}
