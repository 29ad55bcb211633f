// SPDX-License-Identifier: GPL-2.0-only
#![allow(clippy::unwrap_used)]
use super::*;

const KEYS: &[&str] = &["text", "number", "list", "figure"];

fn read(text: &str) -> Result<Section> {
    Section::parse("f.toml", text, KEYS)
}

fn figure(text: &str) -> String {
    let top = read(&format!("figure = {text}")).unwrap();
    match top.sourced("figure", "ns", 0..=100) {
        Ok(sourced) => format!("{} from {}", sourced.value, sourced.source),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_is_not_toml_is_one_line_with_its_place() {
    for (text, place) in
        [("text = \n", "line 1:"), ("\n\ntext = 1\ntext = 2", "line 4:"), ("[", "line 1:")]
    {
        let line = read(text).unwrap_err().to_string();
        assert!(line.starts_with(&format!("f.toml: {place} not TOML: ")), "{line}");
        assert!(!line.contains('\n'), "{line}");
    }
}

#[test]
fn unknown_keys_get_the_nearest() {
    let line = read("numbre = 1").unwrap_err().to_string();
    assert_eq!(
        line,
        "f.toml: unknown key `numbre`: the nearest is `number` (valid: text number list figure)"
    );
    let line = read("\"a\\nb\" = 1").unwrap_err().to_string();
    assert!(line.contains("`a\\nb`") && !line.contains('\n'), "{line}");
}

#[test]
fn texts_are_one_line_and_not_empty() {
    assert_eq!(read("text = 'x'").unwrap().text("text").unwrap(), "x");
    for bad in ["''", "' '", "\"a\\nb\"", "1", "['x']"] {
        let line = read(&format!("text = {bad}")).unwrap().text("text").unwrap_err().to_string();
        assert!(line.starts_with("f.toml: text = ") && !line.contains('\n'), "{line}");
    }
    let line = read("").unwrap().text("text").unwrap_err().to_string();
    assert_eq!(line, "f.toml: text is missing: give a text of one line that is not empty");
    assert_eq!(read("list = ['a', 'b']").unwrap().texts("list").unwrap(), ["a", "b"]);
    for bad in ["[]", "['a', 1]", "[\"\\n\"]", "'a'"] {
        read(&format!("list = {bad}")).unwrap().texts("list").unwrap_err();
    }
}

#[test]
fn whole_numbers_are_bounded() {
    for (text, value) in [("0", Some(0)), ("9", Some(9)), ("10", None), ("-1", None), ("1.0", None)]
    {
        let top = read(&format!("number = {text}")).unwrap();
        assert_eq!(top.whole("number", 0..=9).ok(), value, "{text}");
    }
    let line = read("number = 10").unwrap().whole("number", 0..=9).unwrap_err().to_string();
    assert_eq!(line, "f.toml: number = 10: give a whole number from 0 to 9");
}

#[test]
fn figures_have_a_range_and_a_source() {
    assert_eq!(figure("{ value = 15, source = 's' }"), "15 from s");
    assert_eq!(figure("{ value = 0, source = 's' }"), "0 from s");
    assert_eq!(figure("{ value = 100, source = 's' }"), "100 from s");
    for (text, says) in [
        ("{ value = -5, source = 's' }", "figure.value = -5: give a whole number from 0 to 100 ("),
        ("{ value = 101, source = 's' }", "figure.value = 101: give a whole number from 0 to 100"),
        ("{ value = 1.5, source = 's' }", "figure.value = 1.5: give a whole number from 0 to 10"),
        ("{ value = nan, source = 's' }", "figure.value = NaN: give a whole number from 0 to 10"),
        ("{ value = 'x', source = 's' }", "figure.value = \"x\": give a whole number from 0 to 1"),
        ("{ source = 's' }", "figure.value is missing: give a whole number from 0 to 100 (ns)"),
        ("{ value = 1 }", "figure.source is missing: give where the figure comes from"),
        ("{ value = 1, source = '' }", "figure.source = \"\": give where the figure comes from"),
        ("{ value = 1, sourc = 's' }", "unknown key in figure `sourc`: the nearest is `source`"),
        ("5", "figure = 5: give { value = …, source = \"…\" }"),
        ("{ value = 1, source = 's', derived_from = '' }", "figure.derived_from = \"\": give a"),
        ("{ value = 1, source = 's', derived_from = ['time'] }", "figure.derived_from = a list: g"),
        ("{ value = 1, source = 's', derived_from = ['a at b c'] }", "figure.derived_from = a li"),
    ] {
        let line = figure(text);
        assert!(line.starts_with(&format!("f.toml: {says}")), "{line}");
    }
    let top = read("figure = { value = 1, source = 's', derived_from = ['time at 1', 'a at 2'] }");
    let derived = top.unwrap().sourced("figure", "ns", 0..=1).unwrap().derived_from;
    assert_eq!(derived, [BaseCell::new("time", "1"), BaseCell::new("a", "2")]);
    assert_eq!(BaseCell::words(&derived).unwrap(), "baseline's time at 1, a at 2");
    assert_eq!(BaseCell::words(&[]), None);
    let line = read("").unwrap().sourced("figure", "ns", 0..=1).unwrap_err().to_string();
    assert!(line.starts_with("f.toml: figure is missing: give { value"), "{line}");
}
