// SPDX-License-Identifier: GPL-2.0-only
//! From columns and benches to boots: which jobs there are, on which machine, how often.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use crate::bench::{Bench, What};
use crate::emulator::Accel;
use crate::error::Failure;
use crate::image::{self, File, Source};
use crate::model::{Job, Mode, Topology};
use crate::sched::{Program, Role, Sched};

/// At most so many boots of the one-CPU guest that shows whether a scheduler makes a sleeper wait;
/// half as many as a column has, where that is fewer.
const GATE_RUNS: u32 = 4;
/// What runs there.
const GATE_BENCH: &str = "sleeper+hogs=2";
/// Of boots whose control may void them, at most this many times as many are tried.
const VOID_FACTOR: u32 = 3;
/// Guest time asleep after boot in instruction mode, where it is free: EEVDF is over-charged
/// before the guest's first idle moment.
const SETTLE_MS: u64 = 2000;
/// The same before each measured run.
const GAP_MS: u64 = 1000;
/// Both where guest time is real time.
const PARALLEL_PAUSE_MS: u64 = 200;
/// This machine's time for a guest's start and end.
const START_LIMIT: Duration = Duration::from_secs(180);
/// The same from a complaint under churn on: it ends by itself within this, unless what the kernel warned
/// of, such as two locks that wait for each other, has come about.
const COMPLAINT_LIMIT: Duration = Duration::from_secs(90);

/// What the user asked for, checked.
#[derive(Clone, Debug)]
pub struct Request {
    /// Columns.
    pub scheds: Vec<Sched>,
    /// Row blocks.
    pub benches: Vec<Bench>,
    /// The guests' machine.
    pub topology: Topology,
    /// How guest time passes.
    pub mode: Mode,
    /// What runs the guests.
    pub accel: Accel,
    /// Whether the lab's tracer runs.
    pub trace: bool,
    /// Whether kernels count what costs time to count.
    pub schedstats: bool,
    /// More words for the kernels' command line.
    pub append: Vec<String>,
    /// First seed.
    pub seed: u64,
    /// Boots a column.
    pub runs: u32,
    /// What `--with` names, and the command's own files.
    pub with: Vec<File>,
    /// The kernels, each with its columns.
    pub kernels: Vec<Columns>,
    /// Whether any figure may be called ahead, so that sleepers have to be measured.
    pub gate: bool,
}

/// The columns of one kernel.
#[derive(Clone, Debug)]
pub struct Columns {
    /// What the kernel is to them.
    pub role: Role,
    /// By index of the scheduler, in the order typed.
    pub scheds: Vec<usize>,
}

impl Columns {
    /// A column as it runs on this kernel.
    pub fn sched(&self, request: &Request, index: usize) -> Sched {
        request.scheds[index].on(self.role)
    }
}

/// One job on one kernel, booted with several seeds.
#[derive(Clone, Debug)]
pub struct Unit {
    /// Index of the kernel.
    pub kernel: usize,
    /// For the progress line.
    pub name: String,
    /// The job's steps by index of the bench; empty for the one-CPU sleeper.
    pub benches: Vec<usize>,
    /// The guest's machine.
    pub topology: Topology,
    /// How its time passes.
    pub mode: Mode,
    /// What runs it.
    pub accel: Accel,
    /// More words for its kernel's command line.
    pub append: Vec<String>,
    /// What it does.
    pub job: Job,
    /// What is packed besides the lab's own program.
    pub files: Vec<File>,
    /// Boots that count.
    pub runs: u32,
    /// Boots that may be tried to get them: more than `runs` where a control may void one.
    pub tries: u32,
    /// This machine's time for one boot.
    pub limit: Duration,
    /// From the kernel's first complaint on, where that alone decides.
    pub complained: Option<Duration>,
}

impl Unit {
    /// Whether several may run beside each other without moving their figures.
    pub fn side_by_side(&self) -> bool {
        self.mode == Mode::Instructions
    }
}

/// All boots, and where each column's figures come from.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// In a fixed order.
    pub units: Vec<Unit>,
    /// (kernel, scheduler, bench) to unit and step.
    pub columns: BTreeMap<(usize, usize, usize), (usize, usize)>,
    /// (kernel, scheduler) to unit and step of its one-CPU sleeper.
    pub gates: BTreeMap<(usize, usize), (usize, usize)>,
    /// The same for EEVDF, by kernel.
    pub eevdf_gates: BTreeMap<usize, (usize, usize)>,
}

