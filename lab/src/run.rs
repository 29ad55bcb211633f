// SPDX-License-Identifier: GPL-2.0-only
//! `ballast lab run`: from words to a document. Everything that can be wrong with the words is
//! found before the first kernel is looked for, and that before the first boot.

mod assemble;
mod guests;
mod kernels;
mod plan;
mod pool;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::Result;
use sha2::{Digest, Sha256};

use crate::bench::Bench;
use crate::check::checks;
use crate::compare::{compare_all, Rules, Setting};
use crate::emulator::{self, Accel};
use crate::error::Failure;
use crate::image::{self, File};
use crate::kernel::{Choice, Kernel};
use crate::model::{Boot, Mode, Topology};
use crate::progress::Progress;
use crate::report::{Document, KernelInfo, Shape};
use crate::sched::{Program, Sched};

use guests::Guests;
use kernels::{Found, Wanted};
use plan::{plan, Columns, Plan, Request};
use pool::boot_all;

/// Columns when none are named.
pub const DEFAULT_SCHEDS: &str = "eevdf,null,ballast";
/// Benches when none and no command are named.
pub const DEFAULT_BENCHES: &str = "hackbench";

/// The words of one `lab run`, as typed.
#[derive(Clone, Debug)]
pub struct Options {
    /// Scheduler words.
    pub scheds: Vec<String>,
    /// Bench words.
    pub benches: Vec<String>,
    /// The user's command; empty when there is none.
    pub command: Vec<String>,
    /// Kernel words.
    pub kernels: Vec<String>,
    /// The guests' machine.
    pub topology: Topology,
    /// `None`: instructions, unless a trial boot shows KVM.
    pub mode: Option<Mode>,
    /// Whether the lab's tracer runs.
    pub trace: bool,
    /// Whether kernels count what costs time to count.
    pub schedstats: bool,
    /// More words for the guest kernels' command line.
    pub append: Vec<String>,
    /// Whether finished boots in the cache are ignored.
    pub fresh: bool,
    /// First seed.
    pub seed: u64,
    /// Boots a column.
    pub runs: u32,
    /// Files and folders to pack.
    pub with: Vec<PathBuf>,
    /// For the document: the whole command line.
    pub typed: Vec<String>,
    /// For the document: VERSION+COMMIT.
    pub version: String,
    /// The folder that holds scx_ballast and scx_null.
    pub programs: PathBuf,
    /// The lab's cache folder.
    pub cache: PathBuf,
}

/// The words, understood.
#[derive(Debug)]
struct Words {
    scheds: Vec<Sched>,
    benches: Vec<Bench>,
    kernels: Vec<Wanted>,
    with: Vec<File>,
}

