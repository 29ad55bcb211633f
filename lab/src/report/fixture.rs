// SPDX-License-Identifier: GPL-2.0-only
//! Made-up columns for tests.

use std::collections::BTreeMap;

use super::{Document, KernelInfo, Shape};
use crate::compare::{Better, Entry, Reading};
use crate::model::{Mode, Status};

/// A sound column on four even CPUs: samples within 1 % of `mean`; `null` lets sleepers wait.
pub fn entry(sched: &str, bench: &str, mean: f64, boots: usize) -> Entry {
    let reading = Reading {
        switches: 19_087,
        effective_cpus: Some(4.0),
        queue_delay_ns: 4_365_600_000,
        ipis: 339,
        guest_uptime_ms: 4500,
        counters: BTreeMap::new(),
        idle_while_waiting_pct: None,
    };
    let spread = |i: usize| mean * (1.0 + 0.01 * ((i % 3) as f64 - 1.0));
    Entry {
        sched: sched.to_owned(),
        sched_version: "1".to_owned(),
        bench: bench.to_owned(),
        bench_command: "/usr/bin/hackbench -p".to_owned(),
        unit: "s".to_owned(),
        better: Better::Lower,
        kernel: "7.2.13".to_owned(),
        status: Status::Ok,
        reason: String::new(),
        log: String::new(),
        samples: (0..boots).map(spread).collect(),
        seeds: (1..=boots as u64).collect(),
        meter: vec![reading; boots],
        details: Vec::new(),
        sleeper_p99_us: Some(if sched == "null" { 47_000.0 } else { 60.0 }),
        repeats: 0,
        voided: 0,
        note: None,
    }
}

/// A document of these columns in instruction mode.
pub fn document(results: Vec<Entry>) -> Document {
    Document {
        schema: 1,
        ballast: "0.1.0+abc".to_owned(),
        command: vec!["ballast".to_owned()],
        seed: 1,
        runs: 10,
        qemu: "QEMU emulator version 7.2".to_owned(),
        accelerator: "tcg".to_owned(),
        mode: Mode::Instructions,
        cpus_at_once: false,
        host_cores: 4,
        topology: Shape { cpus: 4, smt: 1, llcs: 1, nodes: 1 },
        kernels: vec![KernelInfo {
            release: "7.2.13".to_owned(),
            digest: "aa".to_owned(),
            origin: "linux-image 7.2.13-1".to_owned(),
            base: None,
            eevdf_sleeper_p99_us: Some(60.0),
        }],
        results,
        comparisons: Vec::new(),
        checks: Vec::new(),
    }
}
