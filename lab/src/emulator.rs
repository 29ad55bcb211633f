// SPDX-License-Identifier: GPL-2.0-only
//! Boots a guest under QEMU, reads what it says and tells how the boot ended.

mod command;
mod process;
pub mod timer;
mod verdict;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use serde::de::DeserializeOwned;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::error::Failure;
use crate::image::Image;
use crate::kernel::Kernel;
use crate::model::{Boot, Line, Mode, Status, Topology};
use crate::whole;

pub use command::{command_line, kernel_command_line};
pub use timer::Timer;

/// The emulator's program.
const QEMU: &str = "qemu-system-x86_64";
/// A machine of more CPUs is refused: the emulated interrupt controller numbers them in eight
/// bits, and 255 means "all".
pub const MAX_CPUS: u32 = 255;
/// More NUMA nodes than this QEMU does not take.
pub const MAX_NODES: u32 = 128;
/// Boots that QEMU broke are repeated so many times.
const REPEATS: u32 = 3;
/// Host time from power-on to the agent's first line, whatever the caller's limit: a fixed part …
const HELLO_LIMIT: Duration = Duration::from_secs(300);
/// … and one for each guest CPU.
const HELLO_LIMIT_A_CPU: Duration = Duration::from_secs(3);
/// A trial boot under KVM takes about 2 s where KVM works.
const KVM_LIMIT: Duration = Duration::from_secs(10);
/// Guest memory, MiB: for the kernel and the programs, and for each CPU.
const MEMORY_MIB: u32 = 384;
const MEMORY_A_CPU_MIB: u32 = 16;

/// What runs the guest's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Accel {
    /// The host's own virtualisation.
    Kvm,
    /// Emulation, all guest CPUs taking turns in one host thread.
    TcgSingle,
    /// Emulation, a host thread for each guest CPU.
    TcgMulti,
}

/// One guest to be booted.
#[derive(Clone, Debug)]
pub struct Guest<'a> {
    /// Its kernel.
    pub kernel: &'a Kernel,
    /// Its root with init and job.
    pub image: &'a Image,
    /// Its machine.
    pub topology: Topology,
    /// How its time passes; instructions are always counted in one thread.
    pub mode: Mode,
    /// What runs it.
    pub accel: Accel,
    /// One word of the kernel's command line, nothing else.
    pub seed: u64,
    /// More words of it.
    pub append: &'a [String],
    /// This machine's time from the kernel's first complaint on; `None`: as without one.
    pub complained: Option<Duration>,
    /// Its memory.
    pub memory_mib: u32,
    /// Host time after which it is killed.
    pub limit: Duration,
    /// What its kernel is told where instructions are counted; `None`: it measures.
    pub timer: Option<Timer>,
}

impl Guest<'_> {
    /// The timer, in the one mode in which measuring it is dear.
    pub fn timer_to_tell(&self) -> Option<Timer> {
        self.timer.filter(|_| self.mode == Mode::Instructions)
    }
}

/// Refuses a machine that cannot be built, in one line.
pub fn check_topology(topology: &Topology) -> Result<()> {
    let Topology { cpus, nodes, smt } = *topology;
    let refuse = |text: String| Err(Failure::usage(text));
    if cpus == 0 || nodes == 0 || smt == 0 {
        return refuse("a guest has at least 1 CPU, 1 node and 1 thread a core".into());
    }
    if cpus > MAX_CPUS {
        return refuse(format!("{cpus} CPUs: a guest has at most {MAX_CPUS}"));
    }
    if nodes > MAX_NODES {
        return refuse(format!("{nodes} nodes: a guest has at most {MAX_NODES}"));
    }
    let unit = u64::from(nodes) * u64::from(smt);
    if u64::from(cpus) % unit != 0 {
        return refuse(format!(
            "{cpus} CPUs do not divide evenly into {nodes} nodes of {smt}-thread cores; \
             give a multiple of {unit}"
        ));
    }
    let cores = cpus / nodes / smt;
    // threads, cores and nodes have bits of their own in a CPU's number
    let a_node = cores.next_power_of_two() * smt.next_power_of_two();
    if nodes * a_node - a_node + cores * smt.next_power_of_two() > MAX_CPUS {
        return refuse(format!(
            "{cpus} CPUs: {nodes} nodes take {a_node} CPU numbers each, and there are {MAX_CPUS}; \
             give fewer, or a power of two a node"
        ));
    }
    Ok(())
}

/// Memory that such a guest needs: the image is there twice while it is unpacked.
pub fn memory_mib(topology: &Topology, image: &Image) -> u32 {
    let image = u32::try_from(image.bytes >> 20).unwrap_or(u32::MAX / 4);
    let need = MEMORY_MIB + MEMORY_A_CPU_MIB * topology.cpus + image.saturating_mul(2);
    // each node the same, in whole pieces that differ little from image to image
    need.next_multiple_of(64 * topology.nodes)
}

/// What a guest of `cpus` CPUs runs on: instructions are counted in one thread; else KVM where it
/// works, else a thread a CPU where the host has a core more than that, else turns.
pub fn choose_accel(mode: Mode, cpus: u32, host_cpus: u32, kvm: bool) -> Accel {
    match mode {
        Mode::Instructions => Accel::TcgSingle,
        Mode::Parallel if kvm => Accel::Kvm,
        Mode::Parallel if host_cpus > cpus => Accel::TcgMulti,
        Mode::Parallel => Accel::TcgSingle,
    }
}

