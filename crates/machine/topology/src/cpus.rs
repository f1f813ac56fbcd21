//! What each CPU says about itself, read in one pass: on a machine with many CPUs a pass starts
//! threads, and the first milliseconds of a thread often pass before a CPU takes it.

use std::collections::BTreeMap;

use linux::each_cpu::of_each;
use linux::sysfs_caches::{self, CpuCache};
use linux::sysfs_cpus::{self, CpuPosition};
use linux::{Error, Root};
use model::{CpuId, CpuSet};

/// What the CPUs of a machine say about themselves, by kind.
#[derive(Default)]
pub(crate) struct Cpus {
    pub(crate) positions: BTreeMap<CpuId, CpuPosition>,
    /// `None` for a CPU without a frequency governor.
    pub(crate) governors: BTreeMap<CpuId, Option<String>>,
    /// In the kernel's order.
    pub(crate) caches: BTreeMap<CpuId, Vec<CpuCache>>,
}

/// Reads what every CPU in `online` says.
pub(crate) fn read(root: &Root, online: &CpuSet) -> Result<Cpus, Error> {
    let held = sysfs_cpus::directories(root)?;
    let read = |cpu: CpuId| {
        let position = sysfs_cpus::position(&held, cpu)?;
        let governor = sysfs_cpus::governor(&held, cpu)?;
        Ok((position, governor, sysfs_caches::read(&held, cpu)?))
    };
    let mut cpus = Cpus::default();
    for (cpu, (position, governor, caches)) in of_each(online, read)? {
        cpus.positions.insert(cpu, position);
        cpus.governors.insert(cpu, governor);
        cpus.caches.insert(cpu, caches);
    }
    Ok(cpus)
}
