//! Plans the work of a case by engine, and chooses the metric.

use model::{Allocation, LogicalReads, Metric, ParallelScan, PostgresReads, Work};

use super::cannot::Cannot;
use super::command::commands_metric;
use super::host::Host;
use crate::definition::{CaseDefinition, Definition, Engine, WorkChoice};

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
                "case {} does other work than the first, and nothing compares both",
                other.name
            ),
            "give all cases the same `work`",
        ));
    }
    Ok(match first {
        Some(WorkChoice::ParallelScan) => Metric::BytesPerSecond,
        Some(WorkChoice::Own(load)) => load.metric(),
        Some(WorkChoice::Command) => commands_metric(definition)?,
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
                "case {} has a calibrated work unit, and the baseline, on which it would be \
                 found, has one of its own",
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
    host: &Host<'_>,
    reads: LogicalReads,
) -> Result<Work, Cannot> {
    let prewarm_cpus = host.chosen_cpus(&case.prewarm_cpus)?;
    let cpu_quota = reads.load.cpu_quota;
    let refuse = |what: &str, advice: &str| Err(Cannot::usage(what, advice));
    match engine {
        Engine::Instance if prewarm_cpus.is_some() => refuse(
            "prewarm-cpus is for a server, and the embedded instance is none",
            "set engine = \"postgres\", or leave the key out",
        ),
        Engine::Instance => instance_work(case, reads),
        Engine::Postgres if case.work != WorkChoice::LogicalReads => refuse(
            "sessions of PostgreSQL do logical reads and no other work",
            "leave work out, or set engine = \"instance\"",
        ),
        Engine::Postgres if reads.load.cpu_count.is_some() => refuse(
            "PostgreSQL has no instance caging",
            "set cpu-quota in place of cpu-count: the kernel then does the limiting",
        ),
        Engine::Postgres if reads.load.data_bytes.is_some() => refuse(
            "the data of a PostgreSQL server is what its shared buffers hold",
            "leave data out",
        ),
        Engine::Postgres if reads.load.update_pct > 0 => refuse(
            "sessions of PostgreSQL only read",
            "leave update-pct out, or set engine = \"instance\"",
        ),
        Engine::Postgres if matches!(reads.sga.allocation, Allocation::PerNode(_)) => refuse(
            "PostgreSQL has no pool for each node",
            "set another allocation",
        ),
        Engine::Postgres => Ok(Work::Postgres(PostgresReads {
            reads,
            prewarm_cpus,
            cpu_quota,
        })),
    }
}

/// Checks that only logical reads of the embedded instance have a handicap.
pub(super) fn check_handicap(engine: Engine, case: &CaseDefinition) -> Result<(), Cannot> {
    let can_have_one = engine == Engine::Instance && case.work == WorkChoice::LogicalReads;
    match case.handicap > 0 && !can_have_one {
        false => Ok(()),
        true => Err(Cannot::usage(
            "only logical reads of the embedded instance have a handicap",
            "leave handicap out, or set work = \"logical-reads\" and engine = \"instance\"",
        )),
    }
}

/// Plans the work of the embedded instance.
fn instance_work(case: &CaseDefinition, instance: LogicalReads) -> Result<Work, Cannot> {
    match (case.work, instance.load.cpu_count) {
        (WorkChoice::LogicalReads | WorkChoice::Own(_) | WorkChoice::Command, _) => {
            Ok(Work::LogicalReads(instance))
        }
        (WorkChoice::ParallelScan, Some(_)) => Err(Cannot::usage(
            "the workers of a parallel scan are not caged",
            "leave cpu-count out, or set fewer sessions",
        )),
        (WorkChoice::ParallelScan, None) if case.update_pct > 0 => Err(Cannot::usage(
            "a parallel scan updates nothing",
            "leave update-pct out, or set work = \"logical-reads\"",
        )),
        (WorkChoice::ParallelScan, None) => Ok(Work::ParallelScan(ParallelScan {
            instance,
            stealing: case.stealing,
        })),
    }
}
