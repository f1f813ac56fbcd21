//! `/sys/devices/system/cpu`: which CPUs there are and where in packages and cores they sit
//! (kernel, `Documentation/admin-guide/cputopology.rst` and
//! `Documentation/ABI/testing/sysfs-devices-system-cpu`).

use model::{CpuId, CpuSet};

use crate::numbered_entries::numbered_entries;
use crate::{Error, Root};

pub(crate) const DIRECTORY: &str = "sys/devices/system/cpu";

/// The lists of CPUs that the kernel keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuLists {
    /// CPUs that run.
    pub online: CpuSet,
    /// CPUs that exist and do not run.
    pub offline: CpuSet,
    /// CPUs that the kernel has room for.
    pub possible: Option<CpuSet>,
    /// CPUs that the scheduler leaves alone (`isolcpus=`).
    pub isolated: Option<CpuSet>,
}

/// Reads the lists. Without the file `online`, every CPU that has a directory is taken to run.
///
/// # Errors
/// When a list is malformed, or there is no CPU at all.
pub fn lists(root: &Root) -> Result<CpuLists, Error> {
    let list = |name: &str| -> Result<Option<CpuSet>, Error> {
        let file = root.read_optional(&format!("{DIRECTORY}/{name}"))?;
        file.map(|file| file.id_list()).transpose()
    };
    let directories: CpuSet = numbered_entries(root, DIRECTORY, "cpu")?;
    let online = if directories.is_empty() || list("online")?.is_some() {
        let file = root.read(&format!("{DIRECTORY}/online"))?;
        let online: CpuSet = file.id_list()?;
        if online.is_empty() {
            return Err(file.malformed(1, "at least one CPU", file.word()));
        }
        online
    } else {
        directories.clone()
    };
    // What exists: "possible" also counts slots that are empty, and "offline" is made from it.
    let present = list("present")?.unwrap_or_default().union(&directories);
    Ok(CpuLists {
        offline: present.difference(&online),
        online,
        possible: list("possible")?,
        isolated: list("isolated")?,
    })
}

/// Where one CPU sits; all unknown for a CPU that is offline.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct CpuPosition {
    /// `physical_package_id`.
    pub package: Option<u32>,
    /// `die_id`.
    pub die: Option<u32>,
    /// `core_id`.
    pub core: Option<u32>,
    /// The CPUs of the same core, this one included (`core_cpus_list`, before Linux 5.3
    /// `thread_siblings_list`).
    pub siblings: Option<CpuSet>,
}

/// Reads where a CPU sits.
///
/// # Errors
/// When a file is malformed.
pub fn position(root: &Root, cpu: CpuId) -> Result<CpuPosition, Error> {
    let read = |name: &str| root.read_optional(&format!("{DIRECTORY}/cpu{cpu}/topology/{name}"));
    let number = |name: &str| -> Result<Option<u32>, Error> {
        Ok(read(name)?
            .map(|file| file.number_or_unknown())
            .transpose()?
            .flatten())
    };
    let siblings = match read("core_cpus_list")? {
        Some(file) => Some(file),
        None => read("thread_siblings_list")?,
    };
    Ok(CpuPosition {
        package: number("physical_package_id")?,
        die: number("die_id")?,
        core: number("core_id")?,
        siblings: siblings.map(|file| file.id_list()).transpose()?,
    })
}

/// The frequency governor of a CPU; `None` without cpufreq (kernel,
/// `Documentation/admin-guide/pm/cpufreq.rst`).
///
/// # Errors
/// When the file is malformed.
pub fn governor(root: &Root, cpu: CpuId) -> Result<Option<String>, Error> {
    let path = format!("{DIRECTORY}/cpu{cpu}/cpufreq/scaling_governor");
    let file = root.read_optional(&path)?;
    file.map(|file| file.name().map(str::to_owned)).transpose()
}
