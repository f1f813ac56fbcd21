//! What the files of the whole machine say at one moment.

use linux::{Root, proc_pressure, proc_vmstat};
use model::{MachineSnapshot, Pressure};

use crate::Error;

/// Pressure stall information; a gap says where the kernel does not count it.
pub(crate) fn pressure(root: &Root, gaps: &mut Vec<String>) -> Result<Pressure, Error> {
    let cpu = proc_pressure::read(root, "cpu")?;
    let memory = proc_pressure::read(root, "memory")?;
    if cpu.is_none() && memory.is_none() {
        gaps.push("pressure unknown: this kernel does not count it (psi=1 turns it on)".to_owned());
    }
    Ok(Pressure {
        cpu_some: cpu.and_then(|stall| stall.some),
        memory_some: memory.and_then(|stall| stall.some),
        memory_full: memory.and_then(|stall| stall.full),
    })
}

/// Counters since boot.
pub(crate) fn counters(root: &Root, steal_s: Option<f64>) -> Result<MachineSnapshot, Error> {
    let vmstat = proc_vmstat::read(root)?;
    Ok(MachineSnapshot {
        steal_s,
        numa_pages_migrated: vmstat.numa_pages_migrated,
        numa_hint_faults: vmstat.numa_hint_faults,
        numa_hint_faults_local: vmstat.numa_hint_faults_local,
        pages_migrated: vmstat.pages_migrated,
    })
}
