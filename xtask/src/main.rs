//! Developer tasks, run as `cargo xtask TASK`. What a task does lives in the module of its name.
#![forbid(unsafe_code)]
// A developer tool prints to its developer; the rule against printing is for the product.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod arguments;
mod bench;
mod capture;
mod cross;
mod guard;
mod guest;
mod mutants;
mod package;
mod program;
mod repository;
mod tidy;
mod whole_test;

use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Task};

fn main() -> ExitCode {
    let outcome = match Arguments::parse().task {
        Task::Guest(arguments) => guest::command::run(&arguments),
        Task::Arm64(arguments) => guest::arm64::run(&arguments),
        Task::CaptureTree(arguments) => capture::command::run(&arguments),
        Task::Bench { bench, only, limit } => bench::command::run(bench, only.as_deref(), limit),
        Task::Guard(arguments) => guard::run(&arguments),
        Task::Kills(arguments) => whole_test::kills::run(&arguments),
        Task::Mutants(arguments) => mutants::run(&arguments),
        Task::Package(arguments) => package::command::run(&arguments),
        Task::Tidy => tidy::command::run(),
        Task::Check(arguments) => whole_test::command::check(&arguments),
        Task::Test(arguments) => whole_test::command::test(&arguments),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
