// SPDX-License-Identifier: GPL-2.0-only
//! Compiles policy/ with the simulator's accessors: one C file.

use std::env;

fn main() {
    for file in ["base.h", "idle.h", "policy.h", "sparsemask.h", "state.h", "steal.h", "topology.h"]
    {
        println!("cargo:rerun-if-changed=../policy/{file}");
    }
    println!("cargo:rerun-if-changed=src/policy/host.c");
    println!("cargo:rerun-if-changed=src/policy/host.h");
    let mut build = cc::Build::new();
    build
        .file("src/policy/host.c")
        .include("../policy")
        .std("gnu11")
        .flag("-Wall")
        .flag("-Wextra")
        .flag("-Werror");
    // A compiler and flags for this file alone: scripts/test/simulated.sh shows that no decision
    // depends on them. CC and CFLAGS would have libbpf compiled anew as well.
    println!("cargo:rerun-if-env-changed=BALLAST_POLICY_CC");
    let words = env::var("BALLAST_POLICY_CC").unwrap_or_default();
    let mut words = words.split_whitespace();
    if let Some(compiler) = words.next() {
        build.compiler(compiler);
    }
    for flag in words {
        build.flag(flag);
    }
    build.compile("ballast_policy");
}
