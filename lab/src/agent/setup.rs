// SPDX-License-Identifier: GPL-2.0-only
//! What a fresh guest needs before anything can be run in it.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result};

use super::system;
use crate::model::Line;
use crate::tracer::CpuSet;

/// Searched for programs that are named without a slash.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Open files and processes that a benchmark may have.
const LIMIT: u64 = 1 << 16;
/// Every seed touches fewer pages than this.
const SEED_PAGES: u64 = 97;
const PAGE: usize = 4096;

/// Mounts what programs expect of a Linux system.
pub fn mount_all() -> Result<()> {
    system::mount("proc", "/proc", "")?;
    system::mount("sysfs", "/sys", "")?;
    system::mount("devtmpfs", "/dev", "")?;
    system::mount("tmpfs", "/dev/shm", "mode=1777")?;
    // not mounted: what is packed may come from there
    fs::set_permissions("/tmp", fs::Permissions::from_mode(0o1777)).context("/tmp")?;
    system::mount("devpts", "/dev/pts", "")?;
    if Path::new("/sys/kernel/tracing").exists() {
        system::mount("tracefs", "/sys/kernel/tracing", "")?;
    }
    if Path::new("/sys/fs/bpf").exists() {
        system::mount("bpf", "/sys/fs/bpf", "")?;
    }
    let links = [("/dev/fd", "/proc/self/fd"), ("/dev/stdin", "/proc/self/fd/0")];
    for (link, target) in links.into_iter().chain([
        ("/dev/stdout", "/proc/self/fd/1"),
        ("/dev/stderr", "/proc/self/fd/2"),
        ("/bin/ballast-guest", "/init"),
    ]) {
        std::os::unix::fs::symlink(target, link).with_context(|| format!("{link}: cannot link"))?;
    }
    Ok(())
}

/// Resource limits, environment and the loopback interface for benchmarks.
pub fn limits_and_network() -> Result<()> {
    for resource in [libc::RLIMIT_NOFILE, libc::RLIMIT_NPROC] {
        system::raise_limit(resource, LIMIT).context("cannot raise a resource limit")?;
    }
    system::raise_limit(libc::RLIMIT_MEMLOCK, libc::RLIM_INFINITY)
        .context("cannot raise the limit of locked memory")?;
    system::loopback_up().context("lo: cannot bring the interface up")?;
    for (key, value) in [("PATH", PATH), ("HOME", "/root"), ("LANG", "C"), ("TERM", "dumb")] {
        // the only thread there is
        std::env::set_var(key, value);
    }
    Ok(())
}

/// A little work that differs from seed to seed: pages touched and a loop.
pub fn spend_seed() {
    let text = fs::read_to_string("/proc/cmdline").unwrap_or_default();
    let seed = seed_of(&text);
    let mut pages = vec![0_u8; (seed % SEED_PAGES) as usize * PAGE];
    let mut state = seed;
    for page in pages.chunks_mut(PAGE) {
        for byte in page.iter_mut().step_by(64) {
            // constants of a full-period 64-bit linear congruential generator (Knuth)
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            *byte = (state >> 56) as u8;
        }
    }
    for _ in 0..state % 8192 {
        state = std::hint::black_box(state.rotate_left(7) ^ seed);
    }
    std::hint::black_box(&pages);
}

/// The seed on the kernel's command line; 0 where there is none.
pub fn seed_of(cmdline: &str) -> u64 {
    let words = cmdline.split_whitespace();
    words.filter_map(|word| word.strip_prefix("seed=")?.parse().ok()).next_back().unwrap_or(0)
}

/// The first line: which kernel, and the machine that it sees.
pub fn hello() -> Result<Line> {
    let cpus = Path::new("/sys/devices/system/cpu");
    Ok(Line::Hello {
        kernel: system::kernel_release()?,
        cpus: count(&list(&cpus.join("online"))),
        nodes: nodes(),
        llcs: llcs(cpus).len() as u32,
    })
}

fn list(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_string()
}

/// How many CPUs or nodes a list such as `0-3,8` names.
fn count(list: &str) -> u32 {
    CpuSet::parse(list).map_or(0, |set| set.iter().count() as u32)
}

/// NUMA nodes of this machine.
pub fn nodes() -> u32 {
    count(&list(Path::new("/sys/devices/system/node/online")))
}

/// Distinct lists of CPUs that share a last-level cache: the highest index each CPU has. `cpus` is the
/// folder `/sys/devices/system/cpu`.
pub fn llcs(cpus: &Path) -> BTreeSet<String> {
    let mut sets = BTreeSet::new();
    for cpu in 0.. {
        let folder = cpus.join(format!("cpu{cpu}"));
        if !folder.exists() {
            break;
        }
        let last = (0..8)
            .rev()
            .map(|index| folder.join(format!("cache/index{index}/shared_cpu_list")))
            .find(|file| file.exists());
        sets.extend(last.map(|file| list(&file)));
    }
    sets
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn lists_are_counted() {
        let cases = [("", 0), ("0", 1), ("0-3", 4), ("0-3,8,10-11", 7), ("3-0", 0), ("x", 0)];
        for (list, n) in cases {
            assert_eq!(count(list), n, "{list}");
        }
    }

    #[test]
    fn seed_is_that_one_word() {
        assert_eq!(seed_of("console=ttyS0 quiet seed=12\n"), 12);
        assert_eq!(seed_of("seedling=3 noseed=4 seed=x"), 0);
    }

    #[test]
    fn caches_are_counted_by_who_shares_them() {
        let folder = tempfile::tempdir().unwrap();
        for (cpu, shared) in [(0, "0-1"), (1, "0-1"), (2, "2-3"), (3, "2-3")] {
            let cache = folder.path().join(format!("cpu{cpu}/cache"));
            for (index, list) in [("index0", cpu.to_string()), ("index3", shared.to_string())] {
                fs::create_dir_all(cache.join(index)).unwrap();
                fs::write(cache.join(index).join("shared_cpu_list"), list + "\n").unwrap();
            }
        }
        assert_eq!(llcs(folder.path()).len(), 2);
    }
}
