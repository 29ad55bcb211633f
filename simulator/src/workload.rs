// SPDX-License-Identifier: GPL-2.0-only
//! What runs: hackbench over AF_UNIX stream sockets.

/// `hackbench GROUPS process LOOPS`: a group is `fan` senders and `fan` receivers; a receiver has
/// one socket, which all senders of its group write to in turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hackbench {
    /// Groups of 2 x `fan` tasks.
    pub groups: u32,
    /// Messages of each sender to each receiver.
    pub loops: u32,
    /// Senders, and receivers, of a group.
    pub fan: u32,
    /// Loops of the published run: what times and counters are scaled to.
    pub published_loops: u32,
    /// ns; the work of sending and receiving one message, alone on a core, beside what the ledger
    /// and the os charge. The one fitted constant.
    pub message_ns: u64,
}

impl Hackbench {
    /// The published shape: 20 and 20, 100,000 loops.
    pub fn new(groups: u32, loops: u32, message_ns: u64) -> Self {
        Hackbench { groups, loops, fan: 20, published_loops: 100_000, message_ns }
    }

    /// Messages of a whole run.
    pub fn messages(&self) -> u64 {
        u64::from(self.groups) * u64::from(self.fan).pow(2) * u64::from(self.loops)
    }
}
