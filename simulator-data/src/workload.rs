// SPDX-License-Identifier: GPL-2.0-only
//! Workload files, and the words that pick one and set its numbers:
//! `hackbench+transport=socket+groups=8`, the same word in the lab.

use std::collections::BTreeMap;

use crate::error::{bad, Result};
use crate::files;
use crate::machine::stem;
use crate::reader::{Section, Sourced};
use crate::words::{is_path, split, unknown};

const KEYS: &[&str] =
    &["title", "source", "bench", "command", "published_command", "choices", "settings", "model"];
const CHOICE_KEYS: &[&str] = &["value", "default"];
const SETTING_KEYS: &[&str] = &["default", "low", "high", "shared_by", "published"];
/// Highest `high` of a setting.
const MAX_SETTING: u64 = 1_000_000_000;

/// The numbers of a model, each with its unit and the highest allowed; the lowest is 1.
const HACKBENCH: &[(&str, &str, u64)] = &[
    ("senders", "tasks", 1000),
    ("receivers", "tasks", 1000),
    ("message_bytes", "bytes", 1_000_000),
    ("capacity_messages", "messages", 1_000_000),
    ("resume_divisor", "parts", 1000),
];

/// hackbench as a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hackbench {
    /// Senders of a group.
    pub senders: u64,
    /// Receivers of a group, a queue each.
    pub receivers: u64,
    /// Bytes of a message.
    pub message_bytes: u64,
    /// Messages that fit into a queue before its writers block.
    pub capacity_messages: u64,
    /// Blocked writers go on when 1/this of the capacity or less is used.
    pub resume_divisor: u64,
}

/// A number that a word may set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// As typed.
    pub name: String,
    /// Unless a word sets it.
    pub default: u64,
    /// Lowest allowed.
    pub low: u64,
    /// Highest allowed.
    pub high: u64,
    /// The setting by which the default is divided.
    pub shared_by: Option<String>,
    /// What the published tables ran with.
    pub published: Option<u64>,
}

/// What a file is of its bench.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// As typed.
    pub name: String,
    /// This file's.
    pub value: String,
    /// What a word means that does not say it.
    pub default: String,
}

/// A workload as its file describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadFile {
    /// The file's name without `.toml`.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// Where the description comes from.
    pub source: String,
    /// First part of the words that mean it.
    pub bench: String,
    /// The real command of today's packages, `{setting}` for values.
    pub command: Vec<String>,
    /// The command of the published tables, where it differs.
    pub published_command: Option<Vec<String>>,
    /// What tells it from the bench's other files, by name.
    pub choices: Vec<Choice>,
    /// What a word may set, by name.
    pub settings: Vec<Setting>,
    /// The model.
    pub model: Hackbench,
    /// Where the model's numbers come from, by key.
    pub sources: BTreeMap<String, Sourced>,
}

/// A workload with its numbers set.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// As typed.
    pub word: String,
    /// Its file.
    pub file: WorkloadFile,
    /// Value of each setting, in the order of the file's.
    pub values: Vec<(String, u64)>,
}

impl WorkloadFile {
    /// All of Ballast's own.
    pub fn all() -> Result<Vec<Self>> {
        let shelf = files::WORKLOADS;
        shelf.files.iter().map(|(name, text)| Self::parse(&shelf.path(name), text)).collect()
    }

    /// Reads the text of `file`, which names the workload and stands in messages.
    pub fn parse(file: &str, text: &str) -> Result<Self> {
        let top = Section::parse(file, text, KEYS)?;
        let (model, sources) = read_model(&top)?;
        let settings = read_settings(&top)?;
        let choices = read_choices(&top)?;
        for choice in &choices {
            if settings.iter().any(|s| s.name == choice.name) {
                let name = &choice.name;
                return Err(top.error(format!("{name} is a choice and a setting: keep one")));
            }
        }
        let published = top.has("published_command").then(|| top.texts("published_command"));
        let this = Self {
            name: stem(file),
            title: top.text("title")?,
            source: top.text("source")?,
            bench: top.text("bench")?,
            command: top.texts("command")?,
            published_command: published.transpose()?,
            choices,
            settings,
            model,
            sources,
        };
        let names: Vec<&str> = this.settings.iter().map(|s| s.name.as_str()).collect();
        for part in this.command.iter().chain(this.published_command.iter().flatten()) {
            let inner = part.strip_prefix('{').and_then(|p| p.strip_suffix('}'));
            if let Some(name) = inner.filter(|name| !names.contains(name)) {
                return Err(top.error(unknown("setting in a command:", name, &names)));
            }
        }
        Ok(this)
    }

