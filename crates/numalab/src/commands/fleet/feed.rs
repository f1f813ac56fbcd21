//! `numalab fleet feed`: figures of this machine in the words of schedulers and inventories.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use experiment::memory;
use linux::machine_identity;
use model::exit::ExitCode;
use model::{ByteSize, LatencyResult, Topology};
use orchestrators::feed::{self, Facts, Reserved};
use store::Store;

use crate::capture::MachineRoot;
use crate::failure::Failure;
use crate::files::named_store::StoreArguments;
use crate::files::requested_files;
use crate::measuring::latency_file;
use crate::output;

/// Options of `numalab fleet feed`.
#[derive(Debug, Args)]
pub(super) struct FeedArguments {
    /// Who gets the figures. For Prometheus see `numalab metrics`.
    #[arg(long = "for", value_name = "RECEIVER", value_enum)]
    receiver: Receiver,
    /// Write them to this file, beside its place and then renamed [default: stdout].
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    /// Use these latencies: a file as `numalab latency --from` takes it [default: the newest run of
    /// `numalab latency` of this machine].
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Read a captured machine: a directory with a copy of its /sys and /proc, or an archive
    /// written by `numalab capture`.
    #[arg(long, value_name = "DIR|FILE.tar.zst")]
    root: Option<PathBuf>,
    /// With nfd: believe the labels for this many days.
    #[arg(long, value_name = "N", default_value_t = 30)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=3650))]
    days: u16,
    /// With kubelet: leave this much memory to the system, beside the threshold of eviction.
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    reserve: ByteSize,
    /// The store.
    #[command(flatten)]
    store: StoreArguments,
}

/// Who gets the figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Receiver {
    /// Node Feature Discovery: a file of labels in its features.d.
    Nfd,
    /// NodeResourceTopology: costs between nodes.
    Nrt,
    /// slurm.conf: the line of this node.
    Slurm,
    /// The kubelet: reservedMemory of the memory manager.
    Kubelet,
    /// Ansible: local facts, as JSON.
    Ansible,
}

/// Prints or writes the figures.
pub(super) fn run(arguments: &FeedArguments) -> Result<(), Failure> {
    let root = MachineRoot::at(arguments.root.as_deref())?;
    let topology = topology::read(root.root())?;
    let host = match &arguments.root {
        None => linux::process::host_and_kernel().0,
        Some(path) => machine_identity::host_and_kernel(root.root())?
            .0
            .unwrap_or_else(|| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                name.split('.').next().unwrap_or_default().to_owned()
            }),
    };
    let latencies = latencies(arguments, &host, &topology)?;
    let ids: Vec<_> = topology.nodes.iter().map(|node| node.id).collect();
    let distances = latencies.as_ref().and_then(|(source, latencies)| {
        // Those of one node say nothing.
        firmware::from_latencies(source, latencies, &ids).ok()
    });
    let facts = Facts {
        host: &host,
        topology: &topology,
        latencies: latencies.as_ref().map(|(_, latencies)| latencies),
        distances: distances.as_ref(),
    };
    let text = text(arguments, facts)?;
    match &arguments.to {
        None => output::data(&text),
        Some(path) => requested_files::write_for_all(path, &text),
    }
}

fn text(arguments: &FeedArguments, facts: Facts<'_>) -> Result<String, Failure> {
    match arguments.receiver {
        Receiver::Nfd => {
            let days = jiff::SignedDuration::from_hours(24 * i64::from(arguments.days));
            let until = jiff::Timestamp::now() + days;
            let until = until.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
            Ok(feed::feature_file(facts, &until))
        }
        Receiver::Nrt => Ok(feed::resource_topology(facts)),
        Receiver::Slurm => Ok(feed::node_lines(facts)),
        Receiver::Ansible => output::json_text(&feed::ansible_facts(facts)),
        Receiver::Kubelet => {
            let reserved = Reserved {
                mib: arguments.reserve.0 >> 20,
            };
            feed::reserved_memory(facts, reserved).ok_or_else(|| {
                let message = "the memory of a node is unknown, or all have less than --reserve";
                Failure::new(ExitCode::MachineCannot, message)
            })
        }
    }
}

/// The latencies of this machine with their source, if there are any; says why there are none.
fn latencies(
    arguments: &FeedArguments,
    host: &str,
    topology: &Topology,
) -> Result<Option<(String, LatencyResult)>, Failure> {
    let found = match &arguments.from {
        Some(file) => Some((of_file(file)?, file.display().to_string())),
        None => newest(arguments, host)?,
    };
    let Some((latencies, source)) = found else {
        output::talk(&format!(
            "no latencies of {host} are stored, so what is measured is left out; measure: numalab \
             latency"
        ));
        return Ok(None);
    };
    if !latencies.matrix.nodes().is_subset(&topology.node_ids()) {
        let message = format!("{source} is of a machine with other nodes");
        return Err(Failure::new(ExitCode::Usage, message).advise("measure: numalab latency"));
    }
    Ok(Some((source, latencies)))
}

fn of_file(file: &Path) -> Result<LatencyResult, Failure> {
    latency_file::read(file, None)
}

fn newest(
    arguments: &FeedArguments,
    host: &str,
) -> Result<Option<(LatencyResult, String)>, Failure> {
    let store = match Store::open_existing(arguments.store.place()?) {
        Err(store::Error::NotThere { .. }) => return Ok(None),
        opened => opened?,
    };
    let runs = store.history(usize::MAX)?;
    let newest = runs.iter().find(|run| {
        run.experiment == memory::names::LATENCY
            && run.host.as_deref() == Some(host)
            && run.trials_valid > 0
    });
    let Some(newest) = newest else {
        return Ok(None);
    };
    let run = store.load(&newest.id)?;
    let source = run.id.clone();
    Ok(Some((memory::latency_result(&[run]), source)))
}
