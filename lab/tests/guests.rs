// SPDX-License-Identifier: GPL-2.0-only
//! Boots real guests: what the lab says of good ones and of each way to go wrong. Needs QEMU and a
//! kernel in the lab's cache (`ballast lab run` fetches one); skipped where one is missing.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::Path;
use std::time::{Duration, Instant};

use ballast_lab::emulator::{self, timer, Accel, Guest};
use ballast_lab::image::{self, File, Image};
use ballast_lab::kernel::Kernel;
use ballast_lab::model::{Action, Boot, GuestSched, Job, Line, Mode, Status, Step, Topology};
use ballast_lab::run::cache_folder;

const LIMIT: Duration = Duration::from_secs(240);

/// A kernel of the cache, or the reason why nothing can be booted.
fn kernel() -> Result<Kernel, String> {
    emulator::version().map_err(|e| e.to_string())?;
    let folder = cache_folder().map_err(|e| e.to_string())?.join("kernels");
    let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut kernels: Vec<_> = entries.map(|e| e.path().join("kernel")).collect();
    kernels.retain(|file| file.is_file());
    kernels.sort();
    let file = kernels.pop().ok_or("no kernel in the lab's cache")?;
    let (release, origin) = Default::default();
    let text = std::fs::read(file.with_file_name("verdict.json")).map_err(|e| e.to_string())?;
    let kept: serde_json::Value = serde_json::from_slice(&text).map_err(|e| e.to_string())?;
    let digest = kept["digest"].as_str().ok_or("no digest")?.to_owned();
    Ok(Kernel { release, digest, origin, file })
}

/// The guest's shell runs `script` as the one step.
fn job(sched: GuestSched, script: &str) -> Job {
    let argv = ["/bin/sh", "-c", script].map(String::from).into();
    let action = Action::Command { argv };
    let step = Step { bench: "test".into(), action, affinity: None, warmup: None };
    Job { sched, settle_ms: 100, gap_ms: 100, trace: false, schedstats: false, steps: vec![step] }
}

fn scx(argv: &[&str]) -> GuestSched {
    GuestSched::Scx { argv: argv.iter().map(|w| w.to_string()).collect() }
}

/// An image with a shell, a few tools and the floor scheduler.
fn image(job: &Job, cache: &Path) -> Result<Image, String> {
    let mut files = Vec::new();
    for program in ["/bin/sh", "/bin/sleep", "/bin/cat"] {
        files.extend(image::closure(Path::new(program)).unwrap());
    }
    files.push(File::own("scx_null", "bin/scx_null").map_err(|e| e.to_string())?);
    image::build(&files, job, cache).map_err(|e| e.to_string())
}

fn guest<'a>(kernel: &'a Kernel, image: &'a Image, mode: Mode, seed: u64) -> Guest<'a> {
    let topology = Topology { cpus: 2, nodes: 1, smt: 1 };
    let memory_mib = emulator::memory_mib(&topology, image);
    let accel = Accel::TcgSingle;
    Guest {
        kernel,
        image,
        topology,
        mode,
        accel,
        seed,
        append: &[],
        complained: None,
        memory_mib,
        limit: LIMIT,
        timer: None,
    }
}

/// Boots a job in parallel mode, changed by `change`; `None` (said) where that cannot be.
fn boot(job: &Job, change: impl Fn(&mut Guest)) -> Option<Boot> {
    let cache = tempfile::tempdir().unwrap();
    let ready = kernel().and_then(|kernel| Ok((kernel, image(job, cache.path())?)));
    let (kernel, image) = match ready {
        Ok(ready) => ready,
        Err(reason) => {
            println!("skipped: {reason}");
            return None;
        }
    };
    let mut guest = guest(&kernel, &image, Mode::Parallel, 1);
    change(&mut guest);
    Some(emulator::boot(&guest).unwrap())
}

#[track_caller]
fn expect(boot: &Boot, status: Status, reason: &str) {
    assert!(boot.status == status && boot.reason.contains(reason), "{boot:#?}");
    assert!(!boot.reason.contains('\n') && boot.log.is_empty() == (status == Status::Ok));
}

