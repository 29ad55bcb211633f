// SPDX-License-Identifier: GPL-2.0-only
//! The newest sound kernel that apt offers.
//!
//! 1. Take the images of the last index; a day-old one is fetched anew.
//! 2. Go down from the newest: a kept verdict counts, else the image is fetched and judged.
//! 3. When the mirror cannot be reached, what is kept already has to do.
//! 4. When a package is gone from the mirror, or nothing is found, begin again with a new index.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::store::{self, Kept, Store};
use super::{bzimage, judge_bytes, version, Kernel};
use crate::apt::{Apt, Cause, Image, Index, Trouble};
use crate::btf::{Verdict, RULES};
use crate::error::{exit_status, Failure};
use crate::progress::Progress;

/// Where images come from: apt, or a test's own.
pub trait Offer {
    /// The index of the last refresh, whatever its age.
    fn kept(&self) -> Option<Index>;
    /// Fetches a new index.
    fn refresh(&self, progress: &Progress) -> Result<Index, Trouble>;
    /// Fetches an image into an empty folder and says where it lies.
    fn fetch(&self, image: &Image, folder: &Path, progress: &Progress) -> Result<PathBuf, Trouble>;
}

impl Offer for Apt<'_> {
    fn kept(&self) -> Option<Index> {
        Apt::kept(self)
    }

    fn refresh(&self, progress: &Progress) -> Result<Index, Trouble> {
        Apt::refresh(self, progress).map_err(or_a_file)
    }

    fn fetch(&self, image: &Image, folder: &Path, progress: &Progress) -> Result<PathBuf, Trouble> {
        Apt::fetch(self, image, folder, progress).map_err(or_a_file)
    }
}

/// Where the machine cannot do it, there is another way.
fn or_a_file(trouble: Trouble) -> Trouble {
    match exit_status(&trouble.error) {
        3 => {
            let error = Failure::machine(format!(
                "{:#}, or name a kernel file with --kernel PATH",
                trouble.error
            ));
            Trouble { error, ..trouble }
        }
        _ => trouble,
    }
}

/// Finds the newest sound kernel: of one series, or from the oldest that counts.
pub fn search(
    series: Option<(u32, u32)>,
    offer: &dyn Offer,
    store: &Store,
    progress: &Progress,
) -> Result<Kernel> {
    let mut search = Search { series, offer, store, progress, seen: None, offline: None };
    if let Some(index) = offer.kept().filter(Index::is_fresh) {
        match search.through(&index.images) {
            Ok(Some(kernel)) => return Ok(kernel),
            Ok(None) if search.offline.is_some() => return Err(search.nothing(&index.images)),
            Ok(None) => {}
            Err(trouble) if trouble.cause == Cause::Gone => {}
            Err(trouble) => return Err(trouble.into()),
        }
        search.seen = None;
    }
    let images = match offer.refresh(progress) {
        Ok(index) => index.images,
        Err(trouble) if trouble.cause == Cause::Unreachable => {
            search.offline = Some(trouble);
            offer.kept().map_or_else(|| kept_images(store), |index| index.images)
        }
        Err(trouble) => return Err(trouble.into()),
    };
    match search.through(&images)? {
        Some(kernel) => Ok(kernel),
        None => Err(search.nothing(&images)),
    }
}

fn kept_images(store: &Store) -> Vec<Image> {
    store.all().into_iter().map(|kept| kept.image).collect()
}

struct Search<'a> {
    series: Option<(u32, u32)>,
    offer: &'a dyn Offer,
    store: &'a Store,
    progress: &'a Progress,
    /// The newest kernel that was judged, and what was wrong with it.
    seen: Option<(String, Verdict)>,
    /// Why nothing more is fetched.
    offline: Option<Trouble>,
}

impl Search<'_> {
    /// Goes down from the newest image; `None` when none is sound.
    fn through(&mut self, images: &[Image]) -> Result<Option<Kernel>, Trouble> {
        let series = self.series;
        for image in images.iter().filter(|image| is_wanted(series, image)) {
            let kept = match self.store.kept(image) {
                Some(kept) => Some(kept),
                None => self.fetch(image)?,
            };
            match kept {
                Some(kept) if kept.verdict == Verdict::Sound => {
                    return Ok(Some(self.store.kernel(&kept)))
                }
                Some(kept) => {
                    self.seen.get_or_insert((image.release.clone(), kept.verdict));
                }
                None => {}
            }
        }
        Ok(None)
    }

    /// Fetches, judges and keeps an image; `None` while the mirror cannot be reached.
    fn fetch(&mut self, image: &Image) -> Result<Option<Kept>, Trouble> {
        if self.offline.is_some() {
            return Ok(None);
        }
        let folder = self.store.workplace()?;
        let fetched = match self.offer.fetch(image, &folder, self.progress) {
            Err(trouble) if trouble.cause == Cause::Unreachable => {
                self.offline = Some(trouble);
                return Ok(None);
            }
            fetched => super::read(&fetched?)?,
        };
        self.progress.set(&format!("reading the type information of {}", image.release));
        let verdict = judge_bytes(&fetched);
        let file = bzimage::to_boot(fetched);
        let digest = store::digest(&file);
        let kept = Kept { image: image.clone(), digest, verdict, rules: RULES };
        self.store.keep(&kept, &file)?;
        Ok(Some(kept))
    }

    /// The one line for a search that found nothing among these images.
    fn nothing(self, images: &[Image]) -> anyhow::Error {
        if let Some(trouble) = self.offline {
            return trouble.into();
        }
        let what = match self.series {
            Some((major, minor)) => format!("no sound kernel of series {major}.{minor}"),
            None => "no sound kernel".to_string(),
        };
        let remedy = "name another with --kernel SERIES or --kernel PATH";
        let (release, why) = match (self.seen, images.first()) {
            (Some((release, verdict)), _) => (release, verdict.to_string()),
            (None, Some(_)) if self.series.is_some() => {
                let offered = all_series(images).join(", ");
                return Failure::machine(format!("{what}: apt offers {offered}; {remedy}"));
            }
            (None, Some(newest)) => {
                let (major, minor) = version::OLDEST;
                (newest.release.clone(), format!("it is older than {major}.{minor}"))
            }
            (None, None) => {
                return Failure::machine(format!("{what}: apt offers no kernel image; {remedy}"))
            }
        };
        Failure::machine(format!("{what}: newest seen: {release}, because {why}; {remedy}"))
    }
}

fn is_wanted(wanted: Option<(u32, u32)>, image: &Image) -> bool {
    let series = version::series(&image.release);
    match wanted {
        Some(_) => series == wanted,
        None => series >= Some(version::OLDEST),
    }
}

/// The series that apt offers and that count, the newest first.
fn all_series(images: &[Image]) -> Vec<String> {
    let mut all: Vec<(u32, u32)> =
        images.iter().filter_map(|image| version::series(&image.release)).collect();
    all.retain(|series| *series >= version::OLDEST);
    all.dedup();
    all.iter().map(|(major, minor)| format!("{major}.{minor}")).collect()
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
