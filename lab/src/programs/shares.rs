// SPDX-License-Identifier: GPL-2.0-only
//! How hogs of different nice levels share the CPUs that they are confined to.

use std::fs::File;
use std::io::Read;
use std::os::fd::FromRawFd;
use std::sync::atomic::Ordering;

use serde::Serialize;

use super::process::{await_children, become_ordinary, now_ns, sleep_until, spin, system};
use super::process::{Child, Shared};
use super::{number, print_line, Arguments};
use crate::error::Failure;

/// Weight of each nice level from -20 to 19, as the kernel defines nice: 1024 at 0, each level
/// about 1.25 times the next.
const WEIGHTS: [u32; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904,
    3906, 3121, 2501, 1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87,
    70, 56, 45, 36, 29, 23, 18, 15,
];

/// Ideal shares below this are not judged by their relative error: a few time slices decide.
const JUDGED_PCT: f64 = 2.0;

/// The most hogs.
const MAX_HOGS: usize = 1000;

/// What `shares` prints; the lists have one entry a hog, in the order asked.
#[derive(Debug, PartialEq, Serialize)]
struct Report {
    nices: Vec<i32>,
    /// CPU time of each, in per cent of that of all.
    shares_pct: Vec<f64>,
    /// What the weights promise, in per cent; no hog can use more than one CPU.
    ideal_pct: Vec<f64>,
    /// The largest |share / ideal - 1|, in per cent, where the ideal is at least 2 %.
    worst_error_pct: f64,
    /// Largest less smallest share, in points.
    spread_pct: f64,
    /// No hog had a larger share than one of a lower nice level.
    monotonic: bool,
}

impl Report {
    fn new(nices: &[i32], cpu_ns: &[u64], cpus: usize) -> Self {
        let all = cpu_ns.iter().sum::<u64>().max(1) as f64;
        let shares: Vec<f64> = cpu_ns.iter().map(|&ns| 100.0 * ns as f64 / all).collect();
        let ideal = ideal_pct(nices, cpus);
        let worst = shares
            .iter()
            .zip(&ideal)
            .filter(|(_, &ideal)| ideal >= JUDGED_PCT)
            .map(|(share, ideal)| 100.0 * (share / ideal - 1.0).abs())
            .fold(0.0, f64::max);
        let hogs = || nices.iter().zip(&shares);
        let monotonic = hogs().all(|(nice, share)| hogs().all(|(n, s)| n <= nice || s <= share));
        let largest = shares.iter().copied().fold(0.0, f64::max);
        let smallest = shares.iter().copied().fold(f64::INFINITY, f64::min);
        Self {
            nices: nices.to_vec(),
            shares_pct: shares,
            ideal_pct: ideal,
            worst_error_pct: worst,
            spread_pct: largest - smallest,
            monotonic,
        }
    }
}

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    seconds: u64,
    nices: Vec<i32>,
}

impl Options {
    fn parse(args: &[String]) -> anyhow::Result<Self> {
        let mut options = Self { seconds: 10, nices: vec![-10, -5, 0, 5, 10] };
        let mut args = Arguments::new("shares", args);
        while let Some(option) = args.option() {
            match option {
                "--seconds" => options.seconds = args.number(option, 1, 3600)?,
                "--nices" => {
                    options.nices = args
                        .text(option)?
                        .split(',')
                        .map(|text| number("shares", option, text, -20, 19))
                        .collect::<anyhow::Result<_>>()?;
                }
                "--hogs" => options.nices = vec![0; args.number(option, 1, MAX_HOGS)?],
                _ => return Err(args.unknown(option, "--seconds N, --nices N,N,…, --hogs N")),
            }
        }
        if options.nices.len() > MAX_HOGS {
            return Err(Failure::usage(format!("shares: more than {MAX_HOGS} hogs")));
        }
        Ok(options)
    }
}

/// `shares [--seconds 10] [--nices -10,-5,0,5,10 | --hogs N]`: one hog a nice level (or N of nice
/// 0), all on the CPUs of the inherited mask, released together; their shares of the CPU time
/// beside the ideal.
pub fn shares(args: &[String]) -> anyhow::Result<()> {
    let options = Options::parse(args)?;
    become_ordinary()?;
    let ready = Shared::new(1)?;
    let (mut gate, closed) = pipe()?;
    let mut closed = Some(closed);

    let mut hogs = Vec::with_capacity(options.nices.len());
    for &nice in &options.nices {
        let hog = Child::fork(|| {
            closed.take();
            ready[0].fetch_add(1, Ordering::Release);
            // Ends when the parent's end is closed: that releases all hogs at once.
            match gate.read(&mut [0]) {
                Ok(0) => spin(),
                _ => 1,
            }
        })?;
        hog.set_nice(nice)?;
        hogs.push(hog);
    }
    await_children(&ready[0], hogs.len() as u64)?;

    let until = now_ns() + options.seconds * 1_000_000_000;
    closed.take();
    let begin = read_clocks(&hogs)?;
    sleep_until(until);
    let end = read_clocks(&hogs)?;
    drop(hogs);
    let used: Vec<u64> = end.iter().zip(&begin).map(|(e, b)| e.saturating_sub(*b)).collect();
    print_line(&Report::new(&options.nices, &used, allowed_cpus()?))
}

