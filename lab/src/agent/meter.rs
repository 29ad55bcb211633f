// SPDX-License-Identifier: GPL-2.0-only
//! What the guest's own /proc says at one moment; a step's [`Meter`] is the difference of two.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::system;
use crate::model::Meter;

/// Where scx_ballast tells its counters: one JSON object a connection.
const COUNTERS: &str = "/run/ballast/scx_ballast.sock";
/// The fair class's own, on a kernel with Ballast's patches: a line of names, one for each CPU.
const FAIR_COUNTERS: &str = "/sys/kernel/debug/sched/ballast";
/// Those that it counts even where `kernel.sched_schedstats` is 0; the others stand still then.
const ALWAYS: [&str; 2] = ["steals", "misses"];
/// A scheduler in trouble must not hold the agent.
const COUNTERS_LIMIT: Duration = Duration::from_secs(2);
/// An answer longer than this is not ours.
const COUNTERS_BYTES: u64 = 64 << 10;

/// Cumulative figures at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    uptime_ms: u64,
    switches: u64,
    ipis: u64,
    /// (run time, queue delay) by CPU, ns.
    cpus: Vec<(u64, u64)>,
    counters: BTreeMap<String, u64>,
}

impl Reading {
    /// Reads everything at the begin of a step: the counters first, as asking for them makes the
    /// scheduler's program run.
    pub fn begin() -> Self {
        let counters = counters();
        Self { counters, ..Self::of_proc() }
    }

    /// Reads everything at the end of a step: the counters last.
    pub fn end() -> Self {
        let reading = Self::of_proc();
        Self { counters: counters(), ..reading }
    }

    fn of_proc() -> Self {
        let text = |file: &str| fs::read_to_string(file).unwrap_or_default();
        Self {
            uptime_ms: system::clock_ns(libc::CLOCK_BOOTTIME) / 1_000_000,
            switches: switches(&text("/proc/stat")),
            ipis: ipis(&text("/proc/interrupts")),
            cpus: schedstat(&text("/proc/schedstat")),
            counters: BTreeMap::new(),
        }
    }

    /// What happened from `self` to `end`. A CPU or counter that one of them lacks is left out.
    pub fn until(&self, end: &Reading) -> Meter {
        let both = || self.cpus.iter().zip(&end.cpus);
        let of =
            |name: &String, end: u64| end.saturating_sub(*self.counters.get(name).unwrap_or(&0));
        Meter {
            switches: end.switches.saturating_sub(self.switches),
            run_ns: both().map(|(a, b)| b.0.saturating_sub(a.0)).collect(),
            queue_delay_ns: both().map(|(a, b)| b.1.saturating_sub(a.1)).sum(),
            ipis: end.ipis.saturating_sub(self.ipis),
            guest_uptime_ms: self.uptime_ms,
            counters: end.counters.iter().map(|(k, &v)| (k.clone(), of(k, v))).collect(),
            idle_while_waiting_pct: None,
        }
    }
}

/// `ctxt` of /proc/stat.
fn switches(stat: &str) -> u64 {
    stat.lines().find_map(|line| line.strip_prefix("ctxt ")?.trim().parse().ok()).unwrap_or(0)
}

/// Rescheduling (RES) and function-call (CAL) interrupts of /proc/interrupts, all CPUs.
fn ipis(interrupts: &str) -> u64 {
    let counted = |line: &&str| {
        let name = line.trim_start();
        name.starts_with("RES:") || name.starts_with("CAL:")
    };
    let figures = |line: &str| -> u64 {
        let words = line.split_whitespace().skip(1);
        words.map_while(|word| word.parse::<u64>().ok()).sum()
    };
    interrupts.lines().filter(counted).map(figures).sum()
}

/// The seventh and eighth figure of each `cpuN` line of /proc/schedstat: time run by tasks and
/// time waited by tasks that may run, ns.
fn schedstat(text: &str) -> Vec<(u64, u64)> {
    let mut cpus = Vec::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let number = words.next().and_then(|w| w.strip_prefix("cpu")?.parse::<usize>().ok());
        if number != Some(cpus.len()) {
            continue;
        }
        let mut figures = words.skip(6).map_while(|w| w.parse().ok());
        if let (Some(run), Some(delay)) = (figures.next(), figures.next()) {
            cpus.push((run, delay));
        }
    }
    cpus
}

/// The scheduler's own counters; empty when it has none.
fn counters() -> BTreeMap<String, u64> {
    if let Ok(text) = fs::read_to_string(FAIR_COUNTERS) {
        let searches = fs::read_to_string(super::SCHEDSTATS).is_ok_and(|on| on.trim() == "1");
        return fair_counters(&text, searches);
    }
    let ask = || -> std::io::Result<String> {
        let stream = UnixStream::connect(COUNTERS)?;
        stream.set_read_timeout(Some(COUNTERS_LIMIT))?;
        let mut answer = String::new();
        stream.take(COUNTERS_BYTES).read_to_string(&mut answer)?;
        Ok(answer)
    };
    parse_counters(&ask().unwrap_or_default())
}

