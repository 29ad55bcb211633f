// SPDX-License-Identifier: GPL-2.0-only
//! Numbers of the kernel that is modelled: of its sockets, of its fair class, and of how the costs
//! of its paths divide. Nothing here is fitted.

use super::constants::constants;
use super::topology::Level;
use crate::policy::steal_cost;

constants! {
    /// The modelled kernel's own constants: Linux 4.20-rc1 with the stealing series.
    struct Kernel {
    sndbuf_bytes: 212_992, "bytes", "sndbuf of a socket", "Linux's default (measured: 278 messages fit)";
    truesize_bytes: 768, "bytes", "what a message of 100 bytes is charged, buffer and header",
        "(measured: 278 messages fit)";
    buffer_lines: 7, "lines",
        "cache lines of a message that sender and receiver touch: 4 of the header, 2 of the data, 1 \
         of the shared info", "counted in the structures (recalled, unverified)";
    reuse_lines: 2, "lines",
        "of them, what a sender reads before it uses a buffer that another CPU has freed: the free \
         pointers of header and data; it only writes the others, and a store does not wait",
        "(recalled, unverified)";
    page_buffers: 32, "buffers",
        "buffers of a slab page; another CPU frees a buffer through its page's line",
        "SLUB with 20 CPUs (recalled, unverified)";
    pick_permille: 333, "permille", "of a switch, what schedule() does before it picks",
        "a third (assumed)";
    choose_permille: 500, "permille", "of a wake-up, choosing a CPU; queueing is as much",
        "a half (assumed)";
    queue_permille: 250, "permille",
        "of a wake-up, taking a task off a queue, or putting it there, under a lock that is held",
        "half of its queueing (assumed)";
    latency_ns: 24_000_000, "ns",
        "sched_latency; half of it is a sleeper's credit", "6 ms x (1 + log2 8) (recalled, unverified)";
    min_granularity_ns: 3_000_000, "ns", "sched_min_granularity",
        "0.75 ms x (1 + log2 8) (recalled, unverified)";
    wakeup_granularity_ns: 15_000_000, "ns", "sched_wakeup_granularity",
        "set for all runs of the table (published)";
    migration_cost_ns: 500_000, "ns",
        "sched_migration_cost: the gate of newidle balancing, what cache-hot means, and half of the \
         bound of avg_idle", "(published with the series)";
    steal_cost_ns: steal_cost(), "ns", "avg_idle below which a CPU does not steal",
        "policy/: SCHED_STEAL_COST of the series (published)";
    avg_idle_first_ns: 50_000, "ns", "what avg_idle begins with",
        "the kernel's 1 ms would take much of a short run to come down (assumed)";
    flips_decay_ns: 1_000_000_000, "ns", "wakee_flips are halved when so much time has passed",
        "(recalled, unverified)";
    nr_migrate: 32, "tasks", "what one balancing pass looks at, at most", "sched_nr_migrate (recalled, unverified)";
    busy_factor: 32, "", "a CPU with work balances so much more rarely", "(recalled, unverified)";
    interval_ns: 1_000_000, "ns", "between two balancing passes of a domain, for each of its CPUs",
        "(recalled, unverified)";
    imbalance_smt_pct: 10, "%", "how much more the busiest group must have, threads of a core",
        "sd_init() (recalled, unverified)";
    imbalance_mc_pct: 17, "%", "the same, cores of an LLC", "sd_init() (recalled, unverified)";
    imbalance_numa_pct: 25, "%", "the same, nodes", "sd_init() (recalled, unverified)";
    newidle_decay_ns: 1_000_000_000, "ns", "a domain's newidle cost decays by 1 % as often",
        "(recalled, unverified)";
    half_life_ns: 33_554_432, "ns", "half-life of loads",
        "32 periods of 1.024 ms (recalled, unverified)";
    service_spread_permille: 10, "permille", "each service time lies within so much of its mean",
        "drawn from the seed (assumed)";
    start_spread_ns: 20_000, "ns", "tasks begin within so much time of each other",
        "moved by the seed (assumed)";
    }
}

impl Kernel {
    /// A domain's imbalance_pct: that of its level, and 100.
    pub(crate) fn imbalance_pct(&self, level: Level) -> u64 {
        100 + match level {
            Level::Smt => self.imbalance_smt_pct,
            Level::Mc => self.imbalance_mc_pct,
            Level::Numa => self.imbalance_numa_pct,
        }
    }
}