/// Guest time at which the first step began.
fn uptime_ms(boot: &Boot) -> i64 {
    let step = |line: &Line| match line {
        Line::Step { meter, .. } => Some(meter.guest_uptime_ms as i64),
        _ => None,
    };
    boot.lines.iter().find_map(step).unwrap()
}

#[test]
fn same_seed_same_lines() {
    let mut job = job(GuestSched::Kernel, "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done");
    job.steps[0].affinity = Some(vec![1]);
    job.steps.push(job.steps[0].clone());
    let find = |kernel| timer::find(&kernel, &cache_folder().unwrap());
    let timer = kernel().ok().map(|kernel| find(kernel).expect("Debian's kernels show theirs"));
    let one = |seed, timer| {
        boot(&job, move |guest| {
            guest.seed = seed;
            guest.timer = timer;
            guest.mode = Mode::Instructions;
        })
    };
    let boots = std::thread::scope(|scope| {
        let boots = [(1, timer), (1, timer), (2, timer), (1, None)]
            .map(|(seed, timer)| scope.spawn(move || one(seed, timer)));
        boots.map(|boot| boot.join().unwrap())
    });
    let [Some(first), Some(again), Some(other), Some(measured)] = boots else { return };
    expect(&first, Status::Ok, "");
    assert_eq!(first, again);
    assert_ne!(first.lines, other.lines, "a seed must move something");
    let saved = uptime_ms(&measured) - uptime_ms(&first);
    assert!((80..300).contains(&saved), "told its timer, a kernel does not measure: {saved} ms");
    let [Line::Hello { cpus: 2, nodes: 1, llcs: 1, .. }, Line::Loaded { .. }, rest @ ..] =
        &first.lines[..]
    else {
        panic!("{first:#?}");
    };
    let [Line::Step { wall_ns, meter, .. }, Line::Step { .. }, Line::Kernel { .. }, Line::End { .. }] =
        rest
    else {
        panic!("{first:#?}");
    };
    assert!(*wall_ns > 1_000_000 && meter.run_ns[1] > meter.run_ns[0], "confined to CPU 1");
}

#[test]
fn a_scheduler_loads_and_unloads() {
    let mut job = job(scx(&["/bin/scx_null"]), "");
    let argv = ["/bin/sh", "-c", "sleep 0.01"].map(String::from).into();
    job.steps[0].action = Action::Loads { times: 2, argv };
    let Some(boot) = boot(&job, |_| ()) else { return };
    expect(&boot, Status::Ok, "");
    let output = boot.lines.iter().find_map(|line| match line {
        Line::Step { output, .. } => Some(output.as_str()),
        _ => None,
    });
    assert_eq!(output, Some("loads=2\n"));
}

#[test]
fn an_ejection_is_no_figure() {
    // the kernel's own emergency key takes the scheduler out while the step runs
    let job = job(scx(&["/bin/scx_null"]), "sleep 0.2; echo S >/proc/sysrq-trigger; sleep 0.2");
    let Some(boot) = boot(&job, |_| ()) else { return };
    expect(&boot, Status::Ejected, "ejected in step 1: sched_ext: BPF scheduler \"null\" disabled");
    assert!(!boot.lines.iter().any(|line| matches!(line, Line::Step { .. })));
}

#[test]
fn a_refusal_is_told() {
    let job = job(scx(&["/bin/sh", "-c", "echo this kernel is too old; exit 3"]), "");
    let Some(boot) = boot(&job, |_| ()) else { return };
    expect(&boot, Status::Refused, "its program ended with status 3: this kernel is too old");
}

#[test]
fn a_flag_of_ours_is_refused_where_there_is_none() {
    let flags = vec!["SIS_UTIL".to_owned(), "NO_STEAL".to_owned()];
    let Some(boot) = boot(&job(GuestSched::Fair { flags }, ""), |_| ()) else { return };
    expect(&boot, Status::Refused, "this kernel has no flag STEAL: it was built without Ballast");
}

