// SPDX-License-Identifier: GPL-2.0-only
//! What things cost on a machine: the one table of names, units, ranges and meanings, and the
//! struct with a field for each.

/// What is known of a cost before any machine is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Key in the machine's file and field of [`Costs`]; ends with the unit where it has one.
    pub name: &'static str,
    /// Unit, for people.
    pub unit: &'static str,
    /// Lowest value allowed.
    pub low: u64,
    /// Highest value allowed.
    pub high: u64,
    /// What it is the price of.
    pub meaning: &'static str,
}

macro_rules! costs {
    ($($name:ident $unit:literal $low:literal .. $high:literal $meaning:literal;)*) => {
        /// All costs, in the order in which files and reports have them.
        pub const COSTS: &[Cost] = &[$(Cost {
            name: stringify!($name), unit: $unit, low: $low, high: $high, meaning: $meaning,
        }),*];

        /// The costs of one machine.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct Costs {
            $(#[doc = concat!($meaning, " (", $unit, ").")] pub $name: u64,)*
        }

        impl Costs {
            /// Asks `value` for each cost, in the order of [`COSTS`].
            pub fn try_from_each<E>(
                mut value: impl FnMut(&Cost) -> Result<u64, E>,
            ) -> Result<Self, E> {
                let mut table = COSTS.iter();
                $(let $name = match table.next() {
                    Some(cost) => value(cost)?,
                    None => 0, // The table has one entry a field: both come from one list.
                };)*
                Ok(Self { $($name),* })
            }

            /// The cost of that name.
            pub fn get(&self, name: &str) -> Option<u64> {
                match name {
                    $(stringify!($name) => Some(self.$name),)*
                    _ => None,
                }
            }

            /// The place of the cost of that name, to change it.
            pub fn get_mut(&mut self, name: &str) -> Option<&mut u64> {
                match name {
                    $(stringify!($name) => Some(&mut self.$name),)*
                    _ => None,
                }
            }
        }
    };
}

costs! {
    line_smt_ns "ns" 0 .. 100_000 "a cache line from the SMT sibling, one way";
    line_llc_ns "ns" 0 .. 100_000 "a cache line from another core of the LLC, one way";
    line_socket_ns "ns" 0 .. 100_000 "a cache line from another socket, one way";
    syscall_ns "ns" 0 .. 1_000_000 "entering and leaving the kernel";
    switch_ns "ns" 0 .. 1_000_000 "a context switch";
    wake_local_ns "ns" 0 .. 1_000_000 "a wake-up onto the waker's own CPU";
    wake_remote_ns "ns" 0 .. 1_000_000 "what the waker pays besides for a wake-up onto another CPU";
    ipi_ns "ns" 0 .. 1_000_000 "from kicking a CPU to its reaction, idle exit not included";
    c1_exit_ns "ns" 0 .. 10_000_000 "leaving idle state C1";
    c1_target_ns "ns" 0 .. 1_000_000_000 "the idle time from which C1 pays";
    c1e_exit_ns "ns" 0 .. 10_000_000 "leaving idle state C1E";
    c1e_target_ns "ns" 0 .. 1_000_000_000 "the idle time from which C1E pays";
    c6_exit_ns "ns" 0 .. 10_000_000 "leaving idle state C6";
    c6_target_ns "ns" 0 .. 1_000_000_000 "the idle time from which C6 pays";
    tick_ns "ns" 0 .. 1_000_000 "one timer tick";
    tick_hz "Hz" 1 .. 10_000 "timer ticks a second on a busy CPU";
    refill_llc_ns "ns" 0 .. 10_000_000 "refilling caches after a migration within the LLC";
    refill_socket_ns "ns" 0 .. 10_000_000 "refilling caches after a migration to another socket";
    smt_permille "permille" 1 .. 1000 "speed of a thread whose sibling is busy, alone = 1000";
    socket_message_ns "ns" 0 .. 1_000_000 "what a message to another socket costs besides";
    send_part "parts" 0 .. 100_000 "a message's service: the sender's part";
    recv_part "parts" 0 .. 100_000 "a message's service: the receiver's part";
    lock_hold_ns "ns" 0 .. 1_000_000 "holding a socket queue's lock, its cache lines besides";
    look_ns "ns" 0 .. 1_000_000 "a search's look at one CPU, its cache lines besides";
    block_ns "ns" 0 .. 1_000_000 "from a task's last look at its queue to the run queue's lock";
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn fields_and_table_have_one_order() {
        let mut next = 0;
        let mut costs = Costs::try_from_each(|_| -> Result<u64, ()> {
            next += 1;
            Ok(next)
        })
        .unwrap();
        for (i, cost) in COSTS.iter().enumerate() {
            assert_eq!(costs.get(cost.name), Some((i + 1) as u64), "{}", cost.name);
            *costs.get_mut(cost.name).unwrap() = 0;
            assert_eq!(costs.get(cost.name), Some(0));
        }
        assert_eq!(costs.get("line"), None);
        assert_eq!(costs.get_mut("line"), None);
    }

    #[test]
    fn keys_carry_their_units() {
        for cost in COSTS {
            let suffix = match cost.unit {
                "ns" => "_ns",
                "Hz" => "_hz",
                "permille" => "_permille",
                _ => "_part",
            };
            assert!(cost.name.ends_with(suffix), "{}", cost.name);
            assert!(cost.low < cost.high && !cost.meaning.is_empty());
        }
    }
}