/// Lays out all boots.
pub fn plan(request: &Request) -> Result<Plan> {
    let mut plan = Plan::default();
    for (kernel, columns) in request.kernels.iter().enumerate() {
        let scheds: Vec<(usize, Sched)> =
            columns.scheds.iter().map(|&s| (s, columns.sched(request, s))).collect();
        for (s, sched) in &scheds {
            for benches in groups(&request.benches) {
                let skip = |b: &usize| nothing_to_do(sched, &request.benches[*b]);
                if benches.iter().all(skip) {
                    continue;
                }
                for (step, &bench) in benches.iter().enumerate() {
                    plan.columns.insert((kernel, *s, bench), (plan.units.len(), step));
                }
                plan.units.push(column_unit(request, kernel, sched, benches)?);
            }
        }
        if request.gate {
            let eevdf = Sched::parse("eevdf", Path::new(""))?.on(columns.role);
            let eevdf = add_gate(&mut plan, request, kernel, &eevdf)?;
            plan.eevdf_gates.insert(kernel, eevdf);
            for (s, sched) in &scheds {
                let gate = add_gate(&mut plan, request, kernel, sched)?;
                plan.gates.insert((kernel, *s), gate);
            }
        }
    }
    Ok(plan)
}

/// Finds what would go wrong with these columns and benches, before a kernel is looked for: masks
/// outside the guest, CPUs that a bench takes away from a scheduler or that are not there, programs
/// that cannot be packed.
pub fn check(scheds: &[Sched], benches: &[Bench], topology: &Topology) -> Result<()> {
    if let Some(disturber) = benches.iter().find(|b| b.what.disturbs()) {
        let word = &disturber.word;
        if let Some(sched) = scheds.iter().find(|s| s.is_loaded()) {
            return Err(Failure::usage(format!(
                "`{word}`: takes CPUs away, at which the kernel ends `{}`: for eevdf columns only",
                sched.word
            )));
        }
        if topology.cpus < 2 {
            return Err(Failure::usage(format!("`{word}`: needs a guest of at least 2 CPUs")));
        }
    }
    for sched in scheds {
        confinement(sched, topology)?;
        scheduler_files(sched)?;
    }
    for program in benches.iter().filter_map(|b| b.program.as_ref()) {
        image::closure(program)?;
    }
    Ok(())
}

/// Loads of a scheduler where none is to be loaded.
pub fn nothing_to_do(sched: &Sched, bench: &Bench) -> bool {
    !sched.is_loaded() && matches!(bench.what, What::Loads { .. })
}

/// Benches that share a boot: all but those that need one of their own.
fn groups(benches: &[Bench]) -> Vec<Vec<usize>> {
    let (alone, shared): (Vec<_>, Vec<_>) =
        (0..benches.len()).partition(|&b| benches[b].what.alone());
    let shared = Some(shared).filter(|s| !s.is_empty());
    shared.into_iter().chain(alone.into_iter().map(|b| vec![b])).collect()
}

fn column_unit(
    request: &Request,
    kernel: usize,
    sched: &Sched,
    benches: Vec<usize>,
) -> Result<Unit> {
    let chosen: Vec<&Bench> = benches.iter().map(|&b| &request.benches[b]).collect();
    let confine = confinement(sched, &request.topology)?;
    let (settle_ms, gap_ms) = match request.mode {
        Mode::Instructions => (SETTLE_MS, GAP_MS),
        Mode::Parallel => (PARALLEL_PAUSE_MS, PARALLEL_PAUSE_MS),
    };
    let mut files = scheduler_files(sched)?;
    for bench in &chosen {
        if let Some(program) = &bench.program {
            files.extend(image::closure(program)?);
        }
    }
    files.extend(request.with.iter().cloned());
    let voidable = request.mode == Mode::Parallel
        && chosen.iter().any(|b| matches!(b.what, What::Sleeper { fifo: true, .. }));
    let words: Vec<&str> = chosen.iter().map(|b| b.word.as_str()).collect();
    let churns = chosen.iter().any(|b| matches!(b.what, What::Churn { .. }));
    let seconds = chosen.iter().map(|b| b.limit_s()).sum();
    Ok(Unit {
        kernel,
        name: format!("{} {}", sched.word, words.join(",")),
        topology: request.topology,
        mode: request.mode,
        accel: request.accel,
        append: request.append.clone(),
        job: Job {
            sched: sched.guest.clone(),
            settle_ms,
            gap_ms,
            trace: request.trace,
            schedstats: request.schedstats,
            steps: chosen.iter().map(|b| b.step(confine)).collect(),
        },
        benches,
        files,
        runs: request.runs,
        tries: request.runs * if voidable { VOID_FACTOR } else { 1 },
        limit: START_LIMIT + Duration::from_secs(seconds),
        complained: churns.then_some(COMPLAINT_LIMIT),
    })
}

