// SPDX-License-Identifier: GPL-2.0-only
#![allow(clippy::unwrap_used)]
use super::*;
use crate::files::{MACHINES, WORKLOADS};

fn steal() -> Table {
    Table::find("steal-hackbench").unwrap()
}

#[test]
fn the_stealing_table_is_whole() {
    let table = steal();
    assert_eq!(table.cells.len(), 40);
    assert_eq!(table.points(), ["1", "2", "3", "4", "8"]);
    assert_eq!(
        table.metrics(),
        ["time", "busy_pct", "slice", "sched", "idle", "wake", "find_pct", "steal"]
    );
    // Sums over all rows of the published columns, taken from the mail's own table.
    let sums = |metric: &str| {
        let cells = table.cells.iter().filter(|c| c.metric == metric);
        cells.fold((0.0, 0.0), |s, c| (s.0 + c.base.value, s.1 + c.new.value))
    };
    let near = |a: (f64, f64), b: (f64, f64)| (a.0 - b.0).abs() + (a.1 - b.1).abs() < 1e-6;
    assert!(near(sums("time"), (114.755, 101.361)), "{:?}", sums("time"));
    assert!(near(sums("busy_pct"), (435.53, 495.35)), "{:?}", sums("busy_pct"));
    assert_eq!(sums("sched"), (1_512_404.0, 777_517.0));
    assert_eq!(sums("idle"), (443_128.0, 17_754.0));
    assert_eq!(sums("wake"), (1_069_093.0, 759_586.0));
    assert_eq!(sums("steal"), (0.0, 119_146.0));
    let judged: Vec<&Cell> = table.cells.iter().filter(|c| c.judged).collect();
    assert_eq!(judged.len(), 5);
    assert!(judged.iter().all(|c| c.metric == "time" && c.primary && c.mechanism));
    let gains: Vec<Option<f64>> = judged.iter().map(|c| c.gain_pct).collect();
    assert_eq!(gains, [Some(36.14), Some(20.89), Some(15.78), Some(12.33), Some(7.63)]);
    let saturated = table.cells.iter().filter(|c| c.load == Load::Saturated);
    assert!(saturated.map(|c| c.x.as_str()).all(|x| x == "4" || x == "8"));
    let slice = &table.cell("slice", "1").unwrap().base;
    assert_eq!((slice.text.as_str(), slice.decimals), ("0.10", 2));
}

#[test]
fn published_gains_are_those_of_the_cells() {
    for cell in steal().cells {
        let ours = cell.better.gain_pct(cell.base.value, cell.new.value);
        let rounded = ours.map(|g| (g * 100.0).round() / 100.0);
        assert_eq!(rounded, cell.gain_pct, "{} {}", cell.metric, cell.x);
    }
    assert_eq!(Better::Higher.gain_pct(100.0, 110.0).map(f64::round), Some(10.0));
    assert_eq!(Better::Lower.gain_pct(1.0, 0.0), None);
    assert_eq!(Better::None.gain_pct(1.0, 2.0), None);
}

#[test]
fn an_experiment_names_files_that_are_there() {
    let table = steal();
    assert!(MACHINES.names().contains(&table.experiment.machine.as_str()));
    assert!(WORKLOADS.names().contains(&table.experiment.workload.as_str()));
    assert!(table.cells.iter().all(|c| c.machine == table.experiment.machine));
    assert!(table.cells.iter().all(|c| c.bench == table.experiment.workload));
    for metric in &table.experiment.not_judged {
        assert!(table.metrics().contains(&metric.as_str()), "{metric}");
    }
    assert_eq!(table.patched("STEAL"), "cfs-4.20+STEAL");
    assert_eq!(table.patched("SIS_LIMIT NO_SIS_CORE"), "cfs-4.20+SIS_LIMIT+NO_SIS_CORE");
    let line = Table::find("steal-hackbnech").unwrap_err().to_string();
    assert!(line.starts_with("unknown table `steal-hackbnech`: the nearest is `steal-hackbench`"));
}

#[test]
fn the_baseline_has_no_patched_figure() {
    let table = steal();
    let baseline = table.baseline();
    assert_eq!(baseline.get("time", "8"), Some(47.832));
    assert_eq!(baseline.get("time", "16"), None);
    assert_eq!(baseline.largest_x(), Some("8"));
    let mut other = table.clone();
    for cell in &mut other.cells {
        cell.new = Printed::read("1").unwrap();
    }
    assert_eq!(other.baseline(), baseline);
}

#[test]
fn tables_that_are_wrong_are_named() {
    let (_, csv, toml) = TABLES[0];
    for (from, to, says) in [
        (",x,metric", ",y,metric", "unknown column `y`: the nearest is `x`"),
        (",x,metric", ",unit,metric", "column x: give it once"),
        ("8.084", "8.0.84", " line 2: base = `8.0.84`: give a number"),
        ("8.084", "", " line 2: base = ``: give a number"),
        ("lower", "lwoer", " line 2: better = `lwoer`: give lower or higher or none"),
        (",1,1,1,low", ",1,1,2,low", " line 2: judged = `2`: give 0 or 1"),
        (",1,1,1,low", ",1,1,1,", " line 2: load = ``: give saturated or low"),
        ("STEAL,1,busy_pct", "STEAL,1,time", " line 3: time at x = 1 stands twice"),
        ("e5-2630v4,hackbench-process-socket,STEAL,1,busy_pct,%", "e5", "not CSV"),
    ] {
        let wrong = csv.replacen(from, to, 1);
        assert_ne!(wrong, csv, "{from}");
        let line = Table::parse("t", &wrong, toml).unwrap_err().to_string();
        assert!(line.starts_with("published/t.csv"), "{line}");
        assert!(line.contains(says) && !line.contains('\n'), "{line}");
    }
    let head = csv.lines().next().unwrap();
    let line = Table::parse("t", head, toml).unwrap_err().to_string();
    assert_eq!(line, "published/t.csv: no cells: give at least one");
    let line = Table::parse("t", csv, &toml.replacen("kernel", "kernle", 1)).unwrap_err();
    assert!(line.to_string().starts_with("published/t.toml: unknown key `kernle`"), "{line}");
}
