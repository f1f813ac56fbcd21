//! `numalab firmware`: overrides the firmware's distances by measured ones, and weights of
//! interleaving by [`super::weights`].

use std::path::{Path, PathBuf};

use clap::Args;
use experiment::memory;
use firmware::replacement::{self, Replacement};
use linux::{Root, acpi_tables};
use model::exit::ExitCode;
use model::{
    DistanceTable, LatencyResult, MeasuredDistances, NodeSet, TableReplacement, Topology, counted,
    node_words,
};
use store::Store;

use super::weights::{self, WeightsRequest};
use crate::failure::Failure;
use crate::files::requested_files;
use crate::files::state_folder::StateFolder;
use crate::measuring::latency_file;
use crate::measuring::newest_run;
use crate::output;

/// Options of `numalab firmware`.
#[derive(Debug, Args)]
pub(crate) struct FirmwareArguments {
    /// Use these latencies: a stored run of `numalab latency`, or a file as `numalab latency
    /// --from` takes it; with --weights, a stored run of `numalab bandwidth` or its document
    /// [default: the newest stored run].
    #[arg(long, value_name = "RUN|FILE")]
    pub from: Option<String>,
    /// The firmware's distances of the machine in --from FILE: a document, output of `numactl
    /// --hardware`, a table, or a SLIT [default: those of this machine, if it has these nodes].
    #[arg(
        long,
        value_name = "FILE",
        requires = "from",
        conflicts_with = "weights"
    )]
    pub distances: Option<PathBuf>,
    /// Write an archive with the table for the next boot: it goes before the initial RAM disk.
    #[arg(long, value_name = "FILE")]
    pub early_initrd: Option<PathBuf>,
    /// Write the table alone (ACPI SLIT).
    #[arg(long, value_name = "FILE")]
    pub table: Option<PathBuf>,
    /// Show weights for weighted interleaving from measured bandwidth, beside those in force.
    #[arg(long, conflicts_with_all = ["early_initrd", "table"])]
    pub weights: bool,
    /// With --weights: count only these nodes' CPUs, such as 0,2-3 [default: all].
    #[arg(long, value_name = "NODES", requires = "weights")]
    pub cpu_nodes: Option<NodeSet>,
    /// With --weights: set them for the whole machine. `numalab undo` restores the former ones.
    #[arg(long, requires = "weights")]
    pub set: bool,
    /// Print JSON (numalab.firmware/1; numalab.weights/1 with --weights).
    #[arg(long)]
    pub json: bool,
}

/// What to do with the archive.
const HOW_TO_BOOT: &str = "let the boot loader load it before the initial RAM disk (GRUB: copy it \
                           to /boot and name it in GRUB_EARLY_INITRD_LINUX_CUSTOM), then reboot; \
                           without it, the next boot has the firmware's table again";

/// Shows the distances, and writes the files that were requested.
pub(crate) fn run(arguments: &FirmwareArguments) -> Result<(), Failure> {
    if arguments.weights {
        return weights::run(&WeightsRequest {
            from: arguments.from.as_deref(),
            cpu_nodes: arguments.cpu_nodes.as_ref(),
            set: arguments.set,
            json: arguments.json,
        });
    }
    let root = Root::live();
    let topology = topology::read(&root)?;
    let distances = arguments.distances.as_deref();
    let (source, mut latencies) = latencies(arguments.from.as_deref(), distances)?;
    // Also between nodes without CPUs, where nothing can measure.
    if let Some(path) = distances {
        latencies.distances = Some(latency_file::distances_of(path)?);
    } else if latencies.matrix.nodes() == topology.node_ids() {
        latencies.distances = DistanceTable::of_all(&topology).or(latencies.distances);
    }
    let nodes = latencies.matrix.nodes();
    let ids: Vec<_> = nodes.iter().collect();
    let distances = firmware::from_latencies(&source, &latencies, &ids).map_err(no_distances)?;
    let is_of_this_machine = nodes == topology.node_ids();
    let wants_table = arguments.early_initrd.is_some() || arguments.table.is_some();
    if wants_table {
        write(arguments, &root, &distances, &nodes, &topology)?;
    }
    let replacement = match is_of_this_machine {
        true => Some(conditions(&root)?),
        false => None,
    };
    match arguments.json {
        true => output::json(&report::firmware_document(&distances, replacement.as_ref())),
        false => output::data(&report::firmware_text(
            &distances,
            replacement.as_ref(),
            &output::text_options(),
        )),
    }
}

