//! The command line: what every command does, the question that it answers, its options and an
//! example.

use std::ffi::OsString;
use std::fmt::Write;
use std::path::PathBuf;

use crate::arguments::doctor::DoctorArguments;
use crate::arguments::memory::{BandwidthArguments, LatencyArguments};
use crate::arguments::placement::{BindArguments, GroupArguments};
use crate::arguments::run::RunArguments;
use clap::{Args, Parser, Subcommand};
use model::exit::ExitCode;

/// Find out whether NUMA placement slows a database down.
///
/// numalab measures the machine, shows which node holds each page of a running database, and
/// compares placements under the same load: which one wins, by how much, and with what confidence.
#[derive(Debug, Parser)]
#[command(name = "numalab", version, after_help = crate::arguments::commands::exit_codes())]
#[command(disable_help_subcommand = true, propagate_version = true)]
pub(crate) struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show the nodes, CPUs, caches, memory and distances of this machine.
    ///
    /// What is the topology of this machine, and which kernel settings affect where memory goes?
    #[command(after_help = "Example: numalab topology --cpus")]
    Topology(TopologyArguments),
    /// Measure memory latency between every pair of nodes.
    ///
    /// What is the latency from each node's CPUs to each node's memory, and what do the firmware's
    /// distances hide?
    #[command(after_help = "Example: numalab latency --curve")]
    Latency(LatencyArguments),
    /// Measure memory bandwidth between every pair of nodes.
    ///
    /// What is the bandwidth from each node's CPUs to each node's memory?
    #[command(after_help = "Example: numalab bandwidth --kernel triad --loaded")]
    Bandwidth(BandwidthArguments),
    /// Build a SLIT override from measured latency.
    ///
    /// What should the firmware say about distances? The kernel, its schedulers and other programs
    /// believe the firmware's table; the next boot can have the measured one. With --weights: by
    /// which weights should memory be interleaved over nodes of different bandwidth?
    #[command(after_help = "Example: numalab firmware --early-initrd slit.cpio")]
    Firmware(crate::commands::firmware::FirmwareArguments),
    /// Show who touched memory first, and so decided its node.
    ///
    /// Unless a policy says otherwise, a page goes to the node of the CPU that touches it first.
    /// Which process first touched each page of shared memory, on which node, when, and where are
    /// the pages now? Watches a program from its start, or a running target for some time.
    #[command(after_help = "Example: numalab firsttouch --for 5m -- postgres -D /var/lib/pg/data")]
    Firsttouch(crate::commands::first_touch::FirstTouchArguments),
    /// List the databases of this machine as targets of the other commands.
    ///
    /// Which databases run, and under which name does every command take each? Names of `watch`,
    /// `serve` and `metrics` are the same.
    #[command(after_help = "Example: numalab targets")]
    Targets(crate::commands::targets::TargetsArguments),
    /// Show where the memory of a process or a database lies, by node.
    ///
    /// How much of it is on each node, with each shared page counted once? numalab touches neither
    /// the processes nor their pages.
    #[command(after_help = "Example: numalab inspect postgres:/var/lib/postgresql/18/main")]
    Inspect(InspectArguments),
    /// Diagnose placement problems and print the fixes.
    ///
    /// What is wrong with this machine, or with the memory placement of a database? Nothing is
    /// changed unless --apply asks for it: each fix is a command to run.
    #[command(after_help = "Example: numalab doctor oracle:ORCL --fail-on warning")]
    Doctor(DoctorArguments),
    /// Save the state of this machine and of a database in one archive.
    ///
    /// Use the archive to examine them elsewhere: `numalab doctor oracle:ORCL --root
    /// machine.tar.zst`.
    #[command(after_help = "Example: numalab capture machine.tar.zst oracle:ORCL")]
    Capture(crate::commands::capture::CaptureArguments),
    /// Run a program under a placement and verify it.
    ///
    /// Takes the options of numactl. Did the program get the CPUs and the memory that you
    /// requested? `--verify` reads them back from the kernel.
    #[command(after_help = "Example: numalab bind --cpunodebind 0 --membind 0 -- postgres")]
    Bind(Box<BindArguments>),
    /// Create, change, list and delete processor groups.
    ///
    /// A processor group is a cgroup with CPUs and memory nodes. Which processes are in it, and
    /// where is their memory?
    #[command(after_help = "Example: numalab group list")]
    Group(Box<GroupArguments>),
    /// List the shipped experiments and whether this machine can run them.
    ///
    /// Which experiments can this machine run, and what do the others need?
    #[command(after_help = "Example: numalab list")]
    List(ListArguments),
    /// Compare placements by running the same load under each.
    ///
    /// Which placement wins, by how much, and with what confidence? Without an experiment, numalab
    /// measures memory latency and then answers what it can within two minutes: what remote memory
    /// costs (several memory nodes), or which CPU limit is cheapest (one node).
    #[command(after_help = "Example: numalab run binding-vs-caging --trials 10 --seconds 5")]
    Run(RunArguments),
    /// List the stored runs, newest first.
    ///
    /// Which runs can you show, compare and explain?
    #[command(after_help = "Example: numalab history --limit 5")]
    History(crate::commands::history::HistoryArguments),
    /// Write the trials of stored runs into a Parquet file.
    ///
    /// How do you take many runs into DuckDB, Spark or pandas? The file has a row for each trial.
    #[command(after_help = "Example: numalab export --all --parquet trials.parquet")]
    Export(crate::commands::export::ExportArguments),
    /// Show the result of a stored run.
    ///
    /// What did the run find, and, with `--full`, on what evidence?
    #[command(after_help = "Example: numalab show last")]
    Show(crate::commands::show::ShowArguments),
    /// Write a page with pictures of runs, or of what a command found.
    ///
    /// What does it look like, and what can you send to others? A page is one HTML file, readable
    /// without script; `--markdown` is for a ticket.
    #[command(after_help = "Example: numalab report last --html report.html")]
    Report(crate::commands::report_page::ReportArguments),
    /// Serve live figures, runs and metrics to a browser and Prometheus.
    ///
    /// Where is memory now, and what did the runs find? Read-only, on this machine alone unless a
    /// token is given. Ctrl-C ends it.
    #[command(after_help = "Example: numalab serve --listen 127.0.0.1:8080")]
    Serve(crate::commands::serve::ServeArguments),
    /// Print metrics of nodes, databases and runs for Prometheus.
    ///
    /// How full are the nodes, where does the memory of databases lie, and what did the newest runs
    /// find? Needs no server: node-exporter's textfile collector takes the file.
    #[command(after_help = "Example: numalab metrics --textfile numalab.prom")]
    Metrics(crate::commands::metrics::MetricsArguments),
    /// Show, compute and set the huge-page pools of each node.
    ///
    /// How many huge pages does each node have, and how many does an SGA need? `numalab undo`
    /// restores pools that were set.
    #[command(after_help = "Example: numalab pages --for 100G --placement interleave=0-3")]
    Pages(crate::commands::pages::PagesArguments),
    /// Move the memory of a running process or database to other nodes.
    ///
    /// Can memory go where it belongs without a restart? `--dry-run` shows what would be moved;
    /// `numalab undo` moves it back.
    #[command(after_help = "Example: numalab move postgres:/data --to interleave --dry-run")]
    Move(crate::commands::relocate::MoveArguments),
    /// Let the kernel move shared memory to the CPUs that use it.
    ///
    /// NUMA balancing leaves the shared memory of databases alone. Would it help? Let the kernel
    /// balance that memory for a while, and report; `numalab undo` moves the pages back.
    #[command(after_help = "Example: numalab balance postgres:/data --for 300")]
    Balance(crate::commands::balance::BalanceArguments),
    /// Predict what placements could give a database, without touching it.
    ///
    /// How far away would memory be, how much would move, is there room, and what could it give at
    /// most? The figures are bounds from where memory lies and from latencies: `numalab try` says
    /// what a placement really gives.
    #[command(after_help = "Example: numalab predict redis:6379 --to nodes:1+near-cpus")]
    Predict(crate::commands::predict::PredictArguments),
    /// Try placements on the load that is running now, and take them back.
    ///
    /// What would a placement give this database? Windows of the current placement and of others
    /// alternate in random order, until an interval tells; then everything is as before.
    #[command(after_help = "Example: numalab try redis:6379 --to nodes:1+near-cpus")]
    Try(Box<crate::commands::try_placement::TryArguments>),
    /// Record the load of a running target as it is, to compare it later.
    ///
    /// What does it do, and what does that cost? Take one record before a change that numalab
    /// cannot make, such as a restart, and one after it, then compare them. Changes nothing.
    #[command(after_help = "Example: numalab record redis:6379 --for 10m --label before")]
    Record(crate::commands::record::RecordArguments),
    /// Compare two stored runs, or two cases of them.
    ///
    /// Is the second better than the first, by how much, and with what confidence?
    #[command(after_help = "Example: numalab compare 20261120 last --fail-below 0.95")]
    Compare(crate::commands::compare::CompareArguments),
    /// Explain the difference between the cases of a run.
    ///
    /// Why did the winner win: did it get more CPU time, or were its logical reads cheaper?
    #[command(after_help = "Example: numalab explain last --baseline binding")]
    Explain(crate::commands::explain::ExplainArguments),
    /// Import AWR or Statspack reports of Oracle as a run.
    ///
    /// What do reports from before and after a change show? Compare and explain them like runs of
    /// numalab.
    #[command(after_help = "Example: numalab import awr local.txt remote.txt")]
    Import(crate::commands::import::ImportArguments),
    /// Send runs to another store, such as the database of a fleet.
    ///
    /// Where can the runs of all machines be compared? Each run arrives once, however often it is
    /// sent: after a failure, the same command sends what is left.
    #[command(after_help = "Example: numalab push --all --to postgresql://numalab@db/fleet")]
    Push(crate::commands::transfer::PushArguments),
    /// Fetch runs from another store.
    ///
    /// What did a run find that another machine has sent? Each run arrives once, however often it
    /// is fetched.
    #[command(after_help = "Example: numalab pull last --from postgresql://numalab@db/fleet")]
    Pull(crate::commands::transfer::PullArguments),
    /// Ask the same questions of many machines.
    ///
    /// Which machine of a rack or a cluster is not as the others, and in what?
    #[command(after_help = "Example: numalab fleet compare")]
    Fleet(crate::commands::fleet::FleetArguments),
    /// Watch nodes, databases and processes while they change.
    ///
    /// Which node runs out of memory or huge pages, who would be hit, and what moves? At one
    /// snapshot per second; memory by node of large processes is older, and says how old.
    #[command(after_help = "Example: numalab watch postgres:/data --record incident.zst")]
    Watch(crate::commands::watch::WatchArguments),
    /// Undo what numalab changed on this machine.
    ///
    /// Which changes are still in force?
    #[command(after_help = "Example: numalab undo --list")]
    Undo(crate::commands::undo::UndoArguments),
    /// The instance process of a trial.
    #[command(hide = true, name = crate::commands::internal::INSTANCE)]
    InternalInstance,
    /// The process of a trial that becomes a database server.
    #[command(hide = true, name = crate::commands::internal::SERVER)]
    InternalServer {
        /// The parent, the server and its arguments; without them an order is read.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
    /// The process of a trial that becomes another program.
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
pub(crate) struct TopologyArguments {
    /// Read a captured machine: a directory with a copy of its /sys and /proc, which may be
    /// incomplete, or an archive written by `numalab capture`.
    #[arg(long, value_name = "DIR|FILE.tar.zst")]
    pub root: Option<PathBuf>,
    /// Print JSON (numalab.topology/1).
    #[arg(long)]
    pub json: bool,
    /// List every CPU with its node, package, core and siblings.
    #[arg(long, conflicts_with = "json")]
    pub cpus: bool,
    /// Also draw nodes and distances as SVG.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

/// Options of `numalab inspect`.
#[derive(Debug, Args)]
pub(crate) struct InspectArguments {
    /// PID, process name, postgres:DATADIR, mysql:DATADIR, redis:PORT, valkey:PORT,
    /// oracle:SID, cgroup:/PATH or unit:NAME.
    pub target: String,
    /// Read a captured machine: a directory with a copy of its /sys and /proc, or an archive
    /// written by `numalab capture`.
    #[arg(long, value_name = "DIR|FILE.tar.zst")]
    pub root: Option<PathBuf>,
    /// Read numa_maps even if exact figures are available; it also shows what each process touched.
    #[arg(long)]
    pub numa_maps: bool,
    /// Estimate large segments from 10,000 random pages each, with an interval for the share of
    /// every node.
    #[arg(long, conflicts_with = "numa_maps")]
    pub sample: bool,
    /// Inspect only shared memory; faster with many processes.
    #[arg(long, conflicts_with = "numa_maps")]
    pub only_shared: bool,
    /// Also show the page cache of the files that the processes have open, or of all files of a
    /// PostgreSQL cluster. Reads no file into the cache.
    #[arg(long, conflicts_with_all = ["numa_maps", "only_shared"])]
    pub data_files: bool,
    /// With postgres:DATADIR or mysql:DATADIR: also show which nodes hold each table and index,
    /// from pg_buffercache and the pages of the shared buffers, or from the headers of the pages in
    /// InnoDB's buffer pool.
    #[arg(long, conflicts_with = "root")]
    pub relations: bool,
    /// PostgreSQL role to connect as [default: the owner of the data directory if run as root, else
    /// this user].
    #[arg(long, value_name = "ROLE", requires = "relations")]
    pub pg_role: Option<String>,
    /// Also compare with the server's own view, page by page: pg_buffercache_numa (PostgreSQL 18
    /// with libnuma), which touches every page of the shared buffers and so allocates those not in
    /// memory yet, or INNODB_BUFFER_PAGE, which blocks parts of the pool while it is read.
    #[arg(long, requires = "relations")]
    pub server_view: bool,
    /// Print JSON (numalab.residency/1).
    #[arg(long)]
    pub json: bool,
}

/// Options of `numalab list`.
#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// Assume last-level caches of this size, as with `numalab run`.
    #[arg(long, value_name = "SIZE", value_parser = crate::measuring::machine::cache_size)]
    pub last_level_cache: Option<model::ByteSize>,
    /// Print JSON (numalab.experiments/1).
    #[arg(long)]
    pub json: bool,
}

/// Returns the exit codes, one per line.
pub(crate) fn exit_codes() -> String {
    let mut text = "Exit codes:\n".to_owned();
    for (_, number, meaning) in ExitCode::TABLE {
        writeln!(text, "  {number:>3}  {meaning}").expect("writing to a string cannot fail");
    }
    text
}
