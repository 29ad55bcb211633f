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
#[derive(Clone, Debug)]
pub(crate) struct Slots {
    /// `node[i]` is the earlier of `node[2 * i]` and `node[2 * i + 1]`: its time and its slot. The
    /// second half are the slots themselves.
    node: Vec<(Time, u32)>,
    leaves: usize,
}

impl Slots {
    pub(crate) fn new(slots: usize) -> Self {
        let leaves = slots.next_power_of_two().max(2);
        let mut node: Vec<_> = (0..2 * leaves).map(|i| (NEVER, (i % leaves) as u32)).collect();
        for i in (1..leaves).rev() {
            node[i] = node[2 * i];
        }
        Slots { node, leaves }
    }

    #[inline]
    pub(crate) fn set(&mut self, slot: usize, time: Time) {
        let mut i = slot + self.leaves;
        self.node[i].0 = time;
        while i > 1 {
            i /= 2;
            let (a, b) = (self.node[2 * i], self.node[2 * i + 1]);
            let first = if a.0 <= b.0 { a } else { b };
            if self.node[i] == first {
                // Nothing changes above: it was not the earlier one, and is not now.
                return;
            }
            self.node[i] = first;
        }
    }

    #[inline]
    pub(crate) fn get(&self, slot: usize) -> Time {
        self.node[slot + self.leaves].0
    }

    /// The slot whose turn it is, unless nothing will ever happen.
    #[inline]
    pub(crate) fn first(&self) -> Option<(Time, usize)> {
        let (time, slot) = self.node[1];
        (time != NEVER).then_some((time, slot as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Random;

    #[test]
    fn slots_come_in_order_of_time_then_number() {
        let mut random = Random::new(1);
        let mut slots = Slots::new(37);
        assert_eq!(slots.first(), None);
        for _ in 0..5000 {
            let slot = random.below(37) as usize;
            let time = if random.below(4) == 0 { NEVER } else { random.below(50) };
            slots.set(slot, time);
            let expected = (0..37).map(|s| (slots.get(s), s)).min().filter(|e| e.0 != NEVER);
            assert_eq!(slots.first(), expected);
        }
    }
}
