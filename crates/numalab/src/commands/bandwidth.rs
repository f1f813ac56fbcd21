//! `numalab bandwidth`: measures memory bandwidth, and latency under load.

use experiment::memory::{self, BandwidthChoice, bandwidth_plan, loaded_plan};
use model::exit::ExitCode;
use model::{BandwidthResult, Run, StreamKernel};

use crate::execution::Execution;
use crate::failure::Failure;
use crate::memory_arguments::BandwidthArguments;
use crate::memory_runs::{self, Rounds};
use crate::{host, machine, output, requested_files};

/// Rounds of each plan.
const ROUNDS: Rounds = Rounds {
    min: 5,
    max: 10,
    half_width_target: 0.02,
    within_s: 300.0,
};

/// Measures bandwidth and prints the result.
pub(crate) fn run(arguments: &BandwidthArguments) -> Result<(), Failure> {
    requested_files::check_writable(arguments.csv.as_ref())?;
    let kernel = StreamKernel::named(&arguments.kernel).ok_or_else(|| {
        let message = format!("unknown kernel {:?}", arguments.kernel);
        Failure::new(ExitCode::Usage, message)
    })?;
    let machine = machine::record(arguments.memory.last_level_cache)?;
    let (places, fit) = memory_runs::fit_places(&machine, &arguments.memory)?;
    let host = host::of_this_process(&machine.topology)?;
    let choice = BandwidthChoice {
        kernel,
        simd: memory_runs::instructions(&places, kernel)?,
        is_whole: true,
    };
    let mut plans = vec![bandwidth_plan(&host, &places, &choice)?];
    if arguments.loaded {
        plans.push(loaded_plan(&host, &places, &choice)?);
    }
    let mut execution = Execution::open()?;
    let mut runs = Vec::new();
    for plan in plans {
        memory_runs::tell_notes(&plan);
        let rounds = ROUNDS.asked(&arguments.memory, places.emulated);
        let seed = arguments.memory.seed;
        let run = memory_runs::execute(&mut execution, &machine, plan, rounds, seed, &fit.doubts)?;
        execution.tell_where(&run);
        runs.push(run);
        if execution.is_cancelled() {
            break;
        }
    }
    let result = result(&runs)?;
    match arguments.json {
        true => output::json(&report::bandwidth_document(&result))?,
        false => output::data(&report::bandwidth_text(&result, &output::text_options()))?,
    }
    if let Some(path) = &arguments.csv {
        requested_files::write(path, report::matrix_csv(&result.matrix))?;
    }
    memory_runs::conclusion(&runs)
}

/// Returns the result of bandwidth runs.
pub(crate) fn result(runs: &[Run]) -> Result<BandwidthResult, Failure> {
    memory::bandwidth_result(runs)
        .ok_or_else(|| Failure::new(ExitCode::Bug, "a run of bandwidth moved no bytes"))
}