    fn choice(&self, name: &str) -> Option<&Choice> {
        self.choices.iter().find(|c| c.name == name)
    }

    /// The word that means this file, every number at its default.
    pub fn word(&self) -> String {
        let differs = self.choices.iter().filter(|c| c.value != c.default);
        let parts: Vec<String> = differs.map(|c| format!("+{}={}", c.name, c.value)).collect();
        format!("{}{}", self.bench, parts.concat())
    }
}

impl Workload {
    /// Reads a word: a bench, the name of a file or the path of one, and settings joined by `+`.
    pub fn find(word: &str) -> Result<Self> {
        let (name, parts) = split(word);
        let pairs = pairs(word, &parts)?;
        let file = match is_path(name) || files::WORKLOADS.names().contains(&name) {
            true => {
                let (file, text) = files::WORKLOADS.find(name)?;
                WorkloadFile::parse(&file, &text)?
            }
            false => pick(word, name, &pairs)?,
        };
        check_keys(word, &file, &pairs)?;
        for (key, value) in &pairs {
            if let Some(choice) = file.choice(key).filter(|c| c.value != *value) {
                let (shown, is) = (value.escape_debug(), &choice.value);
                return bad(format!(
                    "`{}`: {} is `{is}` in {}, not `{shown}`",
                    word.escape_debug(),
                    choice.name,
                    file.name
                ));
            }
        }
        let mut values: Vec<(String, u64)> = Vec::new();
        for setting in &file.settings {
            values.push((setting.name.clone(), number(word, &file, setting, &pairs)?));
        }
        Ok(Self { word: word.to_owned(), file, values })
    }

    /// The value of a setting.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.values.iter().find(|v| v.0 == name).map(|v| v.1)
    }

    /// The real command with the values filled in.
    pub fn command_line(&self) -> String {
        self.fill(&self.file.command)
    }

    /// The published tables' command with the values filled in.
    pub fn published_command_line(&self) -> Option<String> {
        self.file.published_command.as_ref().map(|parts| self.fill(parts))
    }

    fn fill(&self, parts: &[String]) -> String {
        let value = |part: &String| {
            let name = part.strip_prefix('{').and_then(|p| p.strip_suffix('}'));
            name.and_then(|n| self.get(n)).map_or_else(|| part.clone(), |v| v.to_string())
        };
        parts.iter().map(value).collect::<Vec<_>>().join(" ")
    }
}

fn read_model(top: &Section) -> Result<(Hackbench, BTreeMap<String, Sourced>)> {
    let mut keys = vec!["kind"];
    keys.extend(HACKBENCH.iter().map(|n| n.0));
    let section = top.section("model", &keys)?;
    let kind = section.text("kind")?;
    if kind != "hackbench" {
        return Err(top.error(unknown("kind of model", &kind, &["hackbench"])));
    }
    let mut sources = BTreeMap::new();
    let mut read = |key: &str| -> Result<u64> {
        let known = HACKBENCH.iter().find(|n| n.0 == key);
        let (unit, high) = known.map_or(("", 0), |n| (n.1, n.2));
        let sourced = section.sourced(key, unit, 1..=high)?;
        let value = sourced.value;
        sources.insert(key.to_owned(), sourced);
        Ok(value)
    };
    let model = Hackbench {
        senders: read("senders")?,
        receivers: read("receivers")?,
        message_bytes: read("message_bytes")?,
        capacity_messages: read("capacity_messages")?,
        resume_divisor: read("resume_divisor")?,
    };
    Ok((model, sources))
}

/// The names under `key` are the file's own: each its own table.
fn named(top: &Section, key: &str, keys: &[&str]) -> Result<Vec<(String, Section)>> {
    if !top.has(key) {
        return Ok(Vec::new());
    }
    let section = top.open_section(key)?;
    section.keys().map(|name| Ok((name.to_owned(), section.section(name, keys)?))).collect()
}

fn read_choices(top: &Section) -> Result<Vec<Choice>> {
    let read = |(name, section): (String, Section)| {
        Ok(Choice { name, value: section.text("value")?, default: section.text("default")? })
    };
    named(top, "choices", CHOICE_KEYS)?.into_iter().map(read).collect()
}

