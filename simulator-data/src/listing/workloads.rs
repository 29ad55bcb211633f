// SPDX-License-Identifier: GPL-2.0-only
//! Workloads, as a list and one by one.

use serde::Serialize;

use super::{Asked, Listing};
use crate::error::Result;
use crate::report::text::wrap;
use crate::workload::{Workload, WorkloadFile};

/// Body of `workload list`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Workloads {
    workloads: Vec<Outline>,
}

/// Body of `workload show`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OneWorkload {
    #[serde(flatten)]
    outline: Outline,
    source: String,
    settings: Vec<SettingEntry>,
    bench_command: String,
    published_command: Option<String>,
    model: Vec<ModelEntry>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct Outline {
    workload: String,
    word: String,
    title: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct SettingEntry {
    name: String,
    value: u64,
    low: u64,
    high: u64,
    published: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct ModelEntry {
    name: String,
    value: u64,
    source: String,
}

impl Outline {
    fn of(file: &WorkloadFile) -> Self {
        Self { workload: file.name.clone(), word: file.word(), title: file.title.clone() }
    }
}

/// All of Ballast's own workloads.
pub fn workload_list(asked: Asked) -> Result<Listing<Workloads>> {
    let files = WorkloadFile::all()?;
    let mut text = String::new();
    for file in &files {
        text.push_str(&wrap(&format!("{}: ", file.name), "    ", &file.title));
        let names: Vec<String> =
            file.settings.iter().map(|s| format!("{} ({} to {})", s.name, s.low, s.high)).collect();
        let words = format!("{}, settings {}", file.word(), names.join(" "));
        text.push_str(&wrap("    word: ", "    ", &words));
    }
    let workloads = files.iter().map(Outline::of).collect();
    Ok(Listing { text, document: asked.document(Workloads { workloads }) })
}

/// One workload with the numbers that its word sets.
pub fn workload_show(word: &str, asked: Asked) -> Result<Listing<OneWorkload>> {
    let workload = Workload::find(word)?;
    let file = &workload.file;
    let mut text = wrap(&format!("{}: ", file.name), "    ", &file.title);
    text.push_str(&wrap("  word: ", "    ", &file.word()));
    text.push_str(&wrap("  source: ", "    ", &file.source));
    text.push_str(&wrap("  command: ", "    ", &workload.command_line()));
    if let Some(published) = workload.published_command_line() {
        text.push_str(&wrap("  as published: ", "    ", &published));
    }
    text.push_str("\nsettings\n");
    let mut settings = Vec::new();
    for s in &file.settings {
        let value = workload.get(&s.name).unwrap_or(s.default);
        let published = s.published.map(|p| format!("; published tables: {p}"));
        let range = format!("{} to {}{}", s.low, s.high, published.unwrap_or_default());
        text.push_str(&wrap(&format!("  {} = {value}: ", s.name), "      ", &range));
        let (name, low, high) = (s.name.clone(), s.low, s.high);
        settings.push(SettingEntry { name, value, low, high, published: s.published });
    }
    text.push_str("\nmodel\n");
    let mut model = Vec::new();
    for (name, sourced) in &file.sources {
        let first = format!("  {name} = {}: ", sourced.value);
        text.push_str(&wrap(&first, "      ", &sourced.source));
        let (name, source) = (name.clone(), sourced.source.clone());
        model.push(ModelEntry { name, value: sourced.value, source });
    }
    let body = OneWorkload {
        outline: Outline::of(file),
        source: file.source.clone(),
        settings,
        bench_command: workload.command_line(),
        published_command: workload.published_command_line(),
        model,
    };
    Ok(Listing { text, document: asked.document(body) })
}
