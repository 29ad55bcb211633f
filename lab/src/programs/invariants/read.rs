// SPDX-License-Identifier: GPL-2.0-only
//! What the kernel says of itself: counters, run queues, its trace.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{anyhow, Context, Result};

const DEBUGFS: &str = "/sys/kernel/debug/sched";
const TRACING: &str = "/sys/kernel/tracing";

/// A line of debugfs `sched/ballast`, or the sum of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub easy: u64,
    pub cpu_hit: u64,
    pub core_hit: u64,
    pub none: u64,
    pub find_ns: u64,
    pub steals: u64,
    pub misses: u64,
}

impl Counters {
    /// Of these CPUs together.
    pub fn of(cpus: &[u32]) -> Result<Self> {
        Self::parse(&file(&format!("{DEBUGFS}/ballast"))?, cpus)
    }

    fn parse(text: &str, cpus: &[u32]) -> Result<Self> {
        let mut sum = Self::default();
        for line in text.lines().skip(1) {
            let words: Result<Vec<u64>, _> = line.split(' ').map(str::parse).collect();
            let [cpu, easy, cpu_hit, core_hit, none, find_ns, steals, misses] = words?[..] else {
                return Err(anyhow!("sched/ballast has another line than expected: {line}"));
            };
            if cpus.iter().any(|&c| u64::from(c) == cpu) {
                let more = Self { easy, cpu_hit, core_hit, none, find_ns, steals, misses };
                sum = sum.plus(&more);
            }
        }
        Ok(sum)
    }

    fn plus(&self, o: &Self) -> Self {
        Self {
            easy: self.easy + o.easy,
            cpu_hit: self.cpu_hit + o.cpu_hit,
            core_hit: self.core_hit + o.core_hit,
            none: self.none + o.none,
            find_ns: self.find_ns + o.find_ns,
            steals: self.steals + o.steals,
            misses: self.misses + o.misses,
        }
    }

    /// What was counted since an earlier reading.
    pub fn since(&self, o: &Self) -> Self {
        Self {
            easy: self.easy - o.easy,
            cpu_hit: self.cpu_hit - o.cpu_hit,
            core_hit: self.core_hit - o.core_hit,
            none: self.none - o.none,
            find_ns: self.find_ns - o.find_ns,
            steals: self.steals - o.steals,
            misses: self.misses - o.misses,
        }
    }
}

/// A CPU's run queue, from debugfs `sched/debug`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// Tasks of all classes.
    pub running: u64,
    /// Fair tasks, with sleepers whose dequeue is delayed.
    pub queued: u64,
    /// Fair tasks without those.
    pub runnable: u64,
}

/// The run queue of `cpu`.
pub fn queue(cpu: u32) -> Result<Queue> {
    Queue::parse(&file(&format!("{DEBUGFS}/debug"))?, cpu)
        .with_context(|| format!("sched/debug does not show CPU {cpu}"))
}

impl Queue {
    fn parse(text: &str, cpu: u32) -> Option<Self> {
        let part = after(text, &format!("\ncpu#{cpu},"))?;
        let fair = after(part, &format!("\ncfs_rq[{cpu}]:/\n"))?;
        Some(Self {
            running: value(part, "nr_running")?,
            queued: value(fair, "h_nr_queued")?,
            runnable: value(fair, "h_nr_runnable")?,
        })
    }
}

/// Whether the group at `path` is throttled on `cpu`.
pub fn is_throttled(path: &str, cpu: u32) -> Result<bool> {
    let text = file(&format!("{DEBUGFS}/debug"))?;
    let group = after(&text, &format!("\ncfs_rq[{cpu}]:/{path}\n"));
    Ok(group.and_then(|g| value(g, "throttle_count")).unwrap_or(0) > 0)
}

fn after<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    Some(&text[text.find(mark)? + mark.len()..])
}

/// `  .name   : 3`: the first one.
fn value(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find(|l| {
        l.trim_start()
            .strip_prefix('.')
            .is_some_and(|l| l.strip_prefix(name).is_some_and(|l| l.starts_with([' ', ':'])))
    })?;
    line.rsplit(' ').next()?.parse().ok()
}

