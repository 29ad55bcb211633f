// SPDX-License-Identifier: GPL-2.0-only
//! The event queue: a fixed number of slots, each with the time of its next event.
//!
//! Whatever happens next happens on some CPU, and a CPU does one thing after another. So there is
//! no heap of events, but a slot for each source of them and a tournament over the slots: moving an
//! event is a store and a walk up the tree.

use super::Time;

/// The time of a slot in which nothing is to happen.
pub(crate) const NEVER: Time = Time::MAX;

/// The slots. Of equal times the lowest slot comes first.
///
/// A time and its slot are one number, the slot in the low bits, so that the earlier of two is the
/// lesser. It leaves 52 bits of time to 4096 slots: 52 days.
#[derive(Clone, Debug)]
pub(crate) struct Slots {
    /// Node `i`, which is `pairs[i / 2][i % 2]`, is the lesser of the pair `i`. Node 1 is the
    /// first of all; the second half are the slots themselves.
    pairs: Vec<[u64; 2]>,
    /// Bits of a slot's number.
    bits: u32,
}

impl Slots {
    pub(crate) fn new(slots: usize) -> Self {
        let leaves = slots.next_power_of_two().max(2);
        Slots { pairs: vec![[NEVER; 2]; leaves], bits: leaves.trailing_zeros() }
    }

    #[inline]
    pub(crate) fn set(&mut self, slot: usize, time: Time) {
        debug_assert!(time == NEVER || time >> (64 - self.bits) == 0, "{time} ns");
        let mut least = if time == NEVER { NEVER } else { time << self.bits | slot as u64 };
        let mut i = slot + self.pairs.len();
        while i > 1 {
            let pair = &mut self.pairs[i / 2];
            pair[i % 2] = least;
            least = pair[0].min(pair[1]);
            i /= 2;
        }
        self.pairs[0][1] = least;
    }

    #[inline]
    pub(crate) fn get(&self, slot: usize) -> Time {
        let i = slot + self.pairs.len();
        self.time(self.pairs[i / 2][i % 2])
    }

    /// When the next one is.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.time(self.pairs[0][1])
    }

    /// The slot whose turn it is then, unless nothing will ever happen.
    #[inline]
    pub(crate) fn first(&self) -> usize {
        self.pairs[0][1] as usize & (self.pairs.len() - 1)
    }

    #[inline]
    fn time(&self, node: u64) -> Time {
        if node == NEVER {
            NEVER
        } else {
            node >> self.bits
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::engine::Random;

    #[test]
    fn slots_come_in_order_of_time_then_number() {
        let mut random = Random::new(1);
        let mut slots = Slots::new(37);
        assert_eq!(slots.next(), NEVER);
        for _ in 0..5000 {
            let slot = random.below(37) as usize;
            let time = if random.below(4) == 0 { NEVER } else { random.below(50) };
            slots.set(slot, time);
            let expected = (0..37).map(|s| (slots.get(s), s)).min().unwrap();
            assert_eq!(slots.next(), expected.0);
            assert!(expected.0 == NEVER || slots.first() == expected.1);
        }
    }
}
