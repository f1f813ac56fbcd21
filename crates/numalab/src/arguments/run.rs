//! The options of `numalab run`.

use std::path::PathBuf;

use clap::Args;
use experiment::{COST_EXPECTED, CostTable};

/// Options of `numalab run`.
#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// Shipped experiment (see `numalab list`), or your own TOML file: a name with a slash or
    /// ending in .toml.
    #[arg(value_name = "EXPERIMENT|FILE.toml")]
    pub experiment: Option<String>,
    /// Run exactly this many valid trials of each case [default: 5 to 20, or 40 if windows
    /// alternate, until the intervals are narrow].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    #[arg(allow_negative_numbers = true)]
    pub trials: Option<u32>,
    /// Measure each trial for this many seconds [default: 2, or 0.8 if windows alternate]; with
    /// --hold, keep the instance up this long.
    #[arg(long, value_name = "S", value_parser = crate::arguments::values::seconds)]
    #[arg(allow_negative_numbers = true)]
    pub seconds: Option<f64>,
    /// Answer within this many seconds; cases for which time is too short are left out and listed.
    #[arg(long, value_name = "S", value_parser = crate::arguments::values::seconds)]
    #[arg(allow_negative_numbers = true)]
    pub within: Option<f64>,
    /// Measure nothing: keep the instance of this case up until Ctrl-C, or for --seconds, and
    /// print its process ids for other tools, such as `numalab inspect`.
    #[arg(long, value_name = "CASE", requires = "experiment")]
    #[arg(conflicts_with_all = ["trials", "within"])]
    pub hold: Option<String>,
    /// With --hold: keep the sessions idle instead of running.
    #[arg(long, requires = "hold")]
    pub idle: bool,
    /// Emulated cost: make every read of a block cost this by a table in ns, such as "0 2000" for
    /// local and remote reads, or a row for each node ("0 2000; 2000 0"). To test placements
    /// against a known truth; the figures say nothing about hardware.
    #[arg(long, value_name = "TABLE", requires = "experiment", value_parser = emulated_cost)]
    pub emulated_cost: Option<CostTable>,
    /// Assume last-level caches of this size. Virtual machines often see the whole cache of their
    /// host [default: measured in a virtual machine, else as the kernel reports].
    #[arg(long, value_name = "SIZE", value_parser = crate::measuring::machine::cache_size)]
    #[arg(conflicts_with = "connect")]
    pub last_level_cache: Option<model::ByteSize>,
    /// Seed for random orders, data and resampling [default: from the clock].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// PostgreSQL bin directory [default: the first in PATH, then where packages
    /// install it].
    #[arg(long, value_name = "DIR")]
    pub pg_bin: Option<PathBuf>,
    /// Download this PostgreSQL version from Maven Central for this run only: 18 (its newest
    /// release), or 18.6.
    #[arg(long, value_name = "VERSION", conflicts_with_all = ["pg_bin", "connect"])]
    pub pg_fetch: Option<postgresql::Release>,
    /// Measure whatever others do, at the usual weight. Without it, cases that take turns are
    /// measured beside other programs, at the lowest weight beside a database; others are refused,
    /// and so is a second numalab. Each trial records the CPU time that other processes used.
    #[arg(long, conflicts_with = "hold")]
    pub anyway: bool,
    /// Run one trial after another instead of alternating short windows of all cases.
    #[arg(long, conflicts_with_all = ["hold", "connect"])]
    pub one_after_another: bool,
    /// Internal: systemd has put this process into a scope of its own.
    #[arg(long, hide = true)]
    pub in_scope: bool,
    /// Measure a running PostgreSQL server as it is: postgresql://ROLE@HOST/DATABASE. Needs --table
    /// or --create. What the URL lacks comes from where psql takes it (PGPASSWORD, ~/.pgpass, ...).
    #[arg(long, value_name = "URL", conflicts_with_all = ["experiment", "hold", "pg_bin"])]
    pub connect: Option<String>,
    /// With --connect: read this table, and write nothing.
    #[arg(long, value_name = "SCHEMA.TABLE", requires = "connect")]
    #[arg(conflicts_with = "create")]
    pub table: Option<String>,
    /// With --connect: create this schema, read tables in it, and drop it afterwards.
    #[arg(long, value_name = "SCHEMA", requires = "connect")]
    pub create: Option<String>,
    /// With --connect: number of sessions.
    #[arg(long, value_name = "N", requires = "connect", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub sessions: u32,
    /// Also print load profile, top events, evidence and every trial of each case.
    #[arg(long, conflicts_with = "json")]
    pub full: bool,
    /// The store.
    #[command(flatten)]
    pub store: crate::files::named_store::StoreArguments,
    /// Print JSON (numalab.run/1; numalab.runs/1 for several experiments).
    #[arg(long)]
    pub json: bool,
}

/// Parses a table of emulated costs.
fn emulated_cost(text: &str) -> Result<CostTable, String> {
    CostTable::parse(text)
        .flatten()
        .ok_or_else(|| format!("expected {COST_EXPECTED}"))
}
