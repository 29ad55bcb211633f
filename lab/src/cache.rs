// SPDX-License-Identifier: GPL-2.0-only
//! Finished boots, kept by all that can move their figures, so that a run that was interrupted goes
//! on where it stopped. Only boots that ended `ok` are kept: one that did not is tried again.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::emulator::Timer;
use crate::error::Failure;
use crate::model::{Boot, Job, Mode, Status, Topology};
use crate::whole;

/// Raised when the meaning of a kept boot changes.
const FORMAT: u32 = 1;

/// All that can move a boot's figures. The image's digest covers every program and file in it.
#[derive(Clone, Debug, Serialize)]
pub struct Inputs<'a> {
    /// First line of the emulator's `--version`.
    pub emulator: &'a str,
    /// The emulator's words, files by digest instead of by path.
    pub emulator_words: Vec<String>,
    /// The guest kernel's command line.
    pub guest_words: String,
    /// What the kernel is told of its timer.
    pub timer: Option<Timer>,
    /// How guest time passes.
    pub mode: Mode,
    /// The guest's machine.
    pub topology: Topology,
    /// Of the image.
    pub image: &'a str,
    /// Of the kernel.
    pub kernel: &'a str,
    /// Scheduler with settings, benches, pauses.
    pub job: &'a Job,
    /// The boot's.
    pub seed: u64,
    /// This machine; only where the guest's clock is its clock.
    pub machine: Option<&'a str>,
}

impl Inputs<'_> {
    /// The name under which the boot is kept.
    pub fn key(&self) -> Result<String> {
        let text = serde_json::to_vec(&(FORMAT, self))?;
        Ok(Sha256::digest(text).iter().map(|b| format!("{b:02x}")).collect())
    }
}

/// Processor, cores and kernel of this machine.
pub fn machine() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cpus = read("/proc/cpuinfo");
    let of = |name: &str| cpus.lines().find(|l| l.starts_with(name)).unwrap_or_default().to_owned();
    let cores = cpus.lines().filter(|l| l.starts_with("processor")).count();
    format!("{}; {cores} CPUs; {}", of("model name"), read("/proc/version").trim())
}

/// The folder of finished boots.
#[derive(Clone, Debug)]
pub struct Samples {
    folder: PathBuf,
    fresh: bool,
}

/// A kept boot: the key again, so that a file under a wrong name is noticed.
#[derive(Serialize, Deserialize)]
struct Kept {
    key: String,
    boot: Boot,
}

/// What a look into the cache found.
#[derive(Debug, PartialEq)]
pub enum Found {
    /// The boot.
    Boot(Box<Boot>),
    /// Nothing, or nothing is to be read.
    Nothing,
    /// A file that is no finished boot of this key: ignored.
    Corrupt(PathBuf),
}

impl Samples {
    /// Boots under `cache`/samples; with `fresh` none is read, but all are written.
    pub fn new(cache: &Path, fresh: bool) -> Self {
        Self { folder: cache.join("samples"), fresh }
    }

