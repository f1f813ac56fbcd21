//! Placement options: those of numactl, and numalab's own.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use model::{ByteSize, CpuId, NodeId};
use placement::bind::{Choice, CpuRequest, MemoryRequest, Request};
use placement::groups::GroupName;
use report::Configuration;

/// Maximum number of CPUs of a quota: Linux can be built for 8192.
const CPU_LIMIT_MAX: f64 = 8192.0;

/// CPUs, as numactl takes them.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("cpus"))]
pub(crate) struct CpuArguments {
    /// Run on the CPUs of these nodes: 0,2-3, all, !1, +0 (relative to the cpuset), same,
    /// netdev:DEV, block:DEV, file:PATH or pci:ADDRESS.
    #[arg(short = 'N', long, value_name = "NODES", group = "cpus")]
    pub cpunodebind: Option<Choice<NodeId>>,
    /// Run on these CPUs.
    #[arg(short = 'C', long, value_name = "CPUS", group = "cpus")]
    pub physcpubind: Option<Choice<CpuId>>,
}

impl CpuArguments {
    /// Returns the requested CPUs.
    pub(crate) fn request(&self) -> Option<CpuRequest> {
        let of_nodes = self.cpunodebind.clone().map(CpuRequest::OfNodes);
        of_nodes.or_else(|| self.physcpubind.clone().map(CpuRequest::These))
    }
}

/// Memory policies, as numactl takes them.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("policy"))]
pub(crate) struct PolicyArguments {
    /// Allocate memory only on these nodes.
    #[arg(short = 'm', long, value_name = "NODES", group = "policy")]
    pub membind: Option<Choice<NodeId>>,
    /// Interleave memory over these nodes, page by page.
    #[arg(short = 'i', long, value_name = "NODES", group = "policy")]
    pub interleave: Option<Choice<NodeId>>,
    /// Interleave memory over these nodes by the kernel's weights (Linux 6.9).
    #[arg(short = 'w', long, value_name = "NODES", group = "policy")]
    pub weighted_interleave: Option<Choice<NodeId>>,
    /// Prefer memory of this node.
    #[arg(short = 'p', long, value_name = "NODE", group = "policy")]
    pub preferred: Option<Choice<NodeId>>,
    /// Prefer memory of these nodes (Linux 5.15).
    #[arg(short = 'P', long, value_name = "NODES", group = "policy")]
    pub preferred_many: Option<Choice<NodeId>>,
    /// Allocate memory on the node whose CPU touches it first.
    #[arg(short = 'l', long, group = "policy")]
    pub localalloc: bool,
    /// With --membind: let the kernel move pages among these nodes (Linux 5.12).
    #[arg(short = 'b', long, requires = "membind")]
    #[arg(conflicts_with_all = [
        "interleave", "weighted_interleave", "preferred", "preferred_many", "localalloc",
    ])]
    pub balancing: bool,
    /// Interpret lists against the whole machine instead of the cpuset of this process.
    #[arg(short = 'a', long)]
    pub all: bool,
}

impl PolicyArguments {
    /// Returns the requested memory policy.
    fn request(&self) -> Option<MemoryRequest> {
        let balancing = self.balancing;
        let bind = |nodes| MemoryRequest::Bind { nodes, balancing };
        let requests = [
            self.membind.clone().map(bind),
            self.interleave.clone().map(MemoryRequest::Interleave),
            self.weighted_interleave
                .clone()
                .map(MemoryRequest::WeightedInterleave),
            self.preferred.clone().map(MemoryRequest::Preferred),
            self.preferred_many
                .clone()
                .map(MemoryRequest::PreferredMany),
            self.localalloc.then_some(MemoryRequest::Local),
        ];
        requests.into_iter().flatten().next()
    }
}

