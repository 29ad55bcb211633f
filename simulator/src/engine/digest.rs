// SPDX-License-Identifier: GPL-2.0-only
//! A digest of every event: two runs with the same one did the same things in the same order.

/// Folds words into one. Not cryptographic: it meets accidents, not adversaries.
#[derive(Clone, Debug)]
pub(crate) struct Digest(u64);

impl Digest {
    pub(crate) fn new() -> Self {
        Digest(0x9e37_79b9_7f4a_7c15)
    }

    pub(crate) fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0xd6e8_feb8_6659_fd93);
    }

    pub(crate) fn value(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_tells_orders_apart() {
        let fold = |words: [u64; 2]| {
            let mut d = Digest::new();
            words.iter().for_each(|w| d.add(*w));
            d.value()
        };
        assert_ne!(fold([1, 2]), fold([2, 1]));
        assert_eq!(fold([1, 2]), fold([1, 2]));
    }
}
