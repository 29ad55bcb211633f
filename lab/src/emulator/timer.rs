// SPDX-License-Identifier: GPL-2.0-only
//! The guest kernel is told how fast its CPUs' local timers run, as hypervisors tell it.
//!
//! Linux finds that out by spinning for 100 ms on PAUSE, at each of which QEMU looks at every CPU:
//! where instructions are counted, half of a boot's cost. Hyper-V and VMware tell the kernel
//! instead, through registers that QEMU's emulation does not have. So:
//! 1. Once for each kernel and emulator, a trial boot reads what the kernel has measured and where
//!    it keeps it (`ballast-guest timer`).
//! 2. Each boot that counts instructions stops at `start_kernel`, where nothing has read the
//!    variable yet, by the emulator's own debugger; that writes it and lets go.
//!
//! A kernel that does not show its symbols or its memory measures for itself, as before.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use anyhow::{anyhow, Context, Result};
use object::read::elf::{FileHeader, ProgramHeader};
use serde::{Deserialize, Serialize};

use super::{boot, memory_mib, version, Accel, Guest, Note};
use crate::error::Failure;
use crate::image;
use crate::kernel::Kernel;
use crate::model::{Action, GuestSched, Job, Line, Mode, Status, Step, Topology};

/// Where a boot stops: .bss is clear and nothing has run.
const STOP: &str = "start_kernel";
/// The bus clock's cycles a jiffy; 0 makes the kernel measure.
const VARIABLE: &str = "lapic_timer_period";
/// The kernel's measurement is off by up to a ten-thousandth, and moves with what the guest did
/// before; the emulated clock is a round number.
const ROUND_TO: u32 = 1000;
/// This machine's time for a trial boot, which takes about 10 s.
const TRIAL_LIMIT: Duration = Duration::from_secs(120);
/// This machine's time from power-on to [`STOP`], which takes about half a second.
const STOP_LIMIT: Duration = Duration::from_secs(240);
/// ELF header and program headers of /proc/kcore: of hundreds of segments, far more than it has.
const HEADERS: usize = 1 << 16;

/// What a kernel has to be told, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Timer {
    /// Address of the function.
    pub stop: u64,
    /// Address of the variable.
    pub variable: u64,
    /// Its value.
    pub period: u32,
}

/// The kernel's timer from the cache or by a trial boot; `None` where it cannot be had.
pub fn find(kernel: &Kernel, cache: &Path) -> Option<Timer> {
    let note = Note::new(cache, "timers", &format!("{}{}", version().ok()?, kernel.digest));
    if let Some(kept) = note.read() {
        return kept;
    }
    let found = trial(kernel, cache).ok()?;
    note.write(&found);
    found
}

/// `Ok(None)`: this kernel does not show it. An error: the boot did not end well.
fn trial(kernel: &Kernel, cache: &Path) -> Result<Option<Timer>> {
    let argv = vec!["/init".to_owned(), "timer".to_owned()];
    let action = Action::Command { argv };
    let step = Step { bench: "timer".into(), action, affinity: None, warmup: None };
    let job = Job::plain(GuestSched::Kernel, vec![step]);
    let image = image::build(&[], &job, cache)?;
    let topology = Topology { cpus: 1, nodes: 1, smt: 1 };
    let guest = Guest {
        kernel,
        image: &image,
        topology,
        mode: Mode::Instructions,
        accel: Accel::TcgSingle,
        seed: 1,
        append: &[],
        complained: None,
        memory_mib: memory_mib(&topology, &image),
        limit: TRIAL_LIMIT,
        timer: None,
    };
    let boot = boot(&guest)?;
    if boot.status != Status::Ok {
        return Err(anyhow!("{}", boot.reason));
    }
    let said = boot.lines.iter().find_map(|line| match line {
        Line::Step { output, .. } => Some(output),
        _ => None,
    });
    Ok(serde_json::from_str(said.context("the trial boot said nothing")?)?)
}

/// The guest's half of a trial: this kernel's timer as one line of JSON, `null` if it is not shown.
pub fn show() -> Result<()> {
    let shown = symbols(BufReader::new(File::open("/proc/kallsyms")?)).ok();
    let timer = shown.and_then(|(stop, variable)| {
        let measured = read_memory(variable).ok()?;
        let period = measured.saturating_add(ROUND_TO / 2) / ROUND_TO * ROUND_TO;
        (period != 0).then_some(Timer { stop, variable, period })
    });
    println!("{}", serde_json::to_string(&timer)?);
    Ok(())
}