#[test]
fn flags_that_change_meanwhile_are_no_figure() {
    let script = "echo NO_SIS_UTIL >/sys/kernel/debug/sched/features";
    let fair =
        |flags: &[&str]| GuestSched::Fair { flags: flags.iter().map(|f| f.to_string()).collect() };
    let Some(changed) = boot(&job(fair(&["SIS_UTIL"]), script), |_| ()) else { return };
    expect(&changed, Status::Ejected, "SIS_UTIL was set and is no longer");
    let Some(set) = boot(&job(fair(&["NO_SIS_UTIL"]), script), |_| ()) else { return };
    expect(&set, Status::Ok, "");
    let loaded = |line: &Line| matches!(line, Line::Loaded { ops } if ops == "eevdf+NO_SIS_UTIL");
    assert!(set.lines.iter().any(loaded), "{set:#?}");
}

#[test]
fn a_failing_bench_is_told() {
    let job = job(GuestSched::Kernel, "echo out; echo no luck >&2; exit 7");
    let Some(boot) = boot(&job, |_| ()) else { return };
    expect(&boot, Status::Failed, "step 1 ended with status 7: no luck");
}

#[test]
fn a_panic_is_told() {
    let job = job(GuestSched::Kernel, "echo c >/proc/sysrq-trigger; sleep 100");
    let Some(boot) = boot(&job, |_| ()) else { return };
    expect(&boot, Status::Panicked, "panicked in a warm-up or in step 1: sysrq triggered crash");
}

#[test]
fn a_limit_ends_a_guest() {
    let limit = Duration::from_millis(300);
    let begin = Instant::now();
    let Some(boot) = boot(&job(GuestSched::Kernel, ""), |guest| guest.limit = limit) else {
        return;
    };
    assert_eq!(boot.status, Status::Hung, "{boot:#?}");
    assert!(boot.reason.ends_with("it was before the agent's first line"), "{}", boot.reason);
    assert!(begin.elapsed() < Duration::from_secs(30));
}

#[test]
fn a_kernel_that_is_none_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let odd = folder.path().join("vmlinuz");
    std::fs::write(&odd, "not a kernel").unwrap();
    let odd =
        Kernel { release: String::new(), digest: String::new(), origin: String::new(), file: odd };
    let cache = tempfile::tempdir().unwrap();
    let ready = kernel().and_then(|_| image(&job(GuestSched::Kernel, ""), cache.path()));
    let image = match ready {
        Ok(image) => image,
        Err(reason) => {
            println!("skipped: {reason}");
            return;
        }
    };
    let boot = emulator::boot(&guest(&odd, &image, Mode::Parallel, 1)).unwrap();
    assert_eq!(boot.status, Status::Failed, "{boot:#?}");
    assert!(boot.reason.contains("the emulator ended with status 1"), "{}", boot.reason);
}

#[test]
fn a_killed_emulator_is_told() {
    let cache = tempfile::tempdir().unwrap();
    let job = job(GuestSched::Kernel, "sleep 1000");
    let ready = kernel().and_then(|kernel| Ok((kernel, image(&job, cache.path())?)));
    let (kernel, image) = match ready {
        Ok(ready) => ready,
        Err(reason) => {
            println!("skipped: {reason}");
            return;
        }
    };
    let image_path = image.path.clone();
    let killer = std::thread::spawn(move || {
        let emulator = std::iter::repeat_with(|| {
            std::thread::sleep(Duration::from_millis(50));
            find_process(&image_path)
        });
        let pid = emulator.take(1000).flatten().next().expect("no emulator seen");
        // SAFETY: kill takes no pointers; the process has this test's own image.
        unsafe { libc::kill(pid, libc::SIGKILL) };
    });
    let boot = emulator::boot(&guest(&kernel, &image, Mode::Parallel, 1)).unwrap();
    killer.join().unwrap();
    assert_eq!(boot.status, Status::Failed, "{boot:#?}");
    assert!(boot.reason.starts_with("the emulator was killed by signal 9"), "{}", boot.reason);
}

/// The process with `image` among its words.
fn find_process(image: &Path) -> Option<i32> {
    let image = image.to_str()?.as_bytes();
    std::fs::read_dir("/proc").ok()?.flatten().find_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let words = std::fs::read(entry.path().join("cmdline")).ok()?;
        words.split(|&b| b == 0).any(|word| word == image).then_some(pid)
    })
}
