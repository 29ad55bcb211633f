// SPDX-License-Identifier: GPL-2.0-only
//! Bench words: what is run in the guest, and which figure is taken from it.
//!
//! | word | settings and defaults | figure (lower is better) |
//! |---|---|---|
//! | `hackbench` | `transport=pipe` `groups=1` `mode=process` `loops=` 200 shared among the groups | s |
//! | `messaging` | the same, through `perf bench sched messaging` | s |
//! | `pipe` | `pinned=0` `loops=20000` (`perf bench sched pipe`) | us/op |
//! | `sleeper` | `hogs=2` `fifo=0` `fifo_us=0` | p99 of 2,000 delays, us |
//! | `shares` | `seconds=10`; `hogs=N`: of nice 0, else by nice −10 to 10 | worst relative error of a share, % |
//! | `loads` | `times=20` | ms a load and unload, under hackbench |
//! | `churn` | `seconds=60`: hotplug, partitions, quotas, masks, flags and more at once | ms, longest wait of a worker |
//! | `invariants` | `only=` part of a name: the rules of stealing and idle search | ms, all scenes |
//! | `boots` | none: a short hackbench in each boot | guest ms from boot to the bench |
//!
//! In instruction mode a nanosecond is an instruction, so `us/op` reads as thousand instructions.

mod figure;
mod programs;

use std::path::PathBuf;

use anyhow::Result;

use crate::error::Failure;
use crate::image;
use crate::model::{Action, Mode, Step};
use crate::words::{number, split, unknown};

pub use figure::{details, fifo_p99_us, figure};

/// Names of benches, as typed.
pub const NAMES: &[&str] = &[
    "hackbench",
    "messaging",
    "pipe",
    "sleeper",
    "shares",
    "loads",
    "churn",
    "invariants",
    "boots",
];

/// Guest path of the lab's own programs: the agent is the guest's init.
const AGENT: &str = "/init";

/// Messages an untouched hackbench sends over all its groups, in units of 400 (20 × 20 pairs).
const HACKBENCH_LOOPS: u64 = 200;

/// What a bench does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// hackbench (package rt-tests).
    Hackbench(Crowd),
    /// `perf bench sched messaging`.
    Messaging(Crowd),
    /// `perf bench sched pipe`; both tasks on one CPU when `pinned`.
    Pipe {
        /// One CPU for both.
        pinned: bool,
        /// Round trips.
        loops: u64,
    },
    /// A task that sleeps 1 ms at a time beside `hogs` endless loops.
    Sleeper {
        /// Endless loops of nice 0.
        hogs: u64,
        /// A SCHED_FIFO sleeper runs beside as control.
        fifo: bool,
        /// Microseconds that the control works each time it wakes.
        fifo_us: u64,
    },
    /// Endless loops of several nice values on the same CPUs.
    Shares {
        /// How long.
        seconds: u64,
        /// As many hogs of nice 0; by nice from -10 to 10 when `None`.
        hogs: Option<u64>,
    },
    /// Loads and unloads of the scheduler under hackbench.
    Loads {
        /// How many.
        times: u64,
    },
    /// Everything that moves tasks and CPUs about, all at once; for EEVDF's columns.
    Churn {
        /// How long.
        seconds: u64,
    },
    /// Scenes that show whether the fair class keeps its rules; for EEVDF's columns.
    Invariants {
        /// Only those with this in their names.
        only: Option<String>,
    },
    /// Each boot runs a short hackbench.
    Boots,
    /// The user's own.
    Command {
        /// Program as it lies in the guest, and arguments.
        argv: Vec<String>,
    },
}

impl What {
    /// Reads a word without looking for its program.
    pub fn parse(word: &str) -> Result<Self> {
        parse_what(word)
    }

