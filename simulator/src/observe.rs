// SPDX-License-Identifier: GPL-2.0-only
//! What is counted, and what a run gives.

/// Counters of one CPU, with the meaning that /proc/schedstat gives them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// schedule() was called.
    pub sched: u64,
    /// It left the CPU idle.
    pub idle: u64,
    /// It changed the task that runs; to and from idle count.
    pub switches: u64,
    /// Wake-ups by this CPU.
    pub wake: u64,
    /// A task was taken from an overloaded CPU.
    pub steal: u64,
    /// Overloaded CPUs were tried, and none gave a task.
    pub steal_fail: u64,
    /// A task was pulled by newly idle balancing.
    pub newidle: u64,
    /// A task was pulled by periodic or nohz balancing.
    pub balanced: u64,
    /// Balancing passes for CPUs whose tick is stopped.
    pub nohz: u64,
    /// schedule() was called to make a running task give way.
    pub preempted: u64,
    /// ns without a task.
    pub idle_ns: u64,
    /// ns in idle searches, steals and mask updates.
    pub find_ns: u64,
}

macro_rules! each {
    ($self:ident, $other:ident, $op:expr, $($field:ident)*) => {
        Counters { $($field: $op($self.$field, $other.$field),)* }
    };
}

impl Counters {
    /// Field by field.
    pub fn zip(self, other: Counters, op: impl Fn(u64, u64) -> u64) -> Counters {
        each!(self, other, op, sched idle switches wake steal steal_fail newidle balanced nohz preempted
            idle_ns find_ns)
    }
}

/// The state of the counters at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mark {
    pub(crate) time: u64,
    pub(crate) messages: u64,
    pub(crate) cpus: Vec<Counters>,
}

/// What a run gives. Times and rates are taken between 10 % and 90 % of the messages, because the
/// start and the end of a short run are not those of a long one, and scaled to the published size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// ns of the whole run, as simulated.
    pub simulated_ns: u64,
    /// ns, scaled to the published loops.
    pub time_ns: u64,
    /// Parts per million of the CPUs' time in which they had a task.
    pub busy_ppm: u64,
    /// Mean over CPUs, scaled to the published loops.
    pub per_cpu: Counters,
    /// ns; time * busy / (sched - idle).
    pub slice_ns: u64,
    /// Parts per million of busy time in searches, steals and mask updates.
    pub find_ppm: u64,
    /// By CPU: the whole run, not scaled.
    pub counters: Vec<Counters>,
    /// Messages received.
    pub messages: u64,
    /// Events handled.
    pub events: u64,
    /// Of every event, in order.
    pub digest: u64,
}

/// a * b / c without overflow; 0 for c = 0.
pub(crate) fn scale(a: u64, b: u64, c: u64) -> u64 {
    if c == 0 {
        return 0;
    }
    (u128::from(a) * u128::from(b) / u128::from(c)) as u64
}

impl Outcome {
    /// Scale what happened between two marks to `published` messages.
    pub(crate) fn between(from: &Mark, to: &Mark, published: u64) -> Outcome {
        let messages = to.messages - from.messages;
        let span = to.time - from.time;
        let nr = to.cpus.len() as u64;
        let sum = to
            .cpus
            .iter()
            .zip(&from.cpus)
            .map(|(t, f)| t.zip(*f, |t, f| t - f))
            .fold(Counters::default(), |a, b| a.zip(b, |a, b| a + b));
        let busy_ns = (span * nr).saturating_sub(sum.idle_ns);
        Outcome {
            time_ns: scale(span, published, messages),
            busy_ppm: scale(busy_ns, 1_000_000, span * nr),
            per_cpu: sum.zip(sum, |a, _| scale(a, published, messages * nr)),
            slice_ns: busy_ns / (sum.sched - sum.idle).max(1),
            find_ppm: scale(sum.find_ns, 1_000_000, busy_ns),
            ..Outcome::default()
        }
    }
}