/// The one-CPU sleeper of a scheduler: a column's own where the guests have one CPU, or the unit
/// that already runs the same. A mask of CPUs means nothing there.
fn add_gate(
    plan: &mut Plan,
    request: &Request,
    kernel: usize,
    sched: &Sched,
) -> Result<(usize, usize)> {
    let bench = Bench::parse(GATE_BENCH)?;
    let column = |u: &Unit| {
        let step = u.benches.iter().position(|&b| request.benches[b].what == bench.what)?;
        let same = u.kernel == kernel && u.job.sched == sched.guest;
        let bare = !u.job.trace && !u.job.schedstats;
        (same && bare && u.topology.cpus == 1 && u.mode == Mode::Instructions).then_some(step)
    };
    let mut columns = plan.units.iter().enumerate();
    if let Some(found) = columns.find_map(|(unit, u)| Some((unit, column(u)?))) {
        return Ok(found);
    }
    let job = Job {
        sched: sched.guest.clone(),
        settle_ms: SETTLE_MS,
        gap_ms: GAP_MS,
        trace: false,
        schedstats: false,
        steps: vec![bench.step(None)],
    };
    let same = |u: &Unit| u.kernel == kernel && u.benches.is_empty() && u.job == job;
    if let Some(unit) = plan.units.iter().position(same) {
        return Ok((unit, 0));
    }
    let runs = request.runs.div_ceil(2).min(GATE_RUNS);
    plan.units.push(Unit {
        kernel,
        name: format!("{} one-CPU sleeper", sched.word),
        benches: Vec::new(),
        topology: Topology { cpus: 1, nodes: 1, smt: 1 },
        mode: Mode::Instructions,
        accel: Accel::TcgSingle,
        append: request.append.clone(),
        job,
        files: scheduler_files(sched)?,
        runs,
        tries: runs,
        limit: START_LIMIT + Duration::from_secs(bench.limit_s()),
        complained: None,
    });
    Ok((plan.units.len() - 1, 0))
}

/// The scheduler word's mask, checked against the guest's CPUs.
fn confinement<'a>(sched: &'a Sched, topology: &Topology) -> Result<Option<&'a [u32]>> {
    let Some(cpus) = &sched.confine else { return Ok(None) };
    match cpus.iter().find(|&&cpu| cpu >= topology.cpus) {
        None => Ok(Some(cpus)),
        Some(cpu) => Err(Failure::usage(format!(
            "`{}`: names CPU {cpu}, but the guest has CPUs 0 to {}",
            sched.word,
            topology.cpus - 1
        ))),
    }
}

