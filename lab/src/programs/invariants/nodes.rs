// SPDX-License-Identifier: GPL-2.0-only
//! More nodes than `sched_steal_node_limit=` allows: STEAL has no effect (stealing, invariant 9).

use anyhow::{bail, Result};

use super::ground::{wait_ms, Ground};
use super::read::{self, Counters};
use crate::agent::kmsg;

/// Without the parameter.
const DEFAULT: u32 = 2;
/// Tasks stop and go on so often, each of which changes the mark of their CPU.
const CHANGES: u64 = 200;
/// Nanoseconds a change that something else of the kernel's may take; the mask's upkeep takes more
/// than ten times as much in the debug build.
const NOTHING_NS: u64 = 100;

/// The limit on the kernel's command line.
fn limit_of(cmdline: &str) -> u32 {
    let words = cmdline.split_whitespace();
    let mut given = words.filter_map(|w| w.strip_prefix("sched_steal_node_limit=")?.parse().ok());
    given.next_back().filter(|&n| n > 0).unwrap_or(DEFAULT)
}

pub fn limit(ground: &mut Ground) -> Result<String> {
    let limit = limit_of(&read::file("/proc/cmdline")?);
    let allowed = ground.nodes <= limit;
    ground.flags(&["STEAL", "NO_NEWIDLE"])?;
    let (src, dst) = (ground.near[0], ground.near[1]);
    let tasks = ground.hogs(2, &[src])?;
    let before = Counters::of(&[src])?;
    for _ in 0..CHANGES {
        tasks[0].signal(libc::SIGSTOP);
        wait_ms(1);
        tasks[0].signal(libc::SIGCONT);
    }
    let upkeep = Counters::of(&[src])?.since(&before).find_ns / CHANGES;
    let seen = ground.idler(dst)?.tempt(tasks.iter(), src, 12)?;
    let log = kmsg::read_all()?;
    let told = log.iter().any(|line| line.contains("STEAL has no effect"));
    let (steals, misses, nodes) = (seen.steals, seen.misses, ground.nodes);
    let what = format!(
        "{nodes} nodes, limit {limit}: {steals} steals, {misses} misses, {upkeep} ns a change"
    );
    let held = match allowed {
        true => steals > 0 && upkeep > NOTHING_NS && !told,
        false => steals + misses == 0 && upkeep <= NOTHING_NS && told,
    };
    match held {
        true => Ok(what),
        false => bail!("{what}, said so in the log: {told}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_limit_counts() {
        assert_eq!(limit_of("quiet seed=1"), 2);
        assert_eq!(limit_of("sched_steal_node_limit=3 sched_steal_node_limit=4 seed=1"), 4);
        assert_eq!(limit_of("sched_steal_node_limit=0"), 2);
    }
}
