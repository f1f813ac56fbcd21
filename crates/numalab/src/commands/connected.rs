//! `numalab run --connect`: measures a running database server as it is.

use experiment::TRIALS_MIN;
use experiment::workloads::{ConnectedWorkload, connected_plan};
use model::exit::ExitCode;
use report::Called;
use server::{ConnectOrder, Source};

use crate::arguments::run::RunArguments;
use crate::databases::table;
use crate::failure::Failure;
use crate::measuring::context::Context;
use crate::measuring::execution::{self, Execution};
use crate::measuring::fitness::{self, Needs};
use crate::measuring::run_request::request;
use crate::measuring::run_screen::RunScreen;
use crate::output;

/// Measures the server.
pub(super) fn run(arguments: &RunArguments, url: &str) -> Result<(), Failure> {
    let source = source(arguments)?;
    if let Some(trials) = arguments.trials.filter(|trials| *trials < TRIALS_MIN) {
        let message = format!("--trials {trials}: an interval needs at least {TRIALS_MIN} trials");
        return Err(Failure::new(ExitCode::Usage, message));
    }
    let context = Context::live(None)?;
    let mut execution = Execution::open(&arguments.store)?;
    let question = match &source {
        Source::Table(name) => format!("How fast does this server read {name}?"),
        Source::Schema(_) => "How fast does this server read numalab's tables?".to_owned(),
    };
    let order = ConnectOrder {
        url: url.to_owned(),
        source,
        sessions: arguments.sessions,
    };
    // Others may use the server, which does the work itself: only another numalab disturbs.
    let needs = Needs {
        cpus: 0,
        quiet: false,
        anyway: arguments.anyway,
        takes_turns: false,
    };
    let fit = fitness::check(&context.host.topology, needs)?;
    let server = table::connect(&order, &execution.journal())?;
    for warning in server.warnings() {
        output::talk(&format!("numalab: {warning}"));
    }
    let plan = connected_plan(server.as_ref(), arguments.sessions, &question);
    let mut notes = fit.notes.clone();
    notes.extend(plan.notes.iter().cloned());
    let request = request(&mut execution, arguments, &context, plan, None)?;
    let finished =
        execution.execute_connected(request, ConnectedWorkload::new(server), &fit.warnings())?;
    let called = Called {
        run: "last".to_owned(),
        // The URL may hold a password.
        again: None,
    };
    let mut screen = RunScreen::new(arguments);
    screen.run(&finished, &called)?;
    screen.end(&notes, &[])?;
    if arguments.json {
        output::json(&report::run_document(&finished))?;
    }
    // The server runs as it is: nothing was placed. What makes a trial of it invalid is other work.
    execution::conclusion(&finished).map_err(|failure| match failure.exit_code {
        ExitCode::PlacementNotHonoured => Failure {
            exit_code: ExitCode::NotFit,
            ..failure
        },
        _ => failure,
    })
}

/// Returns what to read on the server.
fn source(arguments: &RunArguments) -> Result<Source, Failure> {
    match (&arguments.table, &arguments.create) {
        (Some(table), _) => Ok(Source::Table(table.clone())),
        (None, Some(schema)) => Ok(Source::Schema(schema.clone())),
        (None, None) => {
            let message = "--connect needs --table or --create";
            let advice = "use --table SCHEMA.TABLE to read an existing table and write nothing, \
                          or --create SCHEMA to create tables and drop them afterwards";
            Err(Failure::new(ExitCode::Usage, message).advise(advice))
        }
    }
}
