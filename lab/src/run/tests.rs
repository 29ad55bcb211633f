// SPDX-License-Identifier: GPL-2.0-only
//! Whole runs over made-up boots: no emulator, no kernel.
#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::plan::Unit;
use super::*;
use crate::bench::What;
use crate::compare::Verdict;
use crate::error::exit_status;
use crate::model::{GuestSched, Line, Meter, Status};
use crate::report::{fixture, tables};
use crate::sched::{Needs, Role};

fn request(scheds: &[&str], benches: &[&str], mode: Mode) -> Request {
    let sched = |word: &&str| {
        let argv = vec![format!("/bin/{word}")];
        let made_up = Sched {
            word: word.to_string(),
            guest: GuestSched::Scx { argv },
            needs: Needs::Stock,
            program: None,
            confine: None,
        };
        Sched::parse(word, Path::new("")).unwrap_or(made_up)
    };
    let bench = |word: &&str| Bench {
        word: word.to_string(),
        what: What::parse(word).unwrap(),
        program: None,
    };
    Request {
        scheds: scheds.iter().map(sched).collect(),
        benches: benches.iter().map(bench).collect(),
        topology: Topology { cpus: 4, nodes: 1, smt: 1 },
        mode,
        accel: emulator::choose_accel(mode, 4, 8, false),
        trace: false,
        schedstats: false,
        append: Vec::new(),
        seed: 1,
        runs: 6,
        with: Vec::new(),
        kernels: vec![Columns { role: Role::Stock, scheds: (0..scheds.len()).collect() }],
        gate: true,
    }
}

fn ended(seed: u64, status: Status, lines: Vec<Line>) -> Boot {
    let reason = if status == Status::Ok { "" } else { "it went wrong" };
    Boot { seed, status, reason: reason.into(), log: "console".into(), lines, repeats: 0 }
}

/// A step's line: `us` is what the bench measured.
fn step(index: usize, bench: &str, us: f64, run_ns: &[u64]) -> Line {
    let output = match bench.split('+').next().unwrap() {
        "hackbench" => format!("Time: {:.4}\n", us / 1e6),
        "pipe" => format!("{us:.6} usecs/op\n"),
        _ => format!("{{\"samples\":2000,\"p99_us\":{us},\"fifo_p99_us\":{}}}\n", us * 10.0),
    };
    let meter = Meter { switches: 900, run_ns: run_ns.to_vec(), ipis: 5, ..Meter::default() };
    Line::Step { index, wall_ns: 1, status: 0, output, meter }
}

/// What a guest of these schedulers would say: null is cheap and late, the masked one packed.
fn sound(unit: &Unit, seed: u64) -> Boot {
    let is = |name: &str| unit.name.starts_with(name);
    let even: &[u64] = if is("eevdf+taskset=1") { &[100, 0, 0, 0] } else { &[25, 25, 25, 25] };
    let wobble = 1.0 + 0.004 * (seed % 3) as f64;
    let factor = if is("eevdf ") { 1.0 } else { 0.8 };
    let of = |(i, s): (usize, &crate::model::Step)| {
        let us = if s.bench.starts_with("sleeper") {
            if is("null") {
                47_000.0
            } else {
                60.0
            }
        } else {
            250_000.0 * factor * wobble
        };
        step(i, &s.bench, us, if unit.topology.cpus == 1 { &[100] } else { even })
    };
    ended(seed, Status::Ok, unit.job.steps.iter().enumerate().map(of).collect())
}

fn document(
    request: &Request,
    boot: &(dyn Fn(&Unit, u64) -> Boot + Sync),
    workers: u32,
) -> Document {
    let plan = plan(request).unwrap();
    let one = |unit: usize, seed: u64| Ok(boot(&plan.units[unit], seed));
    let boots = boot_plan(request, &plan, workers, &one, &Progress::default()).unwrap();
    let mut doc = fixture::document(Vec::new());
    (doc.mode, doc.cpus_at_once, doc.host_cores) = (request.mode, true, 8);
    let found = |columns: &Columns| {
        let kernel = Kernel {
            release: format!("{:?}", columns.role),
            file: PathBuf::new(),
            digest: "0123456789abcdef".into(),
            origin: String::new(),
        };
        let base = (columns.role != Role::Stock).then(|| "linux-source-7.2".to_owned());
        Found { kernel, base }
    };
    let kernels: Vec<Found> = request.kernels.iter().map(found).collect();
    doc.kernels = kernel_infos(&plan, &boots, &kernels);
    let setting =
        Setting { mode: request.mode, topology: request.topology, at_once: true, cores: 8 };
    let rules =
        request.benches.iter().map(|b| (b.word.clone(), Rules::of(&b.what, &setting))).collect();
    let versions = vec![None; request.scheds.len()];
    judge(&mut doc, request, &plan, &boots, &versions, &rules);
    doc
}