    /// Looks for a boot.
    pub fn get(&self, key: &str) -> Found {
        if self.fresh {
            return Found::Nothing;
        }
        let path = self.path(key);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == ErrorKind::NotFound => return Found::Nothing,
            Err(_) => return Found::Corrupt(path),
        };
        match serde_json::from_slice::<Kept>(&text) {
            Ok(kept) if kept.key == key && kept.boot.status == Status::Ok => {
                Found::Boot(Box::new(kept.boot))
            }
            _ => Found::Corrupt(path),
        }
    }

    /// Keeps a boot that ended well.
    pub fn put(&self, key: &str, boot: &Boot) -> Result<()> {
        if boot.status != Status::Ok {
            return Ok(());
        }
        let kept = serde_json::to_vec(&Kept { key: key.to_owned(), boot: boot.clone() })?;
        let written =
            fs::create_dir_all(&self.folder).and_then(|()| whole::write(&self.path(key), &kept));
        written.map_err(|e| {
            Failure::failed(format!("{}: cannot keep a sample: {e}", self.folder.display()))
        })
    }

    fn path(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.json"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use crate::model::GuestSched;

    fn boot(status: Status) -> Boot {
        let (reason, log) = (String::new(), String::new());
        Boot { seed: 1, status, reason, log, lines: Vec::new(), repeats: 0 }
    }

    fn job() -> Job {
        let sched = GuestSched::Scx { argv: vec!["/bin/scx_null".into()] };
        Job { sched, settle_ms: 1, gap_ms: 1, trace: false, schedstats: false, steps: Vec::new() }
    }

    fn inputs(job: &Job) -> Inputs<'_> {
        Inputs {
            emulator: "QEMU 7.2",
            emulator_words: vec!["-m".into(), "512M".into()],
            guest_words: "quiet seed=1".into(),
            timer: None,
            mode: Mode::Instructions,
            topology: Topology { cpus: 4, nodes: 1, smt: 1 },
            image: "aa",
            kernel: "bb",
            job,
            seed: 1,
            machine: None,
        }
    }

    #[test]
    fn every_input_moves_the_key() {
        let job = job();
        let other = Job { trace: true, ..job.clone() };
        let base = || inputs(&job);
        let mut keys: Vec<String> = [
            base(),
            Inputs { emulator: "QEMU 10.0", ..base() },
            Inputs { emulator_words: vec!["-m".into(), "513M".into()], ..base() },
            Inputs { guest_words: "seed=1".into(), ..base() },
            Inputs { timer: Some(Timer { stop: 1, variable: 2, period: 3 }), ..base() },
            Inputs { mode: Mode::Parallel, ..base() },
            Inputs { topology: Topology { cpus: 4, nodes: 2, smt: 1 }, ..base() },
            Inputs { image: "ab", ..base() },
            Inputs { kernel: "bc", ..base() },
            Inputs { job: &other, ..base() },
            Inputs { seed: 2, ..base() },
            Inputs { machine: Some("this"), ..base() },
        ]
        .iter()
        .map(|i| i.key().unwrap())
        .collect();
        assert_eq!(keys[0], base().key().unwrap());
        let all = keys.len();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), all);
    }

    #[test]
    fn only_boots_that_ended_well_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let samples = Samples::new(dir.path(), false);
        assert_eq!(samples.get("k"), Found::Nothing);
        samples.put("k", &boot(Status::Ejected)).unwrap();
        assert_eq!(samples.get("k"), Found::Nothing);
        samples.put("k", &boot(Status::Ok)).unwrap();
        assert_eq!(samples.get("k"), Found::Boot(Box::new(boot(Status::Ok))));
        assert_eq!(fs::read_dir(dir.path().join("samples")).unwrap().count(), 1);
    }

    #[test]
    fn fresh_reads_none_but_writes() {
        let dir = tempfile::tempdir().unwrap();
        let fresh = Samples::new(dir.path(), true);
        fresh.put("k", &boot(Status::Ok)).unwrap();
        assert_eq!(fresh.get("k"), Found::Nothing);
        assert_ne!(Samples::new(dir.path(), false).get("k"), Found::Nothing);
    }

    #[test]
    fn what_is_corrupt_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let samples = Samples::new(dir.path(), false);
        samples.put("k", &boot(Status::Ok)).unwrap();
        let file = dir.path().join("samples/k.json");
        fs::copy(&file, dir.path().join("samples/other.json")).unwrap();
        assert!(matches!(samples.get("other"), Found::Corrupt(_)), "another boot's file");
        let text = fs::read(&file).unwrap();
        fs::write(&file, &text[..text.len() / 2]).unwrap();
        assert_eq!(samples.get("k"), Found::Corrupt(file));
    }

    #[test]
    fn a_full_or_closed_folder_is_one_line() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("samples"), "a file where a folder should be").unwrap();
        let error = Samples::new(dir.path(), false).put("k", &boot(Status::Ok)).unwrap_err();
        assert!(error.to_string().contains("cannot keep a sample"));
    }
}
