//! `numalab latency`: measures memory latency, and shows what the firmware's distances hide.

use experiment::memory::{self, MemoryPlaces, curve_plan, transfers_plan};
use experiment::{Host, Plan};
use model::LatencyResult;

use crate::arguments::memory::{LatencyArguments, MemoryArguments};
use crate::failure::Failure;
use crate::files::requested_files;
use crate::measuring::context::Context;
use crate::measuring::latency_file;
use crate::measuring::memory_plans::{self, Prepared, Size};
use crate::measuring::memory_runs::{self, Rounds};
use crate::output;

/// Number of cells up to which each is measured at least ten times.
const CELLS_FEW: usize = 32;
/// Rounds of the matrix, apart from its time limit, which depends on its size.
const MATRIX: Rounds = Rounds {
    min: 10,
    max: 20,
    half_width_target: 0.02,
    within_s: 60.0,
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
    let memory = &arguments.memory;
    let context = Context::at(memory.root.as_deref(), memory.last_level_cache)?;
    let size = arguments.working_set.map_or(Size::Searched, Size::Named);
    let places = MemoryPlaces::of(&context.host, memory.nodes.as_ref())?;
    check(arguments, &places)?;
    let mut prepared = memory_plans::prepare(&context, memory, places, size)?;
    let plans = plans(arguments, &context.host, &mut prepared)?;
    if memory.dry_run {
        let format = arguments.json.then_some("numalab.latency-plan/1");
        return memory_plans::show(format, &prepared, &context.host.topology, &plans);
    }
    let runs = memory_plans::execute(memory, &context, &prepared, plans)?;
    show(arguments, &memory::latency_result(&runs))?;
    memory_runs::conclusion(&runs)
}

/// Refuses what cannot be measured here before the search for a working set takes seconds.
fn check(arguments: &LatencyArguments, places: &MemoryPlaces) -> Result<(), Failure> {
    if let Some(pairs) = &arguments.curve {
        memory::check_pairs(places, pairs)?;
    }
    if arguments.cores {
        transfers_plan(places)?;
    }
    Ok(())
}

/// Plans the runs that the options ask for.
fn plans(
    arguments: &LatencyArguments,
    host: &Host,
    prepared: &mut Prepared,
) -> Result<Vec<(Plan, Rounds)>, Failure> {
    let mut plans = vec![matrix(&arguments.memory, host, prepared)?];
    let places = &prepared.places;
    let asked = |rounds: Rounds| rounds.asked(&arguments.memory, places.emulated);
    if let Some(pairs) = &arguments.curve {
        plans.push((curve_plan(host, places, pairs)?, asked(CURVE)));
    }
    if arguments.cores {
        plans.push((transfers_plan(places)?, asked(TRANSFERS)));
    }
    Ok(plans)
}

/// Plans the matrix for its time limit, of which the search for the working set has used a part.
fn matrix(
    arguments: &MemoryArguments,
    host: &Host,
    prepared: &mut Prepared,
) -> Result<(Plan, Rounds), Failure> {
    let places = &mut prepared.places;
    let cells = places.pairs().len();
    let limit_s = memory::matrix_limit_s(cells) - prepared.begun.elapsed().as_secs_f64();
    let rounds = Rounds {
        min: match cells {
            ..=CELLS_FEW => MATRIX.min,
            _ => experiment::TRIALS_MIN,
        },
        within_s: limit_s.max(MATRIX.within_s / 2.0),
        ..MATRIX
    };
    let rounds = rounds.asked(arguments, places.emulated);
    let least = rounds.min.min(experiment::TRIALS_MIN);
    let acceptable = arguments.rounds.unwrap_or(least)..=rounds.min;
    let within_s = rounds.within_s;
    let (plan, min) = memory::matrix_within(host, places, &prepared.costs, within_s, acceptable)?;
    Ok((plan, Rounds { min, ..rounds }))
}

fn show(arguments: &LatencyArguments, result: &LatencyResult) -> Result<(), Failure> {
    let options = output::text_options();
    match arguments.json {
        true => output::json_of(&report::latency_document(result), result.file.is_none())?,
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
