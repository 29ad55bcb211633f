// SPDX-License-Identifier: GPL-2.0-only
//! The simulator's data, and what is made of its figures: machine and workload files, the published
//! tables, and the report that sets simulated figures beside published ones and judges them.
//!
//! Nothing here simulates, and nothing here reads a clock or draws a number: the same input gives
//! the same text.

pub mod costs;
pub mod error;
pub mod figure;
pub mod files;
pub mod listing;
pub mod machine;
pub mod published;
pub mod reader;
pub mod report;
pub mod words;
pub mod workload;
