//! This machine, with what only its processor says.

use linux::Root;
use model::{ByteSize, Machine, Topology};

/// Reads the topology of this machine, with what CPUID says of who runs it.
pub(crate) fn live_topology() -> Result<Topology, linux::Error> {
    let topology = topology::read(&Root::live())?;
    let virtualisation = linux::cpuid::virtualisation();
    Ok(Topology {
        hypervisor: virtualisation.hypervisor.or(topology.hypervisor),
        emulated: virtualisation.emulated.or(topology.emulated),
        ..topology
    })
}

/// The record that a run keeps of this machine.
pub(crate) fn record_of(topology: Topology) -> Machine {
    let (host, kernel) = linux::process::host_and_kernel();
    Machine {
        host,
        kernel,
        cpu_model: topology.cpu_model.clone(),
        hypervisor: topology.hypervisor.clone(),
        emulated: topology.emulated,
        numalab: env!("CARGO_PKG_VERSION").to_owned(),
        last_level_cache: None,
        working_set: None,
        topology,
    }
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