/// Boots the guest and waits for its end. An error is one of the host's; whatever happened to the
/// guest is in the result. A boot that QEMU broke is repeated and counted.
pub fn boot(guest: &Guest) -> Result<Boot> {
    check_topology(&guest.topology)?;
    let mut repeats = 0;
    loop {
        let boot = boot_once(guest, repeats)?;
        if repeats == REPEATS || !verdict::broken_by_emulator(guest.accel, &boot) {
            return Ok(boot);
        }
        repeats += 1;
    }
}

fn boot_once(guest: &Guest, repeats: u32) -> Result<Boot> {
    let hello = HELLO_LIMIT + HELLO_LIMIT_A_CPU * guest.topology.cpus;
    let words = command_line(guest);
    let timer = guest.timer_to_tell();
    let tell = |stream| timer.map_or(Ok(()), |timer| timer.tell(stream));
    let talk = timer.map(|_| &tell as process::Talk);
    let limits = process::Limits {
        whole: guest.limit,
        first: hello.min(guest.limit),
        complained: guest.complained,
    };
    let run = process::run(QEMU, &words, &limits, talk)?;
    let (lines, garbled) = verdict::parse_lines(&run.lines);
    let (status, reason) = verdict::judge(&lines, garbled, &run.console, &run.ended);
    let log = match status {
        Status::Ok => String::new(),
        _ => verdict::log_of(&run.console),
    };
    Ok(Boot { seed: guest.seed, status, reason, log, lines, repeats })
}

/// `qemu-system-x86_64 --version`, first line.
pub fn version() -> Result<String> {
    let output =
        Command::new(QEMU).arg("--version").output().map_err(process::not_started(QEMU))?;
    let text = String::from_utf8_lossy(&output.stdout);
    match text.lines().next() {
        Some(line) if output.status.success() => Ok(line.to_string()),
        _ => Err(Failure::machine(format!("{QEMU} --version fails; install the package again"))),
    }
}

/// Whether KVM boots a guest here, by a trial with `image` (see [`crate::image::hello`]);
/// remembered in `cache` until the host or the emulator is another.
pub fn kvm_works(kernel: &Kernel, image: &Image, cache: &Path) -> bool {
    if !Path::new("/dev/kvm").exists() {
        return false;
    }
    let host = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let key = format!("{host}{}{}", version().unwrap_or_default(), kernel.digest);
    let note = Note::new(cache, "kvm", &key);
    if let Some(works) = note.read() {
        return works;
    }
    let topology = Topology { cpus: 2, nodes: 1, smt: 1 };
    let trial = Guest {
        kernel,
        image,
        topology,
        mode: Mode::Parallel,
        accel: Accel::Kvm,
        seed: 1,
        append: &[],
        complained: None,
        memory_mib: memory_mib(&topology, image),
        limit: KVM_LIMIT,
        timer: None,
    };
    let works = boot(&trial).is_ok_and(|boot| {
        boot.status == Status::Ok && matches!(boot.lines.first(), Some(Line::Hello { .. }))
    });
    note.write(&works);
    works
}

/// What a trial boot has found out, kept in the cache.
struct Note(PathBuf);

impl Note {
    /// The note of its `kind` on the machine, emulator or kernel that `key` names.
    fn new(cache: &Path, kind: &str, key: &str) -> Self {
        let key: String = Sha256::digest(key).iter().take(16).map(|b| format!("{b:02x}")).collect();
        Self(cache.join(kind).join(key))
    }

    fn read<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(&fs::read(&self.0).ok()?).ok()
    }

    /// A note that cannot be kept costs the next run a trial boot, no more.
    fn write<T: Serialize>(&self, found: &T) {
        let (Some(folder), Ok(text)) = (self.0.parent(), serde_json::to_vec(found)) else { return };
        let _ = fs::create_dir_all(folder).and_then(|()| whole::write(&self.0, &text));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn odd_machines_are_refused() {
        let check = |cpus, nodes, smt| check_topology(&Topology { cpus, nodes, smt });
        for (cpus, nodes, smt) in
            [(1, 1, 1), (4, 1, 2), (8, 2, 2), (64, 4, 1), (240, 4, 1), (MAX_CPUS, 1, 1)]
        {
            check(cpus, nodes, smt).unwrap();
        }
        for (cpus, nodes, smt, what) in [
            (0, 1, 1, "at least 1 CPU"),
            (4, 0, 1, "at least 1 CPU"),
            (MAX_CPUS + 1, 1, 1, "256 CPUs: a guest has at most 255"),
            (u32::MAX, 1, 1, "at most 255"),
            (200, 200, 1, "200 nodes: a guest has at most 128"),
            (6, 4, 1, "give a multiple of 4"),
            (6, 3, 4, "give a multiple of 12"),
            (6, 2, u32::MAX, "do not divide"),
            (255, 5, 1, "5 nodes take 64 CPU numbers each, and there are 255"),
            (252, 4, 3, "4 nodes take 128 CPU numbers"),
        ] {
            let error = check(cpus, nodes, smt).unwrap_err();
            assert_eq!(crate::error::exit_status(&error), 2);
            assert!(error.to_string().contains(what), "{error}");
        }
    }

    #[test]
    fn threads_only_where_the_host_has_the_cores() {
        let choose = |mode, cpus, kvm| choose_accel(mode, cpus, 4, kvm);
        assert_eq!(choose(Mode::Instructions, 1, true), Accel::TcgSingle);
        assert_eq!(choose(Mode::Parallel, 64, true), Accel::Kvm);
        assert_eq!(choose(Mode::Parallel, 3, false), Accel::TcgMulti);
        assert_eq!(choose(Mode::Parallel, 4, false), Accel::TcgSingle);
    }
}
