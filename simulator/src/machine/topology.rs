// SPDX-License-Identifier: GPL-2.0-only
//! What follows from the places of the CPUs: siblings, spans, domains, distances.

use super::{Costs, MachineSpec, Place};

/// A level of scheduling domains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// The threads of a core.
    Smt,
    /// The cores of an LLC.
    Mc,
    /// The nodes.
    Numa,
}

impl Level {
    /// Failed attempts before cache-hot tasks move too (sd_init()).
    pub(crate) fn cache_nice_tries(self) -> u32 {
        match self {
            Level::Smt => 0,
            Level::Mc => 1,
            Level::Numa => 2,
        }
    }
}

/// A set of CPUs that a search may walk.
#[derive(Clone, Debug, Default)]
pub(crate) struct Span {
    pub(crate) cpus: Vec<u32>,
    /// By CPU number: the first CPU of the span at or after it, wrapping round.
    pub(crate) at_or_after: Vec<u32>,
}

impl Span {
    fn new(cpus: Vec<u32>, nr_cpus: usize) -> Self {
        let at_or_after = (0..nr_cpus as u32)
            .map(|from| cpus.iter().find(|c| **c >= from).or(cpus.first()).copied().unwrap_or(0))
            .collect();
        Span { cpus, at_or_after }
    }
}

/// A domain of one CPU at one level.
#[derive(Clone, Debug)]
pub(crate) struct Domain {
    pub(crate) level: Level,
    /// The CPUs of each group; the first group is the CPU's own.
    pub(crate) groups: Vec<Vec<u32>>,
    pub(crate) weight: u32,
}

/// A machine's CPUs and what follows from their places.
#[derive(Clone, Debug)]
pub(crate) struct Topology {
    places: Vec<Place>,
    /// By CPU: LLC, core and CPU number in one word, so that two CPUs are compared at once.
    near: Vec<u64>,
    /// By core: its threads.
    threads: Vec<Vec<u32>>,
    /// By LLC.
    spans: Vec<Span>,
    /// By CPU, the lowest level first. Levels that add no CPU are left out, as the kernel does.
    pub(crate) domains: Vec<Vec<Domain>>,
    line: [u64; 4],
}

/// Bits of each number in a word of [`Topology::near`].
const NEAR_BITS: u32 = 21;

fn near(cpu: u64, place: &Place) -> u64 {
    u64::from(place.llc) << (2 * NEAR_BITS) | u64::from(place.core) << NEAR_BITS | cpu
}

impl Topology {
    pub(crate) fn new(spec: &MachineSpec) -> Self {
        let nr = spec.cpus.len();
        let select = |keep: &dyn Fn(&Place) -> bool| -> Vec<u32> {
            (0..nr as u32).filter(|c| keep(&spec.cpus[*c as usize])).collect()
        };
        let cores = spec.cpus.iter().map(|p| p.core + 1).max().unwrap_or(0);
        let llcs = spec.cpus.iter().map(|p| p.llc + 1).max().unwrap_or(0);
        let threads = (0..cores).map(|k| select(&|p| p.core == k)).collect();
        let spans = (0..llcs).map(|k| Span::new(select(&|p| p.llc == k), nr)).collect();
        let Costs { line_smt_ns, line_llc_ns, line_socket_ns, .. } = spec.costs;
        let mut t = Topology {
            places: spec.cpus.clone(),
            near: (0..).zip(&spec.cpus).map(|(cpu, place)| near(cpu, place)).collect(),
            threads,
            spans,
            domains: Vec::new(),
            line: [0, line_smt_ns, line_llc_ns, line_socket_ns],
        };
        t.domains = (0..nr as u32).map(|c| t.domains_of(c)).collect();
        t
    }