    /// Unit of the figure.
    pub fn unit(&self, mode: Mode) -> &'static str {
        match (self, mode) {
            (Self::Hackbench(_) | Self::Messaging(_) | Self::Command { .. }, _) => "s",
            (Self::Pipe { .. }, Mode::Instructions) => "thousand instructions/op",
            (Self::Pipe { .. }, Mode::Parallel) => "us/op",
            (Self::Sleeper { .. }, _) => "us (p99)",
            (Self::Shares { .. }, _) => "% (worst error)",
            (Self::Loads { .. }, _) => "ms/load",
            (Self::Churn { .. }, _) => "ms (longest wait)",
            (Self::Invariants { .. }, _) => "ms (all scenes)",
            (Self::Boots, _) => "ms (boot to bench)",
        }
    }

    /// Whether effective CPUs count in a verdict: more runnable tasks than CPUs. A command's
    /// tasks are not known; it counts, so that packing is never praised.
    pub fn crowded(&self, cpus: u32) -> bool {
        let cpus = u64::from(cpus);
        match self {
            Self::Hackbench(c) | Self::Messaging(c) => 40 * c.groups > cpus,
            Self::Command { .. } => true,
            Self::Sleeper { hogs, .. } => hogs + 1 > cpus,
            Self::Shares { .. } | Self::Pipe { .. } | Self::Loads { .. } => false,
            Self::Churn { .. } | Self::Invariants { .. } | Self::Boots => false,
        }
    }

    /// Whether the bench asks only that every boot ends well: its figure is never judged.
    pub fn only_function(&self) -> bool {
        self.disturbs() || matches!(self, Self::Loads { .. } | Self::Boots)
    }

    /// Whether the bench takes CPUs away from the guest.
    pub fn disturbs(&self) -> bool {
        matches!(self, Self::Churn { .. } | Self::Invariants { .. })
    }

    /// Whether the bench needs boots of its own: it loads the scheduler itself, disturbs all the
    /// guest, is about the boot, or may void the boot.
    pub fn alone(&self) -> bool {
        self.only_function() || matches!(self, Self::Sleeper { fifo: true, .. })
    }
}

/// Groups of 20 senders and 20 receivers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crowd {
    /// Pipes, else sockets.
    pub pipes: bool,
    /// Threads, else processes.
    pub threads: bool,
    /// Groups of 40 tasks.
    pub groups: u64,
    /// Messages of each sender to each receiver.
    pub loops: u64,
}

/// One row block of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bench {
    /// As typed.
    pub word: String,
    /// What it does.
    pub what: What,
    /// Its program on this machine; `None` for the lab's own.
    pub program: Option<PathBuf>,
}

impl Bench {
    /// Reads a word and finds its program.
    pub fn parse(word: &str) -> Result<Self> {
        let what = parse_what(word)?;
        let program = match what {
            What::Hackbench(_) | What::Loads { .. } | What::Churn { .. } | What::Boots => {
                Some(programs::find_packaged("hackbench", "rt-tests")?)
            }
            What::Messaging(_) | What::Pipe { .. } => Some(programs::find_perf()?),
            What::Sleeper { .. } | What::Shares { .. } => None,
            What::Invariants { .. } | What::Command { .. } => None,
        };
        Ok(Self { word: word.to_owned(), what, program })
    }

    /// The user's own command: its program is looked up as a shell would.
    pub fn command(typed: &[String]) -> Result<Self> {
        let Some((name, args)) = typed.split_first() else {
            return Err(Failure::usage("nothing after `--`: give a command to run in the guest"));
        };
        let program = image::find_program(name)?;
        if !program.is_file() {
            return Err(Failure::usage(format!("command `{name}`: no such program here")));
        }
        let mut argv = vec![program.to_string_lossy().into_owned()];
        argv.extend_from_slice(args);
        Ok(Self { word: typed.join(" "), what: What::Command { argv }, program: Some(program) })
    }

    /// Program and arguments as the guest runs them.
    pub fn argv(&self) -> Vec<String> {
        self.argv_of(false)
    }