/// Addresses of [`STOP`] and [`VARIABLE`]; zeros are addresses that are not shown.
fn symbols(kallsyms: impl BufRead) -> Result<(u64, u64)> {
    let (mut stop, mut variable) = (0, 0);
    for line in kallsyms.lines() {
        let line = line?;
        let mut words = line.split_ascii_whitespace();
        let (Some(address), Some(_), Some(name)) = (words.next(), words.next(), words.next())
        else {
            continue;
        };
        match name {
            STOP => stop = u64::from_str_radix(address, 16)?,
            VARIABLE => variable = u64::from_str_radix(address, 16)?,
            _ => {}
        }
    }
    if stop == 0 || variable == 0 {
        return Err(anyhow!("no {STOP} or {VARIABLE}"));
    }
    Ok((stop, variable))
}

fn read_memory(address: u64) -> Result<u32> {
    let core = File::open("/proc/kcore")?;
    let mut head = Vec::new();
    core.try_clone()?.take(HEADERS as u64).read_to_end(&mut head)?;
    let mut word = [0; 4];
    core.read_exact_at(&mut word, offset_in(&head, address).context("not in /proc/kcore")?)?;
    Ok(u32::from_le_bytes(word))
}

/// Where an ELF file whose first bytes are `head` has what lies at `address`.
fn offset_in(head: &[u8], address: u64) -> Option<u64> {
    let elf = object::elf::FileHeader64::<object::Endianness>::parse(head).ok()?;
    let endian = elf.endian().ok()?;
    elf.program_headers(endian, head).ok()?.iter().find_map(|segment| {
        let within = address.checked_sub(segment.p_vaddr(endian))?;
        (within < segment.p_memsz(endian)).then(|| segment.p_offset(endian) + within)
    })
}

impl Timer {
    /// Tells it to a guest that waits at power-on, over GDB's remote protocol. A guest that ends
    /// meanwhile is no error here: its end is judged where it is waited for.
    pub fn tell(&self, stream: UnixStream) -> Result<()> {
        use io::ErrorKind::{BrokenPipe, ConnectionReset, TimedOut, UnexpectedEof, WouldBlock};
        match self.converse(&stream) {
            Err(e) if matches!(e.kind(), UnexpectedEof | ConnectionReset | BrokenPipe) => Ok(()),
            Err(e) if matches!(e.kind(), WouldBlock | TimedOut) => Err(Failure::machine(format!(
                "a guest has not come to {STOP} within {} s: this machine is too busy",
                STOP_LIMIT.as_secs()
            ))),
            other => other.context("the emulator's debugger"),
        }
    }

    fn converse(&self, stream: &UnixStream) -> io::Result<()> {
        stream.set_read_timeout(Some(STOP_LIMIT))?;
        let little: String = self.period.to_le_bytes().iter().map(|b| format!("{b:02x}")).collect();
        let (stop, variable) = (self.stop, self.variable);
        for (packet, wanted) in [
            (format!("Z0,{stop:x},1"), "OK"),
            ("c".to_owned(), "T05"),
            (format!("z0,{stop:x},1"), "OK"),
            (format!("m{variable:x},4"), "00000000"),
            (format!("M{variable:x},4:{little}"), "OK"),
            ("D".to_owned(), "OK"),
        ] {
            let answer = ask(stream, &packet)?;
            if !answer.starts_with(wanted) {
                let text = format!("`{packet}`: answers `{answer}`, not `{wanted}`");
                return Err(io::Error::other(text));
            }
        }
        Ok(())
    }
}

/// One packet and its answer: `$TEXT#SUM`, each acknowledged by `+`.
fn ask(mut stream: &UnixStream, packet: &str) -> io::Result<String> {
    let sum = packet.bytes().fold(0u8, u8::wrapping_add);
    stream.write_all(format!("${packet}#{sum:02x}").as_bytes())?;
    let mut byte = || {
        let mut one = [0];
        stream.read_exact(&mut one).map(|()| one[0])
    };
    while byte()? != b'$' {}
    let mut answer = Vec::new();
    loop {
        match byte()? {
            b'#' => break,
            other => answer.push(other),
        }
    }
    byte().and_then(|_| byte())?;
    stream.write_all(b"+")?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

#[cfg(test)]
mod tests;
