// SPDX-License-Identifier: GPL-2.0-only
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
    let tries =
        |r: &Request| -> Vec<u32> { plan(r).unwrap().units[..2].iter().map(|u| u.tries).collect() };
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
