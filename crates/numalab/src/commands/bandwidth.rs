//! `numalab bandwidth`: measures memory bandwidth, and latency under load.

use experiment::memory::{self, BandwidthChoice, MemoryPlaces, bandwidth_plan, loaded_plan};
use experiment::{Host, Plan};
use model::exit::ExitCode;
use model::{BandwidthResult, Run, StreamKernel};

use crate::arguments::memory::BandwidthArguments;
use crate::failure::Failure;
use crate::files::requested_files;
use crate::measuring::context::Context;
use crate::measuring::memory_plans::{self, Prepared, Size};
use crate::measuring::memory_runs::{self, Rounds};
use crate::output;

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
    let memory = &arguments.memory;
    let context = Context::at(memory.root.as_deref(), memory.last_level_cache)?;
    let places = MemoryPlaces::of(&context.host, memory.nodes.as_ref())?;
    let prepared = memory_plans::prepare(&context, memory, places, Size::ByCache)?;
    let plans = plans(arguments, &context.host, &prepared, kernel)?;
    if memory.dry_run {
        let format = arguments.json.then_some("numalab.bandwidth-plan/1");
        return memory_plans::show(format, &prepared, &context.host.topology, &plans);
    }
    let runs = memory_plans::execute(memory, &context, &prepared, plans)?;
    let result = result(&runs)?;
    match arguments.json {
        true => output::json_of(&report::bandwidth_document(&result), true)?,
        false => output::data(&report::bandwidth_text(&result, &output::text_options()))?,
    }
    if let Some(path) = &arguments.csv {
        requested_files::write(path, report::matrix_csv(&result.matrix))?;
    }
    memory_runs::conclusion(&runs)
}

/// Plans the runs that the options ask for.
fn plans(
    arguments: &BandwidthArguments,
    host: &Host,
    prepared: &Prepared,
    kernel: StreamKernel,
) -> Result<Vec<(Plan, Rounds)>, Failure> {
    let places = &prepared.places;
    let choice = BandwidthChoice {
        kernel,
        simd: match arguments.memory.dry_run {
            true => String::new(),
            false => memory_runs::instructions(places, kernel)?,
        },
        is_whole: true,
    };
    let rounds = ROUNDS.asked(&arguments.memory, places.emulated);
    let mut plans = vec![(bandwidth_plan(host, places, &choice)?, rounds)];
    if arguments.loaded {
        plans.push((loaded_plan(host, places, &choice)?, rounds));
    }
    Ok(plans)
}

/// Returns the result of bandwidth runs.
pub(crate) fn result(runs: &[Run]) -> Result<BandwidthResult, Failure> {
    memory::bandwidth_result(runs)
        .ok_or_else(|| Failure::new(ExitCode::Bug, "a run of bandwidth moved no bytes"))
}
