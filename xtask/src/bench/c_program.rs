//! Programs in C that benchmarks build: they share no code with numalab.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::program;

/// Builds a program of this name with the C compiler of this machine, optimised at `level`, such as
/// `-O2`; returns its path.
pub(super) fn build(folder: &Path, name: &str, text: &str, level: &str) -> Result<PathBuf> {
    let (source, built) = (folder.join(format!("{name}.c")), folder.join(name));
    std::fs::write(&source, text).with_context(|| format!("write {}", source.display()))?;
    let [built_word, source_word] = [&built, &source].map(|path| path.display().to_string());
    program::output("cc", &[level, "-o", &built_word, &source_word], folder)?;
    Ok(built)
}
