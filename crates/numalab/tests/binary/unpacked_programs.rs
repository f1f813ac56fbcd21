//! Programs that tests start and that need not be installed: the whole test unpacks them.

use std::path::{Path, PathBuf};

/// Where the whole test unpacks packages.
pub(crate) const UNPACKED: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/../programs");

/// Looks for a program on the PATH, then in these packages.
pub(crate) fn find(name: &str, packages: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let unpacked = packages.iter();
    let unpacked = unpacked.map(|package| Path::new(UNPACKED).join(package).join("usr/bin"));
    let mut folders = std::env::split_paths(&path).chain(unpacked);
    folders.find_map(|folder| Some(folder.join(name)).filter(|it| it.is_file()))
}