/// Options of `numalab bind`.
#[derive(Debug, Args)]
pub(crate) struct BindArguments {
    #[command(flatten)]
    cpus: CpuArguments,
    #[command(flatten)]
    policy: PolicyArguments,
    /// Start the program in this processor group (see `numalab group`), or in the cgroup at this
    /// path.
    #[arg(long, value_name = "NAME", value_parser = name_or_path)]
    pub group: Option<String>,
    /// Limit the program's CPU time to this many CPUs, such as 1.5.
    #[arg(long, value_name = "N", value_parser = cpu_limit, conflicts_with = "group")]
    pub cpu_limit: Option<f64>,
    /// Internal: systemd has put this process into its group.
    #[arg(long, hide = true)]
    pub in_scope: bool,
    /// Huge-page memory that the program needs; warn if a node has less free.
    #[arg(long, value_name = "BYTES")]
    pub huge_bytes: Option<ByteSize>,
    /// Do not warn about placements that are likely wrong.
    #[arg(long)]
    pub no_lint: bool,
    /// Verify where the memory went; exit with code 6 if the placement was not honoured.
    #[arg(long)]
    pub verify: bool,
    /// Verify after this many seconds [default: 1].
    #[arg(long, value_name = "S", value_parser = crate::arguments::values::seconds)]
    #[arg(requires = "verify", conflicts_with = "until_bytes")]
    pub after: Option<f64>,
    /// Verify when the program has this much memory, such as 2GiB.
    #[arg(long, value_name = "BYTES", requires = "verify")]
    pub until_bytes: Option<ByteSize>,
    /// Write the report of --verify to a file instead of stderr; stdout is the COMMAND's.
    #[arg(
        long,
        value_name = "FILE",
        requires = "verify",
        visible_alias = "report"
    )]
    pub output: Option<PathBuf>,
    /// Write the report of --verify as JSON (numalab.bind/1); it needs --output.
    #[arg(long, requires = "verify")]
    pub json: bool,
    /// Program and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    #[arg(value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// When to verify where the memory of a program went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trigger {
    /// After this time.
    After(Duration),
    /// When the program has this many bytes.
    Bytes(u64),
}

impl BindArguments {
    /// Returns the requested placement.
    pub(crate) fn request(&self) -> Request {
        Request {
            cpus: self.cpus.request(),
            memory: self.policy.request(),
            whole_machine: self.policy.all,
        }
    }

    /// Returns when to verify.
    pub(crate) fn trigger(&self) -> Trigger {
        match self.until_bytes {
            Some(bytes) => Trigger::Bytes(bytes.0),
            None => Trigger::After(Duration::from_secs_f64(self.after.unwrap_or(1.0))),
        }
    }
}

/// Parses a limit of CPU time, in CPUs.
fn cpu_limit(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(limit) if (0.01..=CPU_LIMIT_MAX).contains(&limit) => Ok(limit),
        _ => Err(format!(
            "expected a number of CPUs from 0.01 to {CPU_LIMIT_MAX}"
        )),
    }
}

/// Parses a name, or the path of a cgroup.
fn name_or_path(text: &str) -> Result<String, String> {
    match text.starts_with('/') {
        true => Ok(text.to_owned()),
        false => text.parse::<GroupName>().map(|name| name.to_string()),
    }
}

/// Options of `numalab group`.
#[derive(Debug, Args)]
pub(crate) struct GroupArguments {
    /// What to do.
    #[command(subcommand)]
    pub command: GroupCommand,
}

/// The subcommands of `numalab group`.
#[derive(Debug, Subcommand)]
pub(crate) enum GroupCommand {
    /// Create a group.
    #[command(after_help = "Example: numalab group create oracle --physcpubind 1-9 --membind 0")]
    Create(GroupCreateArguments),
    /// Change the CPUs, memory nodes or limit of a group in use.
    #[command(after_help = "Example: numalab group set oracle --physcpubind 1-19")]
    Set(GroupSetArguments),
    /// Move running processes into a group.
    #[command(after_help = "Example: numalab group add oracle oracle:ORCL")]
    Add(GroupAddArguments),
    /// List groups, their members, and where their memory lies.
    #[command(after_help = "Example: numalab group list oracle --emit systemd")]
    List(GroupListArguments),
    /// Delete a group.
    #[command(after_help = "Example: numalab group delete oracle")]
    Delete(GroupDeleteArguments),
}