fn read_clocks(hogs: &[Child]) -> anyhow::Result<Vec<u64>> {
    hogs.iter().map(Child::cpu_ns).collect()
}

/// A pipe: the end to read and the end to write.
fn pipe() -> anyhow::Result<(File, File)> {
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(system("pipe"));
    }
    // SAFETY: both descriptors are fresh and owned by nobody else.
    Ok(unsafe { (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])) })
}

/// How many CPUs the inherited mask allows.
fn allowed_cpus() -> anyhow::Result<usize> {
    std::thread::available_parallelism()
        .map(Into::into)
        .map_err(|error| Failure::failed(format!("cannot read the CPU mask: {error}")))
}

/// What each hog should get of the time that all get, in per cent: by weight, but none more than
/// one CPU; what is cut off goes to the others, again by weight.
fn ideal_pct(nices: &[i32], cpus: usize) -> Vec<f64> {
    let weight = |nice: i32| f64::from(WEIGHTS[(nice + 20).clamp(0, 39) as usize]);
    let mut order: Vec<usize> = (0..nices.len()).collect();
    order.sort_by_key(|&hog| nices[hog]);
    let mut free = cpus.min(nices.len()) as f64;
    let total = free.max(1.0);
    let mut rest: f64 = nices.iter().map(|&nice| weight(nice)).sum();
    let mut ideal = vec![0.0; nices.len()];
    for hog in order {
        let weight = weight(nices[hog]);
        let cpus = (free * weight / rest).min(1.0);
        ideal[hog] = 100.0 * cpus / total;
        free -= cpus;
        rest -= weight;
    }
    ideal
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;
    use crate::error::exit_status;

    fn parse(line: &str) -> anyhow::Result<Options> {
        Options::parse(&line.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn a_nice_level_is_worth_a_quarter() {
        assert_eq!(WEIGHTS[20], 1024);
        for pair in WEIGHTS.windows(2) {
            let ratio = f64::from(pair[0]) / f64::from(pair[1]);
            assert!((1.15..1.34).contains(&ratio), "{pair:?}");
        }
        // The published corner values.
        assert_eq!((WEIGHTS[0], WEIGHTS[10], WEIGHTS[30], WEIGHTS[39]), (88761, 9548, 110, 15));
    }

    #[test]
    fn ideal_shares_follow_the_weights_on_one_cpu() {
        let ideal = ideal_pct(&[0, -10, 10], 1);
        let all = 1024.0 + 9548.0 + 110.0;
        assert!(close(ideal[0], 100.0 * 1024.0 / all));
        assert!(close(ideal[1], 100.0 * 9548.0 / all));
        assert!(close(ideal[2], 100.0 * 110.0 / all));
    }

    #[test]
    fn no_hog_is_promised_more_than_one_cpu() {
        // By weight alone the first would get 82 % of two CPUs.
        let ideal = ideal_pct(&[-10, 0, 0], 2);
        assert!(close(ideal[0], 50.0) && close(ideal[1], 25.0) && close(ideal[2], 25.0));
        let ideal = ideal_pct(&[0, 0, 0], 2);
        assert!(ideal.iter().all(|&share| close(share, 100.0 / 3.0)));
        // More CPUs than hogs: each has one.
        let ideal = ideal_pct(&[-20, 19], 8);
        assert!(close(ideal[0], 50.0) && close(ideal[1], 50.0));
    }

    #[test]
    fn errors_are_relative_and_small_shares_are_not_judged() {
        // Ideal: 98.9 % and 1.1 %; the small one gets twice its due.
        let report = Report::new(&[-10, 10], &[978, 22], 1);
        assert!(report.worst_error_pct < 1.2, "{report:?}");
        assert!(report.monotonic);
        let report = Report::new(&[0, 0], &[55, 45], 1);
        assert!(close(report.worst_error_pct, 10.0) && close(report.spread_pct, 10.0));
    }

    #[test]
    fn a_share_that_rises_with_nice_is_not_monotonic() {
        assert!(!Report::new(&[10, 0, 5], &[10, 80, 9], 1).monotonic);
        assert!(Report::new(&[10, 0, 5], &[9, 80, 10], 1).monotonic);
        // Equal levels may differ either way.
        assert!(Report::new(&[0, 0, 0], &[30, 40, 30], 2).monotonic);
    }

    #[test]
    fn options_have_defaults_and_are_read() {
        let plain = parse("").unwrap();
        assert_eq!((plain.seconds, plain.nices.as_slice()), (10, &[-10, -5, 0, 5, 10][..]));
        assert_eq!(parse("--hogs 3").unwrap().nices, [0, 0, 0]);
        assert_eq!(parse("--nices -20,19 --seconds 1").unwrap().nices, [-20, 19]);
    }

    #[test]
    fn bad_options_are_one_clear_line() {
        for (line, says) in [
            ("--nices 0,20", "shares: --nices: '20' is not a whole number from -20 to 19"),
            ("--nices ,", "shares: --nices: '' is not a whole number from -20 to 19"),
            ("--seconds 0", "shares: --seconds: '0' is not a whole number from 1 to 3600"),
            ("10", "shares: unknown argument '10'"),
        ] {
            let error = parse(line).unwrap_err();
            assert_eq!(exit_status(&error), 2, "{line}");
            assert!(error.to_string().starts_with(says), "{line}: {error}");
        }
    }
}
