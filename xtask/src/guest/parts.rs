//! What a guest is made of, fetched where it is missing.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use anyhow::Result;

use super::architecture::Architecture;
use super::kernel::{self, Kernel};
use super::packages;
use crate::arguments::GuestKernel;

/// Programs that scripts in guests call, with their packages: a guest has the host's /usr.
const CALLED_BY_SCRIPTS: [(&str, &str); 3] = [
    ("numactl", "numactl"),
    ("/usr/bin/python3", "python3"),
    ("strace", "strace"),
];

/// Fetches what every guest needs, one guest at a time: two that start at once would fetch the same
/// files to the same place.
pub(super) fn fetch(kernel: GuestKernel) -> Result<Parts> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let architecture = Architecture::of(kernel);
    if architecture == Architecture::Amd64 {
        for (name, package) in CALLED_BY_SCRIPTS {
            packages::require_program(name, package)?;
        }
    }
    Ok(Parts {
        emulator: architecture.emulator()?,
        kernel: kernel::fetch(kernel)?,
        busybox: architecture.busybox()?,
        root: architecture.root()?,
    })
}

/// What a guest is made of.
pub(super) struct Parts {
    /// The emulator.
    pub emulator: PathBuf,
    /// Its kernel.
    pub kernel: Kernel,
    /// What prepares it.
    pub busybox: PathBuf,
    /// The folder that is its root.
    pub root: PathBuf,
}
