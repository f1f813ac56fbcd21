//! The record of the machine a run is made on.

use linux::Root;
use model::Machine;

use crate::failure::Failure;

/// Reads the record of this machine.
pub fn record() -> Result<Machine, Failure> {
    let mut topology = numa::topology::read(&Root::live())?;
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
        topology,
    })
}
