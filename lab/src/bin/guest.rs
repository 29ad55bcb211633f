// SPDX-License-Identifier: GPL-2.0-only
//! The guest's init and its benchmarks, in one static program.

fn main() {}
