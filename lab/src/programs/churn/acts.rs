// SPDX-License-Identifier: GPL-2.0-only
//! What disturbs the workers, each act a process of its own.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::super::process::{become_fifo, become_ordinary, now_ns, set_nice, sleep_until};
use super::super::random::Random;
use super::workers::spin;
use super::{cgroups, Phase, Stage};
use crate::agent::fair::FEATURES;
use crate::agent::system;
use crate::error::Failure;
use crate::sched::DEFAULTS;

/// One kind of disturbance.
pub struct Act {
    /// In the report.
    pub name: &'static str,
    /// Whether a kernel may have nothing to do for it.
    pub may_be_idle: bool,
    /// Its SCHED_FIFO priority, so that it comes in time; `None`: an ordinary task.
    fifo: Option<i32>,
    /// Does it until the acts end, then puts back what it changed.
    run: fn(&mut Player) -> anyhow::Result<()>,
}

/// All of them.
pub const ACTS: [Act; 9] = [
    act("hackbench", None, hackbench),
    act("affinity", Some(20), affinity),
    act("nice", Some(20), nice),
    act("hotplug", Some(20), hotplug),
    act("partitions", Some(20), partitions),
    act("bandwidth", Some(20), bandwidth),
    act("realtime", Some(10), realtime),
    act("realtime 2", Some(10), realtime),
    Act { may_be_idle: true, ..act("flags", Some(30), flags) },
];

const fn act(
    name: &'static str,
    fifo: Option<i32>,
    run: fn(&mut Player) -> anyhow::Result<()>,
) -> Act {
    Act { name, may_be_idle: false, fifo, run }
}

/// One act at work.
pub struct Player<'a> {
    stage: &'a Stage,
    index: usize,
    random: Random,
}

/// The process of an act; the status that it ends with.
pub fn run(stage: &Stage, index: usize, act: &Act) -> i32 {
    let mut player = Player { stage, index, random: Random::new(stage.seed, index as u64) };
    let ready = match act.fifo {
        Some(priority) => become_fifo(priority),
        None => become_ordinary(),
    };
    match ready.and_then(|()| (act.run)(&mut player)) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("churn: {}: {error:#}", act.name);
            1
        }
    }
}

impl Player<'_> {
    fn goes_on(&self) -> bool {
        self.stage.is_before(Phase::ActsEnd)
    }

    fn did_it(&self) {
        self.stage.done(self.index).fetch_add(1, Ordering::Relaxed);
    }

    fn pause_ms(&mut self, low: u64, high: u64) {
        std::thread::sleep(Duration::from_millis(self.random.between(low, high)));
    }

    fn worker(&mut self) -> libc::pid_t {
        let movable = self.stage.movable();
        movable[self.random.below(movable.len() as u64) as usize]
    }

    /// Of every other worker, so that nobody changes its cpuset by a change of quotas.
    fn worker_of(&mut self, half: usize) -> libc::pid_t {
        let half: Vec<libc::pid_t> =
            self.stage.movable().iter().copied().skip(half).step_by(2).collect();
        half[self.random.below(half.len() as u64) as usize]
    }

    /// Some CPUs: often one or all.
    fn some_cpus(&mut self) -> Vec<u32> {
        let n = self.stage.cpus;
        if self.random.one_in(4) {
            return (0..n as u32).collect();
        }
        let one = self.random.below(n) as u32;
        let few = !self.random.one_in(3);
        (0..n as u32).filter(|&cpu| cpu == one || (few && self.random.one_in(2))).collect()
    }
}

/// Hackbench after hackbench: each has to end well.
fn hackbench(p: &mut Player) -> anyhow::Result<()> {
    while p.goes_on() {
        let mut command = Command::new(&p.stage.hackbench);
        command.args(if p.random.one_in(2) { &["-p"][..] } else { &[] });
        command.arg(if p.random.one_in(2) { "-T" } else { "-P" });
        command.args(["-g", "1", "-l"]).arg(p.random.between(2, 20).to_string());
        let output = command.stdin(Stdio::null()).output()?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let text = format!("{command:?} ended with {}: {}", output.status, said.trim());
            return Err(Failure::failed(text));
        }
        p.did_it();
    }
    Ok(())
}

/// Masks of the workers. One that a cpuset leaves no CPU of is refused: no matter.
fn affinity(p: &mut Player) -> anyhow::Result<()> {
    while p.goes_on() {
        p.pause_ms(1, 8);
        let (cpus, pid) = (p.some_cpus(), p.worker());
        if system::confine_process(pid, &cpus).is_ok() {
            p.did_it();
        }
    }
    let all: Vec<u32> = (0..p.stage.cpus as u32).collect();
    for &pid in p.stage.movable() {
        system::confine_process(pid, &all)?;
    }
    Ok(())
}

/// Nice levels from −10 to 10.
fn nice(p: &mut Player) -> anyhow::Result<()> {
    while p.goes_on() {
        p.pause_ms(5, 40);
        let (nice, pid) = (p.random.below(21) as i32 - 10, p.worker());
        set_nice(pid, nice)?;
        p.did_it();
    }
    Ok(())
}

