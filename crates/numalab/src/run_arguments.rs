//! The options of `numalab run`.

use std::path::PathBuf;

use clap::Args;

/// Options of `numalab run`.
#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// Shipped experiment (see `numalab list`), or a TOML file of your own: anything with a slash
    /// or ending in .toml.
    #[arg(value_name = "EXPERIMENT|FILE.toml")]
    pub experiment: Option<String>,
    /// Make exactly this many valid trials of each case [default: 5 to 20, or 40 where windows
    /// alternate, until the intervals are narrow].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    #[arg(allow_negative_numbers = true)]
    pub trials: Option<u32>,
    /// Measure each trial for this many seconds [default: 2, or 0.8 where windows alternate]; with
    /// --hold, keep the instance up that long.
    #[arg(long, value_name = "S", value_parser = crate::durations::seconds)]
    #[arg(allow_negative_numbers = true)]
    pub seconds: Option<f64>,
    /// Answer within this many seconds. With too little time, cases are left out and named.
    #[arg(long, value_name = "S", value_parser = crate::durations::seconds)]
    #[arg(allow_negative_numbers = true)]
    pub within: Option<f64>,
    /// Measure nothing: keep the instance of this case up until Ctrl-C, or for --seconds, and
    /// print its process ids for other tools, such as `numalab inspect`.
    #[arg(long, value_name = "CASE", requires = "experiment")]
    #[arg(conflicts_with_all = ["trials", "within"])]
    pub hold: Option<String>,
    /// With --hold: let the sessions wait instead of running.
    #[arg(long, requires = "hold")]
    pub idle: bool,
    /// Assume last-level caches of this size. Virtual machines often see the whole cache of their
    /// host [default: measured in a virtual machine, else as the kernel says].
    #[arg(long, value_name = "SIZE", value_parser = crate::machine::cache_size)]
    #[arg(conflicts_with = "connect")]
    pub last_level_cache: Option<model::ByteSize>,
    /// Seed of random orders, of the data and of resampling [default: from the clock].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// PostgreSQL bin directory [default: the first in PATH, then where packages
    /// install it].
    #[arg(long, value_name = "DIR")]
    pub pg_bin: Option<PathBuf>,
    /// Download a PostgreSQL from Maven Central for this run only: the newest 18, or 18.6.
    #[arg(long, value_name = "VERSION", conflicts_with_all = ["pg_bin", "connect"])]
    pub pg_fetch: Option<postgresql::Release>,
    /// Measure even if the machine is busy or another numalab is measuring. Each trial records the
    /// CPU time that other processes used.
    #[arg(long, conflicts_with = "hold")]
    pub anyway: bool,
    /// Run one trial after another instead of alternating short windows of all cases.
    #[arg(long, conflicts_with_all = ["hold", "connect"])]
    pub one_after_another: bool,
    /// Internal: systemd has put this process into a scope of its own.
    #[arg(long, hide = true)]
    pub in_scope: bool,
    /// Measure a running PostgreSQL server as it is: postgresql://ROLE@HOST/DATABASE. Needs --table
    /// or --create.
    #[arg(long, value_name = "URL", conflicts_with_all = ["experiment", "hold", "pg_bin"])]
    pub connect: Option<String>,
    /// With --connect: read this table; nothing is written.
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
    /// Print JSON (numalab.run/1; numalab.runs/1 for several experiments).
    #[arg(long)]
    pub json: bool,
}
