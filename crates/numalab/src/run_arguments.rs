//! The options of `numalab run`.

use std::path::PathBuf;

use clap::Args;

/// Options of `numalab run`.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// A shipped experiment, or a TOML file of your own (anything with a slash or ending in .toml).
    #[arg(value_name = "EXPERIMENT|FILE.toml")]
    pub experiment: Option<String>,
    /// Valid trials of each case: exactly this many. Without it, from 5 until the intervals are
    /// narrow, at most 20.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    #[arg(allow_negative_numbers = true)]
    pub trials: Option<u32>,
    /// Length of each measured window; with --hold, how long the instance is kept up.
    #[arg(long, value_name = "S", value_parser = crate::durations::seconds)]
    #[arg(allow_negative_numbers = true)]
    pub seconds: Option<f64>,
    /// Begin no further round that would end after this many seconds.
    #[arg(long, value_name = "S", value_parser = crate::durations::seconds)]
    #[arg(allow_negative_numbers = true)]
    pub within: Option<f64>,
    /// Measure nothing: keep the instance of this case up until Ctrl-C, or for --seconds, and
    /// print its process ids, for `numalab inspect` and others.
    #[arg(long, value_name = "CASE", requires = "experiment")]
    #[arg(conflicts_with_all = ["trials", "within"])]
    pub hold: Option<String>,
    /// With --hold: the sessions wait instead of running.
    #[arg(long, requires = "hold")]
    pub idle: bool,
    /// Plan for last-level caches of this size instead of what the kernel shows: a virtual machine
    /// is often shown the whole cache of its host. Without it, what a virtual machine has of them
    /// is measured.
    #[arg(long, value_name = "SIZE", value_parser = crate::machine::cache_size)]
    #[arg(conflicts_with = "connect")]
    pub last_level_cache: Option<model::ByteSize>,
    /// Seed of the order of trials, of the rows and of the resampling; else taken from the clock.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// Folder of PostgreSQL's programs, for experiments with PostgreSQL; else one is looked for.
    #[arg(long, value_name = "DIR")]
    pub pg_bin: Option<PathBuf>,
    /// Fetch a PostgreSQL from Maven Central for this run, which is removed with its cluster: the
    /// newest 18, or 18.6.
    #[arg(long, value_name = "VERSION", conflicts_with_all = ["pg_bin", "connect"])]
    pub pg_fetch: Option<postgres::Release>,
    /// Measure although the machine is busy, or another numalab is measuring. What others used
    /// while a trial was made is in its evidence.
    #[arg(long, conflicts_with = "hold")]
    pub anyway: bool,
    /// Make each trial by itself, as where cases cannot be up at once, instead of letting short
    /// windows of all cases alternate.
    #[arg(long, conflicts_with_all = ["hold", "connect"])]
    pub one_after_another: bool,
    /// Said by numalab to itself where systemd has put it into a scope of its own already.
    #[arg(long, hide = true)]
    pub seated: bool,
    /// Measure a PostgreSQL server that runs already, as it is: postgresql://ROLE@HOST/DATABASE.
    /// Needs --table or --create.
    #[arg(long, value_name = "URL", conflicts_with_all = ["experiment", "hold", "pg_bin"])]
    pub connect: Option<String>,
    /// With --connect: read this table, and write nothing.
    #[arg(long, value_name = "SCHEMA.TABLE", requires = "connect")]
    #[arg(conflicts_with = "create")]
    pub table: Option<String>,
    /// With --connect: make this schema, read tables in it, and drop it afterwards.
    #[arg(long, value_name = "SCHEMA", requires = "connect")]
    pub create: Option<String>,
    /// With --connect: sessions that read.
    #[arg(long, value_name = "N", requires = "connect", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub sessions: u32,
    /// Also print the load profile, the top events, the evidence and every trial of each case.
    #[arg(long, conflicts_with = "json")]
    pub full: bool,
    /// Print the document numalab.run/1 (numalab.runs/1 when several experiments are run).
    #[arg(long)]
    pub json: bool,
}
