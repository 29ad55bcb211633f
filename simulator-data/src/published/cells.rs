// SPDX-License-Identifier: GPL-2.0-only
//! Reads the cells of a published table: CSV with known columns, each row a comparison.

use std::collections::HashMap;

use super::{Better, Cell, Load};
use crate::error::{bad, BadInput, Result};
use crate::figure::Printed;
use crate::words::unknown;

/// Columns of every table.
const COLUMNS: &[&str] = &[
    "machine",
    "bench",
    "variant",
    "x",
    "metric",
    "unit",
    "better",
    "base",
    "new",
    "sd_base_pct",
    "sd_new_pct",
    "gain_pct",
    "primary",
    "mechanism",
    "judged",
    "load",
    "note",
];
/// A row by column name, with its place for messages.
struct Row<'a> {
    place: String,
    fields: HashMap<&'static str, &'a str>,
}

impl Row<'_> {
    fn text(&self, column: &str) -> String {
        self.fields.get(column).map_or(String::new(), |text| (*text).to_owned())
    }

    fn wrong<T>(&self, column: &str, right: &str) -> Result<T> {
        let text = self.text(column);
        bad(format!("{}: {column} = `{}`: give {right}", self.place, text.escape_debug()))
    }

    fn word(&self, column: &str) -> Result<String> {
        let text = self.text(column);
        match text.is_empty() {
            true => self.wrong(column, "a name"),
            false => Ok(text),
        }
    }

    fn one_of<T: Copy>(&self, column: &str, words: &[(&str, T)]) -> Result<T> {
        let text = self.text(column);
        match words.iter().find(|w| w.0 == text) {
            Some(word) => Ok(word.1),
            None => {
                let valid: Vec<&str> = words.iter().map(|w| w.0).collect();
                self.wrong(column, &valid.join(" or "))
            }
        }
    }

    fn printed(&self, column: &str) -> Result<Printed> {
        Printed::read(&self.text(column)).map_or_else(|| self.wrong(column, "a number"), Ok)
    }

    fn maybe(&self, column: &str) -> Result<Option<f64>> {
        match self.text(column).is_empty() {
            true => Ok(None),
            false => self.printed(column).map(|p| Some(p.value)),
        }
    }

    fn cell(&self) -> Result<Cell> {
        let flag = |column| self.one_of(column, &[("0", false), ("1", true)]);
        let directions =
            [("lower", Better::Lower), ("higher", Better::Higher), ("none", Better::None)];
        Ok(Cell {
            machine: self.word("machine")?,
            bench: self.word("bench")?,
            variant: self.word("variant")?,
            x: self.word("x")?,
            metric: self.word("metric")?,
            unit: self.text("unit"),
            better: self.one_of("better", &directions)?,
            base: self.printed("base")?,
            new: self.printed("new")?,
            sd_base_pct: self.maybe("sd_base_pct")?,
            sd_new_pct: self.maybe("sd_new_pct")?,
            gain_pct: self.maybe("gain_pct")?,
            primary: flag("primary")?,
            mechanism: flag("mechanism")?,
            judged: flag("judged")?,
            load: self.one_of("load", &[("saturated", Load::Saturated), ("low", Load::Low)])?,
            note: self.text("note"),
        })
    }
}

/// Reads the text of `file`, which stands in messages.
pub fn read(file: &str, text: &str) -> Result<Vec<Cell>> {
    let not_csv = |e: csv::Error| BadInput(format!("{file}: not CSV: {e}"));
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let head = reader.headers().map_err(not_csv)?.clone();
    if let Some(column) = head.iter().find(|c| !COLUMNS.contains(c)) {
        return bad(format!("{file}: {}", unknown("column", column, COLUMNS)));
    }
    if let Some(column) = COLUMNS.iter().find(|c| head.iter().filter(|h| h == *c).count() != 1) {
        return bad(format!("{file}: column {column}: give it once"));
    }
    let mut cells: Vec<Cell> = Vec::new();
    for record in reader.records() {
        let record = record.map_err(not_csv)?;
        let line = record.position().map_or(0, csv::Position::line);
        let known = |c: &str| COLUMNS.iter().copied().find(|k| *k == c);
        let fields = head.iter().zip(&record).filter_map(|(c, f)| Some((known(c)?, f))).collect();
        let row = Row { place: format!("{file} line {line}"), fields };
        let cell = row.cell()?;
        let same = |c: &Cell| {
            c.machine == cell.machine
                && c.bench == cell.bench
                && c.variant == cell.variant
                && c.x == cell.x
                && c.metric == cell.metric
        };
        if cells.iter().any(same) {
            return bad(format!("{}: {} at x = {} stands twice", row.place, cell.metric, cell.x));
        }
        cells.push(cell);
    }
    match cells.is_empty() {
        true => bad(format!("{file}: no cells: give at least one")),
        false => Ok(cells),
    }
}
