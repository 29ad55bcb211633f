// SPDX-License-Identifier: GPL-2.0-only
#![allow(clippy::unwrap_used)]
use super::*;

const HEAD: &str = r#"{"schema":1,"ballast":"v","command":["ballast"],"seed":null,"note":"no seed"#;

fn with_command<T>(ask: impl Fn(Asked) -> T) -> T {
    ask(Asked { ballast: "v", command: &["ballast".to_owned()] })
}

/// The document as a value, after checks that hold for all.
fn checked<T: Serialize>(listing: &Listing<T>) -> serde_json::Value {
    let json = serde_json::to_string(&listing.document).unwrap();
    assert!(json.starts_with(HEAD), "{json}");
    for line in listing.text.lines() {
        assert!(line.chars().count() <= 100 && line == line.trim_end(), "{line}");
    }
    serde_json::from_str(&json).unwrap()
}

#[test]
fn machines_are_listed() {
    let listing = with_command(machine_list).unwrap();
    let json = checked(&listing);
    assert_eq!(json["machines"][0]["machine"], "e5-2630v4");
    assert_eq!(json["machines"][1]["cpus"], 40);
    assert!(
        listing.text.contains("\ne5-2630v4-2s    40     20     2      2\n"),
        "{}",
        listing.text
    );
}

#[test]
fn a_machine_is_shown_with_every_source() {
    let listing = with_command(|a| machine_show("e5-2630v4-2s", a)).unwrap();
    let json = checked(&listing);
    assert_eq!((&json["machine"], &json["llcs"]), (&"e5-2630v4-2s".into(), &2.into()));
    assert_eq!(json["places"].as_array().unwrap().len(), 40);
    assert_eq!(json["places"][31]["core"], 11);
    assert_eq!(json["costs"].as_array().unwrap().len(), crate::costs::COSTS.len());
    assert_eq!(json["costs"][1]["value"], 39);
    let cores = "\n  node 0 LLC 0: 0+20 1+21 2+22 3+23 4+24 5+25 6+26 7+27 8+28 9+29\n  node 1 LLC 1: 10+30 ";
    assert!(listing.text.contains(cores), "{}", listing.text);
    assert!(listing.text.contains("  ipi_ns = 1000 ns: from kicking a CPU"), "{}", listing.text);
    with_command(|a| machine_show("e5-2630v", a)).unwrap_err();
}

#[test]
fn workloads_are_listed_and_shown() {
    let json = checked(&with_command(workload_list).unwrap());
    assert_eq!(json["workloads"][0]["word"], "hackbench+transport=socket");
    let word = "hackbench+transport=socket+groups=8";
    let listing = with_command(|a| workload_show(word, a)).unwrap();
    let json = checked(&listing);
    assert_eq!(json["bench_command"], "hackbench -P -g 8 -l 25");
    assert_eq!(json["published_command"], "hackbench 8 process 25");
    assert_eq!(json["settings"][1]["published"], 100_000);
    assert_eq!(json["model"].as_array().unwrap().len(), 5);
    assert!(listing.text.contains("  groups = 8: 1 to 1000\n  loops = 25: "), "{}", listing.text);
    assert!(listing.text.contains("  capacity_messages = 278: "), "{}", listing.text);
    with_command(|a| workload_show("hackbench", a)).unwrap_err();
}
