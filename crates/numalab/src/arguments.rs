//! The command line: every command, its question, its options and an example.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use experiment::memory::CurvePairs;
use model::NodeSet;

use crate::placement_arguments::{BindArguments, GroupArguments};
use crate::run_arguments::RunArguments;

/// A NUMA laboratory for databases: measures the machine, places a load, proves the placement, and
/// says which placement wins, by how much, and how sure that is.
#[derive(Debug, Parser)]
#[command(name = "numalab", version, after_help = crate::exit_codes::help())]
#[command(disable_help_subcommand = true, propagate_version = true)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// What is this machine? Nodes, CPUs, caches, memory, huge pages, distances, kernel settings.
    #[command(after_help = "Example: numalab topology --cpus")]
    Topology(TopologyArguments),
    /// How far is the memory of each node from the CPUs of each, and what does the firmware hide?
    #[command(after_help = "Example: numalab latency --curve")]
    Latency(LatencyArguments),
    /// How much does the memory of each node deliver to the CPUs of each?
    #[command(after_help = "Example: numalab bandwidth --kernel triad --loaded")]
    Bandwidth(BandwidthArguments),
    /// Where does the memory of a process or a database lie, by node, each page counted once?
    #[command(after_help = "Example: numalab inspect postgres:/var/lib/postgresql/18/main")]
    Inspect(InspectArguments),
    /// What is wrong with this machine, or with the memory of a database, and what mends it?
    #[command(after_help = "Example: numalab doctor oracle:ORCL --fail-on warning")]
    Doctor(DoctorArguments),
    /// What does somebody else need to judge this machine, or the memory of a database on it?
    ///
    /// They name the archive instead of this machine: `numalab doctor oracle:ORCL --root
    /// machine.tar.zst`.
    #[command(after_help = "Example: numalab capture machine.tar.zst oracle:ORCL")]
    Capture(CaptureArguments),
    /// Where shall a program run and have its memory, and did that come true?
    #[command(after_help = "Example: numalab bind --cpunodebind 0 --membind 0 -- postgres")]
    Bind(Box<BindArguments>),
    /// Which processor groups are there, who is in them, and where is their memory?
    #[command(after_help = "Example: numalab group list")]
    Group(Box<GroupArguments>),
    /// Which experiments are there, and which of them can this machine run?
    #[command(after_help = "Example: numalab list")]
    List(ListArguments),
    /// Which placement wins, by how much, how sure, and on what evidence?
    ///
    /// Without an experiment, numalab measures memory latency, and then what this machine can
    /// answer in two minutes: on several memory nodes what memory costs, on one node which CPU
    /// limit is cheapest. A screen shows the answer; `--full` adds what it rests on.
    #[command(after_help = "Example: numalab run binding-vs-caging --trials 10 --seconds 5")]
    Run(RunArguments),
    /// Which runs are stored?
    #[command(after_help = "Example: numalab history --limit 5")]
    History(HistoryArguments),
    /// What did a stored run find?
    #[command(after_help = "Example: numalab show last")]
    Show(ShowArguments),
    /// How many huge pages has each node, how many does an SGA need, and can the pools be set?
    #[command(after_help = "Example: numalab pages --for 100G --placement interleave=0-3")]
    Pages(crate::commands::pages::PagesArguments),
    /// Can the memory of a running database be moved where it belongs, without a restart?
    #[command(after_help = "Example: numalab move postgres:/data --to interleave --dry-run")]
    Move(crate::commands::relocate::MoveArguments),
    /// Is the second better than the first, by how much, and how sure is that? Runs, or cases.
    #[command(after_help = "Example: numalab compare 20261120 last --fail-below 0.95")]
    Compare(crate::commands::compare::CompareArguments),
    /// Why did the winner win: more CPUs delivered, or cheaper logical reads?
    #[command(after_help = "Example: numalab explain last --baseline binding")]
    Explain(crate::commands::explain::ExplainArguments),
    /// What do reports of Oracle say? AWR or Statspack, as text, becomes a run.
    #[command(after_help = "Example: numalab import awr local.txt remote.txt")]
    Import(crate::commands::import::ImportArguments),
    /// Is anything that numalab changed still in force? Take it back.
    #[command(after_help = "Example: numalab undo --list")]
    Undo(crate::commands::undo::UndoArguments),
    /// The instance process of a trial.
    #[command(hide = true, name = crate::commands::internal::INSTANCE)]
    InternalInstance,
    /// The process of a trial that becomes a PostgreSQL server.
    #[command(hide = true, name = crate::commands::internal::POSTGRES)]
    InternalPostgres {
        /// The parent, the server and its arguments; without them an order is read.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<std::ffi::OsString>,
    },
    /// The process of a trial that becomes a program of somebody else's.
    #[command(hide = true, name = crate::commands::internal::COMMAND)]
    InternalProgram,
    /// The process of a trial that ends such a program with all that it started.
    #[command(hide = true, name = crate::commands::internal::GUARDIAN)]
    InternalGuardian,
    /// A session process of an instance.
    #[command(hide = true, name = crate::commands::internal::SESSION)]
    InternalSession,
}

