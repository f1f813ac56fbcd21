//! `numalab run`: executes experiments and shows what they found.

use experiment::{Definition, Host, Plan, TRIALS_MIN};
use linux::Root;
use model::exit::ExitCode;
use model::{CasePlan, Run, Work};
use report::{Called, NotRun};
use serde_json::json;

use crate::arguments::run::RunArguments;
use crate::commands::{connected, hold};
use crate::databases::table;
use crate::failure::Failure;
use crate::measuring::context::Context;
use crate::measuring::execution::{self, Execution};
use crate::measuring::fitness::{self, Fit, Needs};
use crate::measuring::host;
use crate::measuring::memory_runs;
use crate::measuring::run_request::{definition, request, window_s};
use crate::measuring::run_screen::RunScreen;
use crate::measuring::short_runs::{self, SHORT_S};
use crate::moving::scope;
use crate::output;

/// Runs one experiment, or in quick mode those that this machine can run.
pub(crate) fn run(arguments: &RunArguments) -> Result<(), Failure> {
    if let Some(url) = &arguments.connect {
        return connected::run(arguments, url);
    }
    if let Some(trials) = arguments.trials.filter(|trials| *trials < TRIALS_MIN) {
        let message = format!("--trials {trials}: an interval needs at least {TRIALS_MIN} trials");
        return Err(Failure::new(ExitCode::Usage, message));
    }
    scope::own_groups_of_run(&Root::live(), arguments.in_scope)?;
    if let Some(case) = &arguments.hold {
        return hold::run(arguments, case);
    }
    let Prepared {
        context,
        plans,
        left_out,
        fit,
    } = prepare(arguments)?;
    let mut execution = Execution::with_postgres(&arguments.store, postgres_places(arguments))?;
    if arguments.json {
        // The screen shows them with its warnings.
        fit.tell_doubts();
    }
    fit.tell_beside();
    let warnings = fit.warnings();
    let mut notes = fit.notes.clone();
    notes.extend(plans.iter().flat_map(|plan| plan.notes.clone()));
    let is_short = arguments.experiment.is_none();
    let has_matrix = is_short && fit.beside.is_empty();
    output::talk(&begins(has_matrix, &plans));
    let is_one = plans.len() == 1;
    let all_s: f64 = plans.iter().map(short_runs::seconds).sum();
    let mut screen = RunScreen::new(arguments);
    let mut runs = Vec::new();
    if is_short && !has_matrix {
        notes.push("no latency matrix: other programs keep the machine busy".to_owned());
    }
    if has_matrix {
        let seed = arguments.seed;
        match memory_runs::short_matrix(&mut execution, &context, seed, &warnings)? {
            Ok(matrix) => {
                screen.latency(&matrix)?;
                runs.push(matrix);
            }
            Err(reason) => notes.push(format!("no latency matrix: {reason}")),
        }
    }
    for plan in plans {
        if execution.is_cancelled() {
            break;
        }
        let share_s = is_short.then(|| SHORT_S * short_runs::seconds(&plan) / all_s);
        let again = arguments.experiment.as_ref().unwrap_or(&plan.experiment);
        let again = Some(again.clone());
        let request = request(&mut execution, arguments, &context, plan, share_s)?;
        let finished = execution.execute(request, &warnings)?;
        let run = match is_one {
            true => "last".to_owned(),
            false => finished.id.clone(),
        };
        screen.run(&finished, &Called { run, again })?;
        runs.push(finished);
    }
    screen.end(&notes, &left_out)?;
    if arguments.json {
        print_documents(arguments, &runs, &left_out)?;
    }
    runs.iter().try_for_each(execution::conclusion)
}

/// What is known before anything is measured.
struct Prepared {
    context: Context,
    plans: Vec<Plan>,
    left_out: Vec<NotRun>,
    fit: Fit,
}

/// Plans what can be measured on this machine as it is now.
fn prepare(arguments: &RunArguments) -> Result<Prepared, Failure> {
    let mut context = Context::live(arguments.last_level_cache)?;
    let named = arguments
        .experiment
        .as_deref()
        .map(definition)
        .transpose()?
        .map(|named| named.with_cost(arguments.emulated_cost.as_ref()));
    context.go_by_cache_share(named.as_ref());
    let (mut plans, mut left_out) = plans(arguments, named.as_ref(), &mut context.host)?;
    let window_s = window_s(arguments);
    plans
        .iter()
        .try_for_each(|plan| check_window(plan, window_s))?;
    let takes_turns = |plan: &Plan| takes_turns(arguments, plan, &context.host);
    let needs = Needs {
        takes_turns: plans.iter().any(takes_turns),
        ..needs(arguments, &plans)
    };
    let fit = fitness::check(&context.host.topology, needs)?;
    if !fit.beside.is_empty() {
        let (apart, together) = plans.into_iter().partition(|plan| !takes_turns(plan));
        plans = together;
        left_out.splice(0..0, not_beside_others(&apart));
    }
    Ok(Prepared {
        context,
        plans,
        left_out,
        fit,
    })
}

/// Says in one line what will be measured.
fn begins(has_matrix: bool, plans: &[Plan]) -> String {
    let matrix = has_matrix.then_some("memory latency");
    let names = plans.iter().map(|plan| plan.experiment.as_str());
    let names: Vec<&str> = matrix.into_iter().chain(names).collect();
    format!(
        "measuring {}; Ctrl-C keeps the completed trials",
        names.join(", ")
    )
}

