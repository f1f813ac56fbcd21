//! `/sys/devices/system/cpu`: the CPUs of the machine and their places in packages and cores
//! (kernel, `Documentation/admin-guide/cputopology.rst` and
//! `Documentation/ABI/testing/sysfs-devices-system-cpu`).

use model::{CpuId, CpuSet, NodeSet};

use crate::directory::Directory;
use crate::each_cpu::of_each;
use crate::sysfs_ids::numbered_entries;
use crate::{Error, Root, affinity, sysfs_ids, sysfs_nodes};

const DIRECTORY: &str = "sys/devices/system/cpu";

/// Holds the directory of all CPUs, to read what each says about itself.
///
/// # Errors
/// When it leads out of the root.
pub fn directories(root: &Root) -> Result<Directory<'_>, Error> {
    Directory::hold(root, DIRECTORY.to_owned())
}

/// The CPUs of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuLists {
    /// CPUs that run.
    pub online: CpuSet,
    /// CPUs that exist but do not run.
    pub offline: CpuSet,
    /// CPUs that the kernel has room for.
    pub possible: Option<CpuSet>,
    /// CPUs that the scheduler avoids (`isolcpus=`).
    pub isolated: Option<CpuSet>,
    /// The source of `online`.
    pub source: CpuSource,
    /// CPUs that `source` lists as running although their own file `online` is 0.
    pub switched_off: CpuSet,
}

/// The source of the list of running CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CpuSource {
    /// The list `online`, which old kernels lack.
    #[default]
    List,
    /// The directories of CPUs.
    Directories,
    /// The lists of nodes.
    Nodes,
}

/// Reads the lists. A CPU runs if it is in the list `online` or, where there is no list, if it has
/// a directory or is in the list of a node; unless its own file `online` is 0. The running kernel
/// keeps both alike, so these files are read where there is no list, and in captures.
///
/// # Errors
/// When a file is malformed, or no CPU runs.
pub fn lists(root: &Root) -> Result<CpuLists, Error> {
    let list = |name: &str| -> Result<Option<CpuSet>, Error> {
        let file = root.read_optional(&format!("{DIRECTORY}/{name}"))?;
        file.map(|file| file.id_list()).transpose()
    };
    let directories: CpuSet = numbered_entries(root, DIRECTORY, "cpu")?;
    let listed = list("online")?.filter(|cpus| !cpus.is_empty() && is_believable(root, cpus));
    let (named, source) = match listed {
        Some(listed) => (listed, CpuSource::List),
        None if directories.is_empty() => (sysfs_nodes::cpus_of_all(root)?, CpuSource::Nodes),
        None => (directories.clone(), CpuSource::Directories),
    };
    let is_kernels = source == CpuSource::List && root.is_live();
    let asked = match is_kernels {
        true => CpuSet::new(),
        false => named.intersection(&directories),
    };
    let held = self::directories(root)?;
    let answers = of_each(&asked, |cpu| is_switched_off(&held, cpu))?;
    let switched_off = answers.into_iter().filter(|(_, is_off)| *is_off);
    let switched_off: CpuSet = switched_off.map(|(cpu, _)| cpu).collect();
    let online = named.difference(&switched_off);
    if online.is_empty() {
        let path = root.path(DIRECTORY);
        return Err(Error::NoCpu { path });
    }
    // CPUs that exist: "possible" also counts empty slots, and "offline" is derived from it.
    let present = list("present")?.unwrap_or_default();
    let present = present.union(&directories).union(&named);
    Ok(CpuLists {
        offline: present.difference(&online),
        online,
        possible: list("possible")?,
        isolated: list("isolated")?,
        source,
        switched_off,
    })
}

/// Container managers may replace the kernel's list by their own, numbered from 0 (LXCFS with
/// `--enable-cfs`). A list that lacks CPUs that this thread may use is not a list of online CPUs.
fn is_believable(root: &Root, listed: &CpuSet) -> bool {
    let own = root.is_live().then(affinity::of_this_thread);
    own.and_then(Result::ok)
        .is_none_or(|own| own.is_subset(listed))
}

/// Whether a CPU's own file `online` is 0. A CPU that cannot be taken offline has none.
fn is_switched_off(cpus: &Directory<'_>, cpu: CpuId) -> Result<bool, Error> {
    let file = cpus.read_optional(&format!("cpu{cpu}/online"))?;
    let is_online: Option<u32> = file.map(|file| file.number()).transpose()?;
    Ok(is_online == Some(0))
}

