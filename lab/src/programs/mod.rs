// SPDX-License-Identifier: GPL-2.0-only
//! Benchmarks of our own that run inside the guest.
