//! The share of memory latency in the cost of a logical read, where latency is known.

use std::collections::BTreeMap;

use model::{Case, NodeId, NodeMatrix, Run, Topology, Trial};

use crate::cost::CaseCost;

/// Minimum relative difference between the latencies of two cases for an estimate.
const LATENCY_DIFFERENCE_MIN: f64 = 0.05;

/// The part of memory latency in the difference of two cases. Valid only as far as the cases differ
/// in nothing but the distance of their memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemoryShare {
    /// Latency from the CPUs of the case's sessions to the pages of its SGA: the mean over both.
    pub latency_ns: f64,
    /// The same for the case compared with.
    pub baseline_latency_ns: f64,
    /// Accesses per logical read that wait for memory: the difference in cost over the difference
    /// in latency. `None` where the latencies do not differ, or the cost does not rise with
    /// latency.
    pub accesses_per_read: Option<f64>,
    /// Share of the case's CPU time per read that these accesses spend waiting for memory.
    pub share: Option<f64>,
    /// The same for the case compared with.
    pub baseline_share: Option<f64>,
}

/// Estimates the part of latency in the difference of two cases; returns `None` where the latency
/// of either is unknown.
pub(crate) fn memory_share(
    run: &Run,
    latency: &NodeMatrix,
    case: &CaseCost,
    baseline: &CaseCost,
) -> Option<MemoryShare> {
    let topology = &run.machine.as_ref()?.topology;
    let mean = |cost: &CaseCost| mean_latency(&run.cases[cost.case_index], topology, latency);
    let (latency_ns, baseline_latency_ns) = (mean(case)?, mean(baseline)?);
    let (cost, baseline_cost) = (case.cpu_ns_per_read?, baseline.cpu_ns_per_read?);
    let differ = (latency_ns / baseline_latency_ns).ln().abs() >= LATENCY_DIFFERENCE_MIN;
    let accesses = (cost - baseline_cost) / (latency_ns - baseline_latency_ns);
    let accesses = Some(accesses).filter(|it| differ && it.is_finite() && *it > 0.0);
    let share = |latency: f64, cost: f64| Some(accesses? * latency / cost);
    Some(MemoryShare {
        latency_ns,
        baseline_latency_ns,
        accesses_per_read: accesses,
        share: share(latency_ns, cost),
        baseline_share: share(baseline_latency_ns, baseline_cost),
    })
}

/// Returns the mean latency from the sessions' CPUs to their pages: the median over the valid
/// trials.
fn mean_latency(case: &Case, topology: &Topology, latency: &NodeMatrix) -> Option<f64> {
    let counted = case.trials.iter().filter(|it| it.valid_value().is_some());
    let of_trials = counted.map(|trial| trial_latency(trial, topology, latency));
    let of_trials = of_trials.collect::<Option<Vec<f64>>>()?;
    stats::median(&of_trials)
}

fn trial_latency(trial: &Trial, topology: &Topology, latency: &NodeMatrix) -> Option<f64> {
    let from = nodes_of_sessions(trial, topology)?;
    let pages = &trial.evidence.sga.as_ref()?.bytes_by_node_before;
    let bytes: f64 = pages.values().map(|bytes| *bytes as f64).sum();
    let mut mean = 0.0;
    for (cpu_node, weight) in &from {
        for (memory_node, pages) in pages.iter().filter(|(_, bytes)| **bytes > 0) {
            let ns = latency.cell(*cpu_node, *memory_node)?.value?;
            mean += weight * (*pages as f64 / bytes) * ns;
        }
    }
    (mean > 0.0).then_some(mean)
}

/// Returns the nodes that sessions ran on, with shares that add up to 1. A session that used
/// several CPUs counts as having used each equally.
fn nodes_of_sessions(trial: &Trial, topology: &Topology) -> Option<BTreeMap<NodeId, f64>> {
    let sessions = &trial.evidence.sessions;
    let mut nodes: BTreeMap<NodeId, f64> = BTreeMap::new();
    for session in sessions {
        let share = 1.0 / (sessions.len() as f64 * session.cpus_used.len() as f64);
        for cpu in session.cpus_used.iter() {
            *nodes.entry(topology.node_of_cpu(cpu)?).or_default() += share;
        }
    }
    (!nodes.is_empty()).then_some(nodes)
}
