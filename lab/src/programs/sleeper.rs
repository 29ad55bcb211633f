// SPDX-License-Identifier: GPL-2.0-only
//! How late a sleeping task gets its CPU back beside hogs.
//!
//! The sleeper asks for an absolute time 1 ms ahead, with nice 0 and the default timer slack of
//! 50 µs left in; a delay is the time at which it runs again less the time asked.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

use super::process::{
    await_children, become_ordinary, now_ns, sleep_until, spin, system, Child, Shared,
};
use super::{print_line, Arguments};

/// Nanoseconds after which no further delay is begun. Two thousand take 2.2 s where a sleeper is
/// woken at once; under a scheduler that lets it wait 47 ms they would take 94 s, and say no more
/// than the first sixty.
const GIVE_UP_NS: u64 = 8_000_000_000;

/// The same where a sleep has taken over ten times as long as was asked for, on average.
const HOPELESS_NS: u64 = 2_000_000_000;

/// How far ahead the sleeper asks to be woken, in nanoseconds.
const AHEAD_NS: u64 = 1_000_000;

/// The kernel's default timer slack, in nanoseconds.
const SLACK_NS: libc::c_ulong = 50_000;

/// Priority of the SCHED_FIFO control (1 to 99).
const FIFO_PRIORITY: i32 = 50;

/// Delays that the control keeps; more than it can have in four minutes of 1 ms sleeps.
const FIFO_SAMPLES: usize = 1 << 18;

/// Shared words: children that have run, whether the control is to end, the control's p99 in ns.
const STARTED: usize = 0;
const ENOUGH: usize = 1;
const FIFO_P99: usize = 2;

/// What `sleeper` prints.
#[derive(Debug, Serialize)]
struct Report {
    samples: usize,
    p50_us: f64,
    p99_us: f64,
    max_us: f64,
    /// Of a SCHED_FIFO sleeper that ran as long; `null` without `--fifo`.
    fifo_p99_us: Option<f64>,
}

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    hogs: usize,
    samples: usize,
    fifo: bool,
    /// How long the control works each time it wakes, microseconds.
    fifo_us: u64,
}

impl Options {
    fn parse(args: &[String]) -> anyhow::Result<Self> {
        let mut options = Self { hogs: 0, samples: 2000, fifo: false, fifo_us: 0 };
        let mut args = Arguments::new("sleeper", args);
        while let Some(option) = args.option() {
            match option {
                "--hogs" => options.hogs = args.number(option, 0, 1000)?,
                "--samples" => options.samples = args.number(option, 1, 1_000_000)?,
                "--fifo" => options.fifo = true,
                "--fifo-us" => options.fifo_us = args.number(option, 0, 10_000)?,
                _ => {
                    let known = "--hogs N, --samples N, --fifo, --fifo-us N";
                    return Err(args.unknown(option, known));
                }
            }
        }
        Ok(options)
    }
}

/// `sleeper --hogs N [--fifo [--fifo-us N]] [--samples 2000]`: delays of a 1 ms sleeper beside N hogs
/// of nice 0, in microseconds, by nearest rank; with `--fifo` also those of a SCHED_FIFO control,
/// which works for N microseconds (0) each time.
pub fn sleeper(args: &[String]) -> anyhow::Result<()> {
    let options = Options::parse(args)?;
    become_ordinary()?;
    // SAFETY: a plain system call; what it sets is inherited by the control.
    if unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, SLACK_NS) } != 0 {
        return Err(system("prctl(PR_SET_TIMERSLACK)"));
    }
    let shared = Shared::new(3)?;
    let mut delays = vec![u64::MAX; options.samples];

    let hogs = (0..options.hogs)
        .map(|_| {
            Child::fork(|| {
                shared[STARTED].fetch_add(1, Ordering::Release);
                spin()
            })
        })
        .collect::<anyhow::Result<Vec<_>>>()?;
    await_children(&shared[STARTED], options.hogs as u64)?;
    let control =
        if options.fifo { Some(start_control(&shared, options.fifo_us * 1000)?) } else { None };
    await_children(&shared[STARTED], options.hogs as u64 + u64::from(options.fifo))?;

    let begin = now_ns();
    let mut taken = 0;
    while taken < delays.len() && !enough(taken as u64, now_ns() - begin) {
        delays[taken] = one_delay();
        taken += 1;
    }
    delays.truncate(taken);

    shared[ENOUGH].store(1, Ordering::Release);
    let fifo_p99_us = match control {
        Some(control) => {
            control.wait()?;
            Some(us(shared[FIFO_P99].load(Ordering::Acquire)))
        }
        None => None,
    };
    drop(hogs);
    delays.sort_unstable();
    print_line(&Report {
        samples: delays.len(),
        p50_us: us(percentile(&delays, 50)),
        p99_us: us(percentile(&delays, 99)),
        max_us: us(percentile(&delays, 100)),
        fifo_p99_us,
    })
}

