// SPDX-License-Identifier: GPL-2.0-only
//! Control groups for churn: one with a cpuset, one inside another with quotas each.

use std::fs;
use std::path::Path;

use crate::agent::system;
use crate::error::Failure;

/// Where the hierarchy is mounted.
const ROOT: &str = "/sys/fs/cgroup";
/// Group whose CPUs become a partition of their own.
pub const PART: &str = "part";
/// Group with a quota …
pub const QUOTA: &str = "quota";
/// … around another with one, which holds the tasks.
pub const INNER: &str = "quota/inner";

/// Mounts the hierarchy and makes the groups.
pub fn set_up() -> anyhow::Result<()> {
    if !Path::new(ROOT).join("cgroup.procs").exists() {
        system::mount("cgroup2", ROOT, "")
            .map_err(|e| Failure::machine(format!("churn: no control groups: {e:#}")))?;
    }
    must("", "cgroup.subtree_control", "+cpu +cpuset")?;
    for group in [PART, QUOTA, INNER] {
        fs::create_dir_all(Path::new(ROOT).join(group))?;
        if group == QUOTA {
            must(QUOTA, "cgroup.subtree_control", "+cpu")?;
        }
    }
    Ok(())
}

/// Writes to a group's file; false when the kernel refuses, as it may while CPUs come and go.
pub fn set(group: &str, file: &str, value: &str) -> bool {
    fs::write(Path::new(ROOT).join(group).join(file), value).is_ok()
}

/// What a group's file says.
pub fn get(group: &str, file: &str) -> String {
    let text = fs::read_to_string(Path::new(ROOT).join(group).join(file));
    text.unwrap_or_default().trim().to_string()
}

/// Moves a process; the root group is "".
pub fn enter(group: &str, pid: libc::pid_t) -> bool {
    set(group, "cgroup.procs", &pid.to_string())
}

fn must(group: &str, file: &str, value: &str) -> anyhow::Result<()> {
    let path = Path::new(ROOT).join(group).join(file);
    fs::write(&path, value).map_err(|error| {
        let path = path.display();
        Failure::machine(format!("churn: {path}: the kernel does not take `{value}`: {error}"))
    })
}
