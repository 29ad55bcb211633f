// SPDX-License-Identifier: GPL-2.0-only
//! One kind of error: input that is not right.

use std::fmt;

/// One line that names the thing, what is wrong with it and what would be right. A program that
/// gets it ends with status 2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadInput(pub String);

impl fmt::Display for BadInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadInput {}

/// What reading returns.
pub type Result<T> = std::result::Result<T, BadInput>;

/// Shorthand for an error.
pub(crate) fn bad<T>(message: impl Into<String>) -> Result<T> {
    Err(BadInput(message.into()))
}
