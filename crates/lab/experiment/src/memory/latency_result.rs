//! Results of latency runs: the matrix with its hop classes and findings, curves, transfers.

use std::collections::{BTreeMap, BTreeSet};

use judgement::{LatencyInput, findings, hops};
use model::{
    Case, CpuId, CurvePoint, DistanceTable, KernelFigures, LatencyCurve, LatencyMethod,
    LatencyResult, MatrixCell, NodeId, NodeMatrix, NodesOfCpus, Outcome, PageWalks, Run,
    TransferMatrix, Trial, Work,
};

use super::names::{cell_of, nodes_of};

/// Combines runs of a matrix, of curves and of transfers, in any order. They must be of one
/// machine.
pub fn latency_result(runs: &[Run]) -> LatencyResult {
    let mut result = LatencyResult {
        runs: runs.iter().map(|run| run.id.clone()).collect(),
        machine: runs.first().and_then(|run| run.machine.clone()),
        ..LatencyResult::default()
    };
    for run in runs {
        let Some(topology) = run.topology() else {
            continue;
        };
        if run.cases.iter().any(is_chase) {
            add_matrix(&mut result, run);
        }
        let nodes = topology.nodes_of_cpus();
        for case in &run.cases {
            result.curves.extend(curve(case, &nodes));
            result.transfers.extend(transfers(case));
        }
    }
    let machine = result.machine.as_ref();
    let topology = machine.map(|machine| &machine.topology);
    result.distances = topology.and_then(DistanceTable::of);
    let emulated = machine.is_some_and(|machine| {
        machine.emulated == Some(true) || machine.topology.emulated == Some(true)
    });
    // Without meaningful figures, judge only the firmware's distances.
    let figures = match emulated {
        true => NodeMatrix::default(),
        false => result.matrix.clone(),
    };
    let distances = result.distances.as_ref();
    // Of the sockets of a virtual machine nothing follows for the firmware.
    let bare = topology.filter(|it| it.hypervisor.is_none());
    let packages = bare.map(hops::packages_by_node).unwrap_or_default();
    result.hop_classes = hops::hop_classes(&figures, distances);
    result.links = hops::links(&figures);
    let warnings = warnings(runs);
    let input = LatencyInput::new(&figures, distances, &packages, &warnings);
    result.findings = findings::of_latency(&input);
    result
}

/// Returns the warnings stored with the trials, each once.
pub(crate) fn warnings(runs: &[Run]) -> Vec<&str> {
    let cases = runs.iter().flat_map(|run| &run.cases);
    let trials = cases.flat_map(|case| &case.trials);
    let warnings: BTreeSet<&str> = trials
        .flat_map(|trial| trial.warnings.iter().map(String::as_str))
        .collect();
    warnings.into_iter().collect()
}

/// Returns whether a case is a pointer chase.
fn is_chase(case: &Case) -> bool {
    matches!(case.plan.work, Work::MemoryLatency(_))
}

/// Returns whether a case times only lines that no cache has held since they were flushed.
fn times_first_visits(case: &Case) -> bool {
    matches!(&case.plan.work, Work::MemoryLatency(work) if work.first_visits)
}

/// Returns whether a case is the cell that shows page walks.
fn shows_page_walks(case: &Case) -> bool {
    matches!(&case.plan.work, Work::MemoryLatency(work) if !work.by_tlb_groups)
}

fn add_matrix(result: &mut LatencyResult, run: &Run) {
    let Some(topology) = run.topology() else {
        return;
    };
    let nodes = topology.nodes_of_cpus();
    let cells = run
        .cases
        .iter()
        .filter(|case| is_chase(case) && !shows_page_walks(case));
    let measured: Vec<((NodeId, NodeId), MatrixCell)> = cells
        .clone()
        .filter_map(|case| Some((nodes_of(&case.plan, &nodes)?, cell(case))))
        .collect();
    let skipped = run
        .skipped
        .iter()
        .filter_map(|skipped| Some((cell_of(&skipped.case)?, MatrixCell::absent(&skipped.reason))));
    result.matrix = matrix_of(measured.into_iter().chain(skipped).collect());
    result.method = method(run, cells);
    let walks = run.cases.iter().find(|case| shows_page_walks(case));
    result.page_walks = walks.and_then(|walks| page_walks(walks, &result.matrix, &nodes));
}

/// Returns the matrix of these cells; all other cells of its rows and columns are empty.
pub(crate) fn matrix_of(cells: Vec<((NodeId, NodeId), MatrixCell)>) -> NodeMatrix {
    let rows: BTreeSet<NodeId> = cells.iter().map(|((from, _), _)| *from).collect();
    let columns: BTreeSet<NodeId> = cells.iter().map(|((_, to), _)| *to).collect();
    let mut matrix = NodeMatrix::empty(rows.into_iter().collect(), columns.into_iter().collect());
    for ((from, to), cell) in cells {
        if let Some((row, column)) = matrix.place(from, to) {
            *matrix.cell_mut(row, column) = cell;
        }
    }
    matrix
}