/// The nodes to which the directory of a CPU has links.
///
/// # Errors
/// When an entry has an impossible number.
pub fn linked_nodes(root: &Root, cpu: CpuId) -> Result<NodeSet, Error> {
    numbered_entries(root, &format!("{DIRECTORY}/cpu{cpu}"), "node")
}

/// The place of one CPU; all unknown for a CPU that is offline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuPosition {
    /// `physical_package_id`.
    pub package: Option<u32>,
    /// The CPUs of the same package, this one included (`package_cpus`, before Linux 5.3
    /// `core_siblings`). [`position`] reads it only where the package has no number.
    pub package_cpus: Option<CpuSet>,
    /// `die_id`.
    pub die: Option<u32>,
    /// The CPUs of the same die, this one included (`die_cpus`). Read only where neither package
    /// nor die has a number.
    pub die_cpus: Option<CpuSet>,
    /// `core_id`.
    pub core: Option<u32>,
    /// The CPUs of the same core, this one included (`thread_siblings`, since Linux 5.3 also
    /// `core_cpus`).
    pub core_cpus: Option<CpuSet>,
}

/// Reads the place of a CPU of [`directories`].
///
/// # Errors
/// When a file is malformed.
pub fn position(cpus: &Directory<'_>, cpu: CpuId) -> Result<CpuPosition, Error> {
    let directory = format!("cpu{cpu}/topology/");
    let read = |name: &str| cpus.read_optional(&[&directory, name].concat());
    let number = |name: &str| -> Result<Option<u32>, Error> {
        let file = read(name)?;
        Ok(file
            .map(|file| file.number_or_unknown())
            .transpose()?
            .flatten())
    };
    // A set without the CPU itself is not usable.
    let set = |lists: &[&str], masks: &[&str]| -> Result<Option<CpuSet>, Error> {
        let set = sysfs_ids::id_set(read, lists, masks)?;
        Ok(set.filter(|cpus: &CpuSet| cpus.contains(cpu)))
    };
    let (package, die) = (number("physical_package_id")?, number("die_id")?);
    Ok(CpuPosition {
        package,
        package_cpus: match package {
            Some(_) => None,
            None => package_cpus(cpus, cpu)?,
        },
        die,
        die_cpus: match package.or(die) {
            Some(_) => None,
            None => set(&["die_cpus_list"], &["die_cpus"])?,
        },
        core: number("core_id")?,
        // All kernels so far have the old names, and to ask for a name in vain takes time, too.
        core_cpus: set(
            &["thread_siblings_list", "core_cpus_list"],
            &["thread_siblings", "core_cpus"],
        )?,
    })
}

/// The CPUs of the package of a CPU of [`directories`], this one included; `None` where no file
/// says so.
///
/// # Errors
/// When a file is malformed.
pub fn package_cpus(cpus: &Directory<'_>, cpu: CpuId) -> Result<Option<CpuSet>, Error> {
    let read = |name: &str| cpus.read_optional(&format!("cpu{cpu}/topology/{name}"));
    let set: Option<CpuSet> = sysfs_ids::id_set(
        read,
        &["package_cpus_list", "core_siblings_list"],
        &["package_cpus", "core_siblings"],
    )?;
    Ok(set.filter(|cpus| cpus.contains(cpu)))
}

/// The frequency governor of a CPU of [`directories`]; `None` without cpufreq (kernel,
/// `Documentation/admin-guide/pm/cpufreq.rst`).
///
/// # Errors
/// When the file is malformed.
pub fn governor(cpus: &Directory<'_>, cpu: CpuId) -> Result<Option<String>, Error> {
    let file = cpus.read_optional(&format!("cpu{cpu}/cpufreq/scaling_governor"))?;
    file.map(|file| file.name().map(str::to_owned)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpus_of_this_thread_are_online() {
        let own = affinity::of_this_thread().unwrap();
        let lists = lists(&Root::live()).unwrap();
        assert!(own.is_subset(&lists.online), "{own} {lists:?}");
        assert!(is_believable(&Root::live(), &own));
        assert!(!is_believable(&Root::live(), &CpuSet::of(CpuId(60_000))));
    }

    #[test]
    fn the_list_of_a_captured_machine_is_believed() {
        let directory = tempfile::tempdir().unwrap();
        let root = Root::at(directory.path()).unwrap();
        assert!(is_believable(&root, &CpuSet::of(CpuId(60_000))));
    }
}
