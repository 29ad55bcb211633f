// SPDX-License-Identifier: GPL-2.0-only
//! Groups that have used up their time (stealing, invariants 2 and 5). A group throttles on each CPU
//! by itself: where it has taken a slice of the quota before that was gone, it still runs.

use std::fs::{self, File};
use std::io::Read;

use anyhow::{bail, Context, Result};

use super::super::churn::cgroups::{self, INNER, QUOTA};
use super::ground::{until, wait_ms, Ground, NAPS, TRIES};
use super::never::{taken, DST, SRC};
use super::read::{self, Counters};
use super::task::Task;

/// The share of the quota that a CPU takes at a time.
const SLICE: &str = "/proc/sys/kernel/sched_cfs_bandwidth_slice_us";

/// What was changed is put back when this is dropped.
struct Quota<'a> {
    ground: &'a Ground,
    slice: String,
}

impl<'a> Quota<'a> {
    /// Microseconds of the quota, of its period, and of the slice.
    fn set(ground: &'a Ground, quota_us: u64, period_us: u64, slice_us: u64) -> Result<Self> {
        let slice = fs::read_to_string(SLICE).context(SLICE)?;
        let this = Self { ground, slice };
        fs::write(SLICE, slice_us.to_string()).context(SLICE)?;
        // another group keeps its limit: the kernel warns when the last one loses its own
        if !cgroups::set(QUOTA, "cpu.max", "10000000 1000000")
            || !cgroups::set(INNER, "cpu.max", &format!("{quota_us} {period_us}"))
        {
            bail!("the kernel takes no quota of {quota_us} us");
        }
        Ok(this)
    }
}

impl Drop for Quota<'_> {
    fn drop(&mut self) {
        let _ = fs::write(SLICE, &self.slice);
        self.ground.enter("");
        cgroups::set(INNER, "cpu.max", "max");
        cgroups::set(INNER, "cpu.weight", "100");
    }
}

fn joined<'a>(tasks: Vec<Task<'a>>) -> Vec<Task<'a>> {
    for task in &tasks {
        cgroups::enter(INNER, task.pid());
    }
    tasks
}

/// Throttled at the thief only: its tasks at the source stay.
pub fn at_the_thief(ground: &mut Ground) -> Result<String> {
    ground.flags(&["STEAL", "NO_NEWIDLE"])?;
    let (src, dst) = (ground.near[SRC], ground.near[DST]);
    // the source has a slice, and hardly runs any of the group; the thief spends the rest
    let pinned = ground.hog(&[src])?;
    let waiting = ground.hogs(2, &[src])?;
    pinned.set_nice(-20)?;
    let quota = Quota::set(ground, 20_000, 1_000_000, 5_000)?;
    cgroups::set(INNER, "cpu.weight", "1");
    let waiting = joined(waiting);
    wait_ms(2);
    let spender = joined(vec![ground.hog(&[dst])?]);
    let mut seen = Counters::default();
    for _ in 0..TRIES {
        waiting.iter().try_for_each(|t| t.allow(&[src]))?;
        spender[0].stand_still()?;
        waiting.iter().try_for_each(|t| t.allow(&[src, dst]))?;
        seen = ground.naps_until(dst, |seen| seen.steals > 0 || seen.misses >= NAPS / 2)?;
        // unless the group has run out of time there too
        if !read::is_throttled(INNER, src)? {
            break;
        }
        until("a group stays throttled", || Ok(!read::is_throttled(INNER, src)?))?;
    }
    if seen.steals > 0 || seen.misses < NAPS / 2 {
        bail!("{} steals and {} misses in {NAPS} naps", seen.steals, seen.misses);
    }
    // in this order: it ends only when it has time again
    drop((quota, spender));
    taken(ground, waiting.iter(), (src, dst), "a task of a group without a limit")?;
    Ok(format!("tried {} times; taken once it had time again", seen.misses))
}

/// Throttled at the source: a task in the midst of a system call is still queued there.
pub fn at_the_source(ground: &mut Ground) -> Result<String> {
    ground.flags(&["STEAL", "NO_NEWIDLE"])?;
    let (src, dst) = (ground.near[SRC], ground.near[DST]);
    let quota = Quota::set(ground, 1000, 200_000, 1000)?;
    let pinned = ground.hog(&[src])?;
    pinned.set_nice(-10)?;
    // as long in the kernel as it takes to clear so much
    let in_kernel = ground.task(&[src], |slot| {
        let mut zeros = match File::open("/dev/zero") {
            Ok(file) => file,
            Err(_) => return 1,
        };
        loop {
            slot.come_round();
            // new memory each time, which takes long to fill
            let mut to = vec![0_u8; 64 << 20];
            if zeros.read(&mut to).is_err() {
                return 1;
            }
        }
    })?;
    let in_kernel = joined(vec![in_kernel]);
    let mut met = 0;
    // a look may come too late, when the group has time again
    for _ in 0..10 {
        in_kernel[0].allow(&[src])?;
        pinned.set_nice(-10)?;
        until("a group has not been throttled at the source", || read::is_throttled(INNER, src))?;
        // from now on it hardly comes on
        pinned.set_nice(-20)?;
        in_kernel[0].allow(&[src, dst])?;
        let seen = ground.naps(dst, NAPS)?;
        if read::is_throttled(INNER, src)? && !read::is_throttled(INNER, dst)? {
            if seen.steals > 0 {
                bail!("{} steals from a throttled group", seen.steals);
            }
            met = seen.misses;
        }
        if met > 0 {
            break;
        }
    }
    if met == 0 {
        bail!("no task of the group was met at the source");
    }
    drop(quota);
    pinned.set_nice(0)?;
    taken(ground, in_kernel.iter(), (src, dst), "a task of a group without a limit")?;
    Ok(format!("tried {met} times; taken once it had time again"))
}

/// Throttled tasks do not count; those that run again do.
pub fn bit(ground: &mut Ground) -> Result<String> {
    ground.flags(&["STEAL", "NO_NEWIDLE"])?;
    let (src, dst) = (ground.near[SRC], ground.near[DST]);
    let tasks = joined(ground.hogs(2, &[src])?);
    ground.expect_marked(dst, true, "no limit")?;
    for _ in 0..3 {
        let quota = Quota::set(ground, 1000, 1_000_000, 1000)?;
        tasks.iter().try_for_each(Task::stand_still)?;
        ground.expect_marked(dst, false, "throttled")?;
        drop(quota);
        wait_ms(2);
        ground.expect_marked(dst, true, "no limit any more")?;
    }
    drop(tasks);
    Ok("3 times".into())
}
