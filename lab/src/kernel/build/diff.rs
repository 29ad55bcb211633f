// SPDX-License-Identifier: GPL-2.0-only
//! Unified diffs, applied without fuzz: every line that a hunk names must be there, byte for byte.
//!
//! Where lines were added or removed above it, a hunk may lie elsewhere than it says: then its
//! lines must stand at exactly one place behind the hunk before it, and the move is told.

use std::collections::BTreeMap;

/// What files of a tree become: their new bytes, or `None` where one is removed.
pub type Files = BTreeMap<String, Option<Vec<u8>>>;

/// Reads a file of the tree: `Ok(None)` where there is none.
pub type Read<'a> = &'a dyn Fn(&str) -> Result<Option<Vec<u8>>, String>;

/// A patch's change to one file.
#[derive(Debug, PartialEq, Eq)]
struct Change<'a> {
    /// `None`: the patch makes the file.
    old: Option<String>,
    /// `None`: the patch removes it.
    new: Option<String>,
    hunks: Vec<Hunk<'a>>,
}

#[derive(Debug, PartialEq, Eq)]
struct Hunk<'a> {
    /// Line of the old file at which it begins, from 0.
    at: usize,
    old: Vec<&'a [u8]>,
    new: Vec<&'a [u8]>,
}

/// How far hunks lay from where they said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Hunks that lay elsewhere.
    pub hunks: usize,
    /// The furthest, in lines.
    pub lines: usize,
}

/// Applies a patch to `files`; what is not in them yet comes from `read`. The error is the end of a sentence that begins with the patch's name.
pub fn apply(patch: &[u8], files: &mut Files, read: Read) -> Result<Moved, String> {
    let mut moved = Moved::default();
    for change in parse(patch)? {
        let name = change.new.as_ref().or(change.old.as_ref()).ok_or("names no file")?;
        if change.old.as_ref().is_some_and(|old| change.new.as_ref().is_some_and(|new| old != new))
        {
            return Err(format!("renames a file to {name}, which is not understood here"));
        }
        let before = match files.get(name) {
            Some(known) => known.clone(),
            None => read(name)?,
        };
        let before = match (&change.old, before) {
            (None, Some(_)) => return Err(format!("makes {name}, which is there already")),
            (Some(_), None) => return Err(format!("changes {name}, which is not there")),
            (_, before) => before.unwrap_or_default(),
        };
        let after = change.apply(&before, &mut moved).map_err(|why| format!("{name}: {why}"))?;
        if change.new.is_none() && !after.is_empty() {
            return Err(format!("removes {name}, but not all of it"));
        }
        files.insert(name.clone(), change.new.is_some().then_some(after));
    }
    Ok(moved)
}

impl Change<'_> {
    fn apply(&self, before: &[u8], moved: &mut Moved) -> Result<Vec<u8>, String> {
        let lines: Vec<&[u8]> = before.split_inclusive(|&b| b == b'\n').collect();
        let (mut after, mut done, mut offset) = (Vec::new(), 0, 0);
        for (i, hunk) in self.hunks.iter().enumerate() {
            let told = hunk.at.saturating_add_signed(offset);
            let at = find(hunk, &lines, done, told)
                .map_err(|why| format!("hunk {} (line {}) {why}", i + 1, hunk.at + 1))?;
            if at != told {
                moved.hunks += 1;
                moved.lines = moved.lines.max(at.abs_diff(hunk.at));
                offset = at as isize - hunk.at as isize;
            }
            after.extend(lines[done..at].concat());
            after.extend(hunk.new.concat());
            done = at + hunk.old.len();
        }
        after.extend(lines[done..].concat());
        Ok(after)
    }
}

impl Hunk<'_> {
    /// `\ No newline at end of file` speaks of the line before it, which began with `sign`.
    fn without_newline(&mut self, sign: u8) {
        for (side, other) in [(&mut self.old, b'+'), (&mut self.new, b'-')] {
            if let Some(last) = side.last_mut().filter(|_| sign != other) {
                *last = last.strip_suffix(b"\n").unwrap_or(last);
            }
        }
    }
}