/// Returns the cell from the valid trials of a case, or why there is none.
pub(crate) fn cell(case: &Case) -> MatrixCell {
    let values: Vec<f64> = case.trials.iter().filter_map(Trial::valid_value).collect();
    if !values.is_empty() {
        return kernels::cell_of_rounds(&values);
    }
    MatrixCell::absent(match case.trials.last().map(|trial| &trial.outcome) {
        Some(Outcome::Invalid(reason)) => format!("the placement was not honoured: {reason}"),
        Some(Outcome::Failed(reason)) => reason.clone(),
        _ => "the run ended before".to_owned(),
    })
}

/// Returns how the cells were measured, from the first valid trial.
fn method<'c>(run: &Run, cells: impl Iterator<Item = &'c Case> + Clone) -> Option<LatencyMethod> {
    let valid = |case: &'c Case| case.trials.iter().filter(|it| it.valid_value().is_some());
    let rounds = cells.clone().map(|case| valid(case).count()).max()?;
    let first = cells.clone().flat_map(valid).next()?;
    let figures = kernel_figures(first)?;
    let memory = &first.evidence.measurements.first()?.memory_before;
    Some(LatencyMethod {
        page_kind: memory.page_kind,
        page_bytes: memory.page_bytes,
        working_set_bytes: figures.working_set_bytes,
        first_visits: cells.clone().any(times_first_visits),
        tlb_group_pages: figures.tlb_group_pages,
        rounds: u32::try_from(rounds).unwrap_or(u32::MAX),
        samples_per_round: u32::try_from(figures.windows.len()).unwrap_or(u32::MAX),
        seed: run.seed,
        timer: figures.timer,
    })
}

pub(crate) fn kernel_figures(trial: &Trial) -> Option<&KernelFigures> {
    trial.measured.as_ref()?.kernel.as_ref()
}

fn page_walks(case: &Case, matrix: &NodeMatrix, nodes: &NodesOfCpus) -> Option<PageWalks> {
    let (cpu_node, memory_node) = nodes_of(&case.plan, nodes)?;
    let first = case.trials.iter().find(|it| it.valid_value().is_some())?;
    let with = cell(case);
    Some(PageWalks {
        cpu_node,
        memory_node,
        page_bytes: first
            .evidence
            .measurements
            .first()?
            .memory_before
            .page_bytes,
        ns_without: matrix.value(cpu_node, memory_node)?,
        ns_with: with.value?,
        low: with.low,
        high: with.high,
    })
}

fn curve(case: &Case, nodes: &NodesOfCpus) -> Option<LatencyCurve> {
    let Work::DepthCurve(_) = &case.plan.work else {
        return None;
    };
    let (cpu_node, memory_node) = nodes_of(&case.plan, nodes)?;
    let valid: Vec<&Trial> = case
        .trials
        .iter()
        .filter(|trial| trial.valid_value().is_some())
        .collect();
    let memory = &valid.first()?.evidence.measurements.first()?.memory_before;
    let curves: Vec<&KernelFigures> = valid.iter().filter_map(|it| kernel_figures(it)).collect();
    let points = curves.first()?.curve.iter().enumerate();
    let points: Vec<CurvePoint> = points
        .filter_map(|(index, point)| {
            let rounds = curves.iter().filter_map(|curve| curve.curve.get(index));
            let windows: Vec<f64> = rounds.clone().flat_map(|it| it.windows.clone()).collect();
            let medians = rounds.filter_map(|it| stats::median(&it.windows));
            Some(CurvePoint {
                bytes: point.bytes,
                ns: stats::median(&medians.collect::<Vec<f64>>())?,
                ns_min: stats::quantile(&windows, 0.0)?,
                ns_max: stats::quantile(&windows, 1.0)?,
            })
        })
        .collect();
    Some(LatencyCurve {
        cpu_node,
        memory_node,
        cpu: case.plan.placement.cpus.as_ref()?.first()?,
        page_kind: memory.page_kind,
        page_bytes: memory.page_bytes,
        levels: hops::curve_levels(&points),
        points,
    })
}

fn transfers(case: &Case) -> Option<TransferMatrix> {
    let Work::LineTransfers(_) = &case.plan.work else {
        return None;
    };
    let home_node = case.plan.placement.memory_nodes.as_ref()?.first()?;
    let cpus: Vec<CpuId> = case.plan.placement.cpus.as_ref()?.iter().collect();
    let valid = case.trials.iter().filter(|it| it.valid_value().is_some());
    let mut medians: BTreeMap<(CpuId, CpuId), Vec<f64>> = BTreeMap::new();
    for pair in valid
        .filter_map(kernel_figures)
        .flat_map(|it| &it.transfers)
    {
        let cpus = (pair.from.min(pair.to), pair.from.max(pair.to));
        medians
            .entry(cpus)
            .or_default()
            .extend(stats::median(&pair.windows));
    }
    let of_pair =
        |from: CpuId, to: CpuId| stats::median(medians.get(&(from.min(to), from.max(to)))?);
    let ns = cpus.iter().map(|from| {
        let row = cpus.iter().map(|to| of_pair(*from, *to));
        row.collect()
    });
    Some(TransferMatrix {
        home_node,
        ns: ns.collect(),
        cpus,
    })
}