    /// The same in one line, for reports.
    pub fn command_line(&self) -> String {
        let mut line = self.argv().join(" ").replacen(AGENT, "ballast-guest", 1);
        if let What::Pipe { pinned: true, .. } = self.what {
            line.push_str(" (both tasks on one CPU)");
        }
        line
    }

    /// What the guest's agent does; `confine` is the scheduler word's mask.
    pub fn step(&self, confine: Option<&[u32]>) -> Step {
        let affinity = match self.what {
            What::Pipe { pinned: true, .. } => {
                Some(vec![confine.and_then(|c| c.first().copied()).unwrap_or(0)])
            }
            _ => confine.map(<[u32]>::to_vec),
        };
        let (action, warmup) = match &self.what {
            What::Loads { times } => {
                (Action::Loads { times: *times as u32, argv: self.argv() }, None)
            }
            What::Boots
            | What::Churn { .. }
            | What::Invariants { .. }
            | What::Command { .. }
            | What::Shares { .. } => (Action::Command { argv: self.argv() }, None),
            _ => (Action::Command { argv: self.argv() }, Some(self.argv_of(true))),
        };
        Step { bench: self.word.clone(), action, affinity, warmup }
    }

    /// Seconds of this machine's time that the bench may take in a boot; far more than it needs.
    pub fn limit_s(&self) -> u64 {
        match self.what {
            What::Shares { seconds, .. } => 60 + 60 * seconds,
            What::Loads { times } => 60 + 30 * times,
            What::Churn { seconds } => 360 + 2 * seconds,
            What::Invariants { .. } => 600,
            What::Command { .. } => 1800,
            _ => 240,
        }
    }

    fn argv_of(&self, warmup: bool) -> Vec<String> {
        let shorter = |n: u64| if warmup { (n / 10).max(1) } else { n };
        let program = self.program.as_ref().map(|p| p.to_string_lossy().into_owned());
        let program = program.unwrap_or_else(|| AGENT.to_owned());
        let mut argv = vec![program.clone()];
        let mut add = |words: &[&str]| argv.extend(words.iter().map(|w| w.to_string()));
        match &self.what {
            What::Hackbench(c) => {
                add(if c.pipes { &["-p"] } else { &[] });
                add(&[if c.threads { "-T" } else { "-P" }]);
                add(&["-g", &c.groups.to_string(), "-l", &shorter(c.loops).to_string()]);
            }
            What::Messaging(c) => {
                add(&["bench", "sched", "messaging"]);
                add(if c.pipes { &["-p"] } else { &[] });
                add(if c.threads { &["-t"] } else { &[] });
                add(&["-g", &c.groups.to_string(), "-l", &shorter(c.loops).to_string()]);
            }
            What::Pipe { loops, .. } => {
                add(&["bench", "sched", "pipe", "-l", &shorter(*loops).to_string()]);
            }
            What::Sleeper { hogs, fifo, fifo_us } => {
                add(&["sleeper", "--hogs", &hogs.to_string()]);
                add(if *fifo { &["--fifo"] } else { &[] });
                if *fifo_us > 0 {
                    add(&["--fifo-us", &fifo_us.to_string()]);
                }
                add(&["--samples", &shorter(2000).to_string()]);
            }
            What::Shares { seconds, hogs } => {
                add(&["shares", "--seconds", &seconds.to_string()]);
                if let Some(hogs) = hogs {
                    add(&["--hogs", &hogs.to_string()]);
                }
            }
            What::Invariants { only } => {
                add(&["invariants"]);
                if let Some(only) = only {
                    add(&["--only", only]);
                }
            }
            What::Loads { .. } | What::Boots => add(&["-p", "-P", "-g", "1", "-l", "50"]),
            What::Command { argv } => return argv.clone(),
            What::Churn { seconds } => {
                let seconds = seconds.to_string();
                let words = [AGENT, "churn", "--seconds", &seconds, "--hackbench", &program];
                return words.map(str::to_owned).into();
            }
        }
        argv
    }
}

/// Settings of a word, each checked against the keys that its name takes.
struct Settings<'a> {
    word: &'a str,
    pairs: Vec<(&'a str, &'a str)>,
}

