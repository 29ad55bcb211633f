// SPDX-License-Identifier: GPL-2.0-only
//! Reads TOML with one discipline for every file: unknown keys are errors that name the nearest
//! valid one, figures stand within a range, and each has its source.

use std::fmt::Display;
use std::ops::RangeInclusive;

use toml::{Table, Value};

use crate::error::{BadInput, Result};
use crate::words::unknown;

/// A table of a file, with the file's name and the table's place in it for messages.
#[derive(Clone, Debug)]
pub struct Section {
    file: String,
    place: String,
    table: Table,
}

/// A figure and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Sourced {
    /// In the unit of its key.
    pub value: u64,
    /// Where it was published or measured, with its mark: `recalled, unverified` and the like.
    pub source: String,
    /// The baseline cells that it was derived from, where it was.
    pub derived_from: Vec<BaseCell>,
}

/// A cell of a published table, of which the baseline's figure is meant: `time at 8`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseCell {
    /// The table's metric.
    pub metric: String,
    /// The point within the table.
    pub x: String,
}

impl BaseCell {
    /// The cell of `metric` at `x`.
    pub fn new(metric: &str, x: &str) -> Self {
        Self { metric: metric.to_owned(), x: x.to_owned() }
    }

    /// Reads `time at 8`.
    fn read(text: &str) -> Option<Self> {
        let (metric, x) = text.split_once(" at ")?;
        let word = |w: &str| !w.is_empty() && !w.contains(' ');
        (word(metric) && word(x)).then(|| Self::new(metric, x))
    }

    /// Several in words: `baseline's time at 1, busy_pct at 1`; `None` for none.
    pub fn words(cells: &[Self]) -> Option<String> {
        let all: Vec<String> = cells.iter().map(|c| format!("{} at {}", c.metric, c.x)).collect();
        (!all.is_empty()).then(|| format!("baseline's {}", all.join(", ")))
    }
}

impl Section {
    /// Reads the text of `file`, whose top-level keys are all in `keys`.
    pub fn parse(file: &str, text: &str, keys: &[&str]) -> Result<Self> {
        let table = toml::from_str::<Table>(text).map_err(|error| {
            let line = error.span().map(|s| 1 + text[..s.start].matches('\n').count());
            let line = line.map_or(String::new(), |n| format!(" line {n}:"));
            let message = error.message().lines().collect::<Vec<_>>().join("; ");
            BadInput(format!("{file}:{line} not TOML: {message}"))
        })?;
        Self::new(file.to_owned(), String::new(), table, keys)
    }

    fn new(file: String, place: String, table: Table, keys: &[&str]) -> Result<Self> {
        let section = Self { file, place, table };
        for key in section.table.keys() {
            if !keys.contains(&key.as_str()) {
                let what = match section.place.as_str() {
                    "" => "key".to_owned(),
                    place => format!("key in {place}"),
                };
                return Err(section.error(unknown(&what, key, keys)));
            }
        }
        Ok(section)
    }

    /// Prefixes a message with the file's name.
    pub fn error(&self, message: impl Display) -> BadInput {
        BadInput(format!("{}: {message}", self.file))
    }

    /// What a message calls one of the keys.
    pub fn name(&self, key: &str) -> String {
        match self.place.as_str() {
            "" => key.to_owned(),
            place => format!("{place}.{key}"),
        }
    }

