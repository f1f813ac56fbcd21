//! Results of bandwidth runs: the matrix, the sweeps with their knees, the whole machine, load
//! ladders.

use std::collections::BTreeMap;

use judgement::{BandwidthInput, findings};
use model::{
    BandwidthMethod, BandwidthResult, Case, LoadLadder, LoadPoint, LoadedLatency, MatrixCell,
    NodeId, NodeSet, NodesOfCpus, Run, StreamWork, ThreadPoint, ThreadSweep, Trial, WholeMachine,
    Work,
};

use super::bandwidth_plan::WHOLE_MACHINE;
use super::latency_result::{cell, kernel_figures, matrix_of, warnings};
use super::names::{cell_of, nodes_of};

/// Combines these runs, which must be of one machine; returns `None` when none measured bandwidth.
pub fn bandwidth_result(runs: &[Run]) -> Option<BandwidthResult> {
    let works = runs.iter().flat_map(|run| &run.cases);
    let kernel = works
        .clone()
        .find_map(|case| Some(stream_of(case)?.kernel))?;
    let mut result = BandwidthResult {
        runs: runs.iter().map(|run| run.id.clone()).collect(),
        machine: runs.first().and_then(|run| run.machine.clone()),
        kernel,
        method: None,
        matrix: matrix_of(Vec::new()),
        sweeps: Vec::new(),
        whole_machine: Vec::new(),
        ladders: Vec::new(),
        findings: Vec::new(),
    };
    for run in runs {
        if run
            .cases
            .iter()
            .any(|case| matches!(case.plan.work, Work::Stream(_)))
        {
            add_bandwidths(&mut result, run);
        }
        result.ladders.extend(ladders(run));
    }
    result.findings = findings::of_bandwidth(&BandwidthInput {
        kernel: kernel.name(),
        matrix: &result.matrix,
        warnings: &warnings(runs),
    });
    Some(result)
}

/// Returns the stream of a case, measured itself or as a load.
fn stream_of(case: &Case) -> Option<&StreamWork> {
    match &case.plan.work {
        Work::Stream(work) => Some(work),
        Work::LoadedLatency(work) => Some(&work.load),
        _ => None,
    }
}

fn add_bandwidths(result: &mut BandwidthResult, run: &Run) {
    let Some(topology) = run.topology() else {
        return;
    };
    let measured = run.cases.iter().filter_map(|case| {
        let nodes = cell_of(&case.plan.name)?;
        Some((nodes, cell(case)))
    });
    let skipped = run
        .skipped
        .iter()
        .filter_map(|skipped| Some((cell_of(&skipped.case)?, MatrixCell::absent(&skipped.reason))));
    result.matrix = matrix_of(measured.chain(skipped).collect());
    result.method = method(run);
    let nodes = topology.nodes_of_cpus();
    result.sweeps = sweeps(run, &nodes);
    let cases = run.cases.iter();
    let whole = cases.filter_map(|case| whole_machine(case, &nodes));
    result.whole_machine = whole.collect();
}

fn method(run: &Run) -> Option<BandwidthMethod> {
    let valid = |case: &Case| {
        let trials = case.trials.iter();
        trials.filter(|it| it.valid_value().is_some()).count()
    };
    let case = run.cases.iter().find(|case| valid(case) > 0)?;
    let trial = case.trials.iter().find(|it| it.valid_value().is_some())?;
    let work = stream_of(case)?;
    let memory = &trial.evidence.measurements.first()?.memory_before;
    let rounds = run.cases.iter().map(valid).max()?;
    Some(BandwidthMethod {
        simd: work.simd.clone(),
        page_kind: memory.page_kind,
        page_bytes: memory.page_bytes,
        bytes_per_thread: work.bytes_per_thread,
        rounds: u32::try_from(rounds).unwrap_or(u32::MAX),
        timer: kernel_figures(trial)?.timer,
    })
}

