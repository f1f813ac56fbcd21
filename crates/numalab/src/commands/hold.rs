//! `numalab run … --hold CASE`: keeps an instance up for other tools to inspect.

use std::time::Duration;

use experiment::workloads::{HeldProcesses, Hold};
use experiment::{Cancel, Definition, Host, WorkloadError};
use model::CasePlan;
use model::exit::ExitCode;
use serde_json::json;

use crate::arguments::run::RunArguments;
use crate::failure::Failure;
use crate::files::state_folder::StateFolder;
use crate::interrupt;
use crate::measuring::context::Context;
use crate::measuring::execution;
use crate::measuring::run_request::definition;
use crate::output;

/// Rows per statement: on the plateau of most machines, which is good enough here.
const WORK_UNIT: u32 = 64;

/// Keeps the instance of one case up until Ctrl-C, or for the requested seconds.
pub(crate) fn run(arguments: &RunArguments, case: &str) -> Result<(), Failure> {
    let name = arguments.experiment.as_deref().unwrap_or_default();
    let definition = definition(name)?.with_cost(arguments.emulated_cost.as_ref());
    let context = Context::live(arguments.last_level_cache)?;
    let plan = case_plan(&definition, case, &context.host)?;
    if plan.instance().is_none() {
        let message = format!("case {case} has no embedded instance to hold");
        let advice = "hold a case of an experiment whose engine is the embedded instance";
        return Err(Failure::new(ExitCode::Usage, message).advise(advice));
    }
    let state = StateFolder::from_environment()?;
    let cancel = interrupt::cancel_on_signals()?.child();
    let hold = Hold {
        seed: arguments.seed.unwrap_or(1),
        work_unit: WORK_UNIT,
        idle: arguments.idle,
    };
    let mut printed = Ok(());
    let mut on_up = |processes: &HeldProcesses| {
        printed = print(arguments, &definition, &plan, processes);
        match arguments.seconds {
            Some(seconds) => end_after(seconds, &cancel),
            None => output::talk("held until Ctrl-C"),
        }
    };
    let workload = execution::embedded_instance(&state);
    let held = workload.hold(&plan, &hold, &mut on_up, &cancel);
    execution::take_back(&state)?;
    printed?;
    held.map_err(|error| match error {
        WorkloadError::Fatal { message, exit_code } => Failure::new(exit_code, message),
        WorkloadError::Cancelled => Failure::new(ExitCode::Interrupted, "interrupted"),
    })
}

/// Plans one case, whether or not this machine can run the others.
fn case_plan(definition: &Definition, case: &str, host: &Host) -> Result<CasePlan, Failure> {
    let mut alone = definition.clone();
    alone.cases.retain(|candidate| candidate.name == case);
    if alone.cases.is_empty() {
        let names: Vec<&str> = definition
            .cases
            .iter()
            .map(|case| case.name.as_str())
            .collect();
        let message = format!("{} has no case {case:?}", definition.name);
        let advice = format!("its cases are {}", names.join(", "));
        return Err(Failure::new(ExitCode::Usage, message).advise(advice));
    }
    alone.baseline = case.to_owned();
    let plan = experiment::plan(&alone, host)?;
    let planned = plan.cases.into_iter().next();
    planned.ok_or_else(|| Failure::new(ExitCode::Bug, format!("case {case} was not planned")))
}

fn end_after(seconds: f64, cancel: &Cancel) {
    let cancel = cancel.clone();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs_f64(seconds));
        cancel.cancel();
    });
}

fn print(
    arguments: &RunArguments,
    definition: &Definition,
    plan: &CasePlan,
    processes: &HeldProcesses,
) -> Result<(), Failure> {
    let HeldProcesses {
        instance_pid,
        session_pids,
        writer_pids,
    } = processes;
    let doing = if arguments.idle { "idle" } else { "running" };
    if arguments.json {
        return output::json(&json!({
            "format": "numalab.hold/1",
            "experiment": definition.name,
            "case": plan.name,
            "emulated_cost": plan.emulated_cost(),
            "instance_pid": instance_pid,
            "session_pids": session_pids,
            "writer_pids": writer_pids,
            "sessions": doing,
        }));
    }
    let words = |pids: &[u32]| {
        let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
        pids.join(" ")
    };
    let writers = match writer_pids.is_empty() {
        true => String::new(),
        false => format!("database writers: {}\n", words(writer_pids)),
    };
    let cost = match plan.emulated_cost() {
        None => String::new(),
        Some(cost) => format!("emulated cost of a read: {cost}, which says nothing of hardware\n"),
    };
    let sessions = words(session_pids);
    output::data(&format!(
        "instance: {instance_pid}\nsessions: {sessions} ({doing})\n{writers}{cost}\
         look at it: numalab inspect {instance_pid}\n"
    ))
}
