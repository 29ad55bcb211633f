// SPDX-License-Identifier: GPL-2.0-only
//! The emulator's command line and the guest kernel's.

use super::{Accel, Guest};
use crate::model::Mode;

/// The words after the program's name.
pub fn command_line(guest: &Guest) -> Vec<String> {
    let mut words = Words::default();
    words.flag("-nodefaults").flag("-no-user-config").flag("-no-reboot");
    words.pair("-display", "none").pair("-machine", "q35");
    accelerator(guest, &mut words);
    topology(guest, &mut words);
    words.pair("-kernel", guest.kernel.vmlinuz.to_string_lossy());
    words.pair("-initrd", guest.image.path.to_string_lossy());
    words.pair("-append", kernel_command_line(guest.seed, guest.mode));
    // console and agent's lines go to the emulator's own standard error and output
    for (name, descriptor) in [("console", 2), ("lines", 1)] {
        let file = format!("file,id={name},path=/dev/fd/{descriptor},append=on");
        words.pair("-chardev", file).pair("-serial", format!("chardev:{name}"));
    }
    words.0
}

/// The guest kernel's command line: the seed is its last word and nothing else differs.
pub fn kernel_command_line(seed: u64, mode: Mode) -> String {
    let _ = mode;
    format!(
        "console=ttyS0 quiet panic=-1 oops=panic nokaslr norandmaps random.trust_cpu=off \
         random.trust_bootloader=off seed={seed}"
    )
}

#[derive(Default)]
struct Words(Vec<String>);

impl Words {
    fn flag(&mut self, word: &str) -> &mut Self {
        self.0.push(word.into());
        self
    }

    fn pair(&mut self, name: &str, value: impl Into<String>) -> &mut Self {
        self.0.push(name.into());
        self.0.push(value.into());
        self
    }
}

fn accelerator(guest: &Guest, words: &mut Words) {
    if guest.accel == Accel::Kvm && guest.mode == Mode::Parallel {
        words.pair("-accel", "kvm").pair("-cpu", "host").pair("-rtc", "base=2026-01-01");
        return;
    }
    let thread = match (guest.mode, guest.accel) {
        (Mode::Parallel, Accel::TcgMulti) => "multi",
        _ => "single",
    };
    words.pair("-accel", format!("tcg,thread={thread}"));
    words.pair("-cpu", "max,-rdrand,-rdseed");
    match guest.mode {
        Mode::Instructions => {
            words.pair("-icount", "shift=0,sleep=off").pair("-rtc", "clock=vm,base=2026-01-01")
        }
        Mode::Parallel => words.pair("-rtc", "base=2026-01-01"),
    };
}

/// A node is a socket with its share of the memory.
fn topology(guest: &Guest, words: &mut Words) {
    let (cpus, nodes, smt) = (guest.topology.cpus, guest.topology.nodes, guest.topology.smt);
    let cores = cpus / nodes / smt;
    words.pair("-smp", format!("{cpus},sockets={nodes},cores={cores},threads={smt}"));
    words.pair("-m", format!("{}M", guest.memory_mib));
    if nodes == 1 {
        return;
    }
    for node in 0..nodes {
        let size = guest.memory_mib / nodes;
        words.pair("-object", format!("memory-backend-ram,id=node{node},size={size}M"));
        let first = node * cores * smt;
        let last = first + cores * smt - 1;
        words.pair("-numa", format!("node,nodeid={node},cpus={first}-{last},memdev=node{node}"));
    }
}
