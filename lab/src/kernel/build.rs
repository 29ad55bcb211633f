// SPDX-License-Identifier: GPL-2.0-only
//! Builds Linux with the policy in its own fair class: `ballast kernel build`.
//!
//! 1. Take the sources that apt offers, the newest first; one that the patches do not fit is told
//!    and the next is tried, unless the user named it.
//! 2. What was built from exactly this is taken as it is.
//! 3. Else fetch and unpack the source, apply the patches without fuzz, put the policy in place.
//! 4. Configure, make, and keep the image; the tree stays, so that what changes next costs little.

mod diff;
mod make;
mod mutant;
mod recipe;
mod results;
mod source;
mod tree;

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use recipe::Feature;
pub use results::{all, Built};

use crate::apt::Source;
use crate::error::Failure;
use crate::kernel::{bzimage, store};
use crate::progress::Progress;
use diff::{Files, Moved};
use make::{tools, Make};
use mutant::Mutant;
use recipe::{hex, Recipe, POLICY_FOLDER};
use results::Results;
use source::{candidates, offered, told, Distribution, Offer, Sources};
use tree::Tree;

/// Which kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// With the patches.
    Patched,
    /// With the patches, the kernel's own checks, and the check of the overload mask.
    Debug,
    /// The same source and configuration without the patches.
    Unpatched,
}

impl Kind {
    /// All, in the order in which they are shown.
    pub const ALL: [Kind; 3] = [Kind::Patched, Kind::Debug, Kind::Unpatched];

    /// What `uname -r` ends with; the tree's name, too.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Patched => "ballast",
            Kind::Debug => "ballast-debug",
            Kind::Unpatched => "unpatched",
        }
    }

    /// What to type to build it.
    pub fn command(self) -> &'static str {
        match self {
            Kind::Patched => "./ballast kernel build",
            Kind::Debug => "./ballast kernel build --debug",
            Kind::Unpatched => "./ballast kernel build --unpatched",
        }
    }
}

/// Whether a kernel that says this of itself (`uname -r`) has our patches.
pub fn is_patched(release: &str) -> bool {
    [Kind::Patched, Kind::Debug]
        .iter()
        .any(|kind| release.strip_suffix(kind.word()).is_some_and(|rest| rest.ends_with('-')))
}

/// What is to be built.
#[derive(Clone, Debug)]
pub struct Request {
    /// Which kernel.
    pub kind: Kind,
    /// The version of the source; the newest that fits where none is named.
    pub source: Option<String>,
    /// Commands at a time; as many as there are CPUs where none is said.
    pub jobs: Option<usize>,
    /// A change to be planted on top, a defect for the tests to find.
    pub mutant: Option<PathBuf>,
    /// The lab's cache folder.
    pub cache: PathBuf,
}

/// Builds a kernel, or takes what was built from exactly the same.
///
/// Errors: a compiler or room on the disk that is missing and a mirror that cannot be reached are
/// the machine's (status 3), an unknown source or mutant is bad input (2); a source that does not
/// fit and a build that fails are failed runs (1).
pub fn build(request: &Request, progress: &Progress) -> Result<Built> {
    let offer = Distribution(&request.cache);
    let built = build_from(request, &Recipe::embedded(), &tools()?, &offer, progress);
    progress.clear();
    built
}

/// The newest kernel of a kind that was built of what this program holds; builds and fetches
/// nothing.
pub fn built(kind: Kind, cache: &Path) -> Option<Built> {
    let recipe = Recipe::embedded().digest(kind);
    all(cache)
        .into_iter()
        .filter(|b| b.kind == kind && b.recipe == recipe && b.mutant.is_none())
        .find(Built::is_whole)
}

/// The scheduler features that the patches add, by name.
pub fn features() -> Vec<Feature> {
    Recipe::embedded().features()
}

/// The patches by name, in the order in which they are applied.
pub fn patches() -> Vec<String> {
    Recipe::embedded().names()
}