/// Boots everything and compares; `say` gets a line or two on what will be done.
pub fn run(options: &Options, progress: &Progress, say: &dyn Fn(&str)) -> Result<Document> {
    let words = understand(options)?;
    let emulator = emulator::version()?;
    progress.set("looking for a kernel");
    let found = kernels::find(&words.kernels, &words.scheds, &options.cache, progress)?;
    let kernels: Vec<Kernel> = found.iter().map(|f| f.kernel.clone()).collect();
    let cores = host_cores();
    let (mode, accel) = choose_mode(options, &kernels, cores)?;
    let setting = Setting {
        mode,
        topology: options.topology,
        at_once: match accel {
            Accel::Kvm => cores >= options.topology.cpus,
            Accel::TcgMulti => true,
            Accel::TcgSingle => false,
        },
        cores,
    };
    let rules: BTreeMap<String, Rules> =
        words.benches.iter().map(|b| (b.word.clone(), Rules::of(&b.what, &setting))).collect();
    let columns = words.scheds.len();
    let request = Request {
        scheds: words.scheds,
        benches: words.benches,
        topology: options.topology,
        mode,
        accel,
        trace: options.trace,
        schedstats: options.schedstats,
        append: options.append.clone(),
        seed: options.seed,
        runs: options.runs,
        with: words.with,
        kernels: words
            .kernels
            .into_iter()
            .map(|w| Columns { role: w.role, scheds: w.scheds })
            .collect(),
        gate: columns > 1 && rules.values().any(|r| r.unjudged.is_none()),
    };
    let plan = plan(&request)?;
    progress.clear();
    say(&intention(&plan, &kernels, cores, mode));
    let guests = Guests::new(
        &kernels,
        &plan.units,
        options.cache.clone(),
        options.fresh,
        emulator.clone(),
        progress,
    );
    let boots = boot_plan(&request, &plan, cores, &|unit, seed| guests.boot(unit, seed), progress)?;
    progress.clear();
    if guests.taken_from_cache() > 0 {
        say(&format!(
            "{} boots were taken from the cache (--fresh runs all)",
            guests.taken_from_cache()
        ));
    }
    let versions = versions(&request.scheds, &options.version)?;
    let mut document = Document {
        schema: 1,
        ballast: options.version.clone(),
        command: options.typed.clone(),
        seed: options.seed,
        runs: options.runs,
        qemu: emulator,
        accelerator: if accel == Accel::Kvm { "kvm" } else { "tcg" }.to_owned(),
        mode,
        cpus_at_once: setting.at_once,
        host_cores: cores,
        topology: Shape {
            cpus: options.topology.cpus,
            smt: options.topology.smt,
            llcs: options.topology.nodes,
            nodes: options.topology.nodes,
        },
        kernels: kernel_infos(&plan, &boots, &found),
        results: Vec::new(),
        comparisons: Vec::new(),
        checks: Vec::new(),
    };
    judge(&mut document, &request, &plan, &boots, &versions, &rules);
    Ok(document)
}

/// Boots a plan through `boot`: real guests, or recorded ones in tests.
fn boot_plan(
    request: &Request,
    plan: &Plan,
    workers: u32,
    boot: pool::BootOne,
    progress: &Progress,
) -> Result<Vec<Vec<Boot>>> {
    let counts = |unit: usize, boot: &Boot| match plan.units[unit].benches.as_slice() {
        [bench] => assemble::counts(plan.units[unit].mode, &request.benches[*bench], boot),
        _ => true,
    };
    boot_all(&plan.units, request.seed, workers as usize, boot, &counts, progress)
}

/// Fills in columns, comparisons and checks.
fn judge(
    document: &mut Document,
    request: &Request,
    plan: &Plan,
    boots: &[Vec<Boot>],
    versions: &[Option<String>],
    rules: &BTreeMap<String, Rules>,
) {
    let kernels: Vec<(String, String)> =
        document.kernels.iter().map(|k| (k.release.clone(), k.version())).collect();
    document.results = assemble::entries(request, plan, boots, &kernels, versions);
    document.comparisons = compare_all(&document.results, rules, &document.kernels_by_name());
    document.checks = checks(document);
}

fn understand(options: &Options) -> Result<Words> {
    emulator::check_topology(&options.topology)?;
    if options.runs == 0 || options.runs > 10_000 {
        return Err(Failure::usage(format!("--runs {}: from 1 to 10000", options.runs)));
    }
    let odd =
        |w: &&String| w.is_empty() || w.contains(char::is_whitespace) || w.starts_with("seed=");
    if let Some(word) = options.append.iter().find(odd) {
        return Err(Failure::usage(format!(
            "--append `{word}`: one word for the kernel's command line, and not the seed"
        )));
    }
    for (what, words) in [
        ("--sched", &options.scheds),
        ("--bench", &options.benches),
        ("--kernel", &options.kernels),
    ] {
        for (i, word) in words.iter().enumerate() {
            if words[..i].contains(word) {
                return Err(Failure::usage(format!("{what}: `{word}` is given twice")));
            }
        }
    }
    let scheds: Vec<Sched> = options
        .scheds
        .iter()
        .map(|word| Sched::parse(word, &options.programs))
        .collect::<Result<_>>()?;
    let mut benches: Vec<Bench> =
        options.benches.iter().map(|word| Bench::parse(word)).collect::<Result<_>>()?;
    if !options.command.is_empty() {
        benches.push(Bench::command(&options.command)?);
    }
    let choices: Vec<Choice> =
        options.kernels.iter().map(|word| Choice::from_str(word)).collect::<Result<_>>()?;
    if scheds.is_empty() || benches.is_empty() || choices.is_empty() {
        return Err(Failure::usage("needs at least one scheduler, one bench and one kernel"));
    }
    plan::check(&scheds, &benches, &options.topology)?;
    let mut with = Vec::new();
    for path in &options.with {
        with.extend(image::with(path)?);
    }
    let kernels = kernels::wanted(&scheds, &choices)?;
    Ok(Words { scheds, benches, kernels, with })
}

