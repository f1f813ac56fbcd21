//! Plans an external program as a case.

use model::{Allocation, Between, CasePlan, CommandServer, CommandWork, Mechanism, Metric, Work};

use super::cannot::Cannot;
use super::host::Host;
use super::placement;
use crate::definition::{CaseDefinition, Definition, Engine};

/// Plans an external program with its placement.
pub(crate) fn plan_command(
    engine: Engine,
    case: &CaseDefinition,
    host: &Host,
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
    let (between, server) = (between(case)?, server(case, host)?);
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
            between,
            server,
        }),
    })
}

/// Returns the lines between which the number was counted.
fn between(case: &CaseDefinition) -> Result<Option<Between>, Cannot> {
    let (begin, end) = (case.command.begin.clone(), case.command.end.clone());
    match (begin.is_empty(), end.is_empty()) {
        (true, true) => Ok(None),
        (false, false) => Ok(Some(Between { begin, end })),
        _ => Err(Cannot::usage(
            "a rate needs the line where it begins and the one where it ends",
            "set both `begin` and `end`, or none of them",
        )),
    }
}

/// Returns the server on which the program is the load.
fn server(case: &CaseDefinition, host: &Host) -> Result<Option<CommandServer>, Cannot> {
    let (command, ready) = (&case.command.server, &case.command.ready);
    let client_cpus = host.chosen_cpus(&case.command.client_cpus)?;
    let refuse = |what: &str, advice: &str| Err(Cannot::usage(what, advice));
    match (command.trim().is_empty(), ready.trim().is_empty()) {
        (true, true) if client_cpus.is_none() => Ok(None),
        (true, _) => refuse(
            "`ready` and `client-cpus` are for a command with a server",
            "set server = \"PROGRAM ARGUMENTS\", or leave them out",
        ),
        (false, true) => refuse(
            "nothing says when the server answers",
            "set ready to a command that succeeds then, such as \"redis-cli ping\"",
        ),
        (false, false) => Ok(Some(CommandServer {
            command: command.clone(),
            ready: ready.clone(),
            client_cpus,
        })),
    }
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
