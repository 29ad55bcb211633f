// SPDX-License-Identifier: GPL-2.0-only
//! `ballast-guest invariants`: what the fair class with our patches must never do, and what it must
//! always do, each by a scene of its own in which it can go wrong.
//!
//! The names say where the rule stands: `steal-5` is the fifth invariant of task stealing,
//! `search-4` the fourth of the search for an idle CPU (docs/kernel.md). A scene arranges
//! tasks by their CPU masks, lets one CPU go idle or one task wake, and reads the kernel's own
//! counters, its trace and its log afterwards. The mask of overloaded CPUs has no file: a CPU that
//! goes idle while only pinned tasks wait counts a miss if a CPU of its LLC is marked, and none
//! otherwise, so that naps tell it.
//!
//! Which scenes are played depends on the machine: two LLCs of 8 CPUs with 2 threads a core, or
//! more than two nodes. Needs root and the debug build, in a guest of its own.

mod ground;
mod masks;
mod never;
mod nodes;
mod read;
mod searches;
mod steals;
mod task;
mod throttled;

use std::fs::OpenOptions;
use std::io::Write;

use serde::Serialize;

use super::process::become_fifo;
use super::{print_line, Arguments};
use crate::agent::system;
use crate::error::Failure;
use ground::Ground;

/// One rule and its scene, which tells what it saw, or how the rule was broken.
struct Scene {
    name: &'static str,
    play: fn(&mut Ground) -> anyhow::Result<String>,
}

const fn scene(name: &'static str, play: fn(&mut Ground) -> anyhow::Result<String>) -> Scene {
    Scene { name, play }
}

/// On two LLCs of 8 CPUs, 2 threads a core.
const SCENES: [Scene; 32] = [
    scene("steal-2 a running task stays", never::running),
    scene("steal-2 CPU masks are kept", never::not_allowed),
    scene("steal-2 pinned tasks stay", never::pinned),
    scene("steal-2 tasks that may not migrate now stay", never::migration_disabled),
    scene("steal-2 per-CPU kernel threads stay", never::kernel_threads),
    scene("steal-2 nothing crosses LLCs", never::across_llcs),
    scene("steal-2 a group throttled at the thief gets no task", throttled::at_the_thief),
    scene("steal-2 a group throttled at the source loses none", throttled::at_the_source),
    scene("steal-2 CPUs that go or come take and lose nothing", never::inactive),
    scene("steal-3 a source keeps its last task", never::last_task),
    scene("steal-5 bit: enqueue and dequeue", masks::fork_and_exit),
    scene("steal-5 bit: stop and continue", masks::stop_and_continue),
    scene("steal-5 bit: delayed dequeue", masks::delayed_dequeue),
    scene("steal-5 bit: throttle and unthrottle", throttled::bit),
    scene("steal-5 bit: nice, policy and class", masks::classes),
    scene("steal-5 bit: tasks change CPUs", masks::moved),
    scene("steal-5 bit: core scheduling", masks::core_scheduling),
    scene("steal-5 bit: another CPU goes and comes", masks::other_cpu_goes),
    scene("steal-5 bit: the CPU itself goes and comes", masks::cpu_goes),
    scene("steal-5 bit: cpuset partitions", masks::partitions),
    scene("steal-5 bit: STEAL is switched under load", masks::flag_under_load),
    scene("steal-6 every CPU of an LLC takes from every other", steals::every_pair),
    scene("steal-6 a waiting task does not wait beside an idle CPU", steals::work_conservation),
    scene("steal-10 only when newidle balance found nothing", steals::after_newidle),
    scene("steal-1 no task is lost or counted twice", steals::conservation),
    scene("steal-4 no two run-queue locks at once", steals::one_lock),
    scene("search-1 the CPU chosen is allowed and in the LLC", searches::allowed),
    scene("search-2 no more CPUs than the limit are looked at", searches::limit),
    scene("search-3 a start that is gone", searches::start_is_gone),
    scene("search-4 all CPUs are reached in turn", searches::coverage),
    scene("search-5 without SIS_CORE the hint is not read", searches::hint_not_read),
    scene("search-5 without SIS_CORE the hint is not cleared", searches::hint_not_cleared),
];

/// On more than two nodes.
const NODE_SCENES: [Scene; 1] = [scene("steal-9 the limit of nodes", nodes::limit)];

/// What is printed when all hold.
#[derive(Serialize)]
struct Report {
    failed: usize,
    /// A line a scene.
    lines: Vec<String>,
}

/// `invariants [--only NAME]`.
pub fn invariants(args: &[String]) -> anyhow::Result<()> {
    let mut only = "";
    let mut args = Arguments::new("invariants", args);
    while let Some(option) = args.option() {
        match option {
            "--only" => only = args.text(option)?,
            _ => return Err(args.unknown(option, "--only NAME")),
        }
    }
    let mut ground = Ground::new()?;
    let scenes = if ground.nodes > 2 { &NODE_SCENES[..] } else { &SCENES[..] };
    let chosen: Vec<&Scene> = scenes.iter().filter(|s| s.name.contains(only)).collect();
    if chosen.is_empty() {
        return Err(Failure::usage(format!("invariants: no name here has '{only}' in it")));
    }
    system::confine(&[ground.control])?;
    become_fifo(90)?;
    let mut report = Report { failed: 0, lines: Vec::new() };
    for scene in chosen {
        let begin = super::process::now_ns();
        let line = match ground.play(scene.play) {
            Ok(said) => format!("ok {}: {said}", scene.name),
            Err(error) => {
                report.failed += 1;
                format!("FAILED {}: {error:#}", scene.name)
            }
        };
        let ms = (super::process::now_ns() - begin) / 1_000_000;
        report.lines.push(format!("{line} ({ms} ms)"));
        // the lab keeps the end of the console of a boot that does not end well
        if let (Ok(mut console), Some(line)) =
            (OpenOptions::new().write(true).open("/dev/console"), report.lines.last())
        {
            let _ = writeln!(console, "{line}");
        }
    }
    if report.failed == 0 {
        return print_line(&report);
    }
    let all = report.lines.len();
    Err(Failure::failed(format!("invariants: {} of {all} do not hold", report.failed)))
}