/// What a group can be of.
#[derive(Debug, Args)]
pub(crate) struct GroupPlacement {
    #[command(flatten)]
    pub cpus: CpuArguments,
    /// Allocate memory only on these nodes.
    #[arg(short = 'm', long, value_name = "NODES")]
    pub membind: Option<Choice<NodeId>>,
    /// Limit the CPU time of the whole group to this many CPUs, such as 1.5.
    #[arg(long, value_name = "N", value_parser = cpu_limit)]
    pub cpu_limit: Option<f64>,
    /// Interpret lists against the whole machine instead of the cpuset of this process.
    #[arg(short = 'a', long)]
    pub all: bool,
}

/// Options of `numalab group create`.
#[derive(Debug, Args)]
pub(crate) struct GroupCreateArguments {
    /// Name of the group.
    pub name: GroupName,
    #[command(flatten)]
    pub placement: GroupPlacement,
    /// Create nothing; print the configuration that makes this group permanent.
    #[arg(long, value_name = "KIND", value_enum)]
    pub emit: Option<Emit>,
    /// Print JSON (numalab.groups/1).
    #[arg(long, conflicts_with = "emit")]
    pub json: bool,
}

/// Options of `numalab group set`.
#[derive(Debug, Args)]
pub(crate) struct GroupSetArguments {
    /// Name of a group, or the path of a cgroup that numalab did not create, such as /db.
    #[arg(value_parser = name_or_path)]
    pub name: String,
    #[command(flatten)]
    pub placement: GroupPlacement,
    /// On cgroup v1: migrate memory to the new nodes, as v2 always does.
    #[arg(long)]
    pub migrate: bool,
    /// Print JSON (numalab.groups/1).
    #[arg(long)]
    pub json: bool,
}

/// Options of `numalab group add`.
#[derive(Debug, Args)]
pub(crate) struct GroupAddArguments {
    /// Name of a group, or the path of a cgroup that numalab did not create, such as /db.
    #[arg(value_parser = name_or_path)]
    pub name: String,
    /// PIDs, process names, postgres:DATADIR, mysql:DATADIR, redis:PORT, valkey:PORT,
    /// oracle:SID, cgroup:/PATH or unit:NAME.
    #[arg(required = true, value_name = "TARGET")]
    pub processes: Vec<String>,
}

/// Options of `numalab group list`.
#[derive(Debug, Args)]
pub(crate) struct GroupListArguments {
    /// List only this group, or the cgroup at this path.
    #[arg(value_parser = name_or_path)]
    pub name: Option<String>,
    /// Print the configuration that makes the group permanent.
    #[arg(long, value_name = "KIND", value_enum)]
    pub emit: Option<Emit>,
    /// Print JSON (numalab.groups/1).
    #[arg(long, conflicts_with = "emit")]
    pub json: bool,
}

/// Options of `numalab group delete`.
#[derive(Debug, Args)]
pub(crate) struct GroupDeleteArguments {
    /// Name of the group.
    #[arg(value_parser = name_or_path)]
    pub name: String,
    /// First move its members back to their previous cgroups, else to the parent cgroup.
    #[arg(long)]
    pub evict: bool,
}

/// For whom a configuration is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Emit {
    /// /etc/cgconfig.conf of libcgroup.
    Cgconfig,
    /// A systemd slice, and a service in it.
    Systemd,
    /// kubelet configuration and a Pod.
    Kubernetes,
    /// SQL statements that start an Oracle instance in the group.
    Oracle,
}

impl From<Emit> for Configuration {
    fn from(emit: Emit) -> Self {
        match emit {
            Emit::Cgconfig => Configuration::Cgconfig,
            Emit::Systemd => Configuration::Systemd,
            Emit::Kubernetes => Configuration::Kubernetes,
            Emit::Oracle => Configuration::Oracle,
        }
    }
}
