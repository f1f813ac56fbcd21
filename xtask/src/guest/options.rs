//! The options of a boot, checked.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::shape::{self, Shape};
use crate::arguments::{BootArguments, CgroupVersion, GuestKernel};

/// The name of the tests of the binary in guests.
pub(crate) const TESTS: &str = "numalab-tests";

/// One boot: which machine, and how.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// The machine.
    pub shape: &'static Shape,
    /// The guest is killed after this time.
    pub timeout: Duration,
    /// The guest ends when a command takes longer, and tells what its processes were doing.
    pub command_timeout: Duration,
    /// Memory in MiB of each node that has memory, instead of the shape's own.
    pub memory_mib: Option<u32>,
    /// A directory of the host that the guest may write.
    pub share: Option<PathBuf>,
    /// Programs of the host that are put into the guest's PATH under their file names.
    pub binaries: Vec<PathBuf>,
    /// The tests of the binary, put into the guest's PATH as [`TESTS`].
    pub tests: Option<PathBuf>,
    /// The cgroup version.
    pub cgroup: CgroupVersion,
    /// The kernel.
    pub kernel: GuestKernel,
    /// An archive that goes before the initial RAM disk.
    pub early_initrd: Option<PathBuf>,
    /// Hardware virtualisation instead of emulation.
    pub kvm: bool,
    /// More words for the kernel command line.
    pub append: String,
}

impl Options {
    /// Returns the default options for a shape.
    pub(crate) fn of(shape: &'static Shape) -> Self {
        Self {
            shape,
            timeout: Duration::from_secs(300),
            command_timeout: Duration::MAX,
            memory_mib: None,
            share: None,
            binaries: Vec::new(),
            tests: None,
            cgroup: CgroupVersion::V2,
            kernel: GuestKernel::Stable,
            early_initrd: None,
            kvm: false,
            append: String::new(),
        }
    }

    /// Returns the options of the command line.
    pub(crate) fn from_arguments(shape: &str, arguments: &BootArguments) -> Result<Self> {
        let shape = shape::find(shape)?;
        let share = arguments
            .share
            .as_ref()
            .map(|share| {
                let path = share
                    .canonicalize()
                    .with_context(|| format!("cannot share {}", share.display()))?;
                if !path.is_dir() {
                    bail!("cannot share {}: it is not a directory", path.display());
                }
                Ok(path)
            })
            .transpose()?;
        Ok(Self {
            timeout: Duration::from_secs(arguments.timeout),
            memory_mib: arguments.memory,
            share,
            binaries: Vec::new(),
            cgroup: arguments.cgroup,
            kernel: arguments.kernel,
            kvm: arguments.kvm,
            append: arguments.append.clone().unwrap_or_default(),
            ..Self::of(shape)
        })
    }
}