    /// SMT, MC and NUMA domains of a CPU.
    fn domains_of(&self, cpu: u32) -> Vec<Domain> {
        let smt: Vec<_> = self.threads(cpu).iter().map(|c| vec![*c]).collect();
        let mc = self.grouped(&self.span(cpu).cpus, |p| p.core);
        let all: Vec<u32> = (0..self.places.len() as u32).collect();
        let numa = self.grouped(&all, |p| p.llc);
        let mut domains = Vec::new();
        for (level, mut groups) in [(Level::Smt, smt), (Level::Mc, mc), (Level::Numa, numa)] {
            if groups.len() < 2 {
                continue;
            }
            let own = groups.iter().position(|g| g.contains(&cpu)).unwrap_or(0);
            groups.rotate_left(own);
            let weight = groups.iter().map(|g| g.len() as u32).sum();
            domains.push(Domain { level, groups, weight });
        }
        domains
    }

    fn grouped(&self, cpus: &[u32], key: impl Fn(&Place) -> u32) -> Vec<Vec<u32>> {
        let mut keys: Vec<u32> = Vec::new();
        let mut groups: Vec<Vec<u32>> = Vec::new();
        for &cpu in cpus {
            let k = key(&self.places[cpu as usize]);
            match keys.iter().position(|seen| *seen == k) {
                Some(i) => groups[i].push(cpu),
                None => {
                    keys.push(k);
                    groups.push(vec![cpu]);
                }
            }
        }
        groups
    }

    pub(crate) fn nr_cpus(&self) -> usize {
        self.places.len()
    }

    pub(crate) fn nr_llcs(&self) -> usize {
        self.spans.len()
    }

    pub(crate) fn llc(&self, cpu: u32) -> usize {
        self.places[cpu as usize].llc as usize
    }

    /// The threads of the core of `cpu`, itself among them.
    #[inline]
    pub(crate) fn threads(&self, cpu: u32) -> &[u32] {
        &self.threads[self.places[cpu as usize].core as usize]
    }

    /// The CPUs of the LLC of `cpu`.
    pub(crate) fn span(&self, cpu: u32) -> &Span {
        &self.spans[self.llc(cpu)]
    }

    /// 0 the same CPU, 1 the same core, 2 the same LLC, 3 further.
    #[inline]
    pub(crate) fn distance(&self, a: u32, b: u32) -> usize {
        let apart = self.near[a as usize] ^ self.near[b as usize];
        usize::from(apart != 0)
            + usize::from(apart >> NEAR_BITS != 0)
            + usize::from(apart >> (2 * NEAR_BITS) != 0)
    }

    /// What it costs to get a cache line from one CPU to another.
    #[inline]
    pub(crate) fn line(&self, from: u32, to: u32) -> u64 {
        self.line[self.distance(from, to)]
    }

    pub(crate) fn share_cache(&self, a: u32, b: u32) -> bool {
        self.llc(a) == self.llc(b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_socket_has_two_levels_and_two_have_three() {
        let one = Topology::new(&MachineSpec::e5_2630v4());
        let levels: Vec<_> =
            one.domains[3].iter().map(|d| (d.level, d.groups.len(), d.weight)).collect();
        assert_eq!(levels, [(Level::Smt, 2, 2), (Level::Mc, 10, 20)]);
        assert_eq!(one.threads(13), [3, 13]);
        let two = Topology::new(&MachineSpec::e5_2630v4_2s());
        assert_eq!(two.domains[39].len(), 3);
        assert_eq!(two.threads(39), [19, 39]);
        assert!(two.domains[39][2].groups[0].contains(&39), "its own group comes first");
    }

    #[test]
    fn a_line_costs_its_distance() {
        let t = Topology::new(&MachineSpec::e5_2630v4_2s());
        assert_eq!([t.line(4, 4), t.line(4, 24), t.line(4, 5), t.line(4, 10)], [0, 8, 39, 118]);
    }

    #[test]
    fn a_span_with_holes_wraps() {
        let t = Topology::new(&MachineSpec::e5_2630v4_2s());
        let at = |cpu: usize| t.span(0).at_or_after[cpu];
        assert_eq!([at(9), at(10), at(29), at(30), at(39)], [9, 20, 29, 0, 0]);
    }
}
