// SPDX-License-Identifier: GPL-2.0-only
//! Scheduling classes.

pub(crate) mod cfs420;