/// Tasks that newidle balance has brought to a CPU so far; needs schedstats.
pub fn newidle_gained(cpu: u32) -> Result<u64> {
    Ok(newidle_of(&file("/proc/schedstat")?, cpu))
}

fn newidle_of(text: &str, cpu: u32) -> u64 {
    /// Words before the counters; counters of a kind of balance; those of newidle are the third.
    const HEAD: usize = 3;
    const KIND: usize = 11;
    const GAINED: usize = HEAD + 2 * KIND + 7;
    let lines = text.lines().skip_while(|l| !l.starts_with(&format!("cpu{cpu} "))).skip(1);
    let domains = lines.take_while(|l| l.starts_with("domain"));
    domains.filter_map(|l| l.split(' ').nth(GAINED)?.parse::<u64>().ok()).sum()
}

/// A number of debugfs `sched/` that is put back when this is dropped.
pub struct Setting {
    path: String,
    found: String,
}

impl Setting {
    pub fn change(name: &str, value: &str) -> Result<Self> {
        let path = format!("{DEBUGFS}/{name}");
        let found = file(&path)?;
        fs::write(&path, value).with_context(|| format!("{path}: cannot write `{value}`"))?;
        Ok(Self { path, found })
    }
}

impl Drop for Setting {
    fn drop(&mut self) {
        let _ = fs::write(&self.path, &self.found);
    }
}

/// The kernel's trace of some events.
pub struct Trace;

/// One of them.
#[derive(Debug)]
pub struct Event {
    /// Where it was recorded.
    pub cpu: u32,
    pub ns: u64,
    pub name: String,
    text: String,
}

impl Event {
    /// The number after `key`, as in `pid=12` or `cpu: 0003`.
    pub fn number(&self, key: &str) -> Option<u64> {
        let rest = self.text.split(key).nth(1)?.trim_start();
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..end].parse().ok()
    }

    /// The word after `key`.
    pub fn word(&self, key: &str) -> &str {
        let rest = self.text.split_once(key).map_or("", |(_, rest)| rest);
        rest.split(' ').next().unwrap_or(rest)
    }

    /// Whether its text has this word in it.
    pub fn has(&self, word: &str) -> bool {
        self.text.contains(word)
    }
}

impl Trace {
    /// Those of one task alone, to be read one after another.
    pub fn follow(event: &str, pid: libc::pid_t) -> Result<Follow> {
        write(&format!("events/{event}/filter"), &format!("pid == {pid}"))?;
        Self::start(&[event])?;
        let mut options = fs::OpenOptions::new();
        options.read(true).custom_flags(libc::O_NONBLOCK);
        let path = format!("{TRACING}/trace_pipe");
        let pipe = options.open(&path).with_context(|| path)?;
        Ok(Follow { pipe, event: event.to_owned() })
    }

    /// Begins anew with these events, each `group/name`.
    pub fn start(events: &[&str]) -> Result<Self> {
        write("trace_clock", "mono")?;
        write("trace", "")?;
        for event in events {
            write(&format!("events/{event}/enable"), "1")?;
        }
        write("tracing_on", "1")?;
        Ok(Self)
    }

    /// Ends it: all events, the earliest first.
    pub fn stop(self) -> Result<Vec<Event>> {
        write("tracing_on", "0")?;
        write("events/enable", "0")?;
        let text = file(&format!("{TRACING}/trace"))?;
        let mut events: Vec<Event> = text.lines().filter_map(event).collect();
        events.sort_by_key(|e| e.ns);
        Ok(events)
    }
}

/// Events as they come; none are recorded any more when this is dropped.
pub struct Follow {
    pipe: File,
    event: String,
}

impl Follow {
    /// The newest one since the last call.
    pub fn newest(&mut self) -> Option<Event> {
        let mut text = Vec::new();
        let mut part = [0; 4096];
        while let Ok(n @ 1..) = self.pipe.read(&mut part) {
            text.extend_from_slice(&part[..n]);
        }
        String::from_utf8_lossy(&text).lines().filter_map(event).next_back()
    }
}

impl Drop for Follow {
    fn drop(&mut self) {
        let _ = write("tracing_on", "0");
        let _ = write("events/enable", "0");
        let _ = write(&format!("events/{}/filter", self.event), "0");
    }
}

