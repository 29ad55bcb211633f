// SPDX-License-Identifier: GPL-2.0-only
//! Machines, as a list and one by one.

use serde::Serialize;

use super::{Asked, Listing};
use crate::costs::{Cost, COSTS};
use crate::error::Result;
use crate::files::MACHINES;
use crate::machine::MachineFile;
use crate::reader::{BaseCell, Sourced};
use crate::report::text::{grid, wrap};

/// Body of `machine list`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Machines {
    machines: Vec<Outline>,
}

/// Body of `machine show`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Machine {
    #[serde(flatten)]
    outline: Outline,
    source: String,
    places: Vec<PlaceEntry>,
    costs: Vec<CostEntry>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct Outline {
    machine: String,
    title: String,
    cpus: usize,
    cores: u32,
    llcs: u32,
    nodes: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct PlaceEntry {
    cpu: usize,
    core: u32,
    llc: u32,
    node: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct CostEntry {
    name: &'static str,
    value: u64,
    unit: &'static str,
    meaning: &'static str,
    source: String,
    derived_from: Option<String>,
}

impl Outline {
    fn of(machine: &MachineFile) -> Self {
        Self {
            machine: machine.name.clone(),
            title: machine.title.clone(),
            cpus: machine.cpus.len(),
            cores: machine.cores(),
            llcs: machine.llcs(),
            nodes: machine.nodes(),
        }
    }
}

/// All of Ballast's own machines.
pub fn machine_list(asked: Asked) -> Result<Listing<Machines>> {
    let find = |name: &&str| MachineFile::find(name).map(|m| Outline::of(&m));
    let machines = MACHINES.names().iter().map(find).collect::<Result<Vec<_>>>()?;
    let wide = machines.iter().map(|m| m.machine.len()).max().unwrap_or(0);
    let head = ["machine", "CPUs", "cores", "LLCs", "nodes"].map(str::to_owned);
    let row = |m: &Outline| {
        let name = format!("{:<wide$}", m.machine);
        let counts = [m.cpus.to_string(), m.cores.to_string(), m.llcs.to_string()];
        [vec![name], counts.to_vec(), vec![m.nodes.to_string()]].concat()
    };
    let rows: Vec<Vec<String>> =
        std::iter::once(head.to_vec()).chain(machines.iter().map(row)).collect();
    let mut text = grid(&rows);
    text.push('\n');
    for m in &machines {
        text.push_str(&wrap(&format!("{}: ", m.machine), "    ", &m.title));
    }
    Ok(Listing { text, document: asked.document(Machines { machines }) })
}

/// One machine: a name of Ballast's own or the path of a file.
pub fn machine_show(word: &str, asked: Asked) -> Result<Listing<Machine>> {
    let machine = MachineFile::find(word)?;
    let mut text = wrap(&format!("{}: ", machine.name), "    ", &machine.title);
    text.push_str(&wrap("  source: ", "    ", &machine.source));
    text.push_str("\nCPUs, those of a core joined by +\n");
    for llc in 0..machine.llcs() {
        let node = machine.cpus.iter().find(|p| p.llc == llc).map_or(0, |p| p.node);
        let first = format!("  node {node} LLC {llc}: ");
        text.push_str(&wrap(&first, "      ", &cores(&machine, llc).join(" ")));
    }
    text.push_str("\ncosts\n");
    let costs: Vec<CostEntry> = entries(&machine);
    for c in &costs {
        let first = format!("  {} = {} {}: ", c.name, c.value, c.unit);
        text.push_str(&wrap(&first, "      ", c.meaning));
        let derived = c.derived_from.as_ref().map(|d| format!("; derived from the {d}"));
        let source = format!("{}{}", c.source, derived.unwrap_or_default());
        text.push_str(&wrap("      source: ", "      ", &source));
    }
    let places = machine.cpus.iter().enumerate();
    let places =
        places.map(|(cpu, p)| PlaceEntry { cpu, core: p.core, llc: p.llc, node: p.node }).collect();
    let outline = Outline::of(&machine);
    let body = Machine { outline, source: machine.source, places, costs };
    Ok(Listing { text, document: asked.document(body) })
}

fn entries(machine: &MachineFile) -> Vec<CostEntry> {
    let entry = |(cost, sourced): (&Cost, &Sourced)| CostEntry {
        name: cost.name,
        value: sourced.value,
        unit: cost.unit,
        meaning: cost.meaning,
        source: sourced.source.clone(),
        derived_from: BaseCell::words(&sourced.derived_from),
    };
    COSTS.iter().zip(&machine.sources).map(entry).collect()
}

/// `0+10` for each core of an LLC, in order.
fn cores(machine: &MachineFile, llc: u32) -> Vec<String> {
    let mut cores: Vec<(u32, String)> = Vec::new();
    for (cpu, place) in machine.cpus.iter().enumerate().filter(|(_, p)| p.llc == llc) {
        match cores.iter_mut().find(|c| c.0 == place.core) {
            Some((_, text)) => text.push_str(&format!("+{cpu}")),
            None => cores.push((place.core, cpu.to_string())),
        }
    }
    cores.into_iter().map(|c| c.1).collect()
}
