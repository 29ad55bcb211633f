// SPDX-License-Identifier: GPL-2.0-only
//! `ballast kernel`: Linux with the policy in its own fair class, built and shown.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use ballast_lab::kernel::build::{self, Built, Kind, Request};
use ballast_lab::progress::Progress;
use ballast_lab::report::Sink;
use ballast_lab::run::cache_folder;
use serde::Serialize;

use crate::{lab, VERSION};

/// Below the help of `ballast kernel`.
pub const EXAMPLES: &str = "\
Examples:
  ballast kernel build                  the newest Linux that the patches fit, patched
  ballast kernel build --unpatched      the same without the patches
  ballast kernel show
  ballast lab run --sched eevdf,eevdf+STEAL";

#[derive(clap::Subcommand)]
pub enum Kernel {
    /// Builds Linux with the mechanisms in its fair class, each behind a flag
    #[command(after_help = "\
Examples:
  ballast kernel build
  ballast kernel build --unpatched --source 7.2.13
  ballast kernel build --debug --jobs 2

The source comes from the distribution, through apt: 0.2 GB, and 1.5 GB of the disk for it and the
first kernel. The same again takes no time; a change to a patch compiles what it touches.

Exit status: 0; 1 the patches do not fit the source, or the build failed; 2 wrong usage or an unknown
source; 3 this machine lacks a package, room on the disk or a network.")]
    Build(BuildArgs),
    /// Shows what is built: version, patches, flags, size, place
    #[command(after_help = "\
Examples:
  ballast kernel show
  ballast kernel show --json -")]
    Show(Out),
}

#[derive(clap::Args)]
pub struct BuildArgs {
    /// With the kernel's own checks and the check of the overload mask
    #[arg(long, conflicts_with = "unpatched")]
    debug: bool,
    /// Without the patches, from the same source and configuration
    #[arg(long)]
    unpatched: bool,
    /// A version such as 7.2.13, or a package that apt offers; the newest that fits by default
    #[arg(long, value_name = "VERSION")]
    source: Option<String>,
    /// Commands at a time; by default one a CPU
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Plant a defect on top of the patches: a patch, or a sed script that names its file
    #[arg(long, value_name = "FILE")]
    mutant: Option<PathBuf>,
    #[command(flatten)]
    out: Out,
}

#[derive(clap::Args)]
pub struct Out {
    /// Write the document to FILE (- for standard output; text then goes to standard error)
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
}

/// How the documents of both commands begin, then the kernels.
#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    ballast: &'a str,
    command: Vec<String>,
    seed: Option<u64>,
    note: &'a str,
    kernels: Vec<Shown<'a>>,
}

#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    built: &'a Built,
    image: PathBuf,
    config: PathBuf,
    log: PathBuf,
}

/// Builds or shows, and returns the exit status.
pub fn main(command: &Kernel) -> Result<u8> {
    match command {
        Kernel::Build(args) => args.build(),
        Kernel::Show(out) => show(out),
    }
}

impl BuildArgs {
    fn build(&self) -> Result<u8> {
        let sink = self.out.sink()?;
        let kind = match (self.debug, self.unpatched) {
            (true, _) => Kind::Debug,
            (_, true) => Kind::Unpatched,
            _ => Kind::Patched,
        };
        let request = Request {
            kind,
            source: self.source.clone(),
            jobs: self.jobs.map(usize::from),
            mutant: self.mutant.clone(),
            cache: cache_folder()?,
        };
        let begin = Instant::now();
        let built = build::build(&request, &Progress::new())?;
        let text = format!("{}  took      {} s\n", describe(&built), begin.elapsed().as_secs());
        say(sink.as_ref(), &[built], &text)
    }
}

impl Out {
    fn sink(&self) -> Result<Option<Sink>> {
        self.json.as_deref().map(Sink::new).transpose()
    }
}

