// SPDX-License-Identifier: GPL-2.0-only
//! The cost ledger: who has which cache line, and what it costs to get it.
//!
//! A line has an owner, who wrote it last, and sharers, who have read it since. An access that the
//! CPU's own cache can serve costs nothing beyond the work that it is part of; any other costs its
//! distance. A line that is also a lock has a time at which it is free.

use crate::engine::Time;
use crate::machine::Topology;

/// One cache line.
#[derive(Clone, Copy, Debug)]
struct Line {
    owner: u32,
    /// Another CPU that has read the line since it was last written: what an upgrade pays for.
    reader: u32,
    free_at: Time,
    /// CPUs 0 to 63 that have it, a bit each.
    sharers: u64,
}

/// Lines, by number.
#[derive(Clone, Debug)]
pub(crate) struct Ledger {
    lines: Vec<Line>,
    /// The sharers above CPU 63: `words` words a line.
    more: Vec<u64>,
    words: usize,
}

impl Ledger {
    pub(crate) fn new(nr_cpus: usize) -> Self {
        let words = nr_cpus.div_ceil(64).saturating_sub(1);
        Ledger { lines: Vec::new(), more: Vec::new(), words }
    }

    /// `n` more lines, all with CPU 0; the number of the first.
    pub(crate) fn add(&mut self, n: usize) -> u32 {
        let first = self.lines.len();
        self.lines.resize(first + n, Line { owner: 0, reader: 0, free_at: 0, sharers: 1 });
        self.more.resize((first + n) * self.words, 0);
        first as u32
    }

    #[inline]
    fn sharers(&mut self, line: usize, cpu: u32) -> &mut u64 {
        match cpu / 64 {
            0 => &mut self.lines[line].sharers,
            word => &mut self.more[line * self.words + word as usize - 1],
        }
    }

    /// Read a line: what it costs the CPU, in ns.
    #[inline]
    pub(crate) fn load(&mut self, t: &Topology, line: u32, cpu: u32) -> u64 {
        let line = line as usize;
        let word = self.sharers(line, cpu);
        let bit = 1 << (cpu % 64);
        if *word & bit != 0 {
            return 0;
        }
        *word |= bit;
        self.lines[line].reader = cpu;
        t.line(self.lines[line].owner, cpu)
    }

    /// Write a line, atomically or not: the transfer is what costs.
    #[inline(always)]
    pub(crate) fn store(&mut self, t: &Topology, line: u32, cpu: u32) -> u64 {
        let l = &self.lines[line as usize];
        if l.owner == cpu && l.reader == cpu {
            // It wrote the line last, and nobody has read it since.
            return 0;
        }
        self.take_over(t, line as usize, cpu)
    }

    /// From its owner or, if that is this CPU, from a reader.
    fn take_over(&mut self, t: &Topology, line: usize, cpu: u32) -> u64 {
        let l = &mut self.lines[line];
        let from = if l.owner != cpu { l.owner } else { l.reader };
        l.owner = cpu;
        l.reader = cpu;
        l.sharers = 1 << (cpu % 64);
        if self.words > 0 {
            self.take_over_more(line, cpu);
        }
        t.line(from, cpu)
    }

    /// The same for machines of more than 64 CPUs.
    #[cold]
    fn take_over_more(&mut self, line: usize, cpu: u32) {
        self.lines[line].sharers = 0;
        self.more[line * self.words..(line + 1) * self.words].fill(0);
        *self.sharers(line, cpu) = 1 << (cpu % 64);
    }

    /// When the lock in this line is free.
    #[inline]
    pub(crate) fn free_at(&self, line: u32) -> Time {
        self.lines[line as usize].free_at
    }

    /// The lock in this line is taken until then.
    #[inline]
    pub(crate) fn hold(&mut self, line: u32, until: Time) {
        let free = &mut self.lines[line as usize].free_at;
        *free = until.max(*free);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::MachineSpec;

    fn two_sockets() -> (Topology, Ledger, u32) {
        let t = Topology::new(&MachineSpec::e5_2630v4_2s());
        let mut l = Ledger::new(t.nr_cpus());
        let line = l.add(2) + 1;
        (t, l, line)
    }

    #[test]
    fn a_line_is_paid_for_once() {
        let (t, mut l, line) = two_sockets();
        assert_eq!([l.store(&t, line, 5), l.store(&t, line, 5)], [39, 0]);
        assert_eq!([l.load(&t, line, 5), l.load(&t, line, 25)], [0, 8]);
        assert_eq!([l.load(&t, line, 12), l.load(&t, line, 12)], [118, 0]);
    }

    #[test]
    fn a_writer_pays_to_take_the_line_from_its_readers() {
        let (t, mut l, line) = two_sockets();
        l.store(&t, line, 5);
        l.load(&t, line, 12);
        assert_eq!([l.store(&t, line, 5), l.store(&t, line, 5)], [118, 0]);
        assert_eq!(l.load(&t, line, 12), 118, "its copy is gone");
    }

    #[test]
    fn cpus_past_the_first_word_share_too() {
        let mut spec = MachineSpec::e5_2630v4_2s();
        spec.cpus.extend(spec.cpus.clone());
        let t = Topology::new(&spec);
        let mut l = Ledger::new(t.nr_cpus());
        let line = l.add(3) + 2;
        assert_eq!([l.store(&t, line, 70), l.store(&t, line, 70)], [118, 0]);
        assert_eq!([l.load(&t, line, 71), l.load(&t, line, 71)], [39, 0]);
        assert_eq!(
            [l.load(&t, line, 6), l.store(&t, line, 70), l.load(&t, line, 71)],
            [118, 118, 39]
        );
    }

    #[test]
    fn lines_are_apart_and_a_lock_is_never_free_earlier() {
        let (t, mut l, line) = two_sockets();
        l.store(&t, line, 7);
        assert_eq!(l.store(&t, line - 1, 0), 0);
        l.hold(line, 50);
        l.hold(line, 40);
        assert_eq!([l.free_at(line), l.free_at(line - 1)], [50, 0]);
    }
}
