// SPDX-License-Identifier: GPL-2.0-only
//! What things cost, in integers. Nothing here is fitted.

use super::constants::constants;

constants! {
    /// Costs of a machine; the defaults are those of a Broadwell-class Xeon.
    struct Costs {
    line_smt_ns: 8, "ns", "a cache line from the core's other thread",
        "core-to-core-latency, E5-2630 v4: 8.2, median";
    line_llc_ns: 39, "ns", "a cache line from another core of the LLC",
        "core-to-core-latency, E5-2630 v4: 33 to 48, median";
    line_socket_ns: 118, "ns", "a cache line from another LLC or socket",
        "core-to-core-latency, E5-2630 v4: 105 to 129, median";
    syscall_ns: 100, "ns", "into the kernel and back", "suggested, Broadwell class";
    switch_ns: 1100, "ns", "a context switch with its schedule()", "suggested, Broadwell class";
    wake_local_ns: 600, "ns", "a wake-up to the waker's own queue", "suggested, Broadwell class";
    wake_remote_ns: 700, "ns", "what a wake-up to another CPU costs the waker more",
        "suggested, Broadwell class";
    ipi_ns: 1000, "ns", "from the waker's store to the idle CPU's notice",
        "0.5 to 1.5 us, recalled, unverified";
    c1_exit_ns: 2000, "ns", "exit latency of C1", "intel_idle, recalled, unverified";
    c1_target_ns: 2000, "ns", "least stay that is worth C1", "intel_idle, recalled, unverified";
    c1e_exit_ns: 10000, "ns", "exit latency of C1E", "intel_idle, recalled, unverified";
    c1e_target_ns: 20000, "ns", "least stay that is worth C1E", "intel_idle, recalled, unverified";
    c6_exit_ns: 100000, "ns", "exit latency of C6", "suggested, Broadwell class (table: 133 us)";
    c6_target_ns: 400000, "ns", "least stay that is worth C6", "intel_idle, recalled, unverified";
    tick_ns: 3000, "ns", "a scheduler tick", "suggested, Broadwell class";
    tick_hz: 1000, "1/s", "ticks a second",
        "assumed: the vendor's kernels of that time; 250 moves no cell beyond noise";
    refill_llc_ns: 3000, "ns", "caches that a task fills again on another core of the LLC",
        "suggested, 2 to 5 us";
    refill_socket_ns: 15000, "ns", "caches that a task fills again on another socket",
        "suggested, 10 to 30 us";
    smt_permille: 1000, "permille", "speed of a thread while its sibling is busy",
        "derived from the stealing table's baseline alone: its CPU time a message, time x busy, \
         does not fall with fewer busy siblings but rises by 6.7 % from 8 groups to 1, so that no \
         slow-down is seen (kernbench, user code: 650)";
    socket_message_ns: 500, "ns", "what a message from another socket costs more",
        "suggested; never charged: to compare with what the ledger gives";
    send_part: 1050, "parts", "of a message's work: send", "suggested; only the ratio counts";
    recv_part: 850, "parts", "of a message's work: receive", "suggested; only the ratio counts";
    lock_hold_ns: 30, "ns", "a socket queue's lock is held beside the lines that move under it",
        "assumed: an insertion into a list";
    look_ns: 10, "ns", "a search looks at one CPU, beside the lines that it reads",
        "assumed: a bit search, an address, two tests";
    block_ns: 300, "ns", "from a task's last look at its queue until schedule() has its lock",
        "assumed: prepare_to_wait and a few calls";
    }
}
