// SPDX-License-Identifier: GPL-2.0-only
//! A small generator (splitmix64): the same seed, the same choices.

/// Its state.
pub(super) struct Random(u64);

impl Random {
    /// A stream of its own for each part of a program.
    pub(super) fn new(seed: u64, part: u64) -> Self {
        let mut random = Self(seed);
        random.0 ^= random.next().wrapping_mul(part.wrapping_add(1));
        random
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to `n` − 1; 0 of none.
    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.next().checked_rem(n).unwrap_or(0)
    }

    /// From `low` to `high`, both included.
    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// True once in `n` times.
    pub(super) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_and_a_part_decide() {
        let ten = |seed, part| {
            let mut random = Random::new(seed, part);
            (0..10).map(|_| random.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(ten(1, 2), ten(1, 2));
        assert_ne!(ten(1, 2), ten(1, 3));
        assert_ne!(ten(1, 2), ten(2, 2));
        assert!((0..1000).all(|seed| (3..=5).contains(&Random::new(seed, 0).between(3, 5))));
        assert_eq!(Random::new(1, 1).below(0), 0);
    }
}
