// SPDX-License-Identifier: GPL-2.0-only
#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use crate::error::exit_status;

fn bench(word: &str) -> Bench {
    let program = Some(PathBuf::from("/usr/bin/x"));
    let what = parse_what(word).unwrap();
    let own = matches!(what, What::Sleeper { .. } | What::Shares { .. } | What::Invariants { .. });
    Bench { word: word.to_owned(), what, program: program.filter(|_| !own) }
}

#[test]
fn defaults_and_settings_become_arguments() {
    for (word, line) in [
        ("hackbench", "/usr/bin/x -p -P -g 1 -l 200"),
        ("hackbench+transport=socket+groups=4+mode=thread", "/usr/bin/x -T -g 4 -l 50"),
        ("hackbench+groups=1000", "/usr/bin/x -p -P -g 1000 -l 1"),
        ("messaging+transport=pipe+loops=9", "/usr/bin/x bench sched messaging -p -g 1 -l 9"),
        ("pipe", "/usr/bin/x bench sched pipe -l 20000"),
        ("sleeper+hogs=8+fifo=1", "/init sleeper --hogs 8 --fifo --samples 2000"),
        ("sleeper+fifo=1+fifo_us=9", "/init sleeper --hogs 2 --fifo --fifo-us 9 --samples 2000"),
        ("shares", "/init shares --seconds 10"),
        ("shares+hogs=3", "/init shares --seconds 10 --hogs 3"),
        ("churn+seconds=5", "/init churn --seconds 5 --hackbench /usr/bin/x"),
        ("invariants", "/init invariants"),
        ("invariants+only=steal-5", "/init invariants --only steal-5"),
        ("boots", "/usr/bin/x -p -P -g 1 -l 50"),
    ] {
        assert_eq!(bench(word).argv().join(" "), line, "{word}");
    }
    assert_eq!(bench("shares").command_line(), "ballast-guest shares --seconds 10");
}

#[test]
fn pinned_and_masked_steps_are_confined() {
    assert_eq!(bench("pipe").step(None).affinity, None);
    assert_eq!(bench("pipe+pinned=1").step(None).affinity, Some(vec![0]));
    assert_eq!(bench("pipe+pinned=1").step(Some(&[2, 3])).affinity, Some(vec![2]));
    assert_eq!(bench("hackbench").step(Some(&[0])).affinity, Some(vec![0]));
}

#[test]
fn warm_ups_are_shorter() {
    let step = bench("hackbench+loops=50").step(None);
    assert_eq!(step.warmup.unwrap().last().unwrap(), "5");
    assert_eq!(bench("loads+times=3").step(None).warmup, None);
}

#[test]
fn effective_cpus_count_where_tasks_outnumber_cpus() {
    let crowded = |word: &str, cpus| What::parse(word).unwrap().crowded(cpus);
    assert!(crowded("hackbench", 4) && !crowded("hackbench", 64));
    assert!(!crowded("pipe", 1));
    assert!(crowded("sleeper+hogs=2", 1) && !crowded("sleeper+hogs=2", 3));
}

#[test]
fn unknown_words_name_the_nearest_and_exit_2() {
    for (word, near) in [
        ("hackbnech", "`hackbench`"),
        ("sleper+hogs=2", "`sleeper`"),
        ("hackbench+group=4", "`groups`"),
        ("hackbench+transport=sokcet", "`socket`"),
        ("hackbench+mode=threads", "`thread`"),
        ("hackbench+groups=0", "from 1"),
        ("hackbench+groups", "from 1"),
        ("hackbench+groups=1+groups=2", "twice"),
        ("pipe+pinned=2", "from 0 to 1"),
        ("boots+times=3", "no settings"),
        ("shares+hogs=0", "from 1"),
        ("loads+times=-1", "from 1"),
        ("churn+second=5", "`seconds`"),
        ("churn+seconds=0", "from 1"),
        ("invariants+olny=x", "`only`"),
    ] {
        let error = parse_what(word).unwrap_err();
        assert_eq!(exit_status(&error), 2, "{word}");
        let line = error.to_string();
        assert!(line.contains(near) && !line.contains('\n'), "{word}: {line}");
    }
}

#[test]
fn a_command_is_found_or_refused() {
    let sh = Bench::command(&["sh".into(), "-c".into(), "exit 0".into()]).unwrap();
    assert!(sh.argv()[0].ends_with("/sh") && sh.word == "sh -c exit 0");
    for bad in [vec![], vec!["no-such-program-here".to_owned()], vec!["./nope".to_owned()]] {
        assert_eq!(exit_status(&Bench::command(&bad).unwrap_err()), 2);
    }
}
