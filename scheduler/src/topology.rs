// SPDX-License-Identifier: GPL-2.0-only
//! The machine's topology from sysfs, and the positions that `policy/topology.h` asks for.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{bail, Context, Result};

/// Where one online CPU sits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// Linux's number.
    pub id: u32,
    /// NUMA node (Linux's number).
    pub node: u32,
    /// Lowest CPU that shares the last-level cache.
    pub llc: u32,
    /// Lowest CPU of its core.
    pub core: u32,
}

/// All online CPUs, and how far the nodes are apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// By node, LLC, core, thread.
    pub cpus: Vec<Cpu>,
    /// Distance from node to node by Linux's numbers; 10 is local.
    pub distance: BTreeMap<(u32, u32), u32>,
}

/// Parses a kernel CPU list such as `0-3,8`.
pub fn parse_list(text: &str) -> Result<Vec<u32>> {
    let mut list = Vec::new();
    for range in text.trim().split(',').filter(|r| !r.is_empty()) {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let number = |s: &str| s.parse::<u32>().with_context(|| format!("bad CPU list '{text}'"));
        list.extend(number(first)?..=number(last)?);
    }
    Ok(list)
}

/// The last-level cache of a CPU: the list of CPUs of its highest-level cache.
fn llc_cpus(cpu_dir: &Path) -> Option<Vec<u32>> {
    let mut best: Option<(u32, Vec<u32>)> = None;
    for entry in fs::read_dir(cpu_dir.join("cache")).ok()?.flatten() {
        let read = |name: &str| fs::read_to_string(entry.path().join(name)).ok();
        let Some(level) = read("level").and_then(|l| l.trim().parse().ok()) else { continue };
        let Some(cpus) = read("shared_cpu_list").and_then(|l| parse_list(&l).ok()) else {
            continue;
        };
        if best.as_ref().is_none_or(|(highest, _)| level > *highest) {
            best = Some((level, cpus));
        }
    }
    best.map(|(_, cpus)| cpus).filter(|cpus| !cpus.is_empty())
}

fn node_of(cpu_dir: &Path) -> u32 {
    let Ok(entries) = fs::read_dir(cpu_dir) else { return 0 };
    entries
        .flatten()
        .find_map(|e| e.file_name().to_str()?.strip_prefix("node")?.parse().ok())
        .unwrap_or(0)
}

fn distances(node_dir: &Path, nodes: &[u32]) -> BTreeMap<(u32, u32), u32> {
    let mut map = BTreeMap::new();
    for &a in nodes {
        let path = node_dir.join(format!("node{a}/distance"));
        let row = fs::read_to_string(path).unwrap_or_default();
        let row: Vec<u32> = row.split_whitespace().filter_map(|d| d.parse().ok()).collect();
        for (i, &b) in nodes.iter().enumerate() {
            // The row has one figure a node, in node order; without one all others are equal.
            map.insert((a, b), row.get(i).copied().unwrap_or(if a == b { 10 } else { 20 }));
        }
    }
    map
}

impl Machine {
    /// Reads it from a sysfs tree (`/sys`; tests feed others). A CPU without cache files shares
    /// its LLC with its package, one without a package with all of its node.
    pub fn read(sys: &Path) -> Result<Self> {
        let cpu_root = sys.join("devices/system/cpu");
        let online = cpu_root.join("online");
        let text =
            fs::read_to_string(&online).with_context(|| format!("reading {}", online.display()))?;
        let mut cpus = Vec::new();
        let mut packages: BTreeMap<(u32, String), u32> = BTreeMap::new();
        for id in parse_list(&text)? {
            let dir: PathBuf = cpu_root.join(format!("cpu{id}"));
            let node = node_of(&dir);
            let read = |name: &str| fs::read_to_string(dir.join("topology").join(name)).ok();
            let core = read("thread_siblings_list")
                .and_then(|l| parse_list(&l).ok())
                .and_then(|l| l.into_iter().min())
                .unwrap_or(id);
            let llc = match llc_cpus(&dir).and_then(|l| l.into_iter().min()) {
                Some(lowest) => lowest,
                None => {
                    let package = read("physical_package_id").unwrap_or_default();
                    *packages.entry((node, package)).or_insert(id)
                }
            };
            cpus.push(Cpu { id, node, llc, core });
        }
        if cpus.is_empty() {
            bail!("{}: no online CPU", online.display());
        }
        cpus.sort_by_key(|c| (c.node, c.llc, c.core, c.id));
        let mut nodes: Vec<u32> = cpus.iter().map(|c| c.node).collect();
        nodes.dedup();
        let distance = distances(&sys.join("devices/system/node"), &nodes);
        Ok(Self { cpus, distance })
    }
}

/// The tables of `struct policy_topology`, by plain vectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Positions {
    /// CPU at each position; `None` is padding at the end of an LLC's last mask line.
    pub cpu_at: Vec<Option<u32>>,
    /// By CPU in the order of [`Machine::cpus`]: number, position, LLC, node, core, siblings.
    pub cpus: Vec<Place>,
    /// First position and CPUs of each LLC.
    pub llcs: Vec<(u32, u32)>,
    /// First position, end, and the other nodes nearest first.
    pub nodes: Vec<(u32, u32, Vec<u32>)>,
}

