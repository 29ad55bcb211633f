// SPDX-License-Identifier: GPL-2.0-only
//! The second serial port: one JSON line after the other to the host.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;

use anyhow::{Context, Result};

use crate::model::Line;

const DEVICE: &str = "/dev/ttyS1";

/// The open port.
pub struct Port {
    file: File,
}

impl Port {
    /// Opens the port raw, so that nothing is echoed or translated.
    pub fn open() -> Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(DEVICE);
        let file = file.with_context(|| format!("{DEVICE}: cannot open the line to the host"))?;
        // SAFETY: a termios is plain data, filled by tcgetattr before it is used.
        let status = unsafe {
            let mut settings: libc::termios = std::mem::zeroed();
            libc::tcgetattr(file.as_raw_fd(), &mut settings);
            libc::cfmakeraw(&mut settings);
            libc::tcsetattr(file.as_raw_fd(), libc::TCSANOW, &settings)
        };
        if status != 0 {
            return Err(io::Error::last_os_error()).context("/dev/ttyS1: cannot set it raw");
        }
        Ok(Self { file })
    }

    /// Sends one line and waits until it has left.
    pub fn send(&mut self, line: &Line) -> Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        self.file.write_all(text.as_bytes()).context("cannot write to the host")?;
        // SAFETY: tcdrain takes no pointers.
        unsafe { libc::tcdrain(self.file.as_raw_fd()) };
        Ok(())
    }
}
