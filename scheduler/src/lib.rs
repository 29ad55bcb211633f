// SPDX-License-Identifier: GPL-2.0-only
//! `scx_ballast`: the Ballast load balancer as a sched_ext scheduler. The BPF side lies in
//! `src/bpf`; this crate loads it, hands it its settings and the machine's topology, and reports.

pub mod refuse;
pub mod settings;
pub mod stats;
pub mod topology;
