// SPDX-License-Identifier: GPL-2.0-only
//! `scx_ballast`: loads the scheduler.

fn main() {}