fn choose_mode(options: &Options, kernels: &[Kernel], cores: u32) -> Result<(Mode, Accel)> {
    let kvm = match options.mode {
        Some(Mode::Instructions) => false,
        _ => {
            let hello = image::hello(&options.cache)?;
            kernels.iter().all(|k| emulator::kvm_works(k, &hello, &options.cache))
        }
    };
    let mode = options.mode.unwrap_or(if kvm { Mode::Parallel } else { Mode::Instructions });
    Ok((mode, emulator::choose_accel(mode, options.topology.cpus, cores, kvm)))
}

/// Cores that this process may use.
fn host_cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| n.get() as u32)
}

fn intention(plan: &Plan, kernels: &[Kernel], cores: u32, mode: Mode) -> String {
    let boots = |gate: bool| -> u32 {
        let units = plan.units.iter().filter(|u| u.benches.is_empty() == gate);
        units.map(|u| u.runs).sum()
    };
    let gates = match boots(true) {
        0 => String::new(),
        n => format!(" and {n} of a one-CPU guest with a sleeper"),
    };
    let beside = match mode {
        Mode::Instructions if cores > 1 => format!(", {cores} at a time"),
        _ => String::new(),
    };
    let names: Vec<String> =
        kernels.iter().map(|k| format!("{} ({})", k.release, k.origin)).collect();
    format!("{} boots{gates}{beside}, of kernel {}", boots(false), names.join(", "))
}

fn kernel_infos(plan: &Plan, boots: &[Vec<Boot>], kernels: &[Found]) -> Vec<KernelInfo> {
    let info = |(i, Found { kernel, base }): (usize, &Found)| KernelInfo {
        release: kernel.release.clone(),
        digest: kernel.digest.clone(),
        origin: kernel.origin.clone(),
        base: base.clone(),
        eevdf_sleeper_p99_us: plan
            .eevdf_gates
            .get(&i)
            .and_then(|&(unit, step)| assemble::sleeper_p99_us(&boots[unit], step)),
    };
    kernels.iter().enumerate().map(info).collect()
}

/// Which build each scheduler is; `None` for the kernel's own.
fn versions(scheds: &[Sched], ours: &str) -> Result<Vec<Option<String>>> {
    let of = |sched: &Sched| match &sched.program {
        None => Ok(None),
        Some(Program::Ours { .. }) => Ok(Some(ours.to_owned())),
        Some(Program::Foreign(path)) => digest(path).map(Some),
    };
    scheds.iter().map(of).collect()
}

fn digest(path: &Path) -> Result<String> {
    let bytes =
        std::fs::read(path).map_err(|e| Failure::usage(format!("{}: {e}", path.display())))?;
    let hex: String = Sha256::digest(bytes).iter().take(6).map(|b| format!("{b:02x}")).collect();
    Ok(format!("sha256:{hex}"))
}

/// Where the lab keeps kernels, images and finished boots: `$XDG_CACHE_HOME/ballast`, or
/// `~/.cache/ballast`.
pub fn cache_folder() -> Result<PathBuf> {
    let from = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    from("XDG_CACHE_HOME")
        .or_else(|| from("HOME").map(|home| home.join(".cache")))
        .map(|folder| folder.join("ballast"))
        .ok_or_else(|| {
            Failure::usage("neither XDG_CACHE_HOME nor HOME names a folder for the cache")
        })
}

#[cfg(test)]
mod tests;
