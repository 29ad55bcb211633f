// SPDX-License-Identifier: GPL-2.0-only
//! Machines: where each CPU lies, and what things cost there.

mod constants;
mod costs;
mod kernel;
mod topology;

pub use constants::Constant;
pub use costs::Costs;
pub use kernel::Kernel;
pub(crate) use topology::Topology;

/// Where a CPU lies. CPUs of one core share an LLC, those of one LLC a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Physical core, counted over the whole machine.
    pub core: u32,
    /// Last-level cache, counted over the whole machine.
    pub llc: u32,
    /// NUMA node, which is a socket on the machines described so far.
    pub node: u32,
}

/// A machine: its CPUs, by number, and its costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineSpec {
    /// As a user names it.
    pub name: String,
    /// By CPU number.
    pub cpus: Vec<Place>,
    /// What things cost.
    pub costs: Costs,
    /// Numbers of the kernel that runs there.
    pub kernel: Kernel,
}

impl MachineSpec {
    /// Sockets of cores of two threads in the usual numbering of Linux on Intel: first one thread
    /// of every core, socket by socket, then the siblings in the same order. An LLC a socket.
    fn intel(name: &str, sockets: u32, cores: u32) -> Self {
        let cpus = (0..2 * sockets * cores)
            .map(|cpu| cpu % (sockets * cores))
            .map(|core| Place { core, llc: core / cores, node: core / cores })
            .collect();
        MachineSpec {
            name: name.to_owned(),
            cpus,
            costs: Costs::default(),
            kernel: Kernel::default(),
        }
    }

    /// One E5-2630 v4: 10 cores of 2 threads, one LLC; the machine of the stealing table.
    pub fn e5_2630v4() -> Self {
        Self::intel("e5-2630v4", 1, 10)
    }

    /// Two of them.
    pub fn e5_2630v4_2s() -> Self {
        Self::intel("e5-2630v4-2s", 2, 10)
    }
}
