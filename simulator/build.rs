// SPDX-License-Identifier: GPL-2.0-only
//! Compiles policy/ with the simulator's accessors: one C file.

fn main() {
    for file in ["base.h", "idle.h", "policy.h", "sparsemask.h", "state.h", "steal.h", "topology.h"]
    {
        println!("cargo:rerun-if-changed=../policy/{file}");
    }
    println!("cargo:rerun-if-changed=src/policy/host.c");
    println!("cargo:rerun-if-changed=src/policy/host.h");
    cc::Build::new()
        .file("src/policy/host.c")
        .include("../policy")
        .std("gnu11")
        .flag("-Wall")
        .flag("-Wextra")
        .flag("-Werror")
        .compile("ballast_policy");
}
