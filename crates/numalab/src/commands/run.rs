//! `numalab run`: executes experiments and shows what they found.

use experiment::{Definition, Plan, TRIALS_MIN};
use linux::Root;
use model::exit::ExitCode;
use model::{CasePlan, Machine, Run};
use report::{Called, NotRun};
use serde_json::json;

use crate::commands::{connected, hold};
use crate::execution::{self, Execution};
use crate::failure::Failure;
use crate::fitness::{self, Needs};
use crate::run_arguments::RunArguments;
use crate::run_request::{definition, request, window_s};
use crate::run_screen::RunScreen;
use crate::short_runs::{self, SHORT_S};
use crate::{caging_window, host, machine, memory_runs, output, scope};

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
    let mut machine = machine::record(arguments.last_level_cache)?;
    let named = arguments
        .experiment
        .as_deref()
        .map(definition)
        .transpose()?;
    machine::go_by_cache_share(&mut machine, named.as_ref())?;
    let (plans, left_out) = plans(arguments, named.as_ref(), &machine)?;
    let window_s = window_s(arguments);
    plans
        .iter()
        .try_for_each(|plan| caging_window::check(plan, window_s))?;
    let mut execution = Execution::with_postgres(postgres_places(arguments))?;
    let fit = fitness::check(&machine.topology, needs(arguments, &plans))?;
    if arguments.json {
        // The screen shows them with its warnings.
        fit.tell_doubts();
    }
    let mut notes = fit.notes.clone();
    notes.extend(plans.iter().flat_map(|plan| plan.notes.clone()));
    output::talk(&begins(arguments, &plans));
    let is_short = arguments.experiment.is_none();
    let is_one = plans.len() == 1;
    let all_s: f64 = plans.iter().map(short_runs::seconds).sum();
    let mut screen = RunScreen::new(arguments);
    let mut runs = Vec::new();
    if is_short {
        let seed = arguments.seed;
        match memory_runs::short_matrix(&mut execution, &machine, seed, &fit.doubts)? {
            Ok(matrix) => {
                screen.latency(&matrix)?;
                runs.push(matrix);
            }
            Err(reason) => notes.push(format!("no matrix of latencies: {reason}")),
        }
    }
    for plan in plans {
        if execution.is_cancelled() {
            break;
        }
        let share_s = is_short.then(|| SHORT_S * short_runs::seconds(&plan) / all_s);
        let again = arguments.experiment.as_ref().unwrap_or(&plan.experiment);
        let again = Some(again.clone());
        let request = request(&mut execution, arguments, &machine, plan, share_s)?;
        let finished = execution.execute(request, &fit.doubts)?;
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

/// Says in one line what will be measured.
fn begins(arguments: &RunArguments, plans: &[Plan]) -> String {
    let matrix = arguments.experiment.is_none().then_some("memory latency");
    let names = plans.iter().map(|plan| plan.experiment.as_str());
    let names: Vec<&str> = matrix.into_iter().chain(names).collect();
    format!(
        "measuring {}; Ctrl-C keeps what is finished",
        names.join(", ")
    )
}

/// Returns what plans need of the machine. With `--anyway` it need not be quiet: the evidence of
/// every window records what other processes used.
fn needs(arguments: &RunArguments, plans: &[Plan]) -> Needs {
    let usable = linux::affinity::of_this_thread().map_or(usize::MAX, |cpus| cpus.len());
    let cases = plans.iter().flat_map(|plan| &plan.cases);
    Needs {
        cpus: cases
            .map(CasePlan::busy_cpus)
            .max()
            .unwrap_or(1)
            .min(usable),
        quiet: !arguments.anyway,
        anyway: arguments.anyway,
    }
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
    machine: &Machine,
) -> Result<(Vec<Plan>, Vec<NotRun>), Failure> {
    let mut host = host::of_this_process(&machine.topology)?;
    if arguments.pg_bin.is_some() {
        postgresql::find(&postgres_places(arguments))?;
    }
    if arguments.pg_bin.is_some() || arguments.pg_fetch.is_some() {
        host.no_postgres = None;
    }
    if let Some(definition) = named {
        let plan = experiment::plan(definition, &host)?;
        return Ok((vec![plan], Vec::new()));
    }
    let (plans, not_run) = short_runs::of(&host)?;
    if plans.is_empty() {
        let message = "this machine can run none of the experiments";
        let advice = "`numalab list` says what each of them needs";
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
