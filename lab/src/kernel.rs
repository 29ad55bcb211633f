// SPDX-License-Identifier: GPL-2.0-only
//! Empty room: kernel.

use std::path::PathBuf;

/// A kernel that guests boot.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// `uname -r`.
    pub release: String,
    /// The image.
    pub vmlinuz: PathBuf,
    /// SHA-256 of the image.
    pub digest: String,
    /// Package and version, or the path.
    pub origin: String,
}