fn scheduler_files(sched: &Sched) -> Result<Vec<File>> {
    match &sched.program {
        None => Ok(Vec::new()),
        Some(Program::Ours { from, to }) => {
            Ok(vec![File { to: to.clone(), from: Source::Own(from.clone()), mode: 0o755 }])
        }
        Some(Program::Foreign(path)) => image::closure(path),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use crate::error::exit_status;
    use crate::model::GuestSched;
    use crate::sched::Needs;

    fn bench(word: &str) -> Bench {
        Bench { word: word.to_owned(), what: What::parse(word).unwrap(), program: None }
    }

    fn sched(word: &str) -> Sched {
        let argv = vec![format!("/bin/{word}")];
        let made_up = Sched {
            word: word.to_owned(),
            guest: GuestSched::Scx { argv },
            needs: Needs::Stock,
            program: None,
            confine: None,
        };
        Sched::parse(word, Path::new("")).unwrap_or(made_up)
    }

    fn request(scheds: &[&str], benches: &[&str]) -> Request {
        Request {
            scheds: scheds.iter().map(|w| sched(w)).collect(),
            benches: benches.iter().map(|w| bench(w)).collect(),
            topology: Topology { cpus: 4, nodes: 1, smt: 1 },
            mode: Mode::Instructions,
            accel: Accel::TcgSingle,
            trace: false,
            schedstats: false,
            append: Vec::new(),
            seed: 1,
            runs: 10,
            with: Vec::new(),
            kernels: vec![Columns { role: Role::Stock, scheds: (0..scheds.len()).collect() }],
            gate: true,
        }
    }

    #[test]
    fn benches_share_a_boot_in_the_order_typed() {
        let plan = plan(&request(&["null"], &["pipe", "loads", "hackbench", "boots"])).unwrap();
        let benches: Vec<&[usize]> = plan.units.iter().map(|u| u.benches.as_slice()).collect();
        assert_eq!(benches[..3], [&[0, 2][..], &[1], &[3]]);
        assert_eq!(plan.columns[&(0, 0, 2)], (0, 1));
        assert_eq!(plan.columns[&(0, 0, 3)], (2, 0));
        let steps: Vec<&str> = plan.units[0].job.steps.iter().map(|s| s.bench.as_str()).collect();
        assert_eq!(steps, ["pipe", "hackbench"]);
    }

    #[test]
    fn every_scheduler_and_eevdf_have_a_one_cpu_sleeper() {
        let plan = plan(&request(&["null", "ballast"], &["hackbench"])).unwrap();
        let gates: Vec<&Unit> = plan.units.iter().filter(|u| u.benches.is_empty()).collect();
        assert_eq!(gates.len(), 3);
        for gate in gates {
            assert_eq!((gate.topology.cpus, gate.mode), (1, Mode::Instructions));
            assert_eq!((gate.runs, gate.tries), (4, 4));
        }
        assert_eq!(plan.units[plan.eevdf_gates[&0].0].job.sched, GuestSched::Kernel);
        assert_ne!(plan.gates[&(0, 0)], plan.gates[&(0, 1)]);
    }

    #[test]
    fn a_masked_column_shares_eevdfs_sleeper() {
        let plan = plan(&request(&["eevdf", "eevdf+taskset=1"], &["hackbench"])).unwrap();
        assert_eq!(plan.gates[&(0, 0)], plan.gates[&(0, 1)]);
        assert_eq!(plan.eevdf_gates[&0], plan.gates[&(0, 0)]);
        let masked = &plan.units[plan.columns[&(0, 1, 0)].0];
        assert_eq!(masked.job.steps[0].affinity, Some(vec![0]));
    }

    #[test]
    fn no_sleeper_is_booted_where_nothing_is_judged() {
        let request = Request { gate: false, ..request(&["null"], &["boots"]) };
        assert_eq!(plan(&request).unwrap().units.len(), 1);
    }

    #[test]
    fn fewer_runs_mean_fewer_sleepers() {
        let gate_runs = |runs| {
            let request = Request { runs, ..request(&["null"], &["hackbench"]) };
            let plan = plan(&request).unwrap();
            plan.units[plan.gates[&(0, 0)].0].runs
        };
        assert_eq!([1, 2, 3, 7, 10].map(gate_runs), [1, 1, 2, 4, 4]);
    }

    #[test]
    fn a_one_cpu_run_with_that_very_sleeper_needs_no_other() {
        let one = Topology { cpus: 1, nodes: 1, smt: 1 };
        let benches = &["sleeper+hogs=8", "sleeper+hogs=2"];
        let own = Request { topology: one, ..request(&["eevdf", "null"], benches) };
        let own = plan(&own).unwrap();
        assert_eq!(own.units.len(), 2);
        assert_eq!((own.gates[&(0, 0)], own.gates[&(0, 1)]), ((0, 1), (1, 1)));
        assert_eq!(own.eevdf_gates[&0], (0, 1));
        let others = [
            Request { topology: one, ..request(&["eevdf", "null"], &["sleeper+hogs=8"]) },
            Request { topology: one, trace: true, ..request(&["eevdf", "null"], benches) },
            Request { topology: one, schedstats: true, ..request(&["eevdf", "null"], benches) },
            Request { mode: Mode::Parallel, topology: one, ..request(&["eevdf", "null"], benches) },
            request(&["eevdf", "null"], benches),
        ];
        for request in others {
            assert_eq!(plan(&request).unwrap().units.len(), 4);
        }
    }

    #[test]
    fn a_control_may_void_boots_in_parallel_mode_only() {
        let words = (&["null"][..], &["sleeper+fifo=1", "hackbench"][..]);
        let parallel = Request { mode: Mode::Parallel, runs: 5, ..request(words.0, words.1) };
        let tries = |r: &Request| -> Vec<u32> {
            plan(r).unwrap().units[..2].iter().map(|u| u.tries).collect()
        };
        assert_eq!(tries(&parallel), [5, 15]);
        assert_eq!(tries(&request(words.0, words.1)), [10, 10]);
    }

    #[test]
    fn a_column_is_booted_on_its_own_kernels_only() {
        let words = &["eevdf", "eevdf+STEAL", "eevdf-unpatched", "null"];
        let on = |role, scheds: &[usize]| Columns { role, scheds: scheds.to_vec() };
        let kernels =
            vec![on(Role::Patched, &[0, 1]), on(Role::Unpatched, &[2]), on(Role::Stock, &[3])];
        let plan = plan(&Request { kernels, ..request(words, &["hackbench"]) }).unwrap();
        let columns: Vec<(usize, usize)> = plan.columns.keys().map(|k| (k.0, k.1)).collect();
        assert_eq!(columns, [(0, 0), (0, 1), (1, 2), (2, 3)]);
        let job = |k: usize, s: usize| &plan.units[plan.columns[&(k, s, 0)].0].job;
        let GuestSched::Fair { flags } = &job(0, 0).sched else { panic!("flags at defaults") };
        assert_eq!(flags[0], "NO_STEAL");
        assert_ne!(job(0, 0).sched, job(0, 1).sched);
        assert_eq!(job(1, 2).sched, GuestSched::Fair { flags: Vec::new() });
        let sizes = [(0, 0), (0, 1), (1, 2)].map(|(k, s)| {
            let unit = &plan.units[plan.columns[&(k, s, 0)].0];
            image::job_record(&unit.job).unwrap().len()
        });
        assert_eq!(sizes, [sizes[0]; 3], "jobs of one length, so that memory is laid out alike");
        // each kernel has its own EEVDF to judge sleepers by: the unpatched one's is its column
        assert_eq!(plan.eevdf_gates[&1], plan.gates[&(1, 2)]);
        let eevdf = &plan.units[plan.eevdf_gates[&2].0];
        assert_eq!((eevdf.kernel, &eevdf.job.sched), (2, &GuestSched::Kernel));
    }

    #[test]
    fn eevdf_has_nothing_to_load() {
        let plan = plan(&request(&["eevdf", "null"], &["loads"])).unwrap();
        assert!(!plan.columns.contains_key(&(0, 0, 0)));
        assert!(plan.columns.contains_key(&(0, 1, 0)));
    }

    #[test]
    fn a_mask_outside_the_guest_is_refused() {
        let request = request(&["eevdf+taskset=10"], &["hackbench"]);
        let error = check(&request.scheds, &request.benches, &request.topology).unwrap_err();
        assert_eq!(exit_status(&error), 2);
        assert!(error.to_string().contains("CPU 4"));
    }

    #[test]
    fn churn_is_for_the_kernels_own_class_on_several_cpus() {
        let said = |scheds: &[&str], cpus| {
            let r = request(scheds, &["churn"]);
            let topology = Topology { cpus, nodes: 1, smt: 1 };
            let error = check(&r.scheds, &r.benches, &topology).err()?;
            assert_eq!(exit_status(&error), 2);
            Some(error.to_string())
        };
        assert_eq!(said(&["eevdf", "eevdf+STEAL"], 4), None);
        assert!(said(&["eevdf"], 1).unwrap().contains("at least 2 CPUs"));
        assert!(said(&["eevdf", "null"], 4).unwrap().contains("`null`"));
    }

    #[test]
    fn each_kernel_has_its_own_boots() {
        let mut request = request(&["eevdf"], &["hackbench"]);
        request.kernels.push(request.kernels[0].clone());
        let plan = plan(&request).unwrap();
        assert_eq!(plan.units.iter().map(|u| u.kernel).collect::<Vec<_>>(), [0, 0, 1, 1]);
    }
}
