//! Plans an external program as a case.

use model::{Allocation, CasePlan, CommandWork, Mechanism, Metric, Work};

use super::cannot::Cannot;
use super::host::Host;
use super::placement;
use crate::definition::{CaseDefinition, Definition, Engine};

/// Plans an external program with its placement.
pub(crate) fn plan_command(
    engine: Engine,
    case: &CaseDefinition,
    host: &Host<'_>,
) -> Result<CasePlan, Cannot> {
    let refuse = |what: &str, advice: &str| Err(Cannot::usage(what, advice));
    if let Engine::Server(kind) = engine {
        let what = format!("a command cannot run on {}", kind.name());
        return refuse(&what, "leave engine out");
    }
    if case.command.command.trim().is_empty() {
        return refuse(
            "work = \"command\" needs a command",
            "set command = \"PROGRAM ARGUMENTS\" in [load] or in the case",
        );
    }
    let placement = placement::plan(case, host)?;
    let allocation = placement::allocation(
        host.chosen_allocation(&case.own_allocation)?,
        &placement,
        host,
    )?;
    if matches!(allocation, Allocation::PerNode(_)) {
        return refuse(
            "a program has no buffer pools",
            "set own-allocation to interleave:, weighted-interleave:, bind: or prefer:",
        );
    }
    if placement.mechanism == Mechanism::Affinity
        && placement.memory_nodes.is_some()
        && allocation != Allocation::OsDefault
    {
        return refuse(
            "without a processor group, memory-nodes and own-allocation are both memory policies",
            "set one of them",
        );
    }
    Ok(CasePlan {
        name: case.name.clone(),
        about: case.about.clone(),
        placement,
        work: Work::Command(CommandWork {
            command: case.command.command.clone(),
            number: case.command.number.clone(),
            unit: case.command.unit.clone(),
            more_is_better: case.command.more_is_better,
            allocation,
            cpu_quota: placement::cpu_quota(case, host)?,
        }),
    })
}

/// Returns the metric of external programs. All cases must report the same kind of number.
pub(crate) fn commands_metric(definition: &Definition) -> Result<Metric, Cannot> {
    let kind = |case: &CaseDefinition| (case.command.more_is_better, case.command.unit.clone());
    let first = definition.cases.first().map(kind);
    let other = definition
        .cases
        .iter()
        .find(|case| Some(kind(case)) != first);
    match (other, first) {
        (Some(case), _) => Err(Cannot::usage(
            format!(
                "case {} and the first case differ in `unit` or `better`",
                case.name
            ),
            "set `unit` and `better` once, in [load]",
        )),
        (None, Some((false, _))) => Ok(Metric::Cost),
        (None, _) => Ok(Metric::Gain),
    }
}
