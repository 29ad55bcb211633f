// SPDX-License-Identifier: GPL-2.0-only
#![allow(clippy::unwrap_used)]
use super::*;
use crate::files::WORKLOADS;

const NAME: &str = "hackbench-process-socket";

fn error(word: &str) -> String {
    let line = Workload::find(word).unwrap_err().to_string();
    assert!(!line.contains('\n'), "{line}");
    line
}

#[test]
fn a_word_picks_the_file_and_sets_its_numbers() {
    for (word, groups, loops) in [
        ("hackbench+transport=socket", 1, 200),
        ("hackbench+transport=socket+groups=8", 8, 25),
        ("hackbench+groups=8+mode=process+transport=socket+loops=7", 8, 7),
        ("hackbench+transport=socket+groups=1000", 1000, 1),
        (NAME, 1, 200),
        ("hackbench-process-socket+groups=4+transport=socket", 4, 50),
    ] {
        let workload = Workload::find(word).unwrap();
        assert_eq!(workload.file.name, NAME);
        assert_eq!(workload.get("groups"), Some(groups), "{word}");
        assert_eq!(workload.get("loops"), Some(loops), "{word}");
        assert_eq!(workload.get("senders"), None);
        assert_eq!(workload.command_line(), format!("hackbench -P -g {groups} -l {loops}"));
        let published = format!("hackbench {groups} process {loops}");
        assert_eq!(workload.published_command_line(), Some(published));
    }
}

#[test]
fn the_model_is_the_documented_one() {
    let workload = Workload::find(NAME).unwrap();
    let model = Hackbench {
        senders: 20,
        receivers: 20,
        message_bytes: 100,
        capacity_messages: 278,
        resume_divisor: 4,
    };
    assert_eq!(workload.file.model, model);
    assert_eq!(workload.file.settings[1].published, Some(100_000));
    assert_eq!(workload.file.word(), "hackbench+transport=socket");
    assert_eq!(workload.file.sources.len(), HACKBENCH.len());
}

#[test]
fn wrong_words_are_named() {
    for (word, says) in [
        ("hackbnech", "unknown workload `hackbnech`: the nearest is `hackbench`"),
        ("hackbench", "`hackbench`: no workload file has transport=pipe; there is `hackbench+tr"),
        ("hackbench+groups=2+mode=thread+transport=socket", "`hackbench+groups=2+mode=thread"),
        ("hackbench+gruops=2", "unknown setting in `hackbench+gruops=2`: `gruops`: the nearest is"),
        ("hackbench-process-socket+loop=2", "unknown setting in `hackbench-process-socket+loop=2"),
        ("hackbench-process-socket+transport=pipe", "`hackbench-process-socket+transport=pipe`: t"),
        (
            "hackbench-process-socket+groups=0",
            "`hackbench-process-socket+groups=0`: groups takes a whole number from 1 to 1000, not",
        ),
        ("hackbench-process-socket+groups", "`hackbench-process-socket+groups`: groups takes a wh"),
        ("hackbench-process-socket+groups=-1", "`hackbench-process-socket+groups=-1`: groups take"),
        ("hackbench-process-socket+groups=1+groups=2", "`hackbench-process-socket+groups=1+groups"),
        ("hackbench+transport=socket+", "unknown setting in `hackbench+transport=socket+`: ``"),
        ("./no-such.toml+groups=2", "./no-such.toml: cannot read this workload file"),
        ("a\nb", "unknown workload `a\\nb`: the nearest is"),
    ] {
        let line = error(word);
        assert!(line.starts_with(says), "{line}");
    }
    assert!(error("hackbench-process-socket+groups=1+groups=2").contains("given twice"));
    assert!(error("hackbench-process-socket+transport=pipe").contains("transport is `socket` in"));
    let thread = error("hackbench+groups=2+mode=thread+transport=socket");
    assert!(thread.contains("has mode=thread; there is"), "{thread}");
}

#[test]
fn a_users_file_is_read_by_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml").to_string_lossy().into_owned();
    std::fs::write(&path, WORKLOADS.files[0].1.replace("value = 278", "value = 100")).unwrap();
    let workload = Workload::find(&format!("{path}+groups=2")).unwrap();
    assert_eq!((workload.file.name.as_str(), workload.get("groups")), ("mine", Some(2)));
    assert_eq!(workload.file.model.capacity_messages, 100);
}

#[test]
fn files_that_are_wrong_are_named() {
    let text = WORKLOADS.files[0].1;
    for (from, to, says) in [
        ("title =", "titel =", "unknown key `titel`: the nearest is `title`"),
        ("bench =", "command2 =", "unknown key `command2`: the nearest is `command`"),
        ("title = ", "#", "title is missing"),
        ("\ncommand = ", "\n#", "command is missing: give a list of texts"),
        ("\"{loops}\"", "\"{lops}\"", "unknown setting in a command: `lops`: the nearest is"),
        ("kind = \"hackbench\"", "kind = \"pipe\"", "unknown kind of model `pipe`"),
        ("senders = {", "sender = {", "unknown key in model `sender`: the nearest is `senders`"),
        ("value = 278", "value = 0", "model.capacity_messages.value = 0: give a whole number f"),
        ("value = 278", "value = 1.5", "model.capacity_messages.value = 1.5: give a whole number"),
        ("low = 1, high = 1000 ", "low = 1 ", "settings.groups.high is missing"),
        ("high = 1000 ", "high = 0 ", "settings.groups.high = 0: give a whole number from 1"),
        ("default = 200", "default = 0", "settings.loops.default = 0: give a whole number from 1"),
        ("\"groups\"", "\"group\"", "unknown setting in settings.loops.shared_by: `group`"),
        ("\"groups\"", "\"loops\"", "unknown setting in settings.loops.shared_by: `loops`"),
        ("published = 100000", "published = 0", "settings.loops.published = 0"),
        ("mode = {", "groups = {", "groups is a choice and a setting: keep one"),
        ("default = \"pipe\"", "defualt = \"pipe\"", "unknown key in choices.transport `defualt`"),
    ] {
        let wrong = text.replacen(from, to, 1);
        assert_ne!(wrong, text, "{from}");
        let line = WorkloadFile::parse("w.toml", &wrong).unwrap_err().to_string();
        assert!(line.starts_with(&format!("w.toml: {says}")), "{line}");
        assert!(!line.contains('\n'), "{line}");
    }
}