fn show(out: &Out) -> Result<u8> {
    let sink = out.sink()?;
    let cache = cache_folder()?;
    let mut text = String::new();
    let mut kernels = Vec::new();
    for kind in Kind::ALL {
        match build::built(kind, &cache) {
            Some(built) => {
                text.push_str(&describe(&built));
                kernels.push(built);
            }
            None => text.push_str(&format!("{}: not built: {}\n", kind.word(), kind.command())),
        }
    }
    let others = build::all(&cache).len() - kernels.len();
    if others > 0 {
        let folder = cache.join("built");
        text.push_str(&format!(
            "{others} more, of other patches, sources or mutants, in {}\n",
            folder.display()
        ));
    }
    say(sink.as_ref(), &kernels, &text)
}

fn say(sink: Option<&Sink>, kernels: &[Built], text: &str) -> Result<u8> {
    if let Some(sink) = sink {
        let shown = |built| Shown {
            built,
            image: built.image(),
            config: built.folder.join("config"),
            log: built.folder.join("log"),
        };
        sink.write(&Document {
            schema: 1,
            ballast: VERSION,
            command: lab::typed(),
            seed: None,
            note: "no seed: nothing is drawn",
            kernels: kernels.iter().map(shown).collect(),
        })?;
    }
    Sink::write_tables(sink, text)?;
    Ok(0)
}

/// A kernel in a few lines of at most 100 columns, but for paths.
fn describe(built: &Built) -> String {
    let mut text = built.release.clone();
    if let Some(mutant) = &built.mutant {
        text.push_str(&format!(" with the mutant {mutant}"));
    }
    let mut row = |name: &str, value: &str| text.push_str(&format!("\n  {name:<9} {value}"));
    row("source", &format!("{} {}", built.package, built.version));
    for (i, patch) in built.patches.iter().enumerate() {
        row(if i == 0 { "patches" } else { "" }, patch);
    }
    if built.patches.is_empty() {
        row("patches", "none");
    }
    for (i, flags) in flags(built).iter().enumerate() {
        row(if i == 0 { "flags" } else { "" }, flags);
    }
    row("compiler", &built.compiler);
    row("size", &format!("{:.1} MB", built.size as f64 / 1e6));
    row("image", &built.image().display().to_string());
    text + "\n"
}

/// `STEAL off`, a few in a row.
fn flags(built: &Built) -> Vec<String> {
    let state = |on: bool| if on { "on" } else { "off" };
    let all: Vec<String> =
        built.features.iter().map(|f| format!("{} {}", f.name, state(f.default))).collect();
    all.chunks(5).map(|row| row.join(", ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ballast_lab::kernel::build::Feature;

    fn built() -> Built {
        let feature = |(name, default): (&str, bool)| Feature { name: name.into(), default };
        let flags = [("NEWIDLE", true), ("SIS_CORE", true), ("SIS_LIMIT", false)];
        Built {
            kind: Kind::Patched,
            release: "7.2.13-ballast".into(),
            package: "linux-source-7.2".into(),
            version: "7.2.13-1".into(),
            source_sha256: "aa".into(),
            patches: vec!["0001-a.patch".into(), "0002-b.patch".into()],
            features: flags.map(feature).to_vec(),
            mutant: None,
            compiler: "gcc 12.2.0, ld 2.40".into(),
            size: 2_700_000,
            digest: "bb".into(),
            recipe: "cc".into(),
            key: "dd".into(),
            folder: "/cache/built/dd".into(),
        }
    }

    #[test]
    fn a_kernel_is_described_in_a_few_lines() {
        let wanted = "\
7.2.13-ballast
  source    linux-source-7.2 7.2.13-1
  patches   0001-a.patch
            0002-b.patch
  flags     NEWIDLE on, SIS_CORE on, SIS_LIMIT off
  compiler  gcc 12.2.0, ld 2.40
  size      2.7 MB
  image     /cache/built/dd/bzImage
";
        assert_eq!(describe(&built()), wanted);
        let mutant = Built { mutant: Some("01-x".into()), patches: Vec::new(), ..built() };
        let text = describe(&mutant);
        assert!(text.starts_with("7.2.13-ballast with the mutant 01-x\n"), "{text}");
        assert!(text.contains("\n  patches   none\n"), "{text}");
    }
}
