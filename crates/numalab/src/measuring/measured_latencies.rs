//! The latencies that were measured last on this machine, for the doctor's model.

use std::path::Path;

use experiment::memory;
use judgement::doctor::DoctorInput;
use model::{CpuSet, NodeId, Run, Topology};
use store::Store;

use crate::files::state_folder::StateFolder;

/// Takes the latencies that were measured last on this machine, if any were: what firmware says of
/// distances is often not what they are.
pub(crate) fn take_latencies(input: &mut DoctorInput) -> Option<()> {
    // Without a store nothing was measured; one that cannot be read is no reason to say nothing.
    let path = StateFolder::from_environment().ok()?.store();
    let run = newest_latencies(&path).ok()??;
    let machine = run.machine.as_ref()?;
    let same = |it: &Topology| -> Vec<(NodeId, CpuSet)> {
        it.nodes.iter().map(|it| (it.id, it.cpus.clone())).collect()
    };
    let (host, _) = linux::process::host_and_kernel();
    let is_this = machine.host == host && same(&machine.topology) == same(&input.topology);
    // The figures of an emulated machine mean nothing.
    if is_this && machine.emulated != Some(true) {
        input.latencies_by = format!("run {} of {}", run.id, run.started_at);
        input.latencies = memory::latency_result(&[run]).matrix;
    }
    Some(())
}

fn newest_latencies(store: &Path) -> Result<Option<Run>, store::Error> {
    if !store.exists() {
        return Ok(None);
    }
    let store = Store::open_existing(store)?;
    let runs = store.history(RUNS_MAX)?;
    let newest = runs
        .iter()
        .find(|run| run.experiment == memory::names::LATENCY);
    newest.map(|run| store.load(&run.id)).transpose()
}

/// How many runs are looked through for latencies.
const RUNS_MAX: usize = 1_000;
