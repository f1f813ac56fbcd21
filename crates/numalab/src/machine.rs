//! The record of the machine a run is made on.

use experiment::Definition;
use linux::Root;
use model::{ByteSize, Machine, Topology, name_last_level_cache, shrink_last_level_cache};

use crate::failure::Failure;
use crate::{fitness, host};

/// Reads the topology of this machine, with what CPUID says of who runs it.
pub(crate) fn live_topology() -> Result<Topology, linux::Error> {
    let topology = topology::read(&Root::live())?;
    let virtualisation = linux::cpuid::virtualisation();
    Ok(Topology {
        hypervisor: virtualisation.hypervisor.or(topology.hypervisor),
        emulated: virtualisation.emulated,
        ..topology
    })
}

/// Reads the record of this machine. A given size of the last-level cache replaces the one that the
/// kernel shows.
pub(crate) fn record(last_level_cache: Option<ByteSize>) -> Result<Machine, Failure> {
    let mut topology = live_topology()?;
    let last_level_cache =
        last_level_cache.map(|size| name_last_level_cache(&mut topology.caches, size.0));
    let (host, kernel) = linux::process::host_and_kernel();
    Ok(Machine {
        host,
        kernel,
        cpu_model: topology.cpu_model.clone(),
        hypervisor: topology.hypervisor.clone(),
        emulated: topology.emulated,
        numalab: env!("CARGO_PKG_VERSION").to_owned(),
        last_level_cache,
        working_set: None,
        topology,
    })
}

/// Measures the part of the last-level cache that a process gets, if it may be less than the kernel
/// shows and would make memory of the experiment smaller, and plans with it. Where it cannot be
/// measured, and while another numalab measures, plans use the size that the kernel shows. Without
/// a named experiment there are several, and the memory of some depends on the caches.
pub(crate) fn go_by_cache_share(
    machine: &mut Machine,
    named: Option<&Definition>,
) -> Result<(), Failure> {
    let root = Root::live();
    if machine.last_level_cache.is_some()
        || !may_have_a_part(&root, machine)
        || !named.is_none_or(Definition::goes_by_caches)
    {
        return Ok(());
    }
    let host = host::of_this_process(&machine.topology)?;
    if !host.caches_make_memory_larger() {
        return Ok(());
    }
    let measure = || experiment::memory::cache_share(&root, &host);
    let measured = fitness::unless_another_measures(measure);
    // A run without this measurement is as valid; it only takes longer to set up.
    if let Some(Ok(Some(bytes))) = measured {
        machine.last_level_cache = shrink_last_level_cache(&mut machine.topology.caches, bytes);
    }
    Ok(())
}

/// Whether others may use a part of the caches that the kernel shows: neighbours of a guest, or
/// other groups of resctrl. The caches that an emulated machine shows cannot be measured.
fn may_have_a_part(root: &Root, machine: &Machine) -> bool {
    let has_resctrl = || {
        let schemata = root.read_optional("sys/fs/resctrl/schemata");
        matches!(schemata, Ok(Some(_)))
    };
    machine.emulated != Some(true) && (machine.hypervisor.is_some() || has_resctrl())
}

/// Parses the size of a cache on the command line.
pub(crate) fn cache_size(text: &str) -> Result<ByteSize, String> {
    match text.parse::<ByteSize>() {
        Ok(ByteSize(0)) => Err("a cache has more than 0 bytes".to_owned()),
        Ok(size) => Ok(size),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_has_a_size() {
        assert_eq!(cache_size("4 MiB"), Ok(ByteSize(4 << 20)));
        assert_eq!(cache_size("300MiB"), Ok(ByteSize(300 << 20)));
        for wrong in ["0", "0 MiB", "", "-1", "4 parsecs", "99999999999 TiB"] {
            assert!(cache_size(wrong).is_err(), "{wrong}");
        }
    }
}