fn verdict(doc: &Document, a: &str) -> Option<Verdict> {
    doc.comparisons.iter().find(|c| c.a == a && c.b == "eevdf").unwrap().verdict
}

const COLUMNS: &[&str] = &["eevdf", "eevdf+taskset=1", "null", "other"];

#[test]
fn a_run_from_plan_to_verdicts() {
    let request = request(COLUMNS, &["hackbench", "pipe+pinned=1"], Mode::Instructions);
    let doc = document(&request, &sound, 4);
    let order: Vec<(&str, &str)> =
        doc.results.iter().map(|e| (e.bench.as_str(), e.sched.as_str())).collect();
    assert_eq!(order[..2], [("hackbench", "eevdf"), ("hackbench", "eevdf+taskset=1")]);
    assert_eq!(order[4], ("pipe+pinned=1", "eevdf"));
    assert_eq!(doc.results[0].seeds, [1, 2, 3, 4, 5, 6]);
    assert_eq!(doc.results[0].sleeper_p99_us, Some(60.0));
    assert_eq!(doc.comparisons.len(), 2 * 4 * 3);
    assert_eq!(verdict(&doc, "eevdf+taskset=1"), Some(Verdict::Packed));
    assert_eq!(verdict(&doc, "null"), Some(Verdict::Late));
    assert_eq!(verdict(&doc, "other"), Some(Verdict::Ahead));
    assert_eq!(doc.exit_status(), 0);
}

#[test]
fn a_run_over_our_kernels_and_a_stock_one() {
    let words = &["eevdf", "other", "eevdf+STEAL", "eevdf-unpatched"];
    let mut request = request(words, &["hackbench"], Mode::Instructions);
    let on = |role, scheds: &[usize]| Columns { role, scheds: scheds.to_vec() };
    request.kernels =
        vec![on(Role::Patched, &[0, 2]), on(Role::Unpatched, &[3]), on(Role::Stock, &[1])];
    let doc = document(&request, &sound, 2);
    let rows: Vec<(&str, &str)> =
        doc.results.iter().map(|e| (e.kernel.as_str(), e.sched.as_str())).collect();
    assert_eq!(
        rows,
        [
            ("Patched", "eevdf"),
            ("Patched", "eevdf+STEAL"),
            ("Unpatched", "eevdf-unpatched"),
            ("Stock", "other")
        ]
    );
    assert_eq!(doc.results[0].sched_version, "Patched sha256:0123456789ab");
    assert_eq!(doc.results[3].sched_version, "Stock");
    assert!(doc.kernels.iter().all(|k| k.eevdf_sleeper_p99_us == Some(60.0)));
    assert_eq!(doc.comparisons.len(), 3 * 2, "every ordered pair of ours, and none with the stock");
    let pair = doc.comparisons.iter().find(|c| c.a == "eevdf+STEAL" && c.b == "eevdf-unpatched");
    assert_eq!(pair.unwrap().kernel_b.as_deref(), Some("Unpatched"));
    // made-up boots count no steals: that is a bound missed
    let steals = doc.checks.iter().find(|c| c.text.contains("steals")).unwrap();
    assert!(!steals.ok && steals.name.contains("eevdf+STEAL"), "{steals:?}");
}

#[test]
fn the_document_does_not_depend_on_the_number_of_workers() {
    let request = request(COLUMNS, &["hackbench"], Mode::Instructions);
    let text = |workers| serde_json::to_string(&document(&request, &sound, workers)).unwrap();
    assert_eq!(text(1), text(7));
}

#[test]
fn a_boot_that_ended_badly_is_no_number() {
    let request = request(&["eevdf", "other"], &["hackbench", "pipe"], Mode::Instructions);
    let boot = |unit: &Unit, seed: u64| {
        let sound = sound(unit, seed);
        match unit.name.starts_with("other hack") && seed == 3 {
            true => ended(seed, Status::Ejected, sound.lines),
            false => sound,
        }
    };
    let doc = document(&request, &boot, 2);
    for entry in doc.results.iter().filter(|e| e.sched == "other") {
        assert_eq!((entry.status, entry.samples.len()), (Status::Ejected, 5));
        assert!(!entry.seeds.contains(&3));
        assert_eq!(entry.reason, "seed 3: it went wrong");
        assert_eq!(entry.log, "console");
    }
    assert_eq!(verdict(&doc, "other"), None);
    assert_eq!(doc.results[0].status, Status::Ok, "the others are not touched");
    assert_eq!(doc.exit_status(), 1);
    assert!(tables(&doc).contains("ejected: seed 3"));
}