/// `  comm-12   [003] d..2.  1.234567: name: text`; the comm may have anything in it.
fn event(line: &str) -> Option<Event> {
    if line.starts_with('#') {
        return None;
    }
    let (_, rest) = line.split_once(" [")?;
    let (cpu, rest) = rest.split_once("] ")?;
    let mut words = rest.split_ascii_whitespace();
    let (_, time, name) = (words.next()?, words.next()?, words.next()?);
    let (s, us) = time.strip_suffix(':')?.split_once('.')?;
    let ns = s.parse::<u64>().ok()? * 1_000_000_000 + us.parse::<u64>().ok()? * 1000;
    let text = rest.split_once(name)?.1.to_owned();
    let name = name.strip_suffix(':')?.to_owned();
    Some(Event { cpu: cpu.parse().ok()?, ns, name, text })
}

fn write(name: &str, what: &str) -> Result<()> {
    let path = Path::new(TRACING).join(name);
    fs::write(&path, what).with_context(|| format!("{}: cannot write `{what}`", path.display()))
}

/// A file's text.
pub fn file(path: &str) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("{path}: cannot read"))
}

/// Whether the kernel's lock checker still works: it ends itself after its first finding.
pub fn locks_are_checked() -> Result<bool> {
    let text = file("/proc/lockdep_stats")?;
    let line = text.lines().find_map(|l| l.trim().strip_prefix("debug_locks:"));
    Ok(line.context("/proc/lockdep_stats has no debug_locks")?.trim() == "1")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn counters_are_summed_by_cpu() {
        let text = "cpu easy cpu_hit core_hit none find_ns steals misses\n\
                    0 1 2 3 4 5 6 7\n1 10 20 30 40 50 60 70\n2 0 0 0 0 0 0 9\n";
        let of = |cpus| Counters::parse(text, cpus).unwrap();
        assert_eq!((of(&[0, 1]).easy, of(&[0, 1]).misses, of(&[2]).misses), (11, 77, 9));
        assert_eq!(of(&[1]).since(&of(&[0])).find_ns, 45);
        assert!(Counters::parse("x\n0 1 2\n", &[0]).is_err());
    }

    #[test]
    fn queues_are_read_by_cpu() {
        let cpu = |n: u32, m: u32| {
            format!(
                "\ncpu#{n}, 1.000 MHz\n  .nr_running                    : {m}\n\
                 \ncfs_rq[{n}]:/quota/inner\n  .h_nr_runnable                 : 9\n  \
                 .throttled                     : 1\n  .throttle_count                : {n}\n\
                 \ncfs_rq[{n}]:/\n  .nr_queued      : 8\n  .h_nr_runnable                 : 1\n  \
                 .h_nr_queued                   : 2\n"
            )
        };
        let text = cpu(1, 3) + &cpu(11, 4);
        assert_eq!(Queue::parse(&text, 1), Some(Queue { running: 3, queued: 2, runnable: 1 }));
        assert_eq!(Queue::parse(&text, 11).unwrap().running, 4);
        assert_eq!(Queue::parse(&text, 2), None);
    }

    #[test]
    fn events_are_taken_apart() {
        let line = "     my [x] t-77      [003] d..2.    12.000345: sched_migrate_task: \
                    comm=a pid=78 prio=120 orig_cpu=2 dest_cpu=13";
        let e = event(&line.replace("my [x] t", "t")).unwrap();
        assert_eq!((e.cpu, e.ns, e.name.as_str()), (3, 12_000_345_000, "sched_migrate_task"));
        assert_eq!((e.number("pid="), e.number("dest_cpu=")), (Some(78), Some(13)));
        assert!(event("# tracer: nop").is_none());
    }

    #[test]
    fn newidle_is_the_third_kind() {
        let fields = |from: u32| (from..from + 45).map(|n| n.to_string()).collect::<Vec<_>>();
        let line = |n: u32| format!("domain{n} MC ff {}", fields(100 * n).join(" "));
        let text = format!("version 17\ncpu1 0\n{}\n{}\ncpu10 0\n{}\n", line(0), line(1), line(2));
        assert_eq!(newidle_of(&text, 1), 29 + 129);
    }
}
