//! `numalab latency`: measures memory latency, and shows what the firmware's distances hide.

use experiment::memory::{self, curve_plan, latency_plan, transfers_plan};
use model::LatencyResult;

use crate::execution::Execution;
use crate::failure::Failure;
use crate::memory_arguments::LatencyArguments;
use crate::memory_runs::{self, Rounds};
use crate::{host, latency_file, machine, output, requested_files};

/// Number of cells up to which each is measured at least ten times.
const CELLS_FEW: usize = 32;
/// Rounds of the matrix.
const MATRIX: Rounds = Rounds {
    min: 10,
    max: 20,
    half_width_target: 0.02,
    within_s: 300.0,
};
/// Rounds of a curve: one is enough, because each of its many points has several windows.
const CURVE: Rounds = Rounds {
    min: 1,
    max: 1,
    half_width_target: 0.02,
    within_s: 600.0,
};
/// Rounds of cache-line transfers.
const TRANSFERS: Rounds = Rounds {
    min: 5,
    max: 5,
    half_width_target: 0.02,
    within_s: 300.0,
};

/// Measures latency, or judges a matrix measured elsewhere, and prints the result.
pub(crate) fn run(arguments: &LatencyArguments) -> Result<(), Failure> {
    if let Some(file) = &arguments.from {
        let result = latency_file::read(file, arguments.distances.as_deref())?;
        return show(arguments, &result);
    }
    for path in [
        &arguments.csv,
        &arguments.curve_csv,
        &arguments.cores_csv,
        &arguments.hwloc,
    ] {
        requested_files::check_writable(path.as_ref())?;
    }
    let machine = machine::record(arguments.memory.last_level_cache)?;
    let (places, fit) = memory_runs::fit_places(&machine, &arguments.memory)?;
    let host = host::of_this_process(&machine.topology)?;
    let matrix = latency_plan(&host, &places)?;
    let rounds = match matrix.cases.len() {
        ..=CELLS_FEW => MATRIX,
        _ => Rounds {
            min: experiment::TRIALS_MIN,
            ..MATRIX
        },
    };
    let mut plans = vec![(matrix, rounds)];
    if let Some(pairs) = &arguments.curve {
        plans.push((curve_plan(&host, &places, pairs)?, CURVE));
    }
    if arguments.cores {
        plans.push((transfers_plan(&places)?, TRANSFERS));
    }
    let mut execution = Execution::open()?;
    let mut runs = Vec::new();
    for (plan, rounds) in plans {
        memory_runs::tell_notes(&plan);
        let rounds = rounds.asked(&arguments.memory, places.emulated);
        let seed = arguments.memory.seed;
        let run = memory_runs::execute(&mut execution, &machine, plan, rounds, seed, &fit.doubts)?;
        execution.tell_where(&run);
        runs.push(run);
        if execution.is_cancelled() {
            break;
        }
    }
    show(arguments, &memory::latency_result(&runs))?;
    memory_runs::conclusion(&runs)
}

fn show(arguments: &LatencyArguments, result: &LatencyResult) -> Result<(), Failure> {
    let options = output::text_options();
    match arguments.json {
        true => output::json(&report::latency_document(result))?,
        false => output::data(&text(result, &options))?,
    }
    let files = [
        (&arguments.csv, Some(report::matrix_csv(&result.matrix))),
        (
            &arguments.curve_csv,
            Some(report::curves_csv(&result.curves)),
        ),
        (
            &arguments.cores_csv,
            Some(report::transfers_csv(&result.transfers)),
        ),
        (&arguments.hwloc, report::latency_hwloc_xml(result)),
    ];
    for (path, text) in files {
        if let (Some(path), Some(text)) = (path, text) {
            requested_files::write(path, &text)?;
        }
    }
    Ok(())
}

/// Renders all parts of a result as text.
pub(crate) fn text(result: &LatencyResult, options: &report::TextOptions) -> String {
    let has_curves = !result.curves.is_empty();
    let has_transfers = !result.transfers.is_empty();
    let mut parts = Vec::new();
    if !result.matrix.cpu_nodes().is_empty() || !(has_curves || has_transfers) {
        parts.push(report::latency_text(result, options));
    }
    if has_curves {
        parts.push(report::latency_curve_text(result, options));
    }
    if has_transfers {
        parts.push(report::latency_transfers_text(result, options));
    }
    parts.join("\n")
}
