//! The binary: arguments, commands, exit codes.
#![forbid(unsafe_code)]

mod arguments;
mod capture;
mod changes;
mod commands;
mod databases;
mod failure;
mod files;
#[cfg(test)]
mod help_tests;
mod interrupt;
mod measuring;
mod moving;
mod observation;
mod output;
#[cfg(test)]
mod packaged_tests;
mod pasted;
mod serving;
mod watching;

use std::process::ExitCode;

use crate::arguments::commands::Command;
use crate::failure::Failure;

fn main() -> ExitCode {
    match dispatch(arguments::command_line::of_this_process()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output::talk(&format!("numalab: {}", failure.message));
            if let Some(advice) = &failure.advice {
                output::talk(&format!("  hint: {advice}"));
            }
            ExitCode::from(failure.exit_code.number())
        }
    }
}

fn dispatch(command: Command) -> Result<(), Failure> {
    match command {
        Command::Topology(arguments) => {
            let text = commands::topology::run(&arguments, &output::text_options())?;
            output::data(&text)
        }
        Command::Capture(arguments) => commands::capture::run(&arguments),
        Command::Doctor(arguments) => commands::doctor::run(&arguments),
        Command::Targets(arguments) => commands::targets::run(&arguments),
        Command::Inspect(arguments) => commands::inspect::run(&arguments),
        Command::Bind(arguments) => commands::bind::run(&arguments),
        Command::Latency(arguments) => commands::latency::run(&arguments),
        Command::Bandwidth(arguments) => commands::bandwidth::run(&arguments),
        Command::Firmware(arguments) => commands::firmware::run(&arguments),
        Command::Fleet(arguments) => commands::fleet::run(&arguments),
        Command::Firsttouch(arguments) => commands::first_touch::run(&arguments),
        Command::Group(arguments) => commands::group::run(&arguments),
        Command::List(arguments) => commands::list::run(&arguments),
        Command::Run(arguments) => commands::run::run(&arguments),
        Command::Export(arguments) => commands::export::run(&arguments),
        Command::History(arguments) => commands::history::run(&arguments),
        Command::Compare(arguments) => commands::compare::run(&arguments),
        Command::Explain(arguments) => commands::explain::run(&arguments),
        Command::Import(arguments) => commands::import::run(&arguments),
        Command::Metrics(arguments) => commands::metrics::run(&arguments),
        Command::Push(arguments) => commands::transfer::push(&arguments),
        Command::Pull(arguments) => commands::transfer::pull(&arguments),
        Command::Report(arguments) => commands::report_page::run(&arguments),
        Command::Serve(arguments) => commands::serve::run(&arguments),
        Command::Show(arguments) => commands::show::run(&arguments),
        Command::Pages(arguments) => commands::pages::run(&arguments),
        Command::Move(arguments) => commands::relocate::run(&arguments),
        Command::Balance(arguments) => commands::balance::run(&arguments),
        Command::Predict(arguments) => commands::predict::run(&arguments),
        Command::Try(arguments) => commands::try_placement::run(&arguments),
        Command::Record(arguments) => commands::record::run(&arguments),
        Command::Watch(arguments) => commands::watch::run(&arguments),
        Command::Undo(arguments) => commands::undo::run(&arguments),
        Command::InternalInstance => commands::internal::instance(),
        Command::InternalServer { words } => commands::internal::server(&words),
        Command::InternalProgram => commands::internal::command(),
        Command::InternalGuardian => commands::internal::guardian(),
        Command::InternalSession => commands::internal::session(),
    }
}
