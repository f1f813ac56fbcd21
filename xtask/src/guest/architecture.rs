//! The processors of guests, and what differs between their machines.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::packages;
use crate::arguments::GuestKernel;
use crate::{cross, package};

/// The processor of a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Architecture {
    /// That of this machine: the guest's root is this machine's.
    Amd64,
    /// Another one: the guest's root has a busybox of that architecture, and nothing else.
    Arm64,
}

impl Architecture {
    /// Returns that of a kernel.
    pub(crate) fn of(kernel: GuestKernel) -> Self {
        match kernel {
            GuestKernel::Stable | GuestKernel::Backports | GuestKernel::Oldstable => Self::Amd64,
            GuestKernel::Arm64 | GuestKernel::Arm64In16k => Self::Arm64,
        }
    }

    /// Returns the emulator, and installs it if it is missing.
    pub(super) fn emulator(self) -> Result<PathBuf> {
        match self {
            Self::Amd64 => packages::require_program("qemu-system-x86_64", "qemu-system-x86"),
            Self::Arm64 => packages::require_program("qemu-system-aarch64", "qemu-system-arm"),
        }
    }

    /// Returns a busybox that runs there.
    pub(super) fn busybox(self) -> Result<PathBuf> {
        match self {
            Self::Amd64 => packages::busybox(),
            Self::Arm64 => cross::busybox(),
        }
    }

    /// Returns the folder that is the guest's root.
    pub(super) fn root(self) -> Result<PathBuf> {
        match self {
            Self::Amd64 => Ok(PathBuf::from("/")),
            Self::Arm64 => cross::root(),
        }
    }

    /// The console of its kernel.
    pub(super) fn console(self) -> &'static str {
        match self {
            Self::Amd64 => "ttyS0",
            Self::Arm64 => "ttyAMA0",
        }
    }

    /// QEMU's machine.
    pub(super) fn machine(self) -> &'static str {
        match self {
            Self::Amd64 => "q35",
            Self::Arm64 => "virt,gic-version=3",
        }
    }

    /// The processor that is emulated. An Intel vendor makes the kernel read the topology leaves
    /// that QEMU fills; with `max` alone it sees an AMD CPU without threads. What is off here only
    /// slows down emulation: five-level page tables, "fast" copies (`rep movsb` is a loop over
    /// bytes there, and took four times as long to clear a page), and guarded access to the memory
    /// of programs. So does the usual way to sign pointers.
    pub(super) fn processor(self) -> &'static str {
        match self {
            Self::Amd64 => "max,la57=off,erms=off,smap=off,vendor=GenuineIntel",
            Self::Arm64 => "max,pauth-impdef=on",
        }
    }

    /// Returns the numalab that runs there, if it is built.
    pub(super) fn numalab(self, target: &Path) -> Option<PathBuf> {
        let built = match self {
            Self::Amd64 => vec![target.join("release/numalab"), target.join("debug/numalab")],
            Self::Arm64 => vec![package::Machine::Arm64.program()],
        };
        built.into_iter().find(|path| path.is_file())
    }
}
