// SPDX-License-Identifier: GPL-2.0-only
//! Boots one guest and prints what came of it: `boot VMLINUZ JOB.json [key=value]... [FILE=to]...`
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ballast_lab::emulator::{self, Accel, Guest};
use ballast_lab::image::{self, File};
use ballast_lab::kernel::Kernel;
use ballast_lab::model::{Job, Mode, Topology};

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let vmlinuz = PathBuf::from(&words[0]);
    let job: Job = serde_json::from_str(&std::fs::read_to_string(&words[1])?)?;
    let mut topology = Topology { cpus: 4, nodes: 1, smt: 1 };
    let (mut mode, mut accel, mut seed, mut limit) = (Mode::Instructions, Accel::TcgSingle, 1, 300);
    let mut files = Vec::new();
    for word in &words[2..] {
        let (key, value) = word.split_once('=').expect("key=value");
        match key {
            "cpus" => topology.cpus = value.parse()?,
            "nodes" => topology.nodes = value.parse()?,
            "smt" => topology.smt = value.parse()?,
            "seed" => seed = value.parse()?,
            "limit" => limit = value.parse()?,
            "mode" if value == "parallel" => mode = Mode::Parallel,
            "accel" if value == "multi" => accel = Accel::TcgMulti,
            "accel" if value == "kvm" => accel = Accel::Kvm,
            "program" => files.extend(image::closure(&image::find_program(value)?)?),
            "own" => files.push(File::own(value, &format!("bin/{value}"))?),
            _ => panic!("{word}?"),
        }
    }
    let begin = Instant::now();
    let cache = Path::new("/tmp/ballast-example-cache");
    let image = image::build(&files, &job, cache)?;
    eprintln!("image {} bytes {} in {:?}", image.digest, image.bytes, begin.elapsed());
    let kernel =
        Kernel { release: String::new(), digest: String::new(), origin: String::new(), vmlinuz };
    let guest = Guest {
        kernel: &kernel,
        image: &image,
        topology,
        mode,
        accel,
        seed,
        memory_mib: emulator::memory_mib(&topology, &image),
        limit: Duration::from_secs(limit),
    };
    let begin = Instant::now();
    let boot = emulator::boot(&guest)?;
    eprintln!(
        "boot in {:?}: {:?} {} (repeats {})",
        begin.elapsed(),
        boot.status,
        boot.reason,
        boot.repeats
    );
    for line in &boot.lines {
        println!("{}", serde_json::to_string(line)?);
    }
    eprint!("{}", boot.log);
    Ok(())
}