/// The line at which a hunk's old lines stand, not before `from`.
fn find(hunk: &Hunk, lines: &[&[u8]], from: usize, told: usize) -> Result<usize, String> {
    let stands = |at: usize| {
        let there = lines.get(at..).and_then(|rest| rest.get(..hunk.old.len()));
        at >= from && there == Some(hunk.old.as_slice())
    };
    if stands(told) {
        return Ok(told);
    }
    if hunk.old.is_empty() {
        return Err("has no line to be found by".into());
    }
    let mut all = (from..lines.len()).filter(|&at| stands(at));
    match (all.next(), all.next()) {
        (Some(at), None) => Ok(at),
        (Some(_), Some(_)) => Err("would fit at more than one place".into()),
        (None, _) => Err("does not fit".into()),
    }
}

/// The changes in a patch; text around them, such as a commit's message, is passed over.
fn parse(patch: &[u8]) -> Result<Vec<Change<'_>>, String> {
    let mut lines = patch.split_inclusive(|&b| b == b'\n').peekable();
    let mut changes: Vec<Change> = Vec::new();
    while let Some(line) = lines.next() {
        if line.starts_with(b"GIT binary patch") || line.starts_with(b"rename from ") {
            return Err("holds a binary change or a rename, which is not understood here".into());
        }
        let old = line.strip_prefix(b"--- ");
        let new = lines.peek().and_then(|next| next.strip_prefix(b"+++ "));
        if let (Some(old), Some(new)) = (old, new) {
            changes.push(Change { old: name(old)?, new: name(new)?, hunks: Vec::new() });
            lines.next();
        } else if line.starts_with(b"@@ -") {
            let odd = || format!("has a hunk that is no hunk: {}", text(line));
            let (at, old_count, new_count) = ranges(line).ok_or_else(odd)?;
            let mut hunk = Hunk { at, old: Vec::new(), new: Vec::new() };
            let mut sign = b' ';
            while hunk.old.len() < old_count || hunk.new.len() < new_count {
                let line = lines.next().ok_or("is cut short")?;
                match line.split_first() {
                    Some((b' ', rest)) => {
                        hunk.old.push(rest);
                        hunk.new.push(rest);
                    }
                    Some((b'-', rest)) => hunk.old.push(rest),
                    Some((b'+', rest)) => hunk.new.push(rest),
                    Some((b'\\', _)) => hunk.without_newline(sign),
                    // An empty line of context whose blank some mailer removed.
                    _ if line == b"\n" => {
                        hunk.old.push(line);
                        hunk.new.push(line);
                    }
                    _ => return Err(odd()),
                }
                sign = line[0];
            }
            if lines.next_if(|line| line.starts_with(b"\\")).is_some() {
                hunk.without_newline(sign);
            }
            if (hunk.old.len(), hunk.new.len()) != (old_count, new_count) {
                return Err(odd());
            }
            let change = changes.last_mut().ok_or("has a hunk before any file's name")?;
            change.hunks.push(hunk);
        }
    }
    match changes.iter().all(|change| !change.hunks.is_empty()) && !changes.is_empty() {
        true => Ok(changes),
        false => Err("changes nothing".into()),
    }
}

/// `a/kernel/sched/fair.c` without its first part; `None` for `/dev/null`.
fn name(word: &[u8]) -> Result<Option<String>, String> {
    let word = text(word);
    let word = word.split('\t').next().unwrap_or_default();
    if word == "/dev/null" {
        return Ok(None);
    }
    let name = word.split_once('/').map(|(_, rest)| rest).unwrap_or_default();
    let plain = name.split('/').all(|part| !part.is_empty() && part != "." && part != "..");
    plain.then(|| Some(name.to_string())).ok_or_else(|| format!("names an odd file: {word}"))
}

/// `@@ -12,7 +12,9 @@ …`: where the old lines begin, from 0, and how many there are on each side.
fn ranges(line: &[u8]) -> Option<(usize, usize, usize)> {
    let line = text(line);
    let mut words = line.strip_prefix("@@ ")?.split(' ');
    let mut range = |sign: char| {
        let word = words.next()?.strip_prefix(sign)?;
        let (at, count) = word.split_once(',').unwrap_or((word, "1"));
        Some((at.parse::<usize>().ok()?, count.parse::<usize>().ok()?))
    };
    let ((at, old), (_, new)) = (range('-')?, range('+')?);
    // An empty side is named by the line before it.
    Some((if old == 0 { at } else { at.checked_sub(1)? }, old, new))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end().to_string()
}

#[cfg(test)]
#[path = "diff_tests.rs"]
mod tests;
