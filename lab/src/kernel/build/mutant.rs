// SPDX-License-Identifier: GPL-2.0-only
//! A change planted on top of the patches: a defect that a test must find.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Result;

use super::diff::{self, Files, Read};
use super::tree;
use crate::error::Failure;

/// A patch, or a sed script whose comments name its file: `# in: kernel/sched/fair.c`.
pub struct Mutant {
    path: PathBuf,
    name: String,
    text: Vec<u8>,
}

impl Mutant {
    /// Reads one.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read(path)
            .map_err(|e| Failure::usage(format!("--mutant {}: {e}", path.display())))?;
        let stem = path.file_stem().unwrap_or_default();
        Ok(Self { path: path.to_path_buf(), name: stem.to_string_lossy().into_owned(), text })
    }

    /// The file's name without its end.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it does.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Changes `files`; what is not among them comes from the source.
    pub fn plant(&self, files: &mut Files, source: &Path) -> Result<()> {
        let read = |name: &str| tree::read(&source.join(name)).map_err(|e| e.to_string());
        let planted = match self.target() {
            None => diff::apply(&self.text, files, &read).map(|_| ()),
            Some(name) => self.edit(&name, files, &read),
        };
        planted.map_err(|why| Failure::usage(format!("--mutant {}: {why}", self.path.display())))
    }

    fn target(&self) -> Option<String> {
        let text = String::from_utf8_lossy(&self.text);
        let comments = text.lines().take_while(|line| line.starts_with('#'));
        comments.filter_map(|line| line.strip_prefix("# in: ")).next().map(|n| n.trim().to_string())
    }

    fn edit(&self, name: &str, files: &mut Files, read: Read) -> Result<(), String> {
        let before = match files.get(name) {
            Some(known) => known.clone(),
            None => read(name)?,
        };
        let before = before.ok_or_else(|| format!("changes {name}, which is not there"))?;
        let after = sed(&self.path, &before).map_err(|e| format!("sed: {e}"))?;
        if after == before {
            return Err(format!("changes nothing in {name}"));
        }
        files.insert(name.to_string(), Some(after));
        Ok(())
    }
}

fn sed(script: &Path, before: &[u8]) -> Result<Vec<u8>, String> {
    let mut sed = Command::new("sed");
    sed.arg("-f").arg(script).env("LC_ALL", "C");
    sed.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = sed.spawn().map_err(|e| e.to_string())?;
    let mut input = child.stdin.take();
    let output = std::thread::scope(|scope| {
        // A script that stops reading early is its own affair.
        scope.spawn(move || input.as_mut().map(|input| input.write_all(before)));
        child.wait_with_output()
    });
    let output = output.map_err(|e| e.to_string())?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => {
            let text = String::from_utf8_lossy(&output.stderr);
            Err(text.lines().next().unwrap_or("it failed").to_string())
        }
    }
}