fn build_from(
    request: &Request,
    recipe: &Recipe,
    compiler: &str,
    offer: &dyn Offer,
    progress: &Progress,
) -> Result<Built> {
    let mutant = request.mutant.as_deref().map(Mutant::read).transpose()?;
    let wanted = Wanted { request, recipe, mutant, compiler };
    let named = request.source.as_deref();
    let here = source::all(&request.cache);
    let candidates = candidates(named, &offered(offer, here, progress)?)?;
    let pass_over = |source: &Source, why: &str| {
        if named.is_none() {
            progress.note(&format!("passing over {}: {why}", told(source)));
        }
    };
    // What is kept lies there whole: it waits for nobody who builds.
    if let Some((built, passed)) = wanted.kept(&candidates) {
        passed.iter().for_each(|(source, why)| pass_over(source, why));
        return Ok(built);
    }
    let results = Results::open(&request.cache, progress)?;
    let sources = Sources::open(&request.cache, results.lock())?;
    let run = Run { wanted, offer, progress, results: &results, sources: &sources };
    let mut misfits = Vec::new();
    for source in candidates {
        match run.attempt(&source)? {
            Ok(built) => return Ok(built),
            Err(why) => {
                pass_over(&source, &why);
                misfits.push((source, why));
            }
        }
    }
    let (source, why) = &misfits[0];
    let of = if named.is_none() { "that apt offers; the first tried is " } else { "" };
    Err(Failure::failed(format!("the patches do not fit the source {of}{}: {why}", told(source))))
}

/// What decides over every byte of a kernel, beside its source.
struct Wanted<'a> {
    request: &'a Request,
    recipe: &'a Recipe,
    mutant: Option<Mutant>,
    compiler: &'a str,
}

/// Why the patches do not fit a source: the end of a sentence.
type Misfit = String;

impl Wanted<'_> {
    /// Of the first source that is not known to be a misfit, the kernel, if it was built; with the
    /// misfits before it.
    fn kept<'s>(&self, sources: &'s [Source]) -> Option<(Built, Vec<(&'s Source, Misfit)>)> {
        let mut passed = Vec::new();
        for source in sources {
            match self.known(source)? {
                Ok(built) => return Some((built, passed)),
                Err(why) => passed.push((source, why)),
            }
        }
        None
    }

    /// What an earlier build made of a source.
    fn known(&self, source: &Source) -> Option<Result<Built, Misfit>> {
        let cache = &self.request.cache;
        if let Some(built) = results::kept(cache, &self.key(source)) {
            return Some(Ok(built));
        }
        results::refused(cache, &self.pair(source)).map(Err)
    }

    /// Over all that can move a byte of the kernel.
    fn key(&self, source: &Source) -> String {
        let mut hash = Sha256::new();
        let recipe = self.recipe.digest(self.request.kind);
        for part in [&*recipe, &source.package, &source.version, &source.sha256, self.compiler] {
            hash.update(part);
            hash.update([0]);
        }
        if let Some(mutant) = &self.mutant {
            hash.update(mutant.text());
        }
        hex(&hash.finalize())
    }

    /// Over what decides whether the patches fit.
    fn pair(&self, source: &Source) -> String {
        hex(&Sha256::digest([&self.recipe.patches_digest(), &*source.sha256].concat()))
    }
}

/// One `kernel build` that has to build.
struct Run<'a> {
    wanted: Wanted<'a>,
    offer: &'a dyn Offer,
    progress: &'a Progress,
    results: &'a Results,
    sources: &'a Sources<'a>,
}