/// One CPU's row of [`Positions`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Linux's number.
    pub id: u32,
    /// Position.
    pub pos: u32,
    /// Index into [`Positions::llcs`].
    pub llc: u32,
    /// Index into [`Positions::nodes`].
    pub node: u32,
    /// Position of the first thread of its core.
    pub core: u32,
    /// Threads of its core that are online.
    pub siblings: u32,
}

impl Positions {
    /// Numbers the CPUs: by node, LLC, core, thread; every LLC begins a line of `1 << density`.
    pub fn new(machine: &Machine, density: u32) -> Self {
        let mut p = Self { cpu_at: vec![], cpus: vec![], llcs: vec![], nodes: vec![] };
        let mut previous: Option<&Cpu> = None;
        let mut node_ids = vec![];
        for cpu in &machine.cpus {
            let new_node = previous.is_none_or(|b| b.node != cpu.node);
            let new_llc = new_node || previous.is_none_or(|b| b.llc != cpu.llc);
            let new_core = new_llc || previous.is_none_or(|b| b.core != cpu.core);
            if new_llc {
                let line = 1usize << density;
                p.cpu_at.resize(p.cpu_at.len().next_multiple_of(line), None);
            }
            let pos = p.cpu_at.len() as u32;
            if new_node {
                p.nodes.push((pos, pos, vec![]));
                node_ids.push(cpu.node);
            }
            if new_llc {
                p.llcs.push((pos, 0));
            }
            let core = match p.cpus.last() {
                Some(last) if !new_core => last.core,
                _ => pos,
            };
            let (llc, node) = (p.llcs.len() - 1, p.nodes.len() - 1);
            p.llcs[llc].1 += 1;
            p.nodes[node].1 = pos + 1;
            p.cpu_at.push(Some(cpu.id));
            let (llc, node) = (llc as u32, node as u32);
            p.cpus.push(Place { id: cpu.id, pos, llc, node, core, siblings: 0 });
            previous = Some(cpu);
        }
        for i in 0..p.cpus.len() {
            let core = p.cpus[i].core;
            p.cpus[i].siblings = p.cpus.iter().filter(|c| c.core == core).count() as u32;
        }
        for (i, &a) in node_ids.iter().enumerate() {
            let mut near: Vec<u32> =
                (0..node_ids.len() as u32).filter(|&n| n != i as u32).collect();
            near.sort_by_key(|&n| (machine.distance.get(&(a, node_ids[n as usize])), n));
            p.nodes[i].2 = near;
        }
        p
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn lists_parse() {
        assert_eq!(parse_list("0-3,8\n").unwrap(), [0, 1, 2, 3, 8]);
        assert_eq!(parse_list("\n").unwrap(), [0u32; 0]);
        assert!(parse_list("0-x").is_err());
    }

    fn machine(rows: &[(u32, u32, u32, u32)]) -> Machine {
        let cpus: Vec<Cpu> =
            rows.iter().map(|&(id, node, llc, core)| Cpu { id, node, llc, core }).collect();
        let distance = [(0, 10), (1, 30), (2, 20)]
            .iter()
            .flat_map(|&(n, d)| [((0, n), d), ((n, 0), d)])
            .chain([((1, 1), 10), ((2, 2), 10), ((1, 2), 20), ((2, 1), 20)])
            .collect();
        Machine { cpus, distance }
    }

    #[test]
    fn every_llc_begins_a_line_and_siblings_are_counted() {
        // Node 0: LLC of CPUs 0, 4 (one core) and 1; node 1: LLC of CPU 2; node 2: CPU 3.
        let m = machine(&[(0, 0, 0, 0), (4, 0, 0, 0), (1, 0, 0, 1), (2, 1, 2, 2), (3, 2, 3, 3)]);
        let p = Positions::new(&m, 3);
        assert_eq!(p.llcs, [(0, 3), (8, 1), (16, 1)]);
        assert_eq!(p.cpu_at[..4], [Some(0), Some(4), Some(1), None]);
        let siblings: Vec<u32> = p.cpus.iter().map(|c| c.siblings).collect();
        assert_eq!(siblings, [2, 2, 1, 1, 1]);
        assert_eq!(p.cpus[1].core, 0);
        assert_eq!(p.cpus[2].core, 2);
        // Nearest first: node 2 (20) before node 1 (30) from node 0.
        assert_eq!(p.nodes[0], (0, 3, vec![2, 1]));
        assert_eq!(p.nodes[2], (16, 17, vec![0, 1]));
    }

    #[test]
    fn sysfs_without_caches_falls_back_to_packages() {
        let sys = tempfile::tempdir().unwrap();
        let cpu = sys.path().join("devices/system/cpu");
        for (id, package) in [(0, 0), (1, 0), (2, 1)] {
            let dir = cpu.join(format!("cpu{id}/topology"));
            fs::create_dir_all(&dir).unwrap();
            fs::write(dir.join("physical_package_id"), format!("{package}\n")).unwrap();
            fs::write(dir.join("thread_siblings_list"), format!("{id}\n")).unwrap();
        }
        fs::write(cpu.join("online"), "0-2\n").unwrap();
        let llcs: Vec<u32> =
            Machine::read(sys.path()).unwrap().cpus.iter().map(|c| c.llc).collect();
        assert_eq!(llcs, [0, 0, 2]);
    }
}