/// Options of `numalab topology`.
#[derive(Debug, Args)]
pub struct TopologyArguments {
    /// Read a captured machine instead of this one: a folder with a copy of its /sys and /proc,
    /// which may be incomplete, or the archive that `numalab capture` wrote.
    #[arg(long, value_name = "DIR|FILE.tar.zst")]
    pub root: Option<PathBuf>,
    /// Print the document numalab.topology/1.
    #[arg(long)]
    pub json: bool,
    /// Print a table of CPUs with their node, package, core and siblings.
    #[arg(long, conflicts_with = "json")]
    pub cpus: bool,
    /// Also write a picture of nodes and distances.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

/// Options of `numalab latency`.
#[derive(Debug, Args)]
pub struct LatencyArguments {
    /// Also latency by working set, 1 KiB to beyond the last cache: of the first node with its own
    /// memory, of one pair (the node of the CPU, the node of the memory), or of all.
    #[arg(long, value_name = "local|all|FROM:TO", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "local", value_parser = crate::curve_pairs::parse)]
    pub curve: Option<CurvePairs>,
    /// Also transfers of a cache line between CPUs, its home on each node in turn.
    #[arg(long)]
    pub cores: bool,
    /// How often and where.
    #[command(flatten)]
    pub memory: MemoryArguments,
    /// Print the document numalab.latency/1.
    #[arg(long)]
    pub json: bool,
    /// Also write the matrix as comma-separated values.
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Also write the curves as comma-separated values.
    #[arg(long, value_name = "FILE", requires = "curve")]
    pub curve_csv: Option<PathBuf>,
    /// Also write the transfers as comma-separated values.
    #[arg(long, value_name = "FILE", requires = "cores")]
    pub cores_csv: Option<PathBuf>,
    /// Also write topology and matrix as hwloc XML, which `lstopo --input` reads.
    #[arg(long, value_name = "FILE")]
    pub hwloc: Option<PathBuf>,
    /// Measure nothing: judge a matrix that was measured elsewhere (our document, the text of
    /// Intel MLC, or a table).
    #[arg(long, value_name = "FILE")]
    #[arg(conflicts_with_all = ["curve", "cores", "hwloc", "rounds", "within", "seed"])]
    #[arg(conflicts_with_all = ["nodes", "anyway", "last_level_cache"])]
    pub from: Option<PathBuf>,
    /// The firmware's distances for it (our topology document, the text of numactl --hardware, or
    /// a table).
    #[arg(long, value_name = "FILE", requires = "from")]
    pub distances: Option<PathBuf>,
}

/// Options of `numalab bandwidth`.
#[derive(Debug, Args)]
pub struct BandwidthArguments {
    /// What the threads do: read, write, nt-write, copy, nt-copy, triad or nt-triad.
    #[arg(long, value_name = "KERNEL", default_value = "read")]
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(
        model::StreamKernel::TABLE.map(|row| row.name)
    ))]
    pub kernel: String,
    /// Also latency while the other CPUs of a node load its memory more and more.
    #[arg(long)]
    pub loaded: bool,
    /// How often and where.
    #[command(flatten)]
    pub memory: MemoryArguments,
    /// Print the document numalab.bandwidth/1.
    #[arg(long)]
    pub json: bool,
    /// Also write the matrix as comma-separated values, in bytes per second.
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
}

/// Options that measuring memory takes.
#[derive(Debug, Default, Args)]
pub struct MemoryArguments {
    /// Only these nodes, such as 0,2-3.
    #[arg(long, value_name = "NODES")]
    pub nodes: Option<NodeSet>,
    /// Rounds, each with fresh memory: exactly this many. Without it, until the intervals are
    /// narrow.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    #[arg(allow_negative_numbers = true)]
    pub rounds: Option<u32>,
    /// Begin no further measurement after this many seconds.
    #[arg(long, value_name = "S", value_parser = crate::durations::seconds)]
    #[arg(allow_negative_numbers = true)]
    pub within: Option<f64>,
    /// Plan for last-level caches of this size instead of what the kernel shows: a virtual machine
    /// is often shown the whole cache of its host.
    #[arg(long, value_name = "SIZE", value_parser = crate::machine::cache_size)]
    pub last_level_cache: Option<model::ByteSize>,
    /// Seed of all orders and of the resampling; else taken from the clock.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// Measure although the machine is busy; the result says so.
    #[arg(long)]
    pub anyway: bool,
}