/// A CPU goes and comes back; CPU 0 stays. Nobody changes its cpuset meanwhile: mainline warns in
/// `cpuset_attach_task` when it meets a task whose own mask holds nothing but the CPU that is away.
fn hotplug(p: &mut Player) -> anyhow::Result<()> {
    let switch = |cpu: u64, on: &str| {
        fs::write(format!("/sys/devices/system/cpu/cpu{cpu}/online"), on).is_ok()
    };
    while p.goes_on() {
        p.pause_ms(20, 300);
        let cpu = p.random.between(1, p.stage.cpus - 1);
        let away_ms = p.random.between(20, 300);
        let gone = p.stage.alone(|| {
            let gone = switch(cpu, "0");
            std::thread::sleep(Duration::from_millis(away_ms));
            // all: one that was refused for a moment comes back the next time
            (1..p.stage.cpus).filter(|&cpu| !switch(cpu, "1")).count() == 0 && gone
        });
        if gone {
            p.did_it();
        }
    }
    for cpu in 1..p.stage.cpus {
        if fs::read_to_string(format!("/sys/devices/system/cpu/cpu{cpu}/online"))?.trim() != "1" {
            return Err(Failure::failed(format!("CPU {cpu} has not come back")));
        }
    }
    Ok(())
}

/// Some CPUs become a scheduling domain of their own with some workers, and are given back.
fn partitions(p: &mut Player) -> anyhow::Result<()> {
    while p.goes_on() {
        let first = p.random.between(1, p.stage.cpus - 1);
        let last = p.random.between(first, p.stage.cpus - 1);
        cgroups::set(cgroups::PART, "cpuset.cpus", &format!("{first}-{last}"));
        cgroups::set(cgroups::PART, "cpuset.cpus.partition", "root");
        for _ in 0..p.stage.workers.len() / 3 {
            let pid = p.worker_of(0);
            p.stage.alone(|| cgroups::enter(cgroups::PART, pid));
        }
        if cgroups::get(cgroups::PART, "cpuset.cpus.partition") == "root" {
            p.did_it();
        }
        p.pause_ms(50, 400);
        if p.random.one_in(2) {
            p.stage.alone(|| leave(cgroups::PART));
        }
        cgroups::set(cgroups::PART, "cpuset.cpus.partition", "member");
        p.pause_ms(10, 100);
    }
    p.stage.alone(|| leave(cgroups::PART));
    Ok(())
}

/// Quotas within quotas that change while tasks come and go.
fn bandwidth(p: &mut Player) -> anyhow::Result<()> {
    while p.goes_on() {
        for group in [cgroups::QUOTA, cgroups::INNER] {
            // from a twentieth of a CPU to two
            let period = p.random.between(5, 40) * 1000;
            let max = match p.random.one_in(4) {
                true => "max".to_owned(),
                false => {
                    format!("{} {period}", p.random.between(period / 20, 2 * period).max(1000))
                }
            };
            if cgroups::set(group, "cpu.max", &max) {
                p.did_it();
            }
        }
        for _ in 0..4 {
            let pid = p.worker_of(1);
            cgroups::enter(if p.random.one_in(3) { "" } else { cgroups::INNER }, pid);
            p.pause_ms(1, 30);
        }
    }
    for group in [cgroups::QUOTA, cgroups::INNER] {
        cgroups::set(group, "cpu.max", "max");
    }
    leave(cgroups::INNER);
    Ok(())
}

/// All of a group's processes go back to the root group.
fn leave(group: &str) {
    for pid in cgroups::get(group, "cgroup.procs").lines() {
        if let Ok(pid) = pid.parse() {
            cgroups::enter("", pid);
        }
    }
}

/// A real-time task that takes a CPU for a while, here and there.
fn realtime(p: &mut Player) -> anyhow::Result<()> {
    while p.goes_on() {
        let cpus = p.some_cpus();
        // refused where that CPU is away
        let _ = system::confine_process(0, &cpus);
        spin(p.random.between(1000, 15_000));
        p.did_it();
        p.pause_ms(20, 100);
    }
    Ok(())
}

/// Between two changes of a flag.
const FLIP_NS: u64 = 100_000_000;

/// Every 100 ms one flag of our fair class changes; at the end all are as they were.
fn flags(p: &mut Player) -> anyhow::Result<()> {
    let there = fs::read_to_string(FEATURES).unwrap_or_default();
    let is_on = |name: &str| {
        let words = || there.split_whitespace();
        let off = words().any(|w| w.strip_prefix("NO_") == Some(name));
        (off || words().any(|w| w == name)).then_some(!off)
    };
    let before: BTreeMap<&str, bool> =
        DEFAULTS.iter().filter_map(|f| Some((f.name, is_on(f.name)?))).collect();
    let write = |name: &str, on: bool| {
        fs::write(FEATURES, if on { name.to_owned() } else { format!("NO_{name}") })
    };
    let mut current = before.clone();
    let mut next = now_ns();
    while p.goes_on() {
        // a change takes long where all CPUs have to be told
        next = now_ns().max(next + FLIP_NS);
        sleep_until(next);
        let nth = p.random.below(current.len() as u64) as usize;
        if let Some((name, on)) = current.iter_mut().nth(nth) {
            *on = !*on;
            write(name, *on)?;
            p.did_it();
        }
    }
    for (name, on) in before {
        write(name, on)?;
    }
    Ok(())
}
