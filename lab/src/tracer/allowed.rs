// SPDX-License-Identifier: GPL-2.0-only
//! Which CPUs each thread may run on, read from /proc.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::cpuset::CpuSet;
use crate::error::Failure;

/// What /proc says of one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// The CPUs that it may run on (`Cpus_allowed_list`).
    pub allowed: CpuSet,
    /// Whether it runs or waits for a CPU (`State: R`).
    pub runnable: bool,
}

/// All threads at one time.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Nanoseconds of CLOCK_MONOTONIC at which the reading began.
    pub at_ns: u64,
    /// By thread id.
    pub threads: BTreeMap<u32, Thread>,
}

impl Snapshot {
    /// Reads every thread under `proc`; those that end meanwhile are left out.
    pub fn read(proc: &Path, at_ns: u64) -> anyhow::Result<Self> {
        let mut threads = BTreeMap::new();
        let entries = fs::read_dir(proc).map_err(|error| {
            Failure::machine(format!("cannot read {}: {error}", proc.display()))
        })?;
        for process in entries.flatten().filter(|entry| is_number(&entry.file_name())) {
            let Ok(tasks) = fs::read_dir(process.path().join("task")) else { continue };
            for task in tasks.flatten() {
                let id = task.file_name().to_str().and_then(|name| name.parse().ok());
                let status = fs::read_to_string(task.path().join("status"));
                if let (Some(id), Ok(status)) = (id, status) {
                    threads.extend(parse_status(&status).map(|thread| (id, thread)));
                }
            }
        }
        Ok(Self { at_ns, threads })
    }
}

fn is_number(name: &std::ffi::OsStr) -> bool {
    name.to_str().is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Reads a `status` file; `None` if a line is missing or strange.
fn parse_status(status: &str) -> Option<Thread> {
    let field = |key: &str| status.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
    Some(Thread {
        allowed: CpuSet::parse(field("Cpus_allowed_list:")?)?,
        runnable: field("State:")?.starts_with('R'),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;

    #[test]
    fn a_status_file_is_read() {
        let status = "Name:\tkworker/2:1\nState:\tI (idle)\nTgid:\t44\nCpus_allowed:\t4\n\
                      Cpus_allowed_list:\t2\nMems_allowed_list:\t0\n";
        let thread = parse_status(status).unwrap();
        assert_eq!(thread.allowed.iter().collect::<Vec<_>>(), [2]);
        assert!(!thread.runnable);
        assert!(parse_status("State:\tR (running)\nCpus_allowed_list:\t0-3\n").unwrap().runnable);
    }

    #[test]
    fn a_strange_status_file_is_left_out() {
        assert_eq!(parse_status("State:\tR (running)\n"), None);
        assert_eq!(parse_status("State:\tR\nCpus_allowed_list:\tall\n"), None);
    }

    #[test]
    fn every_thread_of_a_process_is_found() {
        let root = tempfile::tempdir().unwrap();
        for (path, cpus) in [("7/task/7", "0"), ("7/task/9", "0-1"), ("meminfo/task/3", "0")] {
            let folder = root.path().join(path);
            fs::create_dir_all(&folder).unwrap();
            let text = format!("State:\tS (sleeping)\nCpus_allowed_list:\t{cpus}\n");
            fs::write(folder.join("status"), text).unwrap();
        }
        let snapshot = Snapshot::read(root.path(), 5).unwrap();
        assert_eq!(snapshot.threads.keys().copied().collect::<Vec<_>>(), [7, 9]);
        assert!(snapshot.threads[&9].allowed.contains(1));
    }
}