/// Returns what plans need of the machine. With `--anyway` it need not be quiet: the evidence of
/// every window records what other processes used. Programs have no window, so the machine is
/// watched before them.
fn needs(arguments: &RunArguments, plans: &[Plan]) -> Needs {
    let usable = linux::affinity::of_this_thread().map_or(usize::MAX, |cpus| cpus.len());
    let cases = plans.iter().flat_map(|plan| &plan.cases);
    let is_program = |case: &CasePlan| matches!(case.work, Work::Command(_));
    let has_programs = cases.clone().any(is_program);
    Needs {
        cpus: cases
            .map(CasePlan::busy_cpus)
            .max()
            .unwrap_or(1)
            .min(usable),
        quiet: !arguments.anyway || has_programs,
        anyway: arguments.anyway,
        takes_turns: false,
    }
}

/// Whether the cases of a plan take turns.
fn takes_turns(arguments: &RunArguments, plan: &Plan, host: &Host) -> bool {
    let obstacle = experiment::alternation_obstacle(&plan.cases, host);
    plan.cases.len() > 1 && !arguments.one_after_another && obstacle.is_none()
}

/// Says of plans that are left out on a busy machine why.
fn not_beside_others(plans: &[Plan]) -> Vec<NotRun> {
    let why = "other programs keep the machine busy, and its cases cannot take turns";
    let not_run = plans.iter().map(|plan| NotRun::new(&plan.experiment, why));
    not_run.collect()
}

/// Returns where to look for PostgreSQL, according to the options.
fn postgres_places(arguments: &RunArguments) -> postgresql::Places {
    postgresql::Places {
        named: arguments.pg_bin.clone(),
        release: arguments.pg_fetch.clone(),
        ..host::postgres_places()
    }
}

/// Plans the named experiment, or what this machine can answer in quick mode; returns what is left
/// out, too.
fn plans(
    arguments: &RunArguments,
    named: Option<&Definition>,
    host: &mut Host,
) -> Result<(Vec<Plan>, Vec<NotRun>), Failure> {
    if arguments.pg_bin.is_some() {
        postgresql::find(&postgres_places(arguments))?;
    }
    if arguments.pg_bin.is_some() || arguments.pg_fetch.is_some() {
        host.missing_servers = table::missing(postgres_places(arguments));
    }
    if let Some(definition) = named {
        let plan = experiment::plan(definition, host)?;
        return Ok((vec![plan], Vec::new()));
    }
    let (plans, not_run) = short_runs::of(host)?;
    if plans.is_empty() {
        let message = "this machine can run none of the experiments";
        let advice = "`numalab list` shows what each of them needs";
        return Err(Failure::new(ExitCode::MachineCannot, message).advise(advice));
    }
    Ok((plans, not_run))
}

fn print_documents(
    arguments: &RunArguments,
    runs: &[Run],
    left_out: &[NotRun],
) -> Result<(), Failure> {
    match (&arguments.experiment, runs) {
        (Some(_), [run]) => output::json(&report::run_document(run)),
        _ => {
            let documents: Vec<_> = runs.iter().map(report::run_document).collect();
            let not_run = left_out.iter();
            let not_run = not_run.map(|it| json!({ "experiment": it.name, "reason": it.reason }));
            output::json(&json!({
                "format": "numalab.runs/1",
                "runs": documents,
                "not_run": not_run.collect::<Vec<_>>(),
            }))
        }
    }
}

/// Refuses a window that is too short for a case of the plan: under instance caging it must give
/// every session a turn. A session without a turn completes no statement: nothing proves where it
/// would have run, and the trial would not count.
fn check_window(plan: &Plan, window_s: f64) -> Result<(), Failure> {
    for case in &plan.cases {
        let Some(load) = case.logical_reads().map(|work| &work.load) else {
            continue;
        };
        let Some(cpu_count) = load.cpu_count else {
            continue;
        };
        let sessions = load.sessions;
        let needed_ns = shortest_ns(sessions, cpu_count);
        if ((window_s * 1e9).round() as u64) < needed_ns {
            let (name, needed_s) = (&case.name, needed_ns as f64 / 1e9);
            let message = format!(
                "case {name}: {sessions} sessions take turns, {cpu_count} at a time, but in a \
                 window of {window_s} s not all of them get one"
            );
            let advice = format!("set --seconds to {needed_s:.1} or more, or raise cpu-count");
            return Err(Failure::new(ExitCode::Usage, message).advise(advice));
        }
    }
    Ok(())
}

/// Returns the time in which every session gets one turn, plus one more turn because turns end a
/// little late.
fn shortest_ns(sessions: u32, cpu_count: u32) -> u64 {
    let turns = sessions.div_ceil(cpu_count.max(1));
    instance::QUANTUM_NS * u64::from(turns + 1)
}

#[cfg(test)]
mod tests {
    use super::shortest_ns;

    #[test]
    fn every_session_has_a_turn() {
        for (sessions, cpu_count, expected_ms) in [(2, 1, 300), (3, 1, 400), (9, 6, 300)] {
            let shortest_ns = shortest_ns(sessions, cpu_count);
            assert_eq!(
                shortest_ns,
                expected_ms * 1_000_000,
                "{sessions} on {cpu_count}"
            );
        }
    }
}