fn read_settings(top: &Section) -> Result<Vec<Setting>> {
    let mut out = Vec::new();
    let sections = named(top, "settings", SETTING_KEYS)?;
    let names: Vec<&str> = sections.iter().map(|s| s.0.as_str()).collect();
    for (name, section) in &sections {
        let low = section.whole("low", 0..=MAX_SETTING)?;
        let high = section.whole("high", low..=MAX_SETTING)?;
        let shared_by = section.has("shared_by").then(|| section.text("shared_by")).transpose()?;
        if let Some(by) = shared_by.as_deref().filter(|by| by == name || !names.contains(by)) {
            let others: Vec<&str> = names.iter().copied().filter(|n| n != name).collect();
            let what = format!("setting in {}:", section.name("shared_by"));
            return Err(top.error(unknown(&what, by, &others)));
        }
        let published = section.has("published").then(|| section.whole("published", low..=high));
        out.push(Setting {
            name: name.clone(),
            default: section.whole("default", low..=high)?,
            low,
            high,
            shared_by,
            published: published.transpose()?,
        });
    }
    Ok(out)
}

fn pairs<'a>(word: &str, parts: &[&'a str]) -> Result<Vec<(&'a str, &'a str)>> {
    let mut out: Vec<(&str, &str)> = Vec::new();
    for part in parts {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        if out.iter().any(|p| p.0 == key) {
            let (word, key) = (word.escape_debug(), key.escape_debug());
            return bad(format!("`{word}`: {key} is given twice"));
        }
        out.push((key, value));
    }
    Ok(out)
}

/// The file of bench `name` whose choices are those of the word.
fn pick(word: &str, name: &str, pairs: &[(&str, &str)]) -> Result<WorkloadFile> {
    let all = WorkloadFile::all()?;
    let benches: Vec<&str> = all.iter().map(|f| f.bench.as_str()).collect();
    let valid: Vec<&str> = benches.iter().copied().chain(files::WORKLOADS.names()).collect();
    if !benches.contains(&name) {
        return Err(unknown("workload", name, &valid));
    }
    let ours: Vec<&WorkloadFile> = all.iter().filter(|f| f.bench == name).collect();
    let given = |key: &str| pairs.iter().find(|p| p.0 == key).map(|p| p.1);
    let fits = |file: &&&WorkloadFile| {
        file.choices.iter().all(|c| given(&c.name).unwrap_or(&c.default) == c.value)
    };
    if let Some(file) = ours.iter().find(fits) {
        return Ok((*file).clone());
    }
    if let Some(first) = ours.first() {
        check_keys(word, first, pairs)?;
    }
    let there: Vec<String> = ours.iter().map(|f| format!("`{}`", f.word())).collect();
    let there = there.join(", ");
    let wanted: Vec<String> = ours
        .iter()
        .flat_map(|f| &f.choices)
        .map(|c| (c, given(&c.name).unwrap_or(&c.default)))
        .filter(|(c, value)| c.value != *value)
        .map(|(c, value)| format!("{}={}", c.name, value.escape_debug()))
        .collect();
    let wanted = wanted.join(" ");
    bad(format!("`{}`: no workload file has {wanted}; there is {there}", word.escape_debug()))
}

fn check_keys(word: &str, file: &WorkloadFile, pairs: &[(&str, &str)]) -> Result<()> {
    let choices = file.choices.iter().map(|c| c.name.as_str());
    let known: Vec<&str> = choices.chain(file.settings.iter().map(|s| s.name.as_str())).collect();
    match pairs.iter().find(|p| !known.contains(&p.0)) {
        Some((key, _)) => {
            Err(unknown(&format!("setting in `{}`:", word.escape_debug()), key, &known))
        }
        None => Ok(()),
    }
}

/// A setting's value: the word's, else the default, shared where the file says so.
fn number(word: &str, file: &WorkloadFile, s: &Setting, pairs: &[(&str, &str)]) -> Result<u64> {
    let Some((_, value)) = pairs.iter().find(|p| p.0 == s.name) else {
        let sharer =
            s.shared_by.as_ref().and_then(|by| file.settings.iter().find(|o| o.name == *by));
        let by = sharer.map_or(Ok(1), |other| {
            number(word, file, &Setting { shared_by: None, ..other.clone() }, pairs)
        })?;
        return Ok((s.default / by.max(1)).max(s.low));
    };
    match value.parse::<u64>() {
        Ok(n) if (s.low..=s.high).contains(&n) => Ok(n),
        _ => bad(format!(
            "`{}`: {} takes a whole number from {} to {}, not `{}`",
            word.escape_debug(),
            s.name,
            s.low,
            s.high,
            value.escape_debug()
        )),
    }
}

#[cfg(test)]
mod tests;
