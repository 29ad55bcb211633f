// SPDX-License-Identifier: GPL-2.0-only
//! Which kernels a run boots, and which columns on each.
//!
//! 1. No column has a flag of our fair class or is `eevdf-unpatched`: all columns on every kernel
//!    named.
//! 2. Else EEVDF's columns, plain `eevdf` too, run on our kernel, so that only flags differ: on
//!    the one that `ballast kernel build` keeps, or on each file (or `debug`) named.
//! 3. `eevdf-unpatched` runs on the same source and configuration without the patches.
//! 4. sched_ext columns run on the stock kernels named.

use std::path::Path;

use anyhow::Result;

use crate::error::Failure;
use crate::kernel::build::{Built, Kind};
use crate::kernel::{self, Choice, Kernel};
use crate::progress::Progress;
use crate::sched::{Needs, Role, Sched};

/// Where a kernel comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A word after `--kernel`.
    Word(Choice),
    /// Built by `ballast kernel build`.
    Built(Kind),
}

/// One kernel of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// What it is to its columns.
    pub role: Role,
    /// Where it comes from.
    pub from: Source,
    /// The columns that run on it, by index.
    pub scheds: Vec<usize>,
}

/// The steps of the module's text; an error names the word that does not fit the others.
pub fn wanted(scheds: &[Sched], choices: &[Choice]) -> Result<Vec<Wanted>> {
    let ours = |s: &&Sched| matches!(s.needs, Needs::Patched | Needs::Unpatched);
    let reason = scheds.iter().find(ours).map(|s| s.word.as_str());
    let reason = reason.or(choices.contains(&Choice::Debug).then_some("debug"));
    let Some(reason) = reason else {
        let all: Vec<usize> = (0..scheds.len()).collect();
        let stock = |choice: &Choice| Wanted {
            role: Role::Stock,
            from: Source::Word(choice.clone()),
            scheds: all.clone(),
        };
        return Ok(choices.iter().map(stock).collect());
    };
    if choices.contains(&Choice::Host) {
        return Err(Failure::usage(format!(
            "--kernel host: `{reason}` needs the kernel that `ballast kernel build` makes; leave \
             --kernel out, or name a file of such a kernel"
        )));
    }
    let columns = |needs: &[Needs]| -> Vec<usize> {
        (0..scheds.len()).filter(|&s| needs.contains(&scheds[s].needs)).collect()
    };
    let mut out = Vec::new();
    let mut add = |role: Role, from: Source, scheds: &[usize]| {
        if !scheds.is_empty() {
            out.push(Wanted { role, from, scheds: scheds.to_vec() });
        }
    };
    let (stock, files): (Vec<&Choice>, Vec<&Choice>) =
        choices.iter().partition(|c| matches!(c, Choice::Auto | Choice::Series(_)));
    let fair = columns(&[Needs::Any, Needs::Patched]);
    if let (Some(file), []) = (files.first(), fair.as_slice()) {
        let word = match file {
            Choice::Path(path) => path.display().to_string(),
            _ => "debug".to_owned(),
        };
        return Err(Failure::usage(format!(
            "--kernel {word}: no column runs there: it is for eevdf and eevdf with flags"
        )));
    }
    if files.is_empty() {
        add(Role::Patched, Source::Built(Kind::Patched), &fair);
    }
    for file in files {
        add(Role::Patched, Source::Word(file.clone()), &fair);
    }
    add(Role::Unpatched, Source::Built(Kind::Unpatched), &columns(&[Needs::Unpatched]));
    let scx = columns(&[Needs::Stock]);
    match (scx.first(), stock.as_slice()) {
        (Some(&s), []) => {
            return Err(Failure::usage(format!(
                "--kernel: `{}` needs a stock kernel with sched_ext beside that of `{reason}`: \
                 name auto or a series too",
                scheds[s].word
            )))
        }
        (None, stock) => {
            let series = |c: &&&Choice| matches!(c, Choice::Series(_));
            if let Some(Choice::Series(series)) = stock.iter().find(series) {
                return Err(Failure::usage(format!(
                    "--kernel {series}: no column runs there: with `{reason}` EEVDF's columns run \
                     on the kernel that `ballast kernel build` makes; leave --kernel out"
                )));
            }
        }
        _ => {}
    }
    for choice in stock {
        add(Role::Stock, Source::Word(choice.clone()), &scx);
    }
    Ok(out)
}