/// The latencies, with the firmware's distances where the file or run has them.
fn latencies(
    from: Option<&str>,
    distances: Option<&Path>,
) -> Result<(String, LatencyResult), Failure> {
    if let Some(file) = from.filter(|from| Path::new(from).is_file()) {
        let result = latency_file::read(Path::new(file), distances)?;
        return Ok((file.to_owned(), result));
    }
    if distances.is_some() {
        let message = "--distances belongs to the matrix of a file, and a run has its own";
        return Err(Failure::new(ExitCode::Usage, message).advise("name a matrix with --from FILE"));
    }
    let store = Store::open_existing(&StateFolder::from_environment()?.store())?;
    let asked = match from {
        Some(run) => run.to_owned(),
        None => newest_run::id(&store, memory::names::LATENCY, MEASURE)?,
    };
    let run = store.load(&asked)?;
    if run.experiment != memory::names::LATENCY {
        let message = format!("run {} is of {}, not of latency", run.id, run.experiment);
        return Err(Failure::new(ExitCode::Usage, message).advise(MEASURE));
    }
    let id = run.id.clone();
    Ok((id, memory::latency_result(&[run])))
}

/// The way to latencies.
const MEASURE: &str = "measure with `numalab latency`, or name a matrix with --from FILE";

fn no_distances(error: firmware::Error) -> Failure {
    let message = format!("no distances: {error}");
    match error {
        firmware::Error::TooFewNodes { .. } => Failure::new(ExitCode::MachineCannot, message),
        _ => Failure::new(ExitCode::Usage, message).advise(MEASURE),
    }
}

fn conditions(root: &Root) -> Result<TableReplacement, Failure> {
    Ok(TableReplacement {
        kernel_takes_tables: acpi_tables::can_upgrade(root)?,
        lockdown: acpi_tables::lockdown(root)?,
        replaces: acpi_tables::exists(root, "SLIT")?,
    })
}

fn write(
    arguments: &FirmwareArguments,
    root: &Root,
    distances: &MeasuredDistances,
    nodes: &NodeSet,
    topology: &Topology,
) -> Result<(), Failure> {
    if *nodes != topology.node_ids() {
        let message = format!(
            "the latencies are of {}, but this machine has {}: a table for it \
             cannot be made of them",
            node_words(nodes),
            node_words(topology.node_ids())
        );
        return Err(Failure::new(ExitCode::Usage, message).advise(MEASURE));
    }
    let made = make(root, distances, nodes)?;
    let files = [
        (&arguments.early_initrd, &made.archive),
        (&arguments.table, &made.table),
    ];
    for (path, bytes) in files {
        let Some(path) = path else { continue };
        requested_files::write(path, bytes)?;
        output::talk(&format!(
            "wrote {} ({})",
            path.display(),
            counted(bytes.len(), "byte")
        ));
    }
    if arguments.early_initrd.is_some() {
        output::talk(&format!("  hint: {HOW_TO_BOOT}"));
    }
    Ok(())
}

fn make(
    root: &Root,
    distances: &MeasuredDistances,
    nodes: &NodeSet,
) -> Result<Replacement, Failure> {
    let table = |signature: &str| {
        acpi_tables::read(root, signature).map_err(|error| {
            Failure::new(ExitCode::NotPermitted, format!("cannot read {error}")).advise(
                "run as root, or with CAP_DAC_READ_SEARCH: the firmware's tables belong to root",
            )
        })
    };
    let none = || {
        let message = "the firmware has no table SRAT, so its proximity domains are unknown";
        Failure::new(ExitCode::MachineCannot, message)
            .advise("a machine whose firmware is a device tree, or without NUMA, has none")
    };
    let srat = table("SRAT")?.ok_or_else(none)?;
    let slit = table("SLIT")?;
    replacement::make(distances, nodes, &srat, slit.as_deref())
        .map_err(|error| Failure::new(ExitCode::MachineCannot, format!("no table: {error}")))
}
