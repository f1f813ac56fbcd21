//! `numalab latency`: measures memory latency, and shows what the firmware's distances hide.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use experiment::memory::{self, curve_plan, latency_plan, transfers_plan};
use judgement::{LatencyInput, findings, hops};
use linux::TextFile;
use model::exit::ExitCode;
use model::{DistanceTable, LatencyResult, NodeMatrix, NodeSet};

use crate::execution::Execution;
use crate::failure::Failure;
use crate::memory_arguments::LatencyArguments;
use crate::memory_runs::{self, Rounds};
use crate::{host, machine, output};

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
/// Maximum size of a matrix file.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Measures latency, or judges a matrix measured elsewhere, and prints the result.
pub(crate) fn run(arguments: &LatencyArguments) -> Result<(), Failure> {
    if let Some(file) = &arguments.from {
        let result = from_file(file, arguments.distances.as_deref())?;
        return show(arguments, &result);
    }
    for path in [
        &arguments.csv,
        &arguments.curve_csv,
        &arguments.cores_csv,
        &arguments.hwloc,
    ] {
        memory_runs::check_writable(path.as_ref())?;
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
            memory_runs::write(path, &text)?;
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

/// Judges a matrix measured elsewhere.
fn from_file(file: &Path, distances: Option<&Path>) -> Result<LatencyResult, Failure> {
    let read = hops::matrix_of_file(&text_file(file)?);
    let read = read.map_err(|error| wrong_file("matrix", &error))?;
    let distances = match distances {
        Some(path) => {
            let distances = hops::distances_of_file(&text_file(path)?);
            let distances = distances.map_err(|error| wrong_file("table of distances", &error))?;
            check_same_nodes(&read.matrix, file, &distances, path)?;
            Some(distances)
        }
        None => read.distances,
    };
    // A matrix has a row for every node with CPUs that was measured.
    let cpu_nodes = read.matrix.cpu_nodes().iter().copied().collect();
    let distances = distances.map(|distances| distances.from_nodes(&cpu_nodes));
    let matrix: NodeMatrix = read.matrix;
    let figures = match read.is_emulated {
        true => NodeMatrix::default(),
        false => matrix.clone(),
    };
    Ok(LatencyResult {
        file: Some(file.display().to_string()),
        note: read.note,
        hop_classes: hops::hop_classes(&figures, distances.as_ref()),
        links: hops::links(&figures),
        findings: findings::of_latency(&LatencyInput::new(&figures, distances.as_ref(), &[], &[])),
        matrix,
        distances,
        ..LatencyResult::default()
    })
}

/// Refuses distances of another machine than the measured one: comparing the two would be
/// meaningless.
fn check_same_nodes(
    matrix: &NodeMatrix,
    file: &Path,
    distances: &DistanceTable,
    of_firmware: &Path,
) -> Result<(), Failure> {
    let (measured, of_table) = (matrix.nodes(), distances.nodes());
    if measured == of_table {
        return Ok(());
    }
    let nodes = |nodes: &NodeSet| match nodes.len() {
        1 => format!("1 node ({nodes})"),
        count => format!("{count} nodes ({nodes})"),
    };
    let message = format!(
        "{} has distances of {}, but {} has latencies of {}: they are not from the same machine",
        of_firmware.display(),
        nodes(&of_table),
        file.display(),
        nodes(&measured),
    );
    Err(Failure::new(ExitCode::Usage, message).advise(
        "use files from the same machine; if only some nodes were measured, remove the others \
         from the distances, or omit --distances",
    ))
}

fn wrong_file(what: &str, error: &linux::Error) -> Failure {
    let message = format!("cannot read the {what}: {error}");
    Failure::new(ExitCode::Usage, message).advise(
        "a matrix is a numalab.latency/1 document, output of Intel MLC, or a table of numbers; \
         distances are a numalab.topology/1 document, output of `numactl --hardware`, or a table",
    )
}

fn text_file(path: &Path) -> Result<TextFile, Failure> {
    let unreadable = |cause: io::Error| {
        let message = format!("cannot read {}: {cause}", path.display());
        Failure::new(ExitCode::Usage, message).advise("name a readable text file")
    };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(FILE_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(unreadable(io::Error::other(
            "the file is larger than 64 MiB",
        )));
    }
    TextFile::from_bytes(path.to_owned(), bytes).map_err(|error| wrong_file("file", &error))
}