/// A kernel that was found, and what may be compared with what runs on it.
#[derive(Clone, Debug)]
pub struct Found {
    /// To boot.
    pub kernel: Kernel,
    /// Source, configuration and compiler of one that we built: columns on kernels with the same
    /// are compared. `None`: only with columns on this very kernel.
    pub base: Option<String>,
}

/// Finds all kernels. Names that two of them share are told apart by their digests.
pub fn find(
    wanted: &[Wanted],
    scheds: &[Sched],
    cache: &Path,
    progress: &Progress,
) -> Result<Vec<Found>> {
    let mut found: Vec<Found> = wanted
        .iter()
        .map(|one| {
            let scx = one.scheds.iter().any(|&s| scheds[s].is_loaded());
            match &one.from {
                Source::Word(Choice::Debug) => of_ours(Kind::Debug, cache),
                Source::Word(choice) => {
                    let kernel = kernel::find(choice, scx, cache, progress)?;
                    Ok(Found { kernel, base: None })
                }
                Source::Built(kind) => of_ours(*kind, cache),
            }
        })
        .collect::<Result<_>>()?;
    let ours = |role: Role| {
        let built =
            |(w, _): &(&Wanted, &Found)| w.role == role && matches!(w.from, Source::Built(_));
        wanted.iter().zip(&found).find(built).and_then(|(_, f)| f.base.as_ref())
    };
    if let Some((with, without)) = ours(Role::Patched).zip(ours(Role::Unpatched)) {
        if with != without {
            return Err(Failure::machine(format!(
                "eevdf-unpatched is built from {without}, the patched kernel from {with}: build \
                 both anew with `./ballast kernel build` and `./ballast kernel build --unpatched`"
            )));
        }
    }
    let names: Vec<String> = found.iter().map(|f| f.kernel.release.clone()).collect();
    for (i, one) in found.iter_mut().enumerate() {
        if names.iter().enumerate().any(|(j, name)| i != j && *name == names[i]) {
            let digest: String = one.kernel.digest.chars().take(8).collect();
            one.kernel.release.push_str(&format!("#{digest}"));
        }
    }
    Ok(found)
}

fn of_ours(kind: Kind, cache: &Path) -> Result<Found> {
    let built = kernel::ours(kind, cache)?;
    Ok(Found { kernel: built.kernel(), base: Some(base(&built)) })
}

