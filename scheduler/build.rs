// SPDX-License-Identifier: GPL-2.0-only
//! Compiles the BPF objects and generates their skeletons.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{ensure, Context, Result};
use libbpf_cargo::SkeletonBuilder;

/// The BPF compiler: `$CLANG`, else the newest of the names that distributions use.
fn clang() -> PathBuf {
    println!("cargo:rerun-if-env-changed=CLANG");
    if let Some(named) = env::var_os("CLANG") {
        return named.into();
    }
    ["clang-19", "clang-18", "clang-17"]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success()))
        .unwrap_or("clang")
        .into()
}

/// What static libelfs need and no crate that we use gives the linker: zstd where they were built
/// with it, and `src/libelf.c`. As plain arguments both are linked into every program of ours.
fn complete_libelf(out: &Path) -> Result<()> {
    let found = Command::new("cc").arg("-print-file-name=libzstd.a").output()?;
    let zstd = String::from_utf8_lossy(&found.stdout).trim().to_owned();
    if Path::new(&zstd).is_absolute() {
        println!("cargo:rustc-link-arg={zstd}");
    }
    let object = out.join("libelf.o");
    let compiled = Command::new("cc")
        .args(["-O2", "-fPIE", "-Wall", "-Wextra", "-Werror", "-c", "-o"])
        .arg(&object)
        .arg("src/libelf.c")
        .status()?;
    ensure!(compiled.success(), "cc could not compile src/libelf.c");
    println!("cargo:rustc-link-arg={}", object.display());
    println!("cargo:rerun-if-changed=src/libelf.c");
    Ok(())
}

fn main() -> Result<()> {
    let out = PathBuf::from(env::var_os("OUT_DIR").context("cargo sets OUT_DIR")?);
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").context("cargo sets it")?);
    let repository = root.parent().context("the crate lies in the repository")?;
    let policy = repository.join("policy");
    for (source, skeleton) in [("main.bpf.c", "ballast_skel.rs"), ("null.bpf.c", "null_skel.rs")] {
        SkeletonBuilder::new()
            .source(Path::new("src/bpf").join(source))
            .clang(clang())
            .clang_args([
                "-mcpu=v3",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-Wno-unused-parameter",
                "-D__TARGET_ARCH_x86",
                &format!("-I{}", policy.display()),
                // The same bytes wherever the repository lies: paths end up in the BTF.
                &format!("-ffile-prefix-map={}/=", repository.display()),
            ])
            .build_and_generate(out.join(skeleton))
            .with_context(|| format!("building {source}"))?;
    }
    let target = env::var("TARGET").context("cargo sets TARGET")?.replace('-', "_");
    println!("cargo:rustc-env=BALLAST_TARGET={target}");
    complete_libelf(&out)?;
    println!("cargo:rerun-if-changed=src/bpf");
    println!("cargo:rerun-if-changed={}", policy.display());
    Ok(())
}
