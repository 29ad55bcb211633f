// SPDX-License-Identifier: GPL-2.0-only
//! A set of CPU numbers.

/// CPUs by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuSet {
    words: Vec<u64>,
}

/// The highest CPU number that a list may name (far above the kernel's own limit).
const MAX_CPU: u32 = 1 << 16;

impl CpuSet {
    /// Reads the kernel's list format, such as `0-3,8`; `None` if it is none.
    pub fn parse(list: &str) -> Option<Self> {
        let mut set = Self::default();
        let list = list.trim();
        if list.is_empty() {
            return Some(set);
        }
        for range in list.split(',') {
            let (low, high) = range.split_once('-').unwrap_or((range, range));
            let (low, high) = (low.parse::<u32>().ok()?, high.parse::<u32>().ok()?);
            if low > high || high > MAX_CPU {
                return None;
            }
            (low..=high).for_each(|cpu| set.insert(cpu));
        }
        Some(set)
    }

    /// Adds a CPU.
    pub fn insert(&mut self, cpu: u32) {
        let word = (cpu / 64) as usize;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (cpu % 64);
    }

    /// Whether the CPU is in the set.
    pub fn contains(&self, cpu: u32) -> bool {
        self.words.get((cpu / 64) as usize).is_some_and(|word| word >> (cpu % 64) & 1 != 0)
    }

    /// The CPUs that are in this set and in `other`.
    pub fn both(&self, other: &Self) -> Self {
        self.iter().filter(|&cpu| other.contains(cpu)).collect()
    }

    /// Whether no CPU is in the set.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// The CPUs in rising order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().zip(0u32..).flat_map(|(&word, index)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros();
                rest &= rest.wrapping_sub(1);
                (bit < 64).then_some(index * 64 + bit)
            })
        })
    }
}

impl FromIterator<u32> for CpuSet {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> Self {
        let mut set = Self::default();
        cpus.into_iter().for_each(|cpu| set.insert(cpu));
        set
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;

    fn listed(list: &str) -> Vec<u32> {
        CpuSet::parse(list).unwrap().iter().collect()
    }

    #[test]
    fn lists_are_read() {
        assert_eq!(listed("0-3,8\n"), [0, 1, 2, 3, 8]);
        assert_eq!(listed("63-64,130"), [63, 64, 130]);
        assert_eq!(listed("5"), [5]);
        assert!(listed(" \n").is_empty());
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for list in ["a", "3-1", "1-", "-1", "1,,2", "0-99999999", "0x1"] {
            assert_eq!(CpuSet::parse(list), None, "{list}");
        }
    }

    #[test]
    fn members_are_found() {
        let set: CpuSet = [1, 64].into_iter().collect();
        assert!(set.contains(1) && set.contains(64));
        assert_eq!(set.both(&CpuSet::parse("2-64").unwrap()).iter().collect::<Vec<_>>(), [64]);
        assert!(set.both(&CpuSet::parse("2-63").unwrap()).is_empty() && !set.is_empty());
        assert!(!set.contains(0) && !set.contains(65) && !set.contains(1000));
    }
}
