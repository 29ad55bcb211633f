// SPDX-License-Identifier: GPL-2.0-only
//! Scheduler events and the lines of text in which tracefs gives them.

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A CPU went over from one task to another; pid 0 is the CPU's idle task.
    Switch {
        /// Thread switched out.
        prev: u32,
        /// Whether it could go on running, and so waits now; else it sleeps or has exited.
        runnable: bool,
        /// Thread switched in.
        next: u32,
    },
    /// A task was made runnable.
    Wakeup {
        /// The woken thread.
        pid: u32,
    },
    /// A new task was made runnable for the first time.
    WakeupNew {
        /// The new thread.
        pid: u32,
        /// The thread that made it.
        parent: u32,
    },
    /// A task was moved to another CPU.
    Migrate {
        /// The thread moved.
        pid: u32,
    },
}

/// One scheduler event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Nanoseconds of CLOCK_MONOTONIC, as exact as the text: to the microsecond.
    pub at_ns: u64,
    /// The CPU that it happened on.
    pub cpu: u32,
    /// What happened.
    pub kind: Kind,
}

/// What a line of a trace file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// An event.
    Event(Event),
    /// The kernel says that it lost events here.
    Lost,
    /// A comment or an empty line.
    Nothing,
    /// None of these: an event that was not understood.
    Odd,
}

/// The events that the tracer asks for, as they stand in a line.
const MARKS: [&str; 4] =
    [": sched_switch: ", ": sched_wakeup: ", ": sched_wakeup_new: ", ": sched_migrate_task: "];

/// Reads one line of a `trace` file:
///
/// ```text
///     hackbench-123  [001] d..2.   12.345678: sched_wakeup: comm=x pid=9 prio=120 target_cpu=000
/// ```
///
/// Names of tasks may hold anything, at most 15 characters: they are stepped over from the right,
/// and are too short to hold one of [`MARKS`].
pub fn parse_line(line: &str) -> Parsed {
    let line = line.trim_end_matches('\n');
    match parse_event(line) {
        Some(event) => Parsed::Event(event),
        // Names are set to the right, so that none begins in the first column.
        None if line.starts_with('#') || line.is_empty() => Parsed::Nothing,
        None if line.starts_with("CPU:") && line.contains(" [LOST ") => Parsed::Lost,
        None => Parsed::Odd,
    }
}

fn parse_event(line: &str) -> Option<Event> {
    let (index, at) = MARKS
        .iter()
        .enumerate()
        .filter_map(|(index, mark)| line.find(mark).map(|at| (index, at)))
        .min_by_key(|&(_, at)| at)?;
    let (head, payload) = (&line[..at], &line[at + MARKS[index].len()..]);
    let (head, time) = head.rsplit_once(' ')?;
    let (head, _flags) = head.trim_end().rsplit_once(' ')?;
    let (head, cpu) = head.trim_end().rsplit_once(" [")?;
    let cpu = cpu.strip_suffix(']')?.parse().ok()?;
    let (_, by) = head.trim_end().rsplit_once('-')?;
    let kind = match index {
        0 => parse_switch(payload)?,
        1 => Kind::Wakeup { pid: number_after(payload, " pid=")? },
        2 => Kind::WakeupNew { pid: number_after(payload, " pid=")?, parent: by.parse().ok()? },
        _ => Kind::Migrate { pid: number_after(payload, " pid=")? },
    };
    Some(Event { at_ns: parse_time(time)?, cpu, kind })
}

/// `prev_comm=… prev_pid=N prev_prio=N prev_state=S ==> next_comm=… next_pid=N next_prio=N`.
fn parse_switch(payload: &str) -> Option<Kind> {
    let next = number_after(payload, " next_pid=")?;
    let (payload, _) = payload.rsplit_once(" ==> next_comm=")?;
    let (payload, state) = payload.rsplit_once(" prev_state=")?;
    let prev = number_after(payload, " prev_pid=")?;
    Some(Kind::Switch { prev, runnable: parse_state(state)?, next })
}

/// Whether a state is a runnable one: `R`, and anything with `+` (preempted).
fn parse_state(state: &str) -> Option<bool> {
    let sound = |c: char| c.is_ascii_alphabetic() || c == '|' || c == '+';
    let runnable = state == "R" || state.ends_with('+');
    (!state.is_empty() && state.chars().all(sound)).then_some(runnable)
}

/// The number behind the last `key`.
fn number_after(payload: &str, key: &str) -> Option<u32> {
    let (_, rest) = payload.rsplit_once(key)?;
    rest.split(' ').next()?.parse().ok()
}

/// Seconds with six decimals, in nanoseconds.
fn parse_time(time: &str) -> Option<u64> {
    let (seconds, micros) = time.split_once('.')?;
    if micros.len() != 6 {
        return None;
    }
    let seconds: u64 = seconds.parse().ok()?;
    let micros: u64 = micros.parse().ok()?;
    seconds.checked_mul(1_000_000)?.checked_add(micros)?.checked_mul(1000)
}
