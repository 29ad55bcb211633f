// SPDX-License-Identifier: GPL-2.0-only
//! Time, what happens next, chance, and a digest of all that happened.

mod digest;
mod queue;
mod random;

pub(crate) use digest::Digest;
pub(crate) use queue::{Slots, NEVER};
pub(crate) use random::Random;

/// Nanoseconds since the simulation began.
pub(crate) type Time = u64;
