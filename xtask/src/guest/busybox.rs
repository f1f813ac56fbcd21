//! Busybox for the guest: one program that mounts and boots, independent of the host's libraries.

use std::path::PathBuf;

use anyhow::{Context, Result};

use super::packages;
use crate::repository;

/// Returns the statically linked busybox; fetches it if it is missing.
pub(super) fn fetch() -> Result<PathBuf> {
    let directory = repository::guest().join("busybox");
    packages::unpack("busybox-static", &["*/bin/busybox"], &directory)?;
    let candidates = ["bin/busybox", "usr/bin/busybox"].map(|name| directory.join(name));
    let found = candidates.into_iter().find(|path| path.is_file());
    found.with_context(|| format!("{} has no busybox", directory.display()))
}
