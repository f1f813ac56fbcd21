//! The options of the commands that measure memory: `numalab latency` and `numalab bandwidth`.

use std::path::PathBuf;

use clap::Args;
use experiment::memory::CurvePairs;
use model::{ByteSize, NodeSet};

/// Options of `numalab latency`.
#[derive(Debug, Args)]
pub(crate) struct LatencyArguments {
    /// Also measure latency by working-set size, from 1 KiB to beyond the last-level cache: from
    /// the first node to its own memory, for one pair (CPU node:memory node), or for all pairs.
    #[arg(long, value_name = "local|all|FROM:TO", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "local", value_parser = crate::arguments::values::curve_pairs)]
    pub curve: Option<CurvePairs>,
    /// Also measure cache-line transfers between CPUs, with the line's home on each node in turn.
    #[arg(long)]
    pub cores: bool,
    /// Use this working set [default: the smallest at which latency no longer depends on it].
    #[arg(long, value_name = "SIZE", value_parser = working_set)]
    pub working_set: Option<ByteSize>,
    /// How long and on which nodes.
    #[command(flatten)]
    pub memory: MemoryArguments,
    /// Print JSON (numalab.latency/1; numalab.latency-plan/1 with --dry-run).
    #[arg(long)]
    pub json: bool,
    /// Also write the matrix as comma-separated values.
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Also write the curves as comma-separated values.
    #[arg(long, value_name = "FILE", requires = "curve")]
    pub curve_csv: Option<PathBuf>,
    /// Also write the cache-line transfers as comma-separated values.
    #[arg(long, value_name = "FILE", requires = "cores")]
    pub cores_csv: Option<PathBuf>,
    /// Also write topology and matrix as hwloc XML, for `lstopo --input`.
    #[arg(long, value_name = "FILE")]
    pub hwloc: Option<PathBuf>,
    /// Analyse a matrix measured elsewhere instead of measuring: a numalab.latency/1 document,
    /// output of Intel MLC, or a table.
    #[arg(long, value_name = "FILE")]
    #[arg(conflicts_with_all = ["curve", "cores", "hwloc", "rounds", "within", "seed"])]
    #[arg(conflicts_with_all = ["nodes", "anyway", "last_level_cache", "dry_run", "working_set"])]
    pub from: Option<PathBuf>,
    /// The firmware's distances for --from: a numalab.topology/1 document, output of `numactl
    /// --hardware`, or a table.
    #[arg(long, value_name = "FILE", requires = "from")]
    pub distances: Option<PathBuf>,
}

/// Options of `numalab bandwidth`.
#[derive(Debug, Args)]
pub(crate) struct BandwidthArguments {
    /// Kernel that the threads run; nt- kernels use non-temporal stores.
    #[arg(long, value_name = "KERNEL", default_value = "read")]
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(
        model::StreamKernel::TABLE.map(|row| row.name)
    ))]
    pub kernel: String,
    /// Also measure latency while the other CPUs of the node put increasing load on its memory.
    #[arg(long)]
    pub loaded: bool,
    /// How long and on which nodes.
    #[command(flatten)]
    pub memory: MemoryArguments,
    /// Print JSON (numalab.bandwidth/1; numalab.bandwidth-plan/1 with --dry-run).
    #[arg(long)]
    pub json: bool,
    /// Also write the matrix as comma-separated values, in bytes per second.
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
}

/// Options that measuring memory takes.
#[derive(Debug, Default, Args)]
pub(crate) struct MemoryArguments {
    /// Measure only these nodes, such as 0,2-3.
    #[arg(long, value_name = "NODES")]
    pub nodes: Option<NodeSet>,
    /// Run exactly this many rounds, each with fresh memory [default: until the intervals are
    /// narrow].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    #[arg(allow_negative_numbers = true)]
    pub rounds: Option<u32>,
    /// Start no measurement after this many seconds.
    #[arg(long, value_name = "S", value_parser = crate::arguments::values::seconds)]
    #[arg(allow_negative_numbers = true)]
    pub within: Option<f64>,
    /// Assume last-level caches of this size. Virtual machines often see the whole cache of their
    /// host.
    #[arg(long, value_name = "SIZE", value_parser = crate::measuring::machine::cache_size)]
    pub last_level_cache: Option<ByteSize>,
    /// Show what would be measured and how long that would take. Only `latency` measures something
    /// for it, within seconds: the working set that it needs, and what that costs.
    #[arg(long)]
    pub dry_run: bool,
    /// With --dry-run, plan for a captured machine: a directory with a copy of its /sys and /proc,
    /// or an archive written by `numalab capture`. The times are estimated from the costs of
    /// another machine, for four times its last-level cache.
    #[arg(long, value_name = "DIR|FILE.tar.zst", requires = "dry_run")]
    pub root: Option<PathBuf>,
    /// Seed for random orders and resampling [default: from the clock].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// Measure even if the machine is busy; the result says so.
    #[arg(long)]
    pub anyway: bool,
    /// The store.
    #[command(flatten)]
    pub store: crate::files::named_store::StoreArguments,
}

/// Parses a working set: at least 1 MiB, so that its windows do not go round it many times.
fn working_set(text: &str) -> Result<ByteSize, String> {
    const LEAST: ByteSize = ByteSize(1 << 20);
    match text.parse::<ByteSize>() {
        Ok(size) if size.0 < LEAST.0 => Err(format!("a working set has at least {LEAST}")),
        Ok(size) => Ok(size),
        Err(error) => Err(error.to_string()),
    }
}
