// SPDX-License-Identifier: GPL-2.0-only
//! The lab: boots real kernels in throw-away guests, runs benchmarks under several schedulers and
//! compares them with proper statistics.

pub mod agent;
pub mod apt;
pub mod bench;
pub mod btf;
pub mod cache;
pub mod check;
pub mod compare;
pub mod emulator;
pub mod error;
pub mod image;
pub mod kernel;
pub mod model;
pub mod programs;
pub mod progress;
pub mod report;
pub mod run;
pub mod sched;
pub mod stats;
pub mod tracer;
pub mod whole;
pub mod words;
