// SPDX-License-Identifier: GPL-2.0-only
//! Decaying loads: what is runnable all the time tends to its weight, and half of the way is made
//! in 32 periods of 1.024 ms.

use super::SCALE;
use crate::engine::Time;

/// A half-life in steps.
const STEPS: usize = 2048;

/// How loads decay.
#[derive(Clone, Debug)]
pub(crate) struct Decay {
    /// ns.
    step: u64,
    /// y^n for n steps of a half-life, in 1 / 2^32.
    powers: Vec<u64>,
}

fn square_root(n: u128) -> u128 {
    let mut root = 0u128;
    for bit in (0..64).rev() {
        let next = root | 1 << bit;
        if next * next <= n {
            root = next;
        }
    }
    root
}

impl Decay {
    pub(crate) fn new(half_life_ns: u64) -> Self {
        let mut y: u128 = 1 << 63;
        for _ in 0..STEPS.trailing_zeros() {
            y = square_root(y << 64);
        }
        let mut power: u128 = u64::MAX.into();
        let powers = (0..STEPS).map(|_| {
            let this = power;
            power = (power * y) >> 64;
            (this >> 32) as u64
        });
        Decay { step: (half_life_ns / STEPS as u64).max(1), powers: powers.collect() }
    }

    /// `value` after `steps`.
    fn of(&self, value: i64, steps: u64) -> i64 {
        let halves = steps / STEPS as u64;
        if halves >= 63 {
            return 0;
        }
        let y = self.powers[(steps % STEPS as u64) as usize] as i128;
        ((i128::from(value) * y) >> (32 + halves)) as i64
    }
}

/// A load, with 10 bits below the point.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Load {
    value: i64,
    last: Time,
}

impl Load {
    pub(super) fn full(now: Time) -> Self {
        Load { value: (SCALE as i64) << 10, last: now }
    }

    /// `weight` has been runnable since the last time.
    pub(super) fn advance(&mut self, decay: &Decay, now: Time, weight: u64) {
        let steps = now.saturating_sub(self.last) / decay.step;
        if steps > 0 {
            self.last += steps * decay.step;
            let target = (weight as i64) << 10;
            self.value = target + decay.of(self.value - target, steps);
        }
    }

    pub(super) fn add(&mut self, other: Load) {
        self.value += other.value;
    }

    pub(super) fn sub(&mut self, other: Load) {
        self.value = (self.value - other.value).max(0);
    }

    /// In units of weight.
    pub(super) fn get(&self) -> u64 {
        (self.value >> 10).max(0) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_way_in_a_half_life() {
        let d = Decay::new(2048 << 14);
        let mut load = Load::default();
        load.advance(&d, 2048 << 14, 1024);
        assert!((511..=513).contains(&load.get()), "{}", load.get());
        load.advance(&d, (2048 * 12) << 14, 1024);
        assert!(load.get() >= 1023);
        load.advance(&d, (2048 * 14) << 14, 0);
        assert!((254..=257).contains(&load.get()), "{}", load.get());
    }

    #[test]
    fn many_small_steps_are_one_large() {
        let d = Decay::new(2048 << 14);
        let (mut small, mut large) = (Load::full(0), Load::full(0));
        (1..=1000).for_each(|i| small.advance(&d, i << 14, 0));
        large.advance(&d, 1000 << 14, 0);
        assert!(small.get().abs_diff(large.get()) <= 2);
    }
}
