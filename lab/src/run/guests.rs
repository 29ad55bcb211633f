// SPDX-License-Identifier: GPL-2.0-only
//! Real guests: images are built when they are first needed, finished boots come from the cache.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

use anyhow::Result;

use super::plan::Unit;
use crate::cache::{machine, Found, Inputs, Samples};
use crate::emulator::{self, timer, Guest, Timer};
use crate::image::{self, Image};
use crate::kernel::Kernel;
use crate::model::{Boot, Mode};
use crate::progress::Progress;

/// All that boots share.
pub struct Guests<'a> {
    kernels: &'a [Kernel],
    units: &'a [Unit],
    cache: PathBuf,
    samples: Samples,
    timers: Vec<Option<Timer>>,
    emulator: String,
    machine: String,
    images: Vec<Mutex<Option<Image>>>,
    taken_from_cache: AtomicUsize,
    progress: &'a Progress,
}

impl<'a> Guests<'a> {
    /// Guests of `units` on `kernels`; `emulator` is its version.
    pub fn new(
        kernels: &'a [Kernel],
        units: &'a [Unit],
        cache: PathBuf,
        fresh: bool,
        emulator: String,
        progress: &'a Progress,
    ) -> Self {
        let samples = Samples::new(&cache, fresh);
        let images = units.iter().map(|_| Mutex::new(None)).collect();
        let taken_from_cache = AtomicUsize::new(0);
        let machine = machine();
        let timers = (0..kernels.len())
            .map(|kernel| {
                let counts = |u: &Unit| u.kernel == kernel && u.mode == Mode::Instructions;
                units.iter().find(|u| counts(u))?;
                progress.set("reading the kernel's timer, once for each kernel");
                timer::find(&kernels[kernel], &cache)
            })
            .collect();
        progress.clear();
        Self {
            kernels,
            units,
            cache,
            samples,
            timers,
            emulator,
            machine,
            images,
            taken_from_cache,
            progress,
        }
    }

    /// How many boots came from the cache.
    pub fn taken_from_cache(&self) -> usize {
        self.taken_from_cache.load(Ordering::Relaxed)
    }

    /// Boots a unit with a seed, unless that has been done before.
    pub fn boot(&self, unit: usize, seed: u64) -> Result<Boot> {
        let image = self.image(unit)?;
        let unit = &self.units[unit];
        let guest = Guest {
            kernel: &self.kernels[unit.kernel],
            image: &image,
            topology: unit.topology,
            mode: unit.mode,
            accel: unit.accel,
            seed,
            append: &unit.append,
            complained: unit.complained,
            memory_mib: emulator::memory_mib(&unit.topology, &image),
            limit: unit.limit,
            timer: self.timers[unit.kernel],
        };
        let key = self.inputs(unit, &guest).key()?;
        match self.samples.get(&key) {
            Found::Boot(boot) => {
                self.taken_from_cache.fetch_add(1, Ordering::Relaxed);
                return Ok(*boot);
            }
            Found::Corrupt(path) => {
                self.progress.clear();
                eprintln!(
                    "ballast: {}: not a finished boot, ignored and run again",
                    path.display()
                );
            }
            Found::Nothing => {}
        }
        let boot = emulator::boot(&guest)?;
        self.samples.put(&key, &boot)?;
        Ok(boot)
    }

    fn inputs<'b>(&'b self, unit: &'b Unit, guest: &Guest<'b>) -> Inputs<'b> {
        let kernel = guest.kernel.file.to_string_lossy();
        let image = guest.image.path.to_string_lossy();
        let by_digest = |word: String| match word {
            w if w == kernel => guest.kernel.digest.clone(),
            w if w == image => guest.image.digest.clone(),
            w => w,
        };
        Inputs {
            emulator: &self.emulator,
            emulator_words: emulator::command_line(guest).into_iter().map(by_digest).collect(),
            guest_words: emulator::kernel_command_line(guest),
            timer: guest.timer_to_tell(),
            mode: unit.mode,
            topology: unit.topology,
            image: &guest.image.digest,
            kernel: &guest.kernel.digest,
            job: &unit.job,
            seed: guest.seed,
            machine: (unit.mode == Mode::Parallel).then_some(self.machine.as_str()),
        }
    }

    /// The unit's image; built again when the cache has dropped it since.
    fn image(&self, unit: usize) -> Result<Image> {
        let mut kept = self.images[unit].lock().unwrap_or_else(|e| e.into_inner());
        match kept.as_ref().filter(|image| image.path.exists()) {
            Some(image) => Ok(image.clone()),
            None => {
                let Unit { files, job, .. } = &self.units[unit];
                Ok(kept.insert(image::build(files, job, &self.cache)?).clone())
            }
        }
    }
}
