// SPDX-License-Identifier: GPL-2.0-only
//! Progress on standard error: one line rewritten in place on a terminal, elsewhere nothing but
//! what takes minutes.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;

/// Says what is going on; safe to share between threads.
pub struct Progress {
    shown: AtomicBool,
    width: Mutex<usize>,
}

impl Progress {
    /// Shows progress when standard error is a terminal.
    pub fn new() -> Self {
        let hidden = Self::hidden();
        hidden.show();
        hidden
    }

    /// Shows nothing before [`Progress::show`]: for work behind other work that has the line.
    pub fn hidden() -> Self {
        Self { shown: AtomicBool::new(false), width: Mutex::new(0) }
    }

    /// From now on shows progress, when standard error is a terminal.
    pub fn show(&self) {
        self.shown.store(io::stderr().is_terminal(), Ordering::Relaxed);
    }

    fn is_shown(&self) -> bool {
        self.shown.load(Ordering::Relaxed)
    }

    /// Replaces the current line. Errors in writing to a terminal are not worth stopping for.
    pub fn set(&self, text: &str) {
        if !self.is_shown() {
            return;
        }
        let mut width = self.width.lock().unwrap_or_else(|e| e.into_inner());
        let text: String = text.chars().take(99).collect();
        let _ = write!(io::stderr(), "\r{text:<pad$}", pad = *width);
        let _ = io::stderr().flush();
        *width = text.chars().count();
    }

    /// Begins something that takes a while: told in a line of its own where there is no terminal.
    pub fn phase(&self, text: &str) {
        self.set(text);
        if !io::stderr().is_terminal() {
            eprintln!("ballast: {text}");
        }
    }

    /// Says something that stays, terminal or not.
    pub fn note(&self, text: &str) {
        self.clear();
        eprintln!("ballast: {text}");
    }

    /// Wipes the current line, so that a report can follow.
    pub fn clear(&self) {
        if !self.is_shown() {
            return;
        }
        let mut width = self.width.lock().unwrap_or_else(|e| e.into_inner());
        let _ = write!(io::stderr(), "\r{:pad$}\r", "", pad = *width);
        let _ = io::stderr().flush();
        *width = 0;
    }
}

impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
}