#[test]
fn all_refused_is_the_machines_lack() {
    let request = request(&["null", "other"], &["hackbench"], Mode::Instructions);
    let refused = |_: &Unit, seed: u64| ended(seed, Status::Refused, Vec::new());
    let doc = document(&request, &refused, 2);
    assert_eq!(doc.exit_status(), 3);
    assert_eq!(doc.results[0].sleeper_p99_us, None);
}

#[test]
fn output_without_a_figure_fails_its_bench_alone() {
    let request = request(&["eevdf"], &["hackbench", "pipe"], Mode::Instructions);
    let boot = |unit: &Unit, seed: u64| {
        let mut boot = sound(unit, seed);
        if let Some(Line::Step { output, .. }) = boot.lines.get_mut(1) {
            *output = "Segmentation fault".into();
        }
        boot
    };
    let doc = document(&request, &boot, 2);
    assert_eq!(doc.results[0].status, Status::Ok);
    assert_eq!(doc.results[1].status, Status::Failed);
    assert!(doc.results[1].reason.contains("Segmentation fault"));
}

#[test]
fn a_late_control_voids_the_boot_and_further_seeds_replace_it() {
    let words = ["sleeper+hogs=8+fifo=1"];
    let request = request(&["eevdf", "other"], &words, Mode::Parallel);
    // The control waits ten times as long as the sleeper: over 1 ms on every second seed.
    let boot = |unit: &Unit, seed: u64| {
        let late = unit.name.starts_with("eevdf sleeper") && seed % 2 == 1;
        let us = if late { 101.0 } else { 99.0 };
        ended(seed, Status::Ok, vec![step(0, "sleeper", us, &[25; 4])])
    };
    let doc = document(&request, &boot, 2);
    assert_eq!(doc.results[0].seeds, [2, 4, 6, 8, 10, 12]);
    assert_eq!((doc.results[0].voided, doc.results[1].voided), (6, 0));
    assert_eq!(doc.results[1].seeds, [1, 2, 3, 4, 5, 6]);
}

#[test]
fn too_many_late_controls_mean_not_measured() {
    let request = request(&["eevdf"], &["sleeper+hogs=8+fifo=1"], Mode::Parallel);
    let boot = |_: &Unit, seed: u64| {
        ended(seed, Status::Ok, vec![step(0, "sleeper", if seed < 4 { 9.0 } else { 900.0 }, &[9])])
    };
    let doc = document(&request, &boot, 1);
    let entry = &doc.results[0];
    assert_eq!((entry.status, entry.samples.len(), entry.voided), (Status::Ok, 0, 15));
    assert!(entry.note.as_ref().unwrap().contains("not measured: only 3 of 18 boots"));
}

fn options() -> Options {
    let one = |word: &str| vec![word.to_owned()];
    Options {
        scheds: one("eevdf"),
        benches: one("sleeper"),
        command: Vec::new(),
        kernels: one("auto"),
        topology: Topology { cpus: 4, nodes: 1, smt: 1 },
        mode: Some(Mode::Instructions),
        trace: false,
        schedstats: false,
        append: Vec::new(),
        fresh: true,
        seed: 1,
        runs: 1,
        with: Vec::new(),
        typed: one("ballast"),
        version: "1".into(),
        programs: PathBuf::from("/nonexistent"),
        cache: PathBuf::from("/nonexistent"),
    }
}

#[test]
fn bad_words_are_refused_before_anything_is_done() {
    let good = options;
    let words = |list: &[&str]| list.iter().map(|w| w.to_string()).collect::<Vec<_>>();
    let shape = |cpus, nodes, smt| Options { topology: Topology { cpus, nodes, smt }, ..good() };
    understand(&good()).unwrap();
    for (options, said) in [
        (Options { runs: 0, ..good() }, "--runs 0"),
        (Options { scheds: words(&["eevdf", "eevdf"]), ..good() }, "twice"),
        (Options { benches: words(&["sleeper", "sleeper"]), ..good() }, "twice"),
        (Options { scheds: words(&["eevfd"]), ..good() }, "`eevdf`"),
        (Options { benches: words(&["slepeer"]), ..good() }, "`sleeper`"),
        (Options { kernels: words(&["automatic"]), ..good() }, "auto"),
        (Options { command: words(&["no-such-program-here"]), ..good() }, "no-such-program-here"),
        (Options { with: vec!["/no/such/file".into()], ..good() }, "/no/such/file"),
        (Options { scheds: Vec::new(), ..good() }, "at least one"),
        (shape(0, 1, 1), "at least 1 CPU"),
        (shape(emulator::MAX_CPUS + 1, 1, 1), "at most"),
        (shape(6, 4, 1), "multiple of 4"),
        (shape(6, 2, 2), "multiple of 4"),
    ] {
        let error = understand(&options).unwrap_err();
        assert_eq!(exit_status(&error), 2, "{said}: {error}");
        let line = error.to_string();
        assert!(line.contains(said) && !line.contains('\n'), "{line}");
    }
}
