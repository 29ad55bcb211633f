// SPDX-License-Identifier: GPL-2.0-only
//! Packs kernel/ and the policy's headers into the program, so that no path is looked for when it
//! runs: writes a Rust table of names and `include_bytes!` for `src/kernel/build/recipe.rs`. The
//! files are copied beside it and named without a folder: a path of the checkout in the source
//! would give other programs in another folder.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The files of a folder whose names end so, by name; names as well as contents are watched.
fn files(folder: &Path, end: &str) -> io::Result<Vec<PathBuf>> {
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(end) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// One row of a table: the file's name and its bytes.
fn row(table: &mut String, path: &Path, out: &Path) -> io::Result<()> {
    println!("cargo:rerun-if-changed={}", path.display());
    let name = path.file_name().unwrap_or_default();
    fs::copy(path, out.join(name))?;
    let name = name.to_string_lossy();
    let _ = writeln!(table, "    ({name:?}, include_bytes!({name:?})),");
    Ok(())
}

fn table(name: &str, paths: &[PathBuf], out: &Path) -> io::Result<String> {
    let mut table = format!("const {name}: &[(&str, &[u8])] = &[\n");
    paths.iter().try_for_each(|path| row(&mut table, path, out))?;
    Ok(table + "];\n")
}

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("..");
    let kernel = root.join("kernel");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let text = table("PATCHES", &files(&kernel.join("patches"), ".patch")?, &out)?
        + &table("CONFIGS", &["config", "config.debug"].map(|name| kernel.join(name)), &out)?
        + &table("POLICY", &files(&root.join("policy"), ".h")?, &out)?;
    fs::write(out.join("kernel_files.rs"), text)
}