/// Whether `taken` delays in `elapsed` nanoseconds say all that more would.
fn enough(taken: u64, elapsed: u64) -> bool {
    elapsed >= GIVE_UP_NS || (elapsed >= HOPELESS_NS && elapsed > taken * 10 * AHEAD_NS)
}

/// Starts the SCHED_FIFO sleeper, which works for `work_ns` between its sleeps.
fn start_control(shared: &[AtomicU64], work_ns: u64) -> anyhow::Result<Child> {
    let control = Child::fork(|| run_control(shared, work_ns))?;
    control.set_fifo(FIFO_PRIORITY)?;
    Ok(control)
}

/// Sleeps like the main sleeper until it is told that it is enough. The first sleep, which may
/// still fall into the ordinary class, is not kept.
fn run_control(shared: &[AtomicU64], work_ns: u64) -> i32 {
    let mut delays = vec![u64::MAX; FIFO_SAMPLES];
    one_delay();
    shared[STARTED].fetch_add(1, Ordering::Release);
    let mut kept = 0;
    while shared[ENOUGH].load(Ordering::Acquire) == 0 {
        let delay = one_delay();
        if kept < delays.len() {
            delays[kept] = delay;
            kept += 1;
        }
        let begin = now_ns();
        while now_ns() - begin < work_ns {}
    }
    let delays = &mut delays[..kept];
    delays.sort_unstable();
    shared[FIFO_P99].store(percentile(delays, 99), Ordering::Release);
    0
}

/// One sleep; nanoseconds from the time asked to the return.
fn one_delay() -> u64 {
    let asked = now_ns() + AHEAD_NS;
    sleep_until(asked);
    now_ns().saturating_sub(asked)
}

/// The smallest of the sorted values that at least `percent` % of them do not exceed (nearest
/// rank); 0 of none.
fn percentile(sorted: &[u64], percent: usize) -> u64 {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.max(1) - 1).copied().unwrap_or(0)
}

fn us(ns: u64) -> f64 {
    ns as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;
    use crate::error::exit_status;

    fn parse(line: &str) -> anyhow::Result<Options> {
        Options::parse(&line.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn a_hopeless_sleeper_gives_up_early_and_no_other() {
        let ms = |n: u64| n * 1_000_000;
        // woken at once, 4 ms late each time, 47 ms late each time
        for (pace, early) in [(1, false), (5, false), (48, true)] {
            let at = |elapsed: u64| enough(elapsed / pace, ms(elapsed));
            assert_eq!((at(1_999), at(2_001), at(7_999), at(8_000)), (false, early, early, true));
        }
    }

    #[test]
    fn percentile_is_the_nearest_rank() {
        let hundred: Vec<u64> = (1..=100).collect();
        assert_eq!(percentile(&hundred, 50), 50);
        assert_eq!(percentile(&hundred, 99), 99);
        assert_eq!(percentile(&hundred, 100), 100);
        assert_eq!(percentile(&[10, 20, 30], 50), 20);
        assert_eq!(percentile(&[10, 20, 30, 40], 50), 20);
        assert_eq!(percentile(&[10, 20, 30, 40], 51), 30);
        assert_eq!(percentile(&[7], 1), 7);
        assert_eq!(percentile(&[7], 99), 7);
        assert_eq!(percentile(&[], 99), 0);
        let published: Vec<u64> = (0..2000).collect();
        assert_eq!(percentile(&published, 99), 1979);
    }

    #[test]
    fn options_have_defaults_and_are_read() {
        assert_eq!(parse("").unwrap(), Options { hogs: 0, samples: 2000, fifo: false, fifo_us: 0 });
        assert_eq!(
            parse("--hogs 8 --fifo --fifo-us 300 --samples 10").unwrap(),
            Options { hogs: 8, samples: 10, fifo: true, fifo_us: 300 }
        );
    }

    #[test]
    fn bad_options_are_one_clear_line() {
        for (line, says) in [
            ("--hog 8", "sleeper: unknown argument '--hog'; known: --hogs N"),
            ("--hogs", "sleeper: --hogs needs a value"),
            ("--hogs -1", "sleeper: --hogs: '-1' is not a whole number from 0 to 1000"),
            ("--samples 0", "sleeper: --samples: '0' is not a whole number from 1 to 1000000"),
        ] {
            let error = parse(line).unwrap_err();
            assert_eq!(exit_status(&error), 2, "{line}");
            assert!(error.to_string().starts_with(says), "{line}: {error}");
            assert!(!error.to_string().contains('\n'));
        }
    }
}