    /// Whether the key is given.
    pub fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// The keys that are given.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.table.keys().map(String::as_str)
    }

    /// `key` must be there; `right` says what would be right.
    fn need(&self, key: &str, right: &str) -> Result<&Value> {
        let name = self.name(key);
        self.table.get(key).ok_or_else(|| self.error(format!("{name} is missing: give {right}")))
    }

    fn wrong<T>(&self, key: &str, right: &str) -> Result<T> {
        let given = self.table.get(key).map_or(String::new(), shown);
        Err(self.error(format!("{} = {given}: give {right}", self.name(key))))
    }

    /// A text of one line that is not empty.
    pub fn text(&self, key: &str) -> Result<String> {
        self.line(key, "a text of one line that is not empty")
    }

    fn line(&self, key: &str, right: &str) -> Result<String> {
        match self.need(key, right)? {
            Value::String(text) if is_line(text) => Ok(text.clone()),
            _ => self.wrong(key, right),
        }
    }

    /// A list of texts, at least one.
    pub fn texts(&self, key: &str) -> Result<Vec<String>> {
        let right = "a list of texts, at least one";
        let texts: Option<Option<Vec<String>>> = self.need(key, right)?.as_array().map(|list| {
            list.iter().map(|v| v.as_str().filter(|t| is_line(t)).map(str::to_owned)).collect()
        });
        match texts.flatten() {
            Some(texts) if !texts.is_empty() => Ok(texts),
            _ => self.wrong(key, right),
        }
    }

    /// Cells of a baseline; none where the key is not given.
    fn base_cells(&self, key: &str) -> Result<Vec<BaseCell>> {
        if !self.has(key) {
            return Ok(Vec::new());
        }
        let cells: Option<Vec<BaseCell>> =
            self.texts(key)?.iter().map(|text| BaseCell::read(text)).collect();
        let right = "a list of baseline cells, METRIC at X each: [\"time at 8\"]";
        cells.map_or_else(|| self.wrong(key, right), Ok)
    }

    /// A whole number within `range`.
    pub fn whole(&self, key: &str, range: RangeInclusive<u64>) -> Result<u64> {
        self.measure(key, "", range)
    }

    fn measure(&self, key: &str, unit: &str, range: RangeInclusive<u64>) -> Result<u64> {
        let right = format!("a whole number from {} to {}{unit}", range.start(), range.end());
        let value = self.need(key, &right)?.as_integer().and_then(|n| u64::try_from(n).ok());
        match value {
            Some(n) if range.contains(&n) => Ok(n),
            _ => self.wrong(key, &right),
        }
    }

    /// A list of lists of whole numbers, none of them empty.
    pub fn groups(&self, key: &str, right: &str) -> Result<Vec<Vec<u64>>> {
        let whole = |v: &Value| v.as_integer().and_then(|n| u64::try_from(n).ok());
        let group = |v: &Value| v.as_array()?.iter().map(whole).collect::<Option<Vec<_>>>();
        let list = self.need(key, right)?.as_array();
        let groups = list.and_then(|l| l.iter().map(group).collect::<Option<Vec<_>>>());
        match groups {
            Some(groups) if groups.iter().all(|g| !g.is_empty()) => Ok(groups),
            _ => self.wrong(key, right),
        }
    }

    /// The table under `key`, whose keys are all in `keys`.
    pub fn section(&self, key: &str, keys: &[&str]) -> Result<Self> {
        match self.need(key, "a table")? {
            Value::Table(table) => {
                Self::new(self.file.clone(), self.name(key), table.clone(), keys)
            }
            _ => self.wrong(key, "a table"),
        }
    }

    /// The table under `key`, whose keys are the file's own.
    pub fn open_section(&self, key: &str) -> Result<Self> {
        let known: Vec<&str> = match self.table.get(key) {
            Some(Value::Table(table)) => table.keys().map(String::as_str).collect(),
            _ => Vec::new(),
        };
        self.section(key, &known)
    }

    /// The list of tables under `key`, empty if there is none; messages count them from 0.
    pub fn sections(&self, key: &str, keys: &[&str]) -> Result<Vec<Self>> {
        let Some(value) = self.table.get(key) else { return Ok(Vec::new()) };
        let right = format!("tables, each under [[{}]]", self.name(key));
        let Some(list) = value.as_array() else { return self.wrong(key, &right) };
        let mut out = Vec::new();
        for (i, value) in list.iter().enumerate() {
            let Some(table) = value.as_table() else { return self.wrong(key, &right) };
            let place = format!("{}[{i}]", self.name(key));
            out.push(Self::new(self.file.clone(), place, table.clone(), keys)?);
        }
        Ok(out)
    }

    /// A figure with its source: `key = { value = 15, source = "…" }`.
    pub fn sourced(&self, key: &str, unit: &str, range: RangeInclusive<u64>) -> Result<Sourced> {
        let right = format!("a whole number from {} to {} ({unit})", range.start(), range.end());
        let right = format!("{{ value = …, source = \"…\" }}, the value {right}");
        self.need(key, &right)?;
        if !matches!(self.table.get(key), Some(Value::Table(_))) {
            return self.wrong(key, &right);
        }
        let entry = self.section(key, &["value", "source", "derived_from"])?;
        let value = entry.measure("value", &format!(" ({unit})"), range)?;
        let from = "where the figure comes from, or \"recalled, unverified\"";
        let source = entry.line("source", from)?;
        let derived_from = entry.base_cells("derived_from")?;
        Ok(Sourced { value, source, derived_from })
    }
}

/// Whether a text fits into a message of one line.
fn is_line(text: &str) -> bool {
    !text.trim().is_empty() && !text.chars().any(char::is_control)
}

/// A value as the file might have it, in one line and not longer than a message bears.
fn shown(value: &Value) -> String {
    const ROOM: usize = 40;
    let text = match value {
        Value::String(text) => format!("{text:?}"),
        Value::Integer(n) => n.to_string(),
        Value::Float(x) => x.to_string(),
        Value::Boolean(b) => b.to_string(),
        Value::Datetime(d) => d.to_string(),
        Value::Array(_) => "a list".to_owned(),
        Value::Table(_) => "a table".to_owned(),
    };
    match text.char_indices().nth(ROOM) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests;
