//! `numalab firmware --weights`: weights of weighted interleaving from measured bandwidth, shown or
//! set.

use std::path::Path;

use experiment::memory;
use judgement::hops;
use linux::{Root, kernel_settings};
use model::exit::ExitCode;
use model::{MeasuredWeights, NodeId, NodeMatrix, NodeSet, Topology};
use placement::interleave_weights;
use report::WeightsInForce;
use store::Store;

use crate::failure::Failure;
use crate::files::state_folder::StateFolder;
use crate::measuring::latency_file;
use crate::measuring::newest_run;
use crate::output;

/// What was requested.
pub(crate) struct WeightsRequest<'a> {
    /// A stored run or a file.
    pub from: Option<&'a str>,
    /// The nodes whose CPUs count; `None`: all that were measured.
    pub cpu_nodes: Option<&'a NodeSet>,
    /// Whether to set the weights.
    pub set: bool,
    /// Whether to print the document.
    pub json: bool,
}

/// The way to bandwidths.
const MEASURE: &str =
    "measure with `numalab bandwidth`, or name its document (--json) with --from FILE";

/// The way to set weights on a kernel without them.
const OTHER_KERNEL: &str = "boot a newer kernel; on this one, `numalab move --to spread=0:2,1:1` \
                            moves existing pages in such proportions";

/// Shows the weights; sets them if that was requested.
pub(crate) fn run(request: &WeightsRequest<'_>) -> Result<(), Failure> {
    let root = Root::live();
    let topology = topology::read(&root)?;
    let measured = measured(request.from)?;
    let nodes = nodes(&measured.matrix, &topology, request.set)?;
    let all = || measured.matrix.cpu_nodes().iter().copied().collect();
    let cpu_nodes = request.cpu_nodes.cloned().unwrap_or_else(all);
    let weights = firmware::from_bandwidths(&measured.source, &measured.matrix, &cpu_nodes, &nodes);
    let weights = weights.map_err(no_weights)?;
    if request.set {
        set(&root, &measured, &weights)?;
    }
    let in_force = match nodes == topology.memory_nodes() {
        true => in_force(&root)?,
        false => WeightsInForce::default(),
    };
    match request.json {
        true => output::json(&report::weights_document(&weights, &in_force)),
        false => output::data(&report::weights_text(
            &weights,
            &in_force,
            &output::text_options(),
        )),
    }
}

/// Bandwidths and where they come from.
struct Measured {
    source: String,
    matrix: NodeMatrix,
    is_emulated: bool,
}

fn measured(from: Option<&str>) -> Result<Measured, Failure> {
    if let Some(file) = from.filter(|from| Path::new(from).is_file()) {
        let text = latency_file::text_file(Path::new(file))?;
        let read = hops::bandwidths_of_file(&text).map_err(|error| {
            let message = format!("cannot read the bandwidths: {error}");
            Failure::new(ExitCode::Usage, message).advise(MEASURE)
        })?;
        return Ok(Measured {
            source: file.to_owned(),
            matrix: read.matrix,
            is_emulated: read.is_emulated,
        });
    }
    let store = Store::open_existing(&StateFolder::from_environment()?.store())?;
    let asked = match from {
        Some(run) => run.to_owned(),
        None => newest_run::id(&store, memory::names::BANDWIDTH, MEASURE)?,
    };
    let run = store.load(&asked)?;
    let id = run.id.clone();
    if run.experiment != memory::names::BANDWIDTH {
        let message = format!("run {id} is of {}, not of bandwidth", run.experiment);
        return Err(Failure::new(ExitCode::Usage, message).advise(MEASURE));
    }
    let machine = run.machine.as_ref();
    let is_emulated = machine.is_some_and(|machine| machine.emulated == Some(true));
    let result = memory::bandwidth_result(&[run]).ok_or_else(|| {
        let message = format!("run {id} measured no bandwidth");
        Failure::new(ExitCode::Usage, message).advise(MEASURE)
    })?;
    Ok(Measured {
        source: id,
        matrix: result.matrix,
        is_emulated,
    })
}

/// The nodes that get a weight: those of this machine, or only to be shown, those measured.
fn nodes(matrix: &NodeMatrix, topology: &Topology, to_set: bool) -> Result<NodeSet, Failure> {
    let measured: NodeSet = matrix.memory_nodes().iter().copied().collect();
    let of_machine = topology.memory_nodes();
    if !to_set {
        return Ok(measured);
    }
    let other: Vec<NodeId> = measured
        .iter()
        .filter(|node| !of_machine.contains(*node))
        .collect();
    if let Some(node) = other.first() {
        let message = format!(
            "the bandwidths are of memory of node {node}, but this machine has memory on nodes \
             {of_machine}: they are of another machine"
        );
        return Err(Failure::new(ExitCode::Usage, message).advise(MEASURE));
    }
    Ok(of_machine)
}

fn no_weights(error: firmware::Error) -> Failure {
    let message = format!("no weights: {error}");
    match error {
        firmware::Error::TooFewMemoryNodes { .. } => Failure::new(ExitCode::MachineCannot, message),
        _ => Failure::new(ExitCode::Usage, message).advise(MEASURE),
    }
}

fn set(root: &Root, measured: &Measured, weights: &MeasuredWeights) -> Result<(), Failure> {
    if measured.is_emulated {
        let message = format!(
            "{} was measured on an emulated machine: its figures say nothing",
            measured.source
        );
        return Err(Failure::new(ExitCode::NotFit, message).advise(MEASURE));
    }
    let journal = StateFolder::from_environment()?.journal();
    let wanted = weights.nodes.iter().map(|row| (row.node, row.weight));
    let changed = interleave_weights::set(root, &journal, &wanted.collect());
    let changed = changed.map_err(|error| match error {
        placement::Error::NoWeights => Failure::from(error).advise(OTHER_KERNEL),
        _ if error.is_permission() => {
            Failure::from(error).advise("run it as root; in a container, on the host")
        }
        _ => error.into(),
    })?;
    output::talk(match changed {
        true => {
            "weights set: memory that is allocated from now on under weighted interleaving \
                 follows them (`numalab undo` restores the former ones)"
        }
        false => "these weights are in force already",
    });
    if changed {
        output::talk(
            "  hint: `numalab move TARGET --to weighted-interleave` moves existing memory",
        );
    }
    Ok(())
}

fn in_force(root: &Root) -> Result<WeightsInForce, Failure> {
    Ok(WeightsInForce {
        in_force: kernel_settings::interleave_weights(root)?,
        automatic: kernel_settings::automatic_weights(root)?.map(|(_, is_on)| is_on),
    })
}
