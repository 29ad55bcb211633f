// SPDX-License-Identifier: GPL-2.0-only
//! Work conservation, measured through tracefs alone: how much CPU time is idle while a task that
//! may run there waits. No BPF and no type information is needed, and nothing is known of the
//! scheduler under test.
//!
//! A private trace instance records `sched_switch`, `sched_wakeup`, `sched_wakeup_new` and
//! `sched_migrate_task`. Its clock is `mono`: one clock for all CPUs (`local` may differ between
//! them), which user space reads too, so the span needs no markers. The text that tracefs prints
//! is exact to the microsecond; it is read once recording has stopped, so that nothing of ours
//! runs meanwhile but a few snapshots. When the buffer is full the kernel drops events and counts
//! them, and then there is no share at all.
//!
//! Where a task may run is read from /proc, for all threads: at the start, after 0.1 s, 0.5 s,
//! 2.1 s … and at the end. A new task has what its first snapshot says, from its birth on; one
//! that no snapshot has inherits from the thread that made it, within the bench's CPUs. So a task
//! that is born, changes its own mask and ends between two snapshots counts as its parent does;
//! and the short times for which the kernel disables migration are not seen.

mod allowed;
mod cpuset;
mod event;
mod idle;
#[cfg(test)]
mod tests;

pub use idle::Summary;

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use allowed::Snapshot;
pub use cpuset::CpuSet;
use event::{parse_line, Event, Parsed};
use idle::{summarise, Record};

use crate::error::Failure;

/// Where tracefs belongs.
const TRACEFS: &str = "/sys/kernel/tracing";

/// Name of the private instance.
const INSTANCE: &str = "ballast";

/// The events recorded, under `events/sched`.
const EVENTS: [&str; 4] =
    ["sched_switch", "sched_wakeup", "sched_wakeup_new", "sched_migrate_task"];

/// The most that a CPU's buffer gets, in KiB: about 300,000 events.
const MAX_BUFFER_KIB: u64 = 16 << 10;

/// The least, in KiB.
const MIN_BUFFER_KIB: u64 = 256;

/// Part of the free memory that all buffers may take together.
const MEMORY_PART: u64 = 4;

/// The first snapshot while recording comes after this time, each later one after a pause four
/// times longer: the work stays a small part of any run.
const FIRST_SNAPSHOT: Duration = Duration::from_millis(100);

/// A recording of scheduler events. Dropped without [`Tracer::stop`], it leaves nothing behind.
pub struct Tracer {
    instance: Instance,
    cpus: CpuSet,
    bench: CpuSet,
    start: Snapshot,
    watcher: Option<(Sender<()>, JoinHandle<Vec<Snapshot>>)>,
    begin_ns: u64,
}

impl Tracer {
    /// Starts recording on all online CPUs. `bench_cpus` are the CPUs that the measured tasks are
    /// confined to: what is assumed of a task of which nothing else is known. Needs root and a
    /// kernel with trace events.
    pub fn start(bench_cpus: &[u32]) -> anyhow::Result<Self> {
        let instance = Instance::new(Path::new(TRACEFS))?;
        let online = read("/sys/devices/system/cpu/online")?;
        let cpus = CpuSet::parse(&online)
            .ok_or_else(|| Failure::machine(format!("no list of online CPUs: '{online}'")))?;
        instance.set("options/overwrite", "0")?;
        instance.set("trace_clock", "mono")?;
        instance.set("buffer_size_kb", &buffer_kib(&read("/proc/meminfo")?, &cpus).to_string())?;
        for event in EVENTS {
            instance.set(&format!("events/sched/{event}/enable"), "1")?;
        }
        instance.set("tracing_on", "1")?;
        let start = Snapshot::read(Path::new("/proc"), now_ns())?;
        visit(&cpus)?;
        let watcher = Some(watch());
        let bench = bench_cpus.iter().copied().collect();
        Ok(Self { instance, cpus, bench, start, watcher, begin_ns: now_ns() })
    }

    /// Stops recording, removes the instance and says what was found.
    pub fn stop(mut self) -> anyhow::Result<Summary> {
        let end_ns = now_ns();
        self.instance.set("tracing_on", "0")?;
        let mut snapshots = vec![std::mem::take(&mut self.start)];
        if let Some((stop, watcher)) = self.watcher.take() {
            drop(stop);
            snapshots.extend(watcher.join().unwrap_or_default());
        }
        snapshots.push(Snapshot::read(Path::new("/proc"), now_ns())?);
        let mut trace = read_trace(BufReader::new(self.instance.open("trace")?))?;
        trace.lost += self.instance.lost(&self.cpus)?;
        Ok(summarise(&Record {
            events: &trace.events,
            snapshots: &snapshots,
            cpus: &self.cpus,
            bench: &self.bench,
            begin_ns: self.begin_ns,
            end_ns,
            lost: trace.lost,
            odd: trace.odd,
        }))
    }
}

/// The events of a trace file.
#[derive(Debug, Default)]
struct Trace {
    events: Vec<Event>,
    lost: u64,
    odd: u64,
}

/// Reads a trace file; names of tasks need not be UTF-8.
fn read_trace(mut file: impl BufRead) -> anyhow::Result<Trace> {
    let mut trace = Trace::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        let length = file
            .read_until(b'\n', &mut line)
            .map_err(|error| Failure::failed(format!("cannot read the trace: {error}")))?;
        if length == 0 {
            return Ok(trace);
        }
        match parse_line(&String::from_utf8_lossy(&line)) {
            Parsed::Event(event) => trace.events.push(event),
            Parsed::Lost => trace.lost += 1,
            Parsed::Odd => trace.odd += 1,
            Parsed::Nothing => {}
        }
    }
}

