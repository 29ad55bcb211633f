// SPDX-License-Identifier: GPL-2.0-only
//! Tasks and CPUs: what the os keeps of each.

use crate::class::cfs420::{Entity, RunQueue};
use crate::engine::Time;
use crate::machine::Kernel;
use crate::observe::Counters;
use crate::policy::NONE;

/// May a task run?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Runnable,
    /// Waits to be woken; still on its queue until schedule() has taken it off.
    Asleep,
    /// A waker has it: on no queue.
    Waking,
    Dead,
}

/// What a task does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Is there room for a message? Then prepare one.
    Send,
    /// Put it into the receiver's queue.
    Deliver,
    /// Is there a message? Then copy it.
    Receive,
    /// Take it off, give its charge back, and wake the writers if there is room now.
    Release,
}

#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) stage: Stage,
    pub(crate) state: State,
    /// The channel at hand.
    pub(crate) channel: u32,
    /// Channels of its group: first, and how many.
    pub(crate) first_channel: u32,
    /// Messages still to be sent or received.
    pub(crate) left: u64,
    /// Of the message being sent.
    pub(crate) buffer: u32,
    /// Ledger: where references to its pid are counted.
    pub(crate) pid_line: u32,
    /// Its queue, or the last one.
    pub(crate) cpu: u32,
    /// Where its caches are.
    pub(crate) warm_on: u32,
    pub(crate) on_rq: bool,
    /// A waker must wait until then: the old CPU still switches away from it.
    pub(crate) off_cpu_at: Time,
    pub(crate) se: Entity,
}

/// What a CPU does when its time comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// The running task goes on.
    Run,
    /// It wakes the next of `wakes`: choose a CPU.
    Select,
    /// And put it there.
    Enqueue {
        task: u32,
        target: u32,
    },
    Schedule,
    /// schedule() had dropped its lock to look for work elsewhere, and takes it again.
    Pick,
    /// The switch to the idle task is over.
    EnterIdle,
    Rest,
    /// An idle CPU has noticed that it has work.
    LeaveIdle,
}

#[derive(Clone, Debug)]
pub(crate) struct Cpu {
    pub(crate) act: Act,
    /// The running task; NONE: the idle task.
    pub(crate) curr: u32,
    pub(crate) need_resched: bool,
    pub(crate) rq: RunQueue,
    /// The run-queue lock is taken until then.
    pub(crate) lock_until: Time,
    /// It takes no interrupt until then: it has a run-queue lock, its own or another's.
    pub(crate) deaf_until: Time,
    /// rq->wake_list: tasks that CPUs without a cache in common have woken for this one to queue,
    /// the next one last.
    pub(crate) wake_list: Vec<u32>,
    /// Tasks to wake, the next one last.
    pub(crate) wakes: Vec<u32>,
    /// On its way here: taken from its queue, not yet on ours.
    pub(crate) stolen: u32,
    /// When it dropped its lock in schedule(), if it did.
    pub(crate) open_from: Option<Time>,
    /// The sibling has the core for itself.
    pub(crate) resting: bool,
    pub(crate) idle_since: Time,
    pub(crate) exit_ns: u64,
    /// Its last stays in idle, ns, as a ring.
    pub(crate) stays: [u32; 8],
    pub(crate) stay: usize,
    pub(crate) tick_stopped: bool,
    pub(crate) counters: Counters,
}

impl Cpu {
    pub(crate) fn new(levels: usize, k: &Kernel) -> Self {
        Cpu {
            act: Act::Rest,
            curr: NONE,
            need_resched: false,
            rq: RunQueue::new(levels, k),
            lock_until: 0,
            deaf_until: 0,
            wake_list: Vec::new(),
            wakes: Vec::new(),
            stolen: NONE,
            open_from: None,
            resting: true,
            idle_since: 0,
            exit_ns: 0,
            stays: [50_000; 8],
            stay: 0,
            tick_stopped: false,
            counters: Counters::default(),
        }
    }

    /// available_idle_cpu().
    pub(crate) fn idle(&self) -> bool {
        self.curr == NONE && self.rq.nr == 0 && self.wake_list.is_empty()
    }
}
