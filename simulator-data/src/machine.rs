// SPDX-License-Identifier: GPL-2.0-only
//! Machine files: which CPUs share what, and what things cost there.

use std::path::Path;

use crate::costs::{Costs, COSTS};
use crate::error::Result;
use crate::files;
use crate::reader::{Section, Sourced};

/// Most CPUs of a machine.
pub const MAX_CPUS: u64 = 4096;

const KEYS: &[&str] = &["title", "source", "cpus", "llc", "costs"];
const LLC_KEYS: &[&str] = &["node", "cores"];

/// Where a CPU is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its core; cores are numbered over the whole machine, in the file's order.
    pub core: u32,
    /// Its last-level cache, in the file's order.
    pub llc: u32,
    /// Its NUMA node.
    pub node: u32,
}

/// A machine as its file describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineFile {
    /// The file's name without `.toml`.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// Where the description comes from.
    pub source: String,
    /// By Linux's CPU number.
    pub cpus: Vec<Place>,
    /// What things cost.
    pub costs: Costs,
    /// Where each cost comes from, in the order of [`COSTS`].
    pub sources: Vec<Sourced>,
}

impl MachineFile {
    /// The machine that a word names: one of Ballast's own, or the path of a file.
    pub fn find(word: &str) -> Result<Self> {
        let (file, text) = files::MACHINES.find(word)?;
        Self::parse(&file, &text)
    }

    /// Reads the text of `file`, which names the machine and stands in messages.
    pub fn parse(file: &str, text: &str) -> Result<Self> {
        let top = Section::parse(file, text, KEYS)?;
        let names: Vec<&str> = COSTS.iter().map(|c| c.name).collect();
        let cpus = read_cpus(&top)?;
        let section = top.section("costs", &names)?;
        let mut sources = Vec::new();
        let costs = Costs::try_from_each(|cost| {
            let sourced = section.sourced(cost.name, cost.unit, cost.low..=cost.high)?;
            sources.push(sourced);
            Ok(sources.last().map_or(0, |s: &Sourced| s.value))
        })?;
        Ok(Self {
            name: stem(file),
            title: top.text("title")?,
            source: top.text("source")?,
            cpus,
            costs,
            sources,
        })
    }

    /// Where a cost comes from.
    pub fn source_of(&self, name: &str) -> Option<&Sourced> {
        self.sources.get(COSTS.iter().position(|c| c.name == name)?)
    }

    /// Last-level caches.
    pub fn llcs(&self) -> u32 {
        self.cpus.iter().map(|p| p.llc + 1).max().unwrap_or(0)
    }

    /// NUMA nodes.
    pub fn nodes(&self) -> u32 {
        self.cpus.iter().map(|p| p.node + 1).max().unwrap_or(0)
    }

    /// Cores.
    pub fn cores(&self) -> u32 {
        self.cpus.iter().map(|p| p.core + 1).max().unwrap_or(0)
    }
}

/// A file's name without folder and `.toml`.
pub fn stem(file: &str) -> String {
    let stem = Path::new(file).file_stem().map(|s| s.to_string_lossy().into_owned());
    stem.unwrap_or_else(|| file.to_owned())
}

/// 1. Each CPU that an LLC lists exists and is in no other core: else the first that is wrong.
/// 2. Each CPU is listed. 3. Nodes are numbered without gaps.
fn read_cpus(top: &Section) -> Result<Vec<Place>> {
    let count = top.whole("cpus", 1..=MAX_CPUS)?;
    let last = count - 1;
    let llcs = top.sections("llc", LLC_KEYS)?;
    let mut places: Vec<Option<Place>> = vec![None; count as usize];
    let mut core = 0;
    for (llc, section) in llcs.iter().enumerate() {
        let node = section.whole("node", 0..=MAX_CPUS - 1)? as u32;
        let right = "a list of cores, each the list of its CPUs: [[0, 10], [1, 11]]";
        let cores = section.groups("cores", right)?;
        if cores.is_empty() {
            let name = section.name("cores");
            return Err(top.error(format!("{name} = []: an LLC has at least one core")));
        }
        for cpus in cores {
            for cpu in cpus {
                let place = Place { core, llc: llc as u32, node };
                let Some(slot) = places.get_mut(cpu as usize) else {
                    return Err(top.error(format!(
                        "CPU {cpu} in LLC {llc}: with cpus = {count} they are numbered 0 to {last}"
                    )));
                };
                if let Some(other) = slot.replace(place) {
                    return Err(top.error(twice(cpu, other, place)));
                }
            }
            core += 1;
        }
    }
    let mut cpus = Vec::new();
    for (cpu, place) in places.into_iter().enumerate() {
        let Some(place) = place else {
            return Err(top.error(format!(
                "CPU {cpu} is in no LLC: list each CPU from 0 to {last} in one core of one [[llc]]"
            )));
        };
        cpus.push(place);
    }
    let nodes = cpus.iter().map(|p| p.node + 1).max().unwrap_or(0);
    match (0..nodes).find(|n| !cpus.iter().any(|p| p.node == *n)) {
        Some(gap) => {
            let highest = nodes - 1;
            Err(top.error(format!(
                "node {gap} has no CPU: number the nodes from 0 without gaps (the highest is {highest})"
            )))
        }
        None => Ok(cpus),
    }
}

fn twice(cpu: u64, one: Place, two: Place) -> String {
    if one.llc != two.llc {
        return format!("CPU {cpu} is in LLC {} and in LLC {}: list it in one", one.llc, two.llc);
    }
    format!("CPU {cpu} is listed twice in LLC {}: list it in one core, once", one.llc)
}

#[cfg(test)]
mod tests;