/// The fair class's counters; without `searches` only those that never stand still.
fn fair_counters(text: &str, searches: bool) -> BTreeMap<String, u64> {
    let mut all = sum_of_cpus(text);
    all.retain(|name, _| searches || ALWAYS.contains(&name.as_str()));
    all
}

/// Counters by name over all CPUs: `cpu steals …`, then a line of numbers for each CPU; empty
/// unless every line has them all.
fn sum_of_cpus(text: &str) -> BTreeMap<String, u64> {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap_or_default().split_whitespace().collect();
    let mut sums = vec![0_u64; names.len()];
    for line in lines {
        let numbers: Vec<u64> = line.split_whitespace().map_while(|w| w.parse().ok()).collect();
        if numbers.len() != names.len() {
            return BTreeMap::new();
        }
        sums.iter_mut().zip(numbers).for_each(|(sum, n)| *sum = sum.saturating_add(n));
    }
    let of_cpus = names.iter().zip(sums).skip(1);
    of_cpus.map(|(name, sum)| (name.to_string(), sum)).collect()
}

fn parse_counters(answer: &str) -> BTreeMap<String, u64> {
    #[derive(serde::Deserialize)]
    struct Answer {
        counters: BTreeMap<String, u64>,
    }
    serde_json::from_str(answer).map(|a: Answer| a.counters).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    const INTERRUPTS: &str = "            CPU0       CPU1       
   4:        101          0  IO-APIC   4-edge      ttyS0
 LOC:      12345      23456   Local timer interrupts
 RES:        311        402   Rescheduling interrupts
 CAL:       1021        977   Function call interrupts
 TLB:          5          6   TLB shootdowns
 ERR:          0
";
    const SCHEDSTAT: &str = "version 17
timestamp 4294895200
cpu0 0 0 0 0 0 0 5205398530 208318412 11206
domain0 MC 00000003 1 2 3
cpu1 0 0 0 0 0 0 4000000000 100000000 9000
domain0 MC 00000003 1 2 3
";

    #[test]
    fn proc_files_of_a_guest_are_read() {
        assert_eq!(switches("cpu  1 2\nintr 5 6\nctxt 40213\nbtime 17\n"), 40213);
        assert_eq!(ipis(INTERRUPTS), 311 + 402 + 1021 + 977);
        let both = [(5_205_398_530, 208_318_412), (4_000_000_000, 100_000_000)];
        assert_eq!(schedstat(SCHEDSTAT), both);
        let counters = parse_counters("{\"counters\":{\"steals\":7,\"kicks\":0}}\n");
        assert_eq!(counters, BTreeMap::from([("steals".into(), 7), ("kicks".into(), 0)]));
    }

    #[test]
    fn counters_of_all_cpus_are_added() {
        let text = "cpu easy find_ns steals\n0 1 2000 3\n1 10 20000 30\n";
        let sums = [("easy".into(), 11), ("find_ns".into(), 22_000), ("steals".into(), 33)];
        assert_eq!(sum_of_cpus(text), BTreeMap::from(sums));
        assert_eq!(fair_counters(text, true).len(), 3);
        let steals = BTreeMap::from([("steals".into(), 33)]);
        assert_eq!(fair_counters(text, false), steals, "a counter that stands still is none");
        for odd in ["", "cpu\n", "cpu steals\n0 1 2\n", "cpu steals\n0 1\n1 x\n"] {
            assert!(sum_of_cpus(odd).is_empty(), "{odd:?}");
        }
    }

    #[test]
    fn odd_text_gives_nothing() {
        for odd in ["", "ctxt", "ctxt x", "ctxt 99999999999999999999999", "\0\n\n"] {
            assert_eq!((switches(odd), ipis(odd), schedstat(odd)), (0, 0, vec![]), "{odd:?}");
        }
        assert_eq!(ipis(" RES:\n CAL: x 3\n"), 0);
        assert_eq!(schedstat("cpu0 1 2 3\ncpu 0 0 0 0 0 0 1 2\ncpuX 0 0 0 0 0 0 1 2"), []);
        for odd in ["", "{}", "[1]", "{\"counters\":{\"a\":-1}}", "{\"counters\":{\"a\":1}"] {
            assert!(parse_counters(odd).is_empty(), "{odd}");
        }
    }

    #[test]
    fn meter_is_the_difference() {
        let reading = |scale: u64, cpus: usize| Reading {
            uptime_ms: 1000 * scale,
            switches: 10 * scale,
            ipis: 20 * scale,
            cpus: vec![(100 * scale, 7 * scale); cpus],
            counters: BTreeMap::from([("steals".into(), 3 * scale)]),
        };
        let meter = reading(1, 2).until(&reading(4, 2));
        assert_eq!((meter.switches, meter.ipis, meter.queue_delay_ns), (30, 60, 42));
        assert_eq!((meter.run_ns, meter.guest_uptime_ms), (vec![300, 300], 1000));
        assert_eq!(meter.counters["steals"], 9);
        let backwards = reading(4, 2).until(&reading(1, 1));
        assert_eq!((backwards.switches, backwards.run_ns), (0, vec![0]));
    }
}