impl Run<'_> {
    /// Builds from one source, unless the patches do not fit it. Another process may have built it
    /// while this one waited for its turn.
    fn attempt(&self, source: &Source) -> Result<Result<Built, Misfit>> {
        if let Some(known) = self.wanted.known(source) {
            return Ok(known);
        }
        let folder = self.fetched(source)?;
        let (files, moved) = match self.changes(&folder) {
            Ok(done) => done,
            Err(why) => {
                self.results.refuse(&self.wanted.pair(source), &why)?;
                self.sources.discard(&source.version)?;
                return Ok(Err(why));
            }
        };
        if moved.hunks > 0 {
            self.progress.note(&format!(
                "{} hunks of the patches lie up to {} lines from where they say, at the only \
                 place that they fit",
                moved.hunks, moved.lines
            ));
        }
        self.sources.keep_only(source)?;
        self.make(source, &folder, files).map(Ok)
    }

    /// The source's folder; says beforehand what it will take, and stops where there is no room.
    fn fetched(&self, source: &Source) -> Result<PathBuf> {
        let what = told(source);
        let (download, disk) = self.sources.price(source, self.wanted.request.kind.word());
        if disk > 0 {
            let gb = |bytes: u64| format!("{:.1} GB", bytes as f64 / 1e9);
            let folder = self.sources.folder().display();
            let first = match download {
                0 => String::new(),
                _ => format!("{} to download and ", gb(download)),
            };
            self.progress.note(&format!(
                "{what}: {first}up to {} of the disk in {folder}, which may be removed afterwards",
                gb(disk)
            ));
            self.sources.require_room(disk, &format!("building {what}"))?;
        }
        match self.sources.kept(source) {
            Some(folder) => Ok(folder),
            None => Ok(self.sources.fetch(source, self.offer, self.progress)?),
        }
    }

    /// What the patches make of the source, and how far from their places they were.
    fn changes(&self, folder: &Path) -> Result<(Files, Moved), Misfit> {
        let read = |name: &str| tree::read(&folder.join(name)).map_err(|e| e.to_string());
        let (mut files, mut moved) = (Files::new(), Moved::default());
        for (name, patch) in &self.wanted.recipe.patches {
            let by =
                diff::apply(patch, &mut files, &read).map_err(|why| format!("{name}: {why}"))?;
            moved.hunks += by.hunks;
            moved.lines = moved.lines.max(by.lines);
        }
        Ok((files, moved))
    }

    /// Makes the tree what it is to be, and builds.
    fn make(&self, source: &Source, folder: &Path, files: Files) -> Result<Built> {
        let Request { kind, jobs, .. } = *self.wanted.request;
        let patched = kind != Kind::Unpatched;
        let mut files = if patched { files } else { Files::new() };
        for (name, text) in self.wanted.recipe.policy.iter().filter(|_| patched) {
            files.insert(format!("{POLICY_FOLDER}/{name}"), Some(text.to_vec()));
        }
        if let Some(mutant) = &self.wanted.mutant {
            mutant.plant(&mut files, folder)?;
        }
        self.progress.phase("preparing the tree");
        let tree = Tree::open(folder, kind.word(), self.results.lock())?;
        tree.change(&files)?;
        let cpus = || std::thread::available_parallelism().map_or(1, |n| n.get());
        let jobs = jobs.unwrap_or_else(cpus);
        let make = Make::new(&tree, kind, jobs, self.results.lock(), self.progress);
        make.configure(&self.wanted.recipe.options(kind), &self.configured_by(&files))?;
        let image = make.image()?;
        let read = |path: &Path| {
            let bytes = tree::read(path)?;
            bytes.ok_or_else(|| Failure::failed(format!("make left no {}", path.display())))
        };
        let image = read(&image)?;
        let release = read(&tree.folder().join("include/config/kernel.release"))?;
        let built = Built {
            kind,
            release: String::from_utf8_lossy(&release).trim().to_string(),
            package: source.package.clone(),
            version: source.version.clone(),
            source_sha256: source.sha256.clone(),
            patches: if patched { self.wanted.recipe.names() } else { Vec::new() },
            features: if patched { self.wanted.recipe.features() } else { Vec::new() },
            mutant: self.wanted.mutant.as_ref().map(|mutant| mutant.name().to_string()),
            compiler: self.wanted.compiler.to_string(),
            size: image.len() as u64,
            digest: store::digest(&bzimage::to_boot(image.clone())),
            recipe: self.wanted.recipe.digest(kind),
            key: self.wanted.key(source),
            folder: PathBuf::new(),
        };
        self.results.keep(&built, &image, &tree.folder().join(".config"), &make.log())
    }

    /// What the configuration depends on beside the options: the compiler, and changed Kconfigs.
    fn configured_by(&self, files: &Files) -> Vec<u8> {
        let mut inputs = self.wanted.compiler.as_bytes().to_vec();
        for (name, text) in files {
            if name.rsplit('/').next().is_some_and(|last| last.starts_with("Kconfig")) {
                inputs.extend_from_slice(name.as_bytes());
                inputs.extend_from_slice(text.as_deref().unwrap_or_default());
            }
        }
        inputs
    }
}

#[cfg(test)]
#[path = "build/tests.rs"]
mod tests;
