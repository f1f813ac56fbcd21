//! The record of the machine a run is made on.

use linux::Root;
use model::{ByteSize, Machine, name_last_level_cache};

use crate::failure::Failure;

/// Reads the record of this machine, with the last-level cache that plans are made for if it is not
/// the one that the kernel shows.
pub fn record(last_level_cache: Option<ByteSize>) -> Result<Machine, Failure> {
    let mut topology = numa::topology::read(&Root::live())?;
    let last_level_cache =
        last_level_cache.map(|size| name_last_level_cache(&mut topology.caches, size.0));
    let virtualisation = linux::cpuid::virtualisation();
    topology.hypervisor = virtualisation.hypervisor.clone();
    topology.emulated = virtualisation.emulated;
    let (host, kernel) = linux::process::host_and_kernel();
    Ok(Machine {
        host,
        kernel,
        cpu_model: topology.cpu_model.clone(),
        hypervisor: virtualisation.hypervisor,
        emulated: virtualisation.emulated,
        numalab: env!("CARGO_PKG_VERSION").to_owned(),
        last_level_cache,
        topology,
    })
}

/// Reads the size of a cache from the command line.
pub fn cache_size(text: &str) -> Result<ByteSize, String> {
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