/// Options of `numalab inspect`.
#[derive(Debug, Args)]
pub struct InspectArguments {
    /// A PID, a process name, postgres:DATADIR, oracle:SID, cgroup:/PATH or unit:NAME.
    pub target: String,
    /// Read a captured machine instead of this one: a folder with its /sys and /proc, or the
    /// archive that `numalab capture` wrote.
    #[arg(long, value_name = "DIR|FILE.tar.zst")]
    pub root: Option<PathBuf>,
    /// Read numa_maps even where exact figures can be had: also shows what each process touched.
    #[arg(long)]
    pub numa_maps: bool,
    /// Judge large segments by 10,000 random pages of each: quick, with an interval for the share
    /// of every node.
    #[arg(long, conflicts_with = "numa_maps")]
    pub sample: bool,
    /// Look at nothing but shared memory: quicker where there are many processes.
    #[arg(long, conflicts_with = "numa_maps")]
    pub only_shared: bool,
    /// Look at what the kernel has cached of the files that the processes have open, too, and of a
    /// PostgreSQL cluster of all its files; nothing is read in.
    #[arg(long, conflicts_with_all = ["numa_maps", "only_shared"])]
    pub data_files: bool,
    /// Of postgres:DATADIR: also which node holds which table and index, as pg_buffercache and the
    /// pages of the shared buffers tell.
    #[arg(long, conflicts_with = "root")]
    pub relations: bool,
    /// The role to ask the server as; else that of the data directory's owner (as root), or of this
    /// user.
    #[arg(long, value_name = "ROLE", requires = "relations")]
    pub pg_role: Option<String>,
    /// Also compare with the server's own view (18 and later, with libnuma), page by page. The view
    /// touches every page of the shared buffers, so those not in memory yet are allocated.
    #[arg(long, requires = "relations")]
    pub server_view: bool,
    /// Print the document numalab.residency/1.
    #[arg(long)]
    pub json: bool,
}

/// Options of `numalab doctor`.
#[derive(Debug, Args)]
pub struct DoctorArguments {
    /// A PID, a process name, postgres:DATADIR, oracle:SID, cgroup:/PATH or unit:NAME; without
    /// one, only the machine is looked at.
    pub target: Option<String>,
    /// Read a captured machine instead of this one: a folder with its /sys and /proc, or the
    /// archive that `numalab capture` wrote.
    #[arg(long, value_name = "DIR|FILE.tar.zst")]
    pub root: Option<PathBuf>,
    /// Look at what the kernel has cached of the data files of the target, too.
    #[arg(long, requires = "target")]
    pub data_files: bool,
    /// End with exit code 7 when something at least this bad is found.
    #[arg(long, value_name = "SEVERITY", value_enum)]
    pub fail_on: Option<FailOn>,
    /// The role to ask a server of postgres:DATADIR for its settings as; else that of the
    /// directory's owner (as root), or of this user.
    #[arg(long, value_name = "ROLE", conflicts_with = "root")]
    pub pg_role: Option<String>,
    /// Print the document numalab.doctor/1.
    #[arg(long)]
    pub json: bool,
}

/// Options of `numalab capture`.
#[derive(Debug, Args)]
pub struct CaptureArguments {
    /// The archive to write; `-` is stdout.
    #[arg(value_name = "FILE.tar.zst")]
    pub file: PathBuf,
    /// A PID, a process name, postgres:DATADIR, oracle:SID, cgroup:/PATH or unit:NAME; without
    /// one, only the machine is captured.
    pub target: Option<String>,
}

/// How bad a finding must be for `--fail-on`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// Anything.
    Info,
    /// What costs performance, or worse.
    Warning,
    /// What is wrong.
    Error,
}

/// Options of `numalab list`.
#[derive(Debug, Args)]
pub struct ListArguments {
    /// Plan for last-level caches of this size instead of what the kernel shows, as `numalab run`
    /// does with the same option.
    #[arg(long, value_name = "SIZE", value_parser = crate::machine::cache_size)]
    pub last_level_cache: Option<model::ByteSize>,
    /// Print the document numalab.experiments/1.
    #[arg(long)]
    pub json: bool,
}

/// Options of `numalab history`.
#[derive(Debug, Args)]
pub struct HistoryArguments {
    /// At most this many runs, newest first.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub limit: u32,
    /// Print the document numalab.history/1.
    #[arg(long)]
    pub json: bool,
}

/// Options of `numalab show`.
#[derive(Debug, Args)]
pub struct ShowArguments {
    /// Id of a run, the beginning of one, or `last`: the newest that has a trial.
    #[arg(value_name = "RUN", default_value = "last")]
    pub run: String,
    /// Throughput per licence.
    #[command(flatten)]
    pub licences: crate::licences::LicenceArguments,
    /// Also print the load profile, the top events, the evidence and every trial of each case.
    #[arg(long, conflicts_with = "json")]
    pub full: bool,
    /// Print the document numalab.run/1.
    #[arg(long)]
    pub json: bool,
}
