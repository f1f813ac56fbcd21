//! The latencies and bandwidths that were measured last on this machine, for the doctor's model.

use std::path::Path;

use experiment::memory;
use judgement::doctor::DoctorInput;
use model::{CpuSet, NodeId, NodeSet, Run, Topology};
use store::Store;

use crate::files::state_folder::StateFolder;

/// Takes the latencies and the bandwidths that were measured last on this machine, if any were:
/// what firmware says of distances is often not what they are, and of bandwidth it says nothing.
pub(crate) fn take_measured(input: &mut DoctorInput) {
    // Without a store nothing was measured; one that cannot be read is no reason to say nothing.
    let newest = |experiment: &str, input: &DoctorInput| {
        let path = StateFolder::from_environment().ok()?.store();
        let run = newest_run(&path, experiment).ok()??;
        is_of(&run, &input.topology).then_some(run)
    };
    if let Some(run) = newest(memory::names::LATENCY, input) {
        input.latencies_by = format!("run {} of {}", run.id, run.started_at);
        input.latencies = memory::latency_result(&[run]).matrix;
    }
    if let Some(run) = newest(memory::names::BANDWIDTH, input) {
        take_bandwidths(input, run);
    }
}

/// Takes bandwidths as weights, by the CPUs that the target may use.
fn take_bandwidths(input: &mut DoctorInput, run: Run) -> Option<()> {
    let by = format!("run {} of {}", run.id, run.started_at);
    let matrix = memory::bandwidth_result(&[run])?.matrix;
    let measured: NodeSet = matrix.cpu_nodes().iter().copied().collect();
    let processes = input.residency.iter().flat_map(|it| &it.processes);
    let used: NodeSet = processes.flat_map(|it| it.nodes_of_cpus.iter()).collect();
    let cpu_nodes = match used.intersection(&measured) {
        none if none.is_empty() => measured,
        used => used,
    };
    let nodes = input.topology.memory_nodes();
    let weights = firmware::from_bandwidths(&by, &matrix, &cpu_nodes, &nodes).ok()?;
    let rows = weights.nodes.iter();
    input.bandwidth_weights = rows.map(|row| (row.node, row.weight.into())).collect();
    input.bandwidths_by = by;
    Some(())
}

/// Whether a run is of this machine. The figures of an emulated one mean nothing.
fn is_of(run: &Run, topology: &Topology) -> bool {
    let Some(machine) = &run.machine else {
        return false;
    };
    let same = |it: &Topology| -> Vec<(NodeId, CpuSet)> {
        it.nodes.iter().map(|it| (it.id, it.cpus.clone())).collect()
    };
    let (host, _) = linux::process::host_and_kernel();
    let is_this = machine.host == host && same(&machine.topology) == same(topology);
    is_this && machine.emulated != Some(true)
}

fn newest_run(store: &Path, experiment: &str) -> Result<Option<Run>, store::Error> {
    if !store.exists() {
        return Ok(None);
    }
    let store = Store::open_existing(store)?;
    let runs = store.history(RUNS_MAX)?;
    let newest = runs.iter().find(|run| run.experiment == experiment);
    newest.map(|run| store.load(&run.id)).transpose()
}

/// How many runs are looked through.
const RUNS_MAX: usize = 1_000;