/// A trace instance of our own: buffers, clock and events apart from everybody else's.
struct Instance {
    path: PathBuf,
}

impl Instance {
    fn new(tracefs: &Path) -> anyhow::Result<Self> {
        if !tracefs.join("instances").is_dir() {
            mount_tracefs(tracefs)?;
        }
        let path = tracefs.join("instances").join(INSTANCE);
        // One that a killed run has left behind.
        let _ = fs::remove_dir(&path);
        fs::create_dir(&path).map_err(|error| {
            Failure::machine(format!("cannot make trace instance {}: {error}", path.display()))
        })?;
        let instance = Self { path };
        instance.set("tracing_on", "0")?;
        Ok(instance)
    }

    fn set(&self, file: &str, value: &str) -> anyhow::Result<()> {
        let path = self.path.join(file);
        fs::write(&path, value).map_err(|error| {
            Failure::machine(format!("cannot write '{value}' to {}: {error}", path.display()))
        })
    }

    fn open(&self, file: &str) -> anyhow::Result<File> {
        let path = self.path.join(file);
        File::open(&path)
            .map_err(|error| Failure::failed(format!("cannot read {}: {error}", path.display())))
    }

    /// Events that could not be recorded, over all CPUs.
    fn lost(&self, cpus: &CpuSet) -> anyhow::Result<u64> {
        cpus.iter()
            .map(|cpu| {
                Ok(lost(&io::read_to_string(self.open(&format!("per_cpu/cpu{cpu}/stats"))?)?))
            })
            .sum()
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // The events hold the instance; a guest that is about to end loses nothing if this fails.
        let _ = self.set("events/enable", "0");
        let _ = fs::remove_dir(&self.path);
    }
}

/// Sums what a CPU's `stats` file counts as lost.
fn lost(stats: &str) -> u64 {
    stats
        .lines()
        .filter_map(|line| line.split_once(": "))
        .filter(|(key, _)| matches!(*key, "overrun" | "commit overrun" | "dropped events"))
        .filter_map(|(_, count)| count.trim().parse::<u64>().ok())
        .sum()
}

fn mount_tracefs(at: &Path) -> anyhow::Result<()> {
    use std::os::unix::ffi::OsStrExt;
    let target = std::ffi::CString::new(at.as_os_str().as_bytes())?;
    // SAFETY: all strings are valid and end in NUL; tracefs takes no data.
    let status = unsafe {
        libc::mount(c"tracefs".as_ptr(), target.as_ptr(), c"tracefs".as_ptr(), 0, std::ptr::null())
    };
    match status {
        0 => Ok(()),
        _ => Err(Failure::machine(format!(
            "cannot mount tracefs on {}: {} (needs root and a kernel with CONFIG_FTRACE)",
            at.display(),
            io::Error::last_os_error()
        ))),
    }
}

/// A CPU's buffer in KiB: all of them together take a quarter of what memory is free.
fn buffer_kib(meminfo: &str, cpus: &CpuSet) -> u64 {
    let free: u64 = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))
        .and_then(|rest| rest.split_whitespace().next())
        .and_then(|kib| kib.parse().ok())
        .unwrap_or(0);
    let cpus = cpus.iter().count().max(1) as u64;
    (free / MEMORY_PART / cpus).clamp(MIN_BUFFER_KIB, MAX_BUFFER_KIB)
}

/// Runs a thread on every CPU for a moment, so that each has a switch in the record and its state
/// is known even if it then idles, or runs one task, to the end.
fn visit(cpus: &CpuSet) -> anyhow::Result<()> {
    thread::scope(|scope| {
        scope.spawn(|| cpus.iter().try_for_each(run_on)).join().unwrap_or_else(|_| {
            Err(Failure::failed("the thread that visits all CPUs has panicked"))
        })
    })
}

/// Moves the calling thread to a CPU.
fn run_on(cpu: u32) -> anyhow::Result<()> {
    let mut mask = vec![0u64; cpu as usize / 64 + 1];
    mask[cpu as usize / 64] = 1 << (cpu % 64);
    // SAFETY: the mask is valid for its length in bytes.
    let status = unsafe { libc::sched_setaffinity(0, mask.len() * 8, mask.as_ptr().cast()) };
    match status {
        0 => Ok(()),
        _ => {
            Err(Failure::failed(format!("cannot run on CPU {cpu}: {}", io::Error::last_os_error())))
        }
    }
}

/// Takes snapshots at growing distances until the sender is dropped.
fn watch() -> (Sender<()>, JoinHandle<Vec<Snapshot>>) {
    let (stop, stopped) = mpsc::channel::<()>();
    let watcher = thread::spawn(move || {
        let mut snapshots = Vec::new();
        let mut pause = FIRST_SNAPSHOT;
        while stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
            snapshots.extend(Snapshot::read(Path::new("/proc"), now_ns()));
            pause *= 4;
        }
        snapshots
    });
    (stop, watcher)
}

fn read(path: &str) -> anyhow::Result<String> {
    fs::read_to_string(path)
        .map_err(|error| Failure::machine(format!("cannot read {path}: {error}")))
}

/// Now, in nanoseconds of CLOCK_MONOTONIC.
fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place to write to.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
