//! `numalab doctor --keep`: stores what the doctor found, with the machine, so that machines can be
//! compared.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::Zoned;
use judgement::doctor::DoctorInput;
use linux::{Root, machine_identity};
use model::{Diagnosis, KeptDiagnosis, LiveMeasured, LiveRun, Machine, RunStatus, Topology};
use store::Store;

use crate::arguments::doctor::DoctorArguments;
use crate::failure::Failure;
use crate::measuring::{machine, run_id};
use crate::output;

/// Stores a diagnosis.
pub(crate) fn keep(
    arguments: &DoctorArguments,
    root: &Root,
    input: &DoctorInput,
    diagnosis: &Diagnosis,
) -> Result<(), Failure> {
    let kept = KeptDiagnosis {
        target: arguments.target.clone(),
        diagnosis: diagnosis.clone(),
        identity: machine_identity::read(root)?,
        memory_modules: modules(input),
    };
    let mut store = Store::open_patiently(arguments.store.place()?)?;
    let now = Zoned::now();
    let run = LiveRun {
        id: run_id::claim(&mut store, &now)?,
        label: None,
        started_at: run_id::rfc_3339(&now),
        status: RunStatus::Settled,
        machine: machine_of(root, arguments.root.as_deref(), input.topology.clone())?,
        measured: LiveMeasured::Doctor(Box::new(kept)),
    };
    store.put_live(&run)?;
    output::talk(&format!("stored as {}: numalab show {}", run.id, run.id));
    Ok(())
}

/// This machine, or a captured one: named by its files, or else by the name of the capture.
fn machine_of(root: &Root, named: Option<&Path>, topology: Topology) -> Result<Machine, Failure> {
    let record = machine::record_of(topology);
    let Some(path) = named else {
        return Ok(record);
    };
    let (host, kernel) = machine_identity::host_and_kernel(root)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.split('.').next().unwrap_or_default().to_owned();
    Ok(Machine {
        host: host.unwrap_or(name),
        kernel: kernel.unwrap_or_else(|| "unknown".to_owned()),
        ..record
    })
}

/// Modules by size.
fn modules(input: &DoctorInput) -> Option<BTreeMap<u64, u32>> {
    let mut modules = BTreeMap::new();
    for slot in input.memory_slots.as_ref()? {
        match slot.bytes? {
            0 => {}
            bytes => *modules.entry(bytes).or_default() += 1,
        }
    }
    Some(modules)
}
