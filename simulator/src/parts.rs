// SPDX-License-Identifier: GPL-2.0-only
//! Parts of the model, each of which can be left out to see what it is for.

use crate::sched::Sched;

/// A part as data.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Its field in [`Parts`].
    pub name: &'static str,
    /// What it is.
    pub what: &'static str,
    /// The test that shows it at work, on and off, whatever a table does with it.
    pub test: &'static str,
    /// What happens there.
    pub scene: &'static str,
    /// Leaves it out.
    pub leave_out: fn(&mut Sched),
}

macro_rules! parts {
    ($($name:ident: $what:literal, $test:ident: $scene:literal;)*) => {
        /// Which parts are on: all, unless left out.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Parts {
            $(#[doc = concat!($what, ".")] pub $name: bool,)*
        }

        impl Default for Parts {
            fn default() -> Self {
                Parts { $($name: true,)* }
            }
        }

        impl Parts {
            /// Leave out the part of that name, spelled as the field; false if there is none.
            pub fn leave_out(&mut self, name: &str) -> bool {
                match name {
                    $(stringify!($name) => self.$name = false,)*
                    _ => return false,
                }
                true
            }
        }

        /// All parts, in the order of the fields.
        pub const PARTS: &[Part] = &[$(Part {
            name: stringify!($name),
            what: $what,
            test: stringify!($test),
            scene: $scene,
            leave_out: |sched| sched.parts.$name = false,
        },)*];
    };
}

parts! {
    newidle: "Newly idle CPUs balance",
        newidle_pulls_only_behind_its_gates:
        "a CPU that runs dry pulls one of three tasks from another core where its gates are open, \
         and none without newidle; in hackbench with the avg_idle gate open it pulls too";
    avg_idle_gate: "They do not if they are idle for less than a migration or the pass costs",
        newidle_pulls_only_behind_its_gates:
        "a CPU that is idle for 400 us on average, less than a migration costs, pulls only without \
         the gate";
    periodic: "Ticks balance",
        ticks_balance:
        "an idle CPU's tick pulls from a core with four tasks, and does not without it";
    nohz: "An idle CPU balances for those whose tick is stopped",
        a_busy_tick_has_stopped_cpus_balance:
        "all ticks but one are stopped; that CPU has six tasks, and keeps them all without nohz";
    wake_affine: "A wakee may be pulled to its waker's CPU",
        a_waker_about_to_sleep_pulls:
        "no CPU is idle; a waker alone on its CPU pulls its wakee there, and without wake_affine it \
         stays where it was";
    wake_wide: "Not if waker and wakee have many partners",
        wide_wakers_do_not_pull:
        "a waker with 2000 flips, waking a task with 30, pulls it only without wake_wide";
    recent_used_cpu: "The CPU that a task used before its last one is tried",
        the_cpu_before_the_last_is_tried:
        "one CPU is idle, the one before the wakee's last: found without a search, and not without \
         the part";
    socket_contention: "Socket lines and locks cost and wait",
        another_cpus_message_costs_its_lines:
        "a reader on another core pays for a message's lines and waits for a lock that is held; \
         without the part neither";
    idle_states: "Leaving idle takes time",
        a_wake_up_waits_for_the_idle_state:
        "a CPU in C1E that is kicked begins 10 us later, and at once without it";
    ipi_cost: "Reaching an idle CPU takes time",
        a_wake_up_waits_for_the_idle_state:
        "a CPU that polls notices a kick 1 us later, and at once without it";
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// A report names these tests: they exist.
    #[test]
    fn every_part_has_its_scene() {
        let sources = [
            include_str!("class/cfs420/tests.rs"),
            include_str!("os/idle.rs"),
            include_str!("os/socket.rs"),
        ];
        for part in PARTS {
            let test = format!("#[test]\n    fn {}()", part.test).replace("    ", "");
            let found = sources.iter().any(|s| s.replace("    ", "").contains(&test));
            assert!(found, "{}: no test {}", part.name, part.test);
        }
    }

    #[test]
    fn each_is_left_out_alone() {
        for part in PARTS {
            let mut by_name = Sched::parse("cfs-4.20").unwrap();
            let mut by_call = by_name.clone();
            assert!(by_name.parts.leave_out(part.name));
            (part.leave_out)(&mut by_call);
            assert_eq!(by_name, by_call);
            let text = format!("{:?}", by_call.parts);
            assert_eq!(text.matches("false").count(), 1, "{text}");
            assert!(text.contains(&format!("{}: false", part.name)));
        }
        assert!(!Parts::default().leave_out("newidel"));
    }
}