/// The debug build has a configuration of its own.
fn base(built: &Built) -> String {
    let debug = if built.kind == Kind::Debug { ", debug configuration" } else { "" };
    format!("{} {}, {}{debug}", built.package, built.version, built.compiler)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use crate::error::exit_status;
    use crate::model::GuestSched;
    use std::str::FromStr;

    fn scheds(words: &[&str]) -> Vec<Sched> {
        let sched = |word: &&str| {
            let guest = GuestSched::Scx { argv: vec![word.to_string()] };
            let (word, needs) = (word.to_string(), Needs::Stock);
            let made_up = Sched { word, guest, needs, program: None, confine: None };
            Sched::parse(&made_up.word.clone(), Path::new("")).unwrap_or(made_up)
        };
        words.iter().map(sched).collect()
    }

    /// `role from: columns` of each kernel.
    fn laid_out(words: &[&str], kernels: &[&str]) -> Result<Vec<String>> {
        let choices: Vec<Choice> = kernels.iter().map(|w| Choice::from_str(w).unwrap()).collect();
        let from = |from: &Source| match from {
            Source::Word(Choice::Auto) => "auto".to_owned(),
            Source::Word(Choice::Debug) => "debug".to_owned(),
            Source::Word(Choice::Series(word)) => word.clone(),
            Source::Word(Choice::Path(path)) => path.display().to_string(),
            Source::Word(Choice::Host) => "host".to_owned(),
            Source::Built(kind) => format!("{kind:?}"),
        };
        let line = |w: &Wanted| {
            let columns: Vec<&str> = w.scheds.iter().map(|&s| words[s]).collect();
            format!("{:?} {}: {}", w.role, from(&w.from), columns.join(" "))
        };
        Ok(wanted(&scheds(words), &choices)?.iter().map(line).collect())
    }

    #[test]
    fn without_flags_every_column_runs_on_every_kernel() {
        assert_eq!(
            laid_out(&["eevdf", "ballast"], &["auto", "6.18", "host", "./k"]).unwrap(),
            ["auto", "6.18", "host", "./k"].map(|k| format!("Stock {k}: eevdf ballast"))
        );
    }

    #[test]
    fn with_a_flag_plain_eevdf_boots_ours_too_and_sched_ext_the_stock_one() {
        assert_eq!(
            laid_out(&["ballast", "eevdf", "eevdf+STEAL", "eevdf-unpatched"], &["auto"]).unwrap(),
            [
                "Patched Patched: eevdf eevdf+STEAL",
                "Unpatched Unpatched: eevdf-unpatched",
                "Stock auto: ballast"
            ]
        );
        assert_eq!(
            laid_out(&["eevdf+STEAL"], &["auto"]).unwrap(),
            ["Patched Patched: eevdf+STEAL"]
        );
        assert_eq!(
            laid_out(&["eevdf", "eevdf-unpatched"], &["auto"]).unwrap(),
            ["Patched Patched: eevdf", "Unpatched Unpatched: eevdf-unpatched"],
            "the unpatched kernel is one of ours as well"
        );
    }

    #[test]
    fn a_file_or_the_debug_build_stands_in_for_ours() {
        assert_eq!(
            laid_out(&["eevdf+STEAL", "null"], &["./bzImage", "6.18"]).unwrap(),
            ["Patched ./bzImage: eevdf+STEAL", "Stock 6.18: null"]
        );
        assert_eq!(laid_out(&["eevdf"], &["debug"]).unwrap(), ["Patched debug: eevdf"]);
    }

    #[test]
    fn kernels_that_no_column_can_use_are_refused() {
        for (words, kernels, said) in [
            (&["eevdf", "eevdf+STEAL"][..], &["host"][..], "--kernel host: `eevdf+STEAL`"),
            (&["eevdf-unpatched", "null"], &["auto", "host"], "--kernel host"),
            (&["eevdf+STEAL"], &["6.18"], "--kernel 6.18: no column runs there"),
            (&["eevdf+STEAL", "null"], &["./bzImage"], "`null` needs a stock kernel"),
            (&["null"], &["debug", "auto"], "--kernel debug: no column runs there"),
            (&["eevdf-unpatched"], &["./bzImage"], "--kernel ./bzImage: no column runs there"),
        ] {
            let error = laid_out(words, kernels).unwrap_err();
            assert_eq!(exit_status(&error), 2);
            let line = error.to_string();
            assert!(line.contains(said) && !line.contains('\n'), "{line}");
        }
    }

    #[test]
    fn what_is_not_built_says_what_to_type() {
        let cache = tempfile::tempdir().unwrap();
        for (word, line) in [
            ("eevdf+STEAL", "no patched kernel is built: `./ballast kernel build` makes one"),
            ("eevdf-unpatched", "`./ballast kernel build --unpatched` makes one"),
        ] {
            let scheds = scheds(&[word]);
            let wanted = wanted(&scheds, &[Choice::Auto]).unwrap();
            let error = find(&wanted, &scheds, cache.path(), &Progress::default()).unwrap_err();
            assert_eq!(exit_status(&error), 3);
            assert!(error.to_string().contains(line), "{error}");
        }
    }
}
