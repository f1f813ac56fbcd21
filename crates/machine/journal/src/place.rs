//! What a path in the journal leads to now: only files and directories of the kernel are written by
//! their paths.

use std::path::Path;

use linux::kernel_place::{self, KernelPlace};

use crate::Error;

/// The file system that a path leads into.
///
/// # Errors
/// When it cannot be looked at.
pub fn kernel_place(path: &Path) -> Result<KernelPlace, Error> {
    kernel_place::of(path).map_err(|cause| Error::Folder {
        action: "look at",
        path: path.to_owned(),
        cause,
    })
}

/// Whether a directory is a cgroup, or may have been one before it was removed or unmounted.
///
/// # Errors
/// As [`kernel_place()`].
pub fn is_cgroup(directory: &Path) -> Result<bool, Error> {
    let above = || {
        let parent = directory.parent();
        parent.map_or(Ok(KernelPlace::Gone), kernel_place)
    };
    Ok(match kernel_place(directory)? {
        KernelPlace::ControlGroup => true,
        KernelPlace::Gone => above()? != KernelPlace::Elsewhere,
        KernelPlace::Sysfs | KernelPlace::Elsewhere => false,
    })
}
