// SPDX-License-Identifier: GPL-2.0-only
//! Tells the program which commit it was built from.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=BALLAST_COMMIT");
    let given = std::env::var("BALLAST_COMMIT").ok().filter(|c| !c.is_empty());
    let commit = given.or_else(|| git(&["rev-parse", "--short=12", "HEAD"]));
    // The log of HEAD changes with every commit and every switch of branch.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo:rerun-if-changed={log}");
    }
    let commit = commit.unwrap_or_else(|| "unknown".to_owned());
    println!("cargo:rustc-env=BALLAST_VERSION={}+{commit}", env!("CARGO_PKG_VERSION"));
}

fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok().filter(|o| o.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