/// Returns the sweeps of the thread count on nodes with local memory; the matrix cell has the point
/// with all threads.
fn sweeps(run: &Run, nodes: &NodesOfCpus) -> Vec<ThreadSweep> {
    let mut points: BTreeMap<NodeId, Vec<(u32, f64)>> = BTreeMap::new();
    let mut has_sweep: NodeSet = NodeSet::new();
    for case in &run.cases {
        let Work::Stream(work) = &case.plan.work else {
            continue;
        };
        let is_cell = cell_of(&case.plan.name).is_some();
        if !is_cell && !case.plan.name.starts_with("threads-") {
            continue;
        }
        let nodes = nodes_of(&case.plan, nodes).filter(|(from, to)| from == to);
        let (Some((node, _)), Some(rate)) = (nodes, cell(case).value) else {
            continue;
        };
        if !is_cell {
            has_sweep.insert(node);
        }
        let threads = u32::try_from(work.threads.len()).unwrap_or(u32::MAX);
        points.entry(node).or_default().push((threads, rate));
    }
    points.retain(|node, _| has_sweep.contains(*node));
    let sweeps = points.into_iter().map(|(node, mut points)| {
        points.sort_by_key(|(threads, _)| *threads);
        ThreadSweep {
            cpu_node: node,
            memory_node: node,
            knee_threads: kernels::knee_threads(&points),
            points: points
                .into_iter()
                .map(|(threads, bytes_per_s)| ThreadPoint {
                    threads,
                    bytes_per_s,
                })
                .collect(),
        }
    });
    sweeps.collect()
}

fn whole_machine(case: &Case, nodes: &NodesOfCpus) -> Option<WholeMachine> {
    let Work::Stream(work) = &case.plan.work else {
        return None;
    };
    let (_, memory) = WHOLE_MACHINE
        .into_iter()
        .find(|(name, _)| *name == case.plan.name)?;
    let threads = work.threads.iter();
    Some(WholeMachine {
        memory,
        cpu_nodes: threads
            .filter_map(|thread| nodes.node(thread.cpu))
            .collect(),
        threads: u32::try_from(work.threads.len()).unwrap_or(u32::MAX),
        bytes_per_s: cell(case).value?,
    })
}

/// Returns the load ladders of a run, one for each pair of nodes, their rungs in the order of the
/// plan.
fn ladders(run: &Run) -> Vec<LoadLadder> {
    let Some(topology) = run.topology() else {
        return Vec::new();
    };
    let nodes_of_cpus = topology.nodes_of_cpus();
    let mut ladders: BTreeMap<(NodeId, NodeId), LoadLadder> = BTreeMap::new();
    for case in &run.cases {
        let Work::LoadedLatency(work) = &case.plan.work else {
            continue;
        };
        let nodes = nodes_of(&case.plan, &nodes_of_cpus);
        let (Some(nodes), Some(point)) = (nodes, rung(case, work)) else {
            continue;
        };
        let ladder = ladders.entry(nodes).or_insert_with(|| LoadLadder {
            cpu_node: nodes.0,
            memory_node: nodes.1,
            load_nodes: NodeSet::new(),
            load_threads: 0,
            points: Vec::new(),
        });
        let threads = work.load.threads.iter();
        let nodes = threads.filter_map(|thread| nodes_of_cpus.node(thread.cpu));
        ladder.load_nodes = ladder.load_nodes.union(&nodes.collect());
        let threads = u32::try_from(work.load.threads.len()).unwrap_or(u32::MAX);
        ladder.load_threads = ladder.load_threads.max(threads);
        ladder.points.push(point);
    }
    ladders.into_values().collect()
}

fn rung(case: &Case, work: &LoadedLatency) -> Option<LoadPoint> {
    let valid: Vec<&Trial> = case
        .trials
        .iter()
        .filter(|trial| trial.valid_value().is_some())
        .collect();
    let ns: Vec<f64> = valid.iter().filter_map(|it| it.valid_value()).collect();
    let loads = valid
        .iter()
        .filter_map(|it| kernel_figures(it)?.load_bytes_per_s);
    Some(LoadPoint {
        delay: (!work.load.threads.is_empty()).then_some(work.delay),
        bytes_per_s: stats::median(&loads.collect::<Vec<f64>>())?,
        ns: stats::median(&ns)?,
    })
}
