//! A matrix of latencies that was measured elsewhere, from a file.

use std::io;
use std::path::Path;

use judgement::hops::MatrixFile;
use judgement::{LatencyInput, findings, hops};
use linux::TextFile;
use model::exit::ExitCode;
use model::{DistanceTable, LatencyResult, MatrixCell, NodeId, NodeMatrix, NodeSet, counted};

use crate::failure::Failure;

/// Maximum size of a matrix file.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Judges a matrix measured elsewhere.
pub(crate) fn read(file: &Path, distances: Option<&Path>) -> Result<LatencyResult, Failure> {
    let read = matrix(file)?;
    let distances = match distances {
        Some(path) => {
            let distances = distances_of(path)?;
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

/// Reads a matrix, or the firmware's distances as one.
fn matrix(file: &Path) -> Result<MatrixFile, Failure> {
    let bytes = user_bytes(file)?;
    if !firmware::is_slit(&bytes) {
        let read = hops::matrix_of_file(&text(file, bytes)?);
        return read.map_err(|error| wrong_file("matrix", &error));
    }
    let distances = of_slit(file, &bytes)?;
    let nodes: Vec<NodeId> = distances.nodes().iter().collect();
    let cell = |from, to| match distances.distance(from, to) {
        Some(distance) => MatrixCell::of(f64::from(distance)),
        None => MatrixCell::absent("no distance"),
    };
    let rows = nodes
        .iter()
        .map(|from| nodes.iter().map(|to| cell(*from, *to)).collect());
    let matrix = NodeMatrix::new(nodes.clone(), nodes.clone(), rows.collect());
    Ok(MatrixFile {
        matrix: matrix.expect("it has a row and a column for each node"),
        distances: Some(distances),
        note: Some(
            "a SLIT has the firmware's distances, 10 for a node's own memory: only their ratios \
             mean something, and nothing was measured; its proximity domains are shown as nodes"
                .to_owned(),
        ),
        is_emulated: false,
    })
}

/// Reads the firmware's distances.
pub(crate) fn distances_of(path: &Path) -> Result<DistanceTable, Failure> {
    let bytes = user_bytes(path)?;
    match firmware::is_slit(&bytes) {
        true => of_slit(path, &bytes),
        false => hops::distances_of_file(&text(path, bytes)?)
            .map_err(|error| wrong_file("table of distances", &error)),
    }
}

fn of_slit(path: &Path, bytes: &[u8]) -> Result<DistanceTable, Failure> {
    firmware::distances_of_slit(bytes).map_err(|error| {
        let message = format!("cannot read the distances of {}: {error}", path.display());
        Failure::new(ExitCode::Usage, message)
            .advise("copy it again as root from /sys/firmware/acpi/tables/SLIT")
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
        count => format!("{} ({nodes})", counted(count, "node")),
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
         distances are a numalab.topology/1 document, output of `numactl --hardware`, a table, or \
         a SLIT (binary, of `iasl -d`, or of acpidump)",
    )
}

/// Reads a file of text, up to a size that no matrix has.
pub(crate) fn text_file(path: &Path) -> Result<TextFile, Failure> {
    text(path, user_bytes(path)?)
}

fn text(path: &Path, bytes: Vec<u8>) -> Result<TextFile, Failure> {
    let text = TextFile::from_bytes(path.to_owned(), linux::plain_text(bytes));
    text.map_err(|error| wrong_file("file", &error))
}

fn user_bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    let unreadable = |cause: io::Error| {
        let message = format!("cannot read {}: {cause}", path.display());
        Failure::new(ExitCode::Usage, message).advise("name a readable text file")
    };
    observed::read_named(path, FILE_BYTES_MAX).map_err(unreadable)
}
