//! Options of `numalab doctor`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use placement::TargetPlacement;

/// Options of `numalab doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// PID, process name, postgres:DATADIR, mysql:DATADIR, redis:PORT, valkey:PORT,
    /// oracle:SID, cgroup:/PATH or unit:NAME [default: only the machine].
    pub target: Option<String>,
    /// Read a captured machine: a directory with a copy of its /sys and /proc, or an archive
    /// written by `numalab capture`.
    #[arg(long, value_name = "DIR|FILE.tar.zst")]
    pub root: Option<PathBuf>,
    /// Read what others sent instead: text with output of numactl, numastat, lscpu, numa_maps, …,
    /// what `numalab capture --script` prints, a sosreport or a supportconfig; - for stdin.
    #[arg(long, value_name = "FILE|DIR", num_args = 1..)]
    #[arg(conflicts_with_all = ["root", "target"])]
    pub from: Vec<PathBuf>,
    /// Also examine the page cache of the target's data files.
    #[arg(long, requires = "target")]
    pub data_files: bool,
    /// Also show all of the findings that are for information, and name every check, with what
    /// those lacked that were not made.
    #[arg(long)]
    pub full: bool,
    /// Exit with code 7 if a finding is at least this severe.
    #[arg(long, value_name = "SEVERITY", value_enum)]
    pub fail_on: Option<FailOn>,
    /// Say whether a plan is in force, for memory that exists and for memory that comes later: its
    /// cure, such as near-cpus or interleave=0-3, or the file numalab-plan.txt that --emit wrote.
    /// Exit with code 6 if it is not.
    #[arg(long, value_name = "CURE|FILE", requires = "target")]
    #[arg(value_parser = crate::moving::plan_file::cure)]
    pub verify: Option<TargetPlacement>,
    /// After showing the plan, do what it says to do now; `numalab undo` takes it back. What is for
    /// good is left to you. With a cure, such as the one that comes second, plan that one.
    #[arg(long, value_name = "CURE", requires = "target")]
    #[arg(num_args = 0..=1, require_equals = true)]
    #[arg(conflicts_with_all = ["root", "json", "fail_on", "verify"])]
    pub apply: Option<Option<TargetPlacement>>,
    /// Also write the files that make the plan so for good (drop-ins of the server's units) below
    /// this directory, with the plan beside them; nothing else is changed.
    #[arg(
        long,
        value_name = "DIR",
        requires = "target",
        conflicts_with = "verify"
    )]
    pub emit: Option<PathBuf>,
    /// Also store what was found, with the machine: `numalab fleet compare` tells machines apart
    /// by it.
    #[arg(long, conflicts_with = "from")]
    pub keep: bool,
    /// The store of `--keep`.
    #[command(flatten)]
    pub store: crate::files::named_store::StoreArguments,
    /// PostgreSQL role for querying the server's settings [default: the owner of the data directory
    /// if run as root, else this user].
    #[arg(long, value_name = "ROLE", conflicts_with = "root")]
    pub pg_role: Option<String>,
    /// Print JSON (numalab.doctor/1).
    #[arg(long)]
    pub json: bool,
}

/// How bad a finding must be for `--fail-on`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// Any finding.
    Info,
    /// A finding that costs performance, or worse.
    Warning,
    /// A finding that something is wrong.
    Error,
}
