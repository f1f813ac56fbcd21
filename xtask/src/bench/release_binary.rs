//! The binary as users have it.

use std::path::PathBuf;

use anyhow::Result;

use crate::{program, repository};

/// Builds numalab for release; returns its path.
pub(crate) fn build() -> Result<PathBuf> {
    let words = [
        "build",
        "--release",
        "--locked",
        "--quiet",
        "--package",
        "numalab",
    ];
    program::output("cargo", &words, &repository::root())?;
    Ok(repository::target().join("release/numalab"))
}
