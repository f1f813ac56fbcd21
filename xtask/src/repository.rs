//! Paths in the repository.

use std::path::{Path, PathBuf};

/// Returns the root of the repository.
pub(crate) fn root() -> PathBuf {
    // Cargo sets the variable for `cargo xtask`; the compiled-in path serves a direct start.
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    manifest.parent().unwrap_or(Path::new(".")).to_path_buf()
}

/// Returns the build directory, which holds everything that is generated and not committed.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Returns the directory of what guests need: kernel, busybox, and the files of running guests.
pub(crate) fn guest() -> PathBuf {
    target().join("guest")
}
