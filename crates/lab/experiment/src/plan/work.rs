//! Plans the work of a case by engine, and chooses the metric.

use std::collections::BTreeMap;

use model::{
    Allocation, EmulatedCost, LogicalReads, Metric, NodeId, ParallelScan, ServerKind, ServerReads,
    Topology, Work, node_words,
};

use super::cannot::Cannot;
use super::command::commands_metric;
use super::host::Host;
use crate::definition::{
    COST_EXPECTED, CaseDefinition, Definition, Engine, ValuePart, WorkChoice, value_parts,
};
use crate::workloads::destination;

/// Returns the metric by which cases are compared. All cases must do the same work.
pub(crate) fn metric(definition: &Definition) -> Result<Metric, Cannot> {
    let first = definition.cases.first().map(|case| case.work);
    if let Some(other) = definition
        .cases
        .iter()
        .find(|case| Some(case.work) != first)
    {
        return Err(Cannot::usage(
            format!(
                "case {} and the first case have different work and cannot be compared",
                other.name
            ),
            "set the same `work` in all cases",
        ));
    }
    Ok(match first {
        Some(WorkChoice::ParallelScan) => Metric::BytesPerSecond,
        Some(WorkChoice::Own(load)) => load.metric(),
        Some(WorkChoice::Command) => commands_metric(definition)?,
        Some(WorkChoice::Kernel(kernel)) => kernel.metric(),
        _ => Metric::LogicalReadsPerSecond,
    })
}

/// Checks that a calibrated work unit can be found: the calibration uses the baseline, so the
/// baseline must not set a fixed work unit when another case needs calibration.
pub(crate) fn check_work_units(definition: &Definition) -> Result<(), Cannot> {
    let calibrated = |case: &&CaseDefinition| case.work_unit.rows().is_none();
    let is_baseline = |case: &&CaseDefinition| case.name == definition.baseline;
    let baseline = definition.cases.iter().find(is_baseline);
    let without = definition.cases.iter().find(calibrated);
    match (baseline.and_then(|it| it.work_unit.rows()), without) {
        (Some(_), Some(case)) => Err(Cannot::usage(
            format!(
                "case {} has a calibrated work unit, but the baseline, which calibrates it, has a \
                 fixed one",
                case.name
            ),
            "set work-unit in all cases, or not in the baseline",
        )),
        _ => Ok(()),
    }
}

/// Plans the work of an engine, and refuses keys that the engine does not support.
pub(crate) fn work(
    engine: Engine,
    case: &CaseDefinition,
    host: &Host,
    reads: LogicalReads,
) -> Result<Work, Cannot> {
    let prewarm_cpus = host.chosen_cpus(&case.prewarm_cpus)?;
    let moved_to = moved_to(case, host)?;
    match engine {
        Engine::Instance if prewarm_cpus.is_some() => {
            let engines = ServerKind::all().map(|kind| format!("engine = \"{}\"", kind.id()));
            let engines: Vec<String> = engines.collect();
            Err(Cannot::usage(
                "prewarm-cpus applies only to a PostgreSQL server",
                format!("set {}, or leave the key out", engines.join(" or ")),
            ))
        }
        Engine::Instance if moved_to.is_some() => Err(Cannot::usage(
            "moved-to applies only to a database server",
            "set the engine of one, or leave the key out",
        )),
        Engine::Instance if !case.server_settings.is_empty() => Err(Cannot::usage(
            "server-settings applies only to a database server",
            "set the engine of one, or leave the key out",
        )),
        Engine::Instance => instance_work(case, reads),
        Engine::Server(kind) => {
            check_server(kind, case, &reads)?;
            let cpu_quota = reads.load.cpu_quota;
            let reads = ServerReads {
                reads,
                prewarm_cpus,
                moved_to,
                cpu_quota,
                settings: settings(case, host)?,
            };
            Ok(Work::Server(kind, reads))
        }
    }
}

/// The settings of a server, with CPUs in the place of places.
fn settings(case: &CaseDefinition, host: &Host) -> Result<BTreeMap<String, String>, Cannot> {
    let mut settings = BTreeMap::new();
    for (name, value) in &case.server_settings {
        let mut resolved = String::new();
        for part in value_parts(value).unwrap_or_default() {
            match part {
                ValuePart::Text(text) => resolved.push_str(text),
                ValuePart::Cpus(choice) => {
                    let cpus = host.chosen_cpus(&choice)?.unwrap_or_default();
                    resolved.push_str(&cpus.to_string());
                }
            }
        }
        settings.insert(name.clone(), resolved);
    }
    Ok(settings)
}

