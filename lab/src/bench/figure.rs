// SPDX-License-Identifier: GPL-2.0-only
//! The one number that is taken from what a bench printed.

use serde::Deserialize;

use super::{Bench, What};
use crate::model::Meter;

#[derive(Deserialize)]
struct Sleeper {
    samples: u64,
    p99_us: f64,
}

#[derive(Deserialize)]
struct Shares {
    worst_error_pct: f64,
}

#[derive(Deserialize)]
struct Churn {
    longest_wait_ms: f64,
}

/// The figure of one finished step, or why there is none.
pub fn figure(bench: &Bench, wall_ns: u64, output: &str, meter: &Meter) -> Result<f64, String> {
    let value = match &bench.what {
        What::Hackbench(_) => after(output, "Time:"),
        What::Messaging(_) => after(output, "Total time:"),
        What::Pipe { .. } => before(output, "usecs/op"),
        What::Sleeper { .. } => {
            let line: Sleeper = json(output)?;
            if line.samples == 0 {
                return Err("the sleeper took no samples".to_owned());
            }
            Some(line.p99_us)
        }
        What::Shares { .. } => {
            let line: Shares = json(output)?;
            Some(line.worst_error_pct)
        }
        What::Churn { .. } => {
            let line: Churn = json(output)?;
            Some(line.longest_wait_ms)
        }
        What::Invariants { .. } => Some(wall_ns as f64 / 1e6),
        What::Loads { times } => Some(wall_ns as f64 / 1e6 / *times as f64),
        What::Boots => Some(meter.guest_uptime_ms as f64),
        What::Command { .. } => Some(wall_ns as f64 / 1e9),
    };
    match value {
        Some(v) if v.is_finite() => Ok(v),
        _ => Err(format!("no figure in what it printed: {}", excerpt(output))),
    }
}

/// The whole line that one of the lab's own programs printed; others have none.
pub fn details(bench: &Bench, output: &str) -> Option<serde_json::Value> {
    let own = matches!(bench.what, What::Sleeper { .. } | What::Shares { .. });
    (own || bench.what.disturbs()).then(|| json(output).ok()).flatten()
}

/// p99 of the SCHED_FIFO control among a sleeper's details, microseconds.
pub fn fifo_p99_us(details: &serde_json::Value) -> Option<f64> {
    details.get("fifo_p99_us")?.as_f64()
}

/// The number that follows `mark` on the last line that has it.
fn after(output: &str, mark: &str) -> Option<f64> {
    let rest = output.lines().rev().find_map(|l| l.trim().strip_prefix(mark))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// The number before `mark` on the last line that ends with it.
fn before(output: &str, mark: &str) -> Option<f64> {
    let rest = output.lines().rev().find_map(|l| l.trim().strip_suffix(mark))?;
    rest.trim().parse().ok()
}

/// The last line that is a JSON object.
fn json<T: serde::de::DeserializeOwned>(output: &str) -> Result<T, String> {
    let line = output.lines().rev().find(|l| l.starts_with('{'));
    let line = line.ok_or_else(|| format!("it printed no result: {}", excerpt(output)))?;
    serde_json::from_str(line).map_err(|e| format!("its result cannot be read: {e}"))
}

fn excerpt(output: &str) -> String {
    let line = output.lines().rev().find(|l| !l.trim().is_empty()).unwrap_or("nothing");
    line.trim().chars().take(120).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::super::parse_what;
    use super::*;

    fn take(word: &str, output: &str) -> Result<f64, String> {
        let bench = Bench { word: word.to_owned(), what: parse_what(word).unwrap(), program: None };
        let meter = Meter { guest_uptime_ms: 3210, ..Meter::default() };
        figure(&bench, 5_000_000_000, output, &meter)
    }

    #[test]
    fn figures_come_from_real_output() {
        let hackbench = "Running in process mode with 1 groups using 40 file descriptors each \
            (== 40 tasks)\nEach sender will pass 100 messages of 100 bytes\nTime: 0.053\n";
        assert_eq!(take("hackbench", hackbench), Ok(0.053));
        let messaging = "# Running 'sched/messaging' benchmark:\n# 20 sender and receiver \
            processes per group\n# 1 groups == 40 processes run\n\n     Total time: 0.047 [sec]\n";
        assert_eq!(take("messaging", messaging), Ok(0.047));
        let pipe = "# Running 'sched/pipe' benchmark:\n# Executed 1000 pipe operations between \
            two processes\n\n     Total time: 0.018 [sec]\n\n      18.444000 usecs/op\n          \
            54218 ops/sec\n";
        assert_eq!(take("pipe", pipe), Ok(18.444));
        let sleeper = "{\"samples\":2000,\"p50_us\":51.0,\"p99_us\":56.5,\"max_us\":80.1,\
            \"fifo_p99_us\":60.0}\n";
        assert_eq!(take("sleeper", sleeper), Ok(56.5));
        let bench = Bench {
            word: String::new(),
            what: parse_what("sleeper+fifo=1").unwrap(),
            program: None,
        };
        assert_eq!(fifo_p99_us(&details(&bench, sleeper).unwrap()), Some(60.0));
        let shares = "{\"nices\":[0,5],\"shares_pct\":[75.0,25.0],\"ideal_pct\":[75.3,24.7],\
            \"worst_error_pct\":1.2,\"monotonic\":true}";
        assert_eq!(take("shares", shares), Ok(1.2));
        let churn =
            "{\"seed\":1,\"workers\":12,\"acts\":{\"flags\":600},\"longest_wait_ms\":812.5}";
        assert_eq!(take("churn", churn), Ok(812.5));
        assert_eq!(take("loads+times=20", ""), Ok(250.0));
        assert_eq!(take("boots", "Time: 0.1"), Ok(3210.0));
    }

    #[test]
    fn what_has_no_figure_says_why() {
        for (word, output) in [
            ("hackbench", ""),
            ("hackbench", "Time: fast"),
            ("hackbench", "Time: inf"),
            ("pipe", "usecs/op"),
            ("sleeper", "killed"),
            ("sleeper", "{\"samples\":0,\"p99_us\":0.0,\"fifo_p99_us\":null}"),
            ("sleeper", "{\"p99_us\":"),
            ("shares", "{\"monotonic\":false}"),
            ("churn", "ballast-guest: churn: lost: worker 3"),
        ] {
            assert!(take(word, output).is_err(), "{word}: {output}");
        }
    }
}
