// SPDX-License-Identifier: GPL-2.0-only
//! Compiles the BPF objects and generates their skeletons.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
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

/// From 0.191 on the static libelf calls zstd, and no crate that we use says so to the linker. As a
/// plain argument the library comes after libelf, where it must stand.
fn link_zstd() {
    let found = Command::new("cc").arg("-print-file-name=libzstd.a").output();
    let path = found.map(|o| String::from_utf8_lossy(&o.stdout).trim().to_owned());
    if let Some(path) = path.ok().filter(|p| Path::new(p).is_absolute()) {
        println!("cargo:rustc-link-arg={path}");
    }
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
    link_zstd();
    println!("cargo:rerun-if-changed=src/bpf");
    println!("cargo:rerun-if-changed={}", policy.display());
    Ok(())
}
