// SPDX-License-Identifier: GPL-2.0-only
//! The emulator's command line and the guest kernel's.

use super::{process, Accel, Guest};
use crate::model::Mode;

/// The words after the program's name.
pub fn command_line(guest: &Guest) -> Vec<String> {
    let mut words = Words::default();
    words.flag("-nodefaults").flag("-no-user-config").flag("-no-reboot");
    words.pair("-display", "none").pair("-machine", "pc");
    accelerator(guest, &mut words);
    topology(guest, &mut words);
    words.pair("-kernel", guest.kernel.file.to_string_lossy());
    words.pair("-initrd", guest.image.path.to_string_lossy());
    words.pair("-append", kernel_command_line(guest));
    // console and agent's lines go to the emulator's own standard error and output
    for (name, descriptor) in [("console", 2), ("lines", 1)] {
        let file = format!("file,id={name},path=/dev/fd/{descriptor},append=on");
        words.pair("-chardev", file).pair("-serial", format!("chardev:{name}"));
    }
    if guest.timer_to_tell().is_some() {
        words.flag("-S").pair("-chardev", format!("socket,id=debugger,fd={}", process::TALK));
        words.pair("-gdb", "chardev:debugger");
    }
    words.0
}

/// The guest kernel's command line. The seed is its last word and nothing else differs between
/// boots of a run; an oops ends the guest at once, and the self-tests of the kernel's ciphers are left out.
pub fn kernel_command_line(guest: &Guest) -> String {
    let append: String = guest.append.iter().map(|word| format!("{word} ")).collect();
    format!(
        "console=ttyS0 quiet panic=-1 oops=panic nokaslr norandmaps random.trust_cpu=off \
         random.trust_bootloader=off tsc=reliable cryptomgr.notests {append}seed={}",
        guest.seed
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use std::time::Duration;

    use super::*;
    use crate::emulator::Timer;
    use crate::image::Image;
    use crate::kernel::Kernel;
    use crate::model::Topology;

    fn words(mode: Mode, accel: Accel, topology: Topology) -> String {
        with_guest(mode, accel, topology, 7, &[], |guest| command_line(guest).join(" "))
    }

    fn with_guest<T>(
        mode: Mode,
        accel: Accel,
        topology: Topology,
        seed: u64,
        append: &[String],
        take: impl FnOnce(&Guest) -> T,
    ) -> T {
        let kernel = Kernel {
            release: String::new(),
            file: "/k/kernel".into(),
            digest: String::new(),
            origin: String::new(),
        };
        let image = Image { path: "/i/image".into(), digest: String::new(), bytes: 0 };
        let limit = Duration::ZERO;
        let (kernel, image) = (&kernel, &image);
        let timer = Some(Timer { stop: 1, variable: 2, period: 3 });
        let memory_mib = 768;
        take(&Guest {
            kernel,
            image,
            topology,
            mode,
            accel,
            seed,
            append,
            complained: None,
            memory_mib,
            limit,
            timer,
        })
    }

    #[test]
    fn instructions_are_counted_in_one_thread_whatever_else_is_asked() {
        let topology = Topology { cpus: 4, nodes: 1, smt: 1 };
        let line = words(Mode::Instructions, Accel::Kvm, topology);
        assert_eq!(
            line,
            "-nodefaults -no-user-config -no-reboot -display none -machine pc \
             -accel tcg,thread=single -cpu max,-rdrand,-rdseed -icount shift=0,sleep=off \
             -rtc clock=vm,base=2026-01-01 -smp 4,sockets=1,cores=4,threads=1 -m 768M \
             -kernel /k/kernel -initrd /i/image -append console=ttyS0 quiet panic=-1 oops=panic \
             nokaslr norandmaps random.trust_cpu=off random.trust_bootloader=off tsc=reliable \
             cryptomgr.notests seed=7 -chardev file,id=console,path=/dev/fd/2,append=on \
             -serial chardev:console -chardev file,id=lines,path=/dev/fd/1,append=on \
             -serial chardev:lines -S -chardev socket,id=debugger,fd=3 -gdb chardev:debugger"
        );
    }

    #[test]
    fn parallel_mode_takes_what_runs_it() {
        let topology = Topology { cpus: 4, nodes: 1, smt: 1 };
        for (accel, part) in [
            (Accel::Kvm, "-accel kvm -cpu host"),
            (Accel::TcgMulti, "-accel tcg,thread=multi -cpu max"),
            (Accel::TcgSingle, "-accel tcg,thread=single -cpu max"),
        ] {
            let line = words(Mode::Parallel, accel, topology);
            assert!(line.contains(part), "{line}");
            assert!(!line.contains("icount") && !line.contains("-gdb"), "{line}");
        }
    }

    #[test]
    fn nodes_are_sockets_with_their_share_of_memory() {
        let topology = Topology { cpus: 8, nodes: 2, smt: 2 };
        let line = words(Mode::Parallel, Accel::TcgSingle, topology);
        assert!(
            line.contains(
                "-smp 8,sockets=2,cores=2,threads=2 -m 768M \
                 -object memory-backend-ram,id=node0,size=384M \
                 -numa node,nodeid=0,cpus=0-3,memdev=node0 \
                 -object memory-backend-ram,id=node1,size=384M \
                 -numa node,nodeid=1,cpus=4-7,memdev=node1 -kernel"
            ),
            "{line}"
        );
    }

    #[test]
    fn the_seed_is_one_word_and_the_last() {
        let topology = Topology { cpus: 1, nodes: 1, smt: 1 };
        let line = |seed, append: &[&str]| {
            let append: Vec<String> = append.iter().map(|w| w.to_string()).collect();
            let (mode, accel) = (Mode::Instructions, Accel::TcgSingle);
            with_guest(mode, accel, topology, seed, &append, kernel_command_line)
        };
        let (one, two) = (line(1, &[]), line(2, &[]));
        assert_eq!(one.strip_suffix(" seed=1"), two.strip_suffix(" seed=2"));
        let more = line(1, &["a=1", "b"]);
        assert_eq!(more.strip_suffix(" a=1 b seed=1"), one.strip_suffix(" seed=1"));
    }
}
