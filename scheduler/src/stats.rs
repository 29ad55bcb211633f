// SPDX-License-Identifier: GPL-2.0-only
//! Counters: what they are called, how they are printed, and the socket that hands them out.
//!
//! A running scx_ballast listens on [`SOCKET`]; each connection gets one line of JSON,
//! `{"counters": {"steals": N, ...}}`, cumulative since it was loaded, and is closed.

use std::fmt::Write as _;
use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Where a running scx_ballast hands out its counters.
pub const SOCKET: &str = "/run/ballast/scx_ballast.sock";

/// Each counter's name and meaning, in the order of `struct ballast_counters`.
pub const COUNTERS: &[(&str, &str)] = &[
    ("direct", "wake-ups put straight on a CPU that was claimed idle"),
    ("preempts", "wake-ups that preempt the running task"),
    ("pinned", "pinned wakees put behind the running task without a queue"),
    ("queued", "tasks put in a queue"),
    ("own", "tasks dispatched from a queue of the own CPU"),
    ("kept", "turns that ended with the running task still the earliest"),
    ("steals", "tasks taken from another CPU's queue"),
    ("misses", "visits to another CPU's queue that took nothing"),
    ("kicks", "idle CPUs woken for a queued task"),
    ("rekicks", "times that a CPU going idle met a task on its way into a queue"),
    ("moves", "tasks that arrived from another CPU"),
    ("rebase_violations", "of these, lag changed by over a slice; must stay 0"),
];

/// One reading of all counters, in their order.
pub type Counters = [u64; COUNTERS.len()];

/// What the socket sends.
#[derive(Debug, Serialize, Deserialize)]
pub struct Document {
    /// By name, cumulative.
    pub counters: BTreeMap<String, u64>,
}

impl From<&Counters> for Document {
    fn from(values: &Counters) -> Self {
        let counters = COUNTERS.iter().zip(values).map(|((name, _), v)| ((*name).into(), *v));
        Self { counters: counters.collect() }
    }
}

/// The increase since an earlier reading, one line, counters without any left out.
pub fn line(now: &Counters, before: &Counters) -> String {
    let mut text = String::new();
    for ((name, _), (a, b)) in COUNTERS.iter().zip(now.iter().zip(before)) {
        if a > b {
            let _ = write!(text, "{name} {}  ", a - b);
        }
    }
    if text.is_empty() {
        text.push_str("nothing to schedule");
    }
    text.trim_end().to_owned()
}

/// What `--help-stats` prints.
pub fn help() -> String {
    COUNTERS.iter().fold(String::new(), |mut text, (name, meaning)| {
        let _ = writeln!(text, "{name:<18} {meaning}");
        text
    })
}

/// Answers one client. A client that went away is no error of ours.
pub fn answer(mut client: UnixStream, values: &Counters) {
    let _ = client.set_write_timeout(Some(Duration::from_secs(1)));
    if let Ok(mut text) = serde_json::to_string(&Document::from(values)) {
        text.push('\n');
        let _ = client.write_all(text.as_bytes());
    }
}

/// Asks a running scx_ballast.
pub fn ask(socket: &Path) -> Result<Counters> {
    let mut stream = UnixStream::connect(socket)
        .with_context(|| format!("no scx_ballast is running ({})", socket.display()))?;
    let mut text = String::new();
    stream.read_to_string(&mut text).context("reading its counters")?;
    let document: Document = serde_json::from_str(&text).context("reading its counters")?;
    let mut values = [0; COUNTERS.len()];
    for ((name, _), value) in COUNTERS.iter().zip(&mut values) {
        *value = document.counters.get(*name).copied().unwrap_or(0);
    }
    Ok(values)
}

/// Prints what a running scx_ballast does, every so many seconds, until it ends.
pub fn monitor(socket: &Path, every: Duration) -> Result<()> {
    let mut before = ask(socket)?;
    loop {
        std::thread::sleep(every);
        let Ok(now) = ask(socket) else { return Ok(()) };
        writeln!(io::stdout(), "{}", line(&now, &before))?;
        before = now;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_line_shows_increases_only() {
        let mut now = [0; COUNTERS.len()];
        assert_eq!(line(&now, &now), "nothing to schedule");
        now[6] = 5;
        let mut before = now;
        before[6] = 2;
        assert_eq!(line(&now, &before), "steals 3");
    }

    #[test]
    fn the_socket_hands_out_what_was_counted() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        let mut values = [0; COUNTERS.len()];
        for (i, v) in values.iter_mut().enumerate() {
            *v = i as u64 * 3;
        }
        let server = std::thread::spawn(move || answer(listener.accept().unwrap().0, &values));
        assert_eq!(ask(&path).unwrap(), values);
        server.join().unwrap();
    }
}