impl<'a> Settings<'a> {
    fn read(word: &'a str, parts: &[&'a str], keys: &[&str]) -> Result<Self> {
        let mut pairs: Vec<(&str, &str)> = Vec::new();
        for part in parts {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            if keys.is_empty() {
                return Err(Failure::usage(format!("`{word}`: this bench takes no settings")));
            }
            if !keys.contains(&key) {
                return Err(unknown(&format!("setting in `{word}`:"), key, keys));
            }
            if pairs.iter().any(|p| p.0 == key) {
                return Err(Failure::usage(format!("`{word}`: {key} is given twice")));
            }
            pairs.push((key, value));
        }
        Ok(Self { word, pairs })
    }

    fn get(&self, key: &str) -> Option<&'a str> {
        self.pairs.iter().find(|p| p.0 == key).map(|p| p.1)
    }

    fn number(&self, key: &str, default: u64, range: (u64, u64)) -> Result<u64> {
        self.get(key).map_or(Ok(default), |v| number(self.word, key, v, range))
    }

    fn flag(&self, key: &str) -> Result<bool> {
        Ok(self.number(key, 0, (0, 1))? == 1)
    }

    /// Whether `key` has the second of two values; the first is the default.
    fn second(&self, key: &str, values: [&str; 2]) -> Result<bool> {
        match self.get(key) {
            None => Ok(false),
            Some(v) if values.contains(&v) => Ok(v == values[1]),
            Some(v) => Err(unknown(&format!("value in `{}`: {key}=", self.word), v, &values)),
        }
    }
}

fn parse_what(word: &str) -> Result<What> {
    let (name, parts) = split(word);
    let read = |keys: &[&str]| Settings::read(word, &parts, keys);
    Ok(match name {
        "hackbench" => What::Hackbench(parse_crowd(read(CROWD_KEYS)?)?),
        "messaging" => What::Messaging(parse_crowd(read(CROWD_KEYS)?)?),
        "pipe" => {
            let s = read(&["pinned", "loops"])?;
            let loops = s.number("loops", 20_000, (10, 100_000_000))?;
            What::Pipe { pinned: s.flag("pinned")?, loops }
        }
        "sleeper" => {
            let s = read(&["hogs", "fifo", "fifo_us"])?;
            let fifo = s.flag("fifo")?;
            let most = if fifo { 10_000 } else { 0 };
            let fifo_us = s.number("fifo_us", 0, (0, most))?;
            What::Sleeper { hogs: s.number("hogs", 2, (0, 1000))?, fifo, fifo_us }
        }
        "shares" => {
            let s = read(&["seconds", "hogs"])?;
            let hogs = s.get("hogs").map(|v| number(word, "hogs", v, (1, 1000))).transpose()?;
            What::Shares { seconds: s.number("seconds", 10, (1, 600))?, hogs }
        }
        "loads" => What::Loads { times: read(&["times"])?.number("times", 20, (1, 10_000))? },
        "churn" => What::Churn { seconds: read(&["seconds"])?.number("seconds", 60, (1, 3600))? },
        "invariants" => What::Invariants { only: read(&["only"])?.get("only").map(str::to_owned) },
        "boots" => {
            read(&[])?;
            What::Boots
        }
        _ => return Err(unknown("bench", name, NAMES)),
    })
}

const CROWD_KEYS: &[&str] = &["transport", "groups", "mode", "loops"];

fn parse_crowd(s: Settings) -> Result<Crowd> {
    let groups = s.number("groups", 1, (1, 1000))?;
    let loops = s.number("loops", (HACKBENCH_LOOPS / groups).max(1), (1, 10_000_000))?;
    let sockets = s.second("transport", ["pipe", "socket"])?;
    let threads = s.second("mode", ["process", "thread"])?;
    Ok(Crowd { pipes: !sockets, threads, groups, loops })
}

#[cfg(test)]
mod tests;