/// Where the memory of a server is moved once its tables are loaded.
fn moved_to(case: &CaseDefinition, host: &Host) -> Result<Option<Allocation>, Cannot> {
    match host.chosen_allocation(&case.moved_to)? {
        Allocation::OsDefault => Ok(None),
        to if destination(&to).is_some() => Ok(Some(to)),
        _ => Err(Cannot::usage(
            "memory is moved to one node, or interleaved",
            "set moved-to = \"interleave:all\", \"weighted-interleave:all\" or \"prefer:0\"",
        )),
    }
}

/// Refuses what no server does.
fn check_server(
    kind: ServerKind,
    case: &CaseDefinition,
    reads: &LogicalReads,
) -> Result<(), Cannot> {
    let name = kind.name();
    let (what, advice) = if case.work != WorkChoice::LogicalReads {
        (
            format!("sessions of {name} do logical reads and no other work"),
            "leave work out, or set engine = \"instance\"",
        )
    } else if reads.load.cpu_count.is_some() {
        (
            format!("{name} has no instance caging"),
            "set cpu-quota in place of cpu-count: the kernel enforces it",
        )
    } else if reads.load.data_bytes.is_some() {
        let cache = kind.cache();
        (
            format!("the data of a {name} server is what its {cache} hold"),
            "leave data out",
        )
    } else if reads.load.update_pct > 0 {
        (
            format!("sessions of {name} only read"),
            "leave update-pct out, or set engine = \"instance\"",
        )
    } else if matches!(reads.sga.allocation, Allocation::PerNode(_)) {
        (
            format!("{name} has no pool for each node"),
            "set another allocation",
        )
    } else {
        return Ok(());
    };
    Err(Cannot::usage(what, advice))
}

/// Checks that only logical reads of the embedded instance have a handicap or an emulated cost.
pub(super) fn check_extra_work(engine: Engine, case: &CaseDefinition) -> Result<(), Cannot> {
    let can_have_one = engine == Engine::Instance && case.work == WorkChoice::LogicalReads;
    let key = match (case.handicap, &case.emulated_cost) {
        _ if can_have_one => return Ok(()),
        (0, None) => return Ok(()),
        (0, Some(_)) => "emulated-cost",
        _ => "handicap",
    };
    Err(Cannot::usage(
        format!("{key} applies only to logical reads of the embedded instance"),
        format!("leave {key} out, or set work = \"logical-reads\" and engine = \"instance\""),
    ))
}

/// The emulated cost of a case, for all nodes of the machine.
pub(super) fn emulated_cost(
    case: &CaseDefinition,
    topology: &Topology,
) -> Result<Option<EmulatedCost>, Cannot> {
    /// A session finds the node of a page in a byte, of which one value means none.
    const NODES_MAX: usize = 255;
    let Some(table) = &case.emulated_cost else {
        return Ok(None);
    };
    let nodes: Vec<NodeId> = topology.node_ids().iter().collect();
    let count = nodes.len();
    let cost = table.of(nodes).filter(|_| count <= NODES_MAX);
    cost.map(Some).ok_or_else(|| {
        Cannot::usage(
            format!(
                "emulated-cost has no row and column for each of {} of this machine",
                node_words(topology.node_ids())
            ),
            format!("expected {COST_EXPECTED}"),
        )
    })
}

/// Plans the work of the embedded instance.
fn instance_work(case: &CaseDefinition, instance: LogicalReads) -> Result<Work, Cannot> {
    match (case.work, instance.load.cpu_count) {
        (
            WorkChoice::LogicalReads
            | WorkChoice::Own(_)
            | WorkChoice::Command
            | WorkChoice::Kernel(_),
            _,
        ) => Ok(Work::LogicalReads(instance)),
        (WorkChoice::ParallelScan, Some(_)) => Err(Cannot::usage(
            "instance caging does not apply to the workers of a parallel scan",
            "leave cpu-count out, or set fewer sessions",
        )),
        (WorkChoice::ParallelScan, None) if case.update_pct > 0 => Err(Cannot::usage(
            "a parallel scan does not update rows",
            "leave update-pct out, or set work = \"logical-reads\"",
        )),
        (WorkChoice::ParallelScan, None) => Ok(Work::ParallelScan(ParallelScan {
            instance,
            stealing: case.stealing,
        })),
    }
}
