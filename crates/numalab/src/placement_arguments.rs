//! Options that say where something is to run and have its memory: those of numactl, and ours.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use model::{ByteSize, CpuId, NodeId};
use numa::bind::{Choice, CpuWish, MemoryWish, Wish};
use numa::groups::GroupName;
use report::Configuration;

use crate::commands::group::name_or_path;

/// The most CPUs that a quota can be of: Linux can be built for 8192.
const CPU_LIMIT_MAX: f64 = 8192.0;

/// CPUs, as numactl takes them.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("cpus"))]
pub struct CpuArguments {
    /// Only the CPUs of these nodes. Lists: 0,2-3, all, !1, +0 (within the cpuset), same,
    /// netdev:DEV, block:DEV, file:PATH, pci:ADDRESS.
    #[arg(short = 'N', long, value_name = "NODES", group = "cpus")]
    pub cpunodebind: Option<Choice<NodeId>>,
    /// Only these CPUs.
    #[arg(short = 'C', long, value_name = "CPUS", group = "cpus")]
    pub physcpubind: Option<Choice<CpuId>>,
}

impl CpuArguments {
    /// What they wish.
    pub fn wish(&self) -> Option<CpuWish> {
        let of_nodes = self.cpunodebind.clone().map(CpuWish::OfNodes);
        of_nodes.or_else(|| self.physcpubind.clone().map(CpuWish::These))
    }
}

/// Memory policies, as numactl takes them.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("policy"))]
pub struct PolicyArguments {
    /// Memory of these nodes only.
    #[arg(short = 'm', long, value_name = "NODES", group = "policy")]
    pub membind: Option<Choice<NodeId>>,
    /// Memory page by page over these nodes.
    #[arg(short = 'i', long, value_name = "NODES", group = "policy")]
    pub interleave: Option<Choice<NodeId>>,
    /// The same by the kernel's weights (Linux 6.9).
    #[arg(short = 'w', long, value_name = "NODES", group = "policy")]
    pub weighted_interleave: Option<Choice<NodeId>>,
    /// Memory of this node first.
    #[arg(short = 'p', long, value_name = "NODE", group = "policy")]
    pub preferred: Option<Choice<NodeId>>,
    /// Memory of these nodes first (Linux 5.15).
    #[arg(short = 'P', long, value_name = "NODES", group = "policy")]
    pub preferred_many: Option<Choice<NodeId>>,
    /// Memory of the node whose CPU touches it first.
    #[arg(short = 'l', long, group = "policy")]
    pub localalloc: bool,
    /// With --membind: the kernel may move pages among these nodes (Linux 5.12).
    #[arg(short = 'b', long, requires = "membind")]
    #[arg(conflicts_with_all = [
        "interleave", "weighted_interleave", "preferred", "preferred_many", "localalloc",
    ])]
    pub balancing: bool,
    /// Lists are of the whole machine, not of the cpuset of this process.
    #[arg(short = 'a', long)]
    pub all: bool,
}

impl PolicyArguments {
    /// What they wish.
    fn wish(&self) -> Option<MemoryWish> {
        let balancing = self.balancing;
        let bind = |nodes| MemoryWish::Bind { nodes, balancing };
        let wishes = [
            self.membind.clone().map(bind),
            self.interleave.clone().map(MemoryWish::Interleave),
            self.weighted_interleave
                .clone()
                .map(MemoryWish::WeightedInterleave),
            self.preferred.clone().map(MemoryWish::Preferred),
            self.preferred_many.clone().map(MemoryWish::PreferredMany),
            self.localalloc.then_some(MemoryWish::Local),
        ];
        wishes.into_iter().flatten().next()
    }
}

/// Options of `numalab bind`.
#[derive(Debug, Args)]
pub struct BindArguments {
    #[command(flatten)]
    cpus: CpuArguments,
    #[command(flatten)]
    policy: PolicyArguments,
    /// Start it in a processor group (`numalab group`), or in a cgroup by its path.
    #[arg(long, value_name = "NAME", value_parser = name_or_path)]
    pub group: Option<String>,
    /// At most so much CPU time, in CPUs: 1.5.
    #[arg(long, value_name = "N", value_parser = cpu_limit, conflicts_with = "group")]
    pub cpu_limit: Option<f64>,
    /// Said by numalab to itself where systemd has put it into its group already.
    #[arg(long, hide = true)]
    pub seated: bool,
    /// What the program will take in huge pages: the lint compares it with what is free.
    #[arg(long, value_name = "BYTES")]
    pub huge_bytes: Option<ByteSize>,
    /// Say nothing before the start.
    #[arg(long)]
    pub no_lint: bool,
    /// Look where the memory went, and end with exit code 6 when not where it was asked for.
    #[arg(long)]
    pub verify: bool,
    /// Look after this time (1 second when not given).
    #[arg(long, value_name = "S", value_parser = crate::durations::seconds)]
    #[arg(requires = "verify", conflicts_with = "until_bytes")]
    pub after: Option<f64>,
    /// Look when the program has so much memory: 2GiB.
    #[arg(long, value_name = "BYTES", requires = "verify")]
    pub until_bytes: Option<ByteSize>,
    /// Write the report of --verify to a file instead of stderr.
    #[arg(long, value_name = "FILE", requires = "verify")]
    pub report: Option<PathBuf>,
    /// Make the report of --verify the document numalab.bind/1.
    #[arg(long, requires = "verify")]
    pub json: bool,
    /// The program and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    #[arg(value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// When to look where the memory of a program went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// After this time.
    After(Duration),
    /// When it has so many bytes.
    Bytes(u64),
}

impl BindArguments {
    /// What is asked for.
    pub fn wish(&self) -> Wish {
        Wish {
            cpus: self.cpus.wish(),
            memory: self.policy.wish(),
            whole_machine: self.policy.all,
        }
    }

    /// When to look.
    pub fn trigger(&self) -> Trigger {
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

/// Options of `numalab group`.
#[derive(Debug, Args)]
pub struct GroupArguments {
    /// What to do.
    #[command(subcommand)]
    pub command: GroupCommand,
}

/// The subcommands of `numalab group`.
#[derive(Debug, Subcommand)]
pub enum GroupCommand {
    /// Make a group.
    #[command(after_help = "Example: numalab group create oracle --physcpubind 1-9 --membind 0")]
    Create(GroupCreateArguments),
    /// Change CPUs, memory nodes or limit while programs run in it.
    #[command(after_help = "Example: numalab group set oracle --physcpubind 1-19")]
    Set(GroupSetArguments),
    /// Move running processes into a group.
    #[command(after_help = "Example: numalab group add oracle oracle:ORCL")]
    Add(GroupAddArguments),
    /// Show groups, their members, and where their memory lies.
    #[command(after_help = "Example: numalab group list oracle --emit systemd")]
    List(GroupListArguments),
    /// Remove a group.
    #[command(after_help = "Example: numalab group delete oracle")]
    Delete(GroupDeleteArguments),
}

/// What a group can be of.
#[derive(Debug, Args)]
pub struct GroupPlacement {
    #[command(flatten)]
    pub cpus: CpuArguments,
    /// Memory of these nodes only.
    #[arg(short = 'm', long, value_name = "NODES")]
    pub membind: Option<Choice<NodeId>>,
    /// At most so much CPU time for all of it together, in CPUs: 1.5.
    #[arg(long, value_name = "N", value_parser = cpu_limit)]
    pub cpu_limit: Option<f64>,
    /// Lists are of the whole machine, not of the cpuset of this process.
    #[arg(short = 'a', long)]
    pub all: bool,
}

/// Options of `numalab group create`.
#[derive(Debug, Args)]
pub struct GroupCreateArguments {
    /// Its name.
    pub name: GroupName,
    #[command(flatten)]
    pub placement: GroupPlacement,
    /// Make nothing; print the configuration that makes the same group permanent.
    #[arg(long, value_name = "KIND", value_enum)]
    pub emit: Option<Emit>,
    /// Print the document numalab.groups/1.
    #[arg(long, conflicts_with = "emit")]
    pub json: bool,
}

/// Options of `numalab group set`.
#[derive(Debug, Args)]
pub struct GroupSetArguments {
    /// A group, or the path of a cgroup that numalab has not made: /db.
    #[arg(value_parser = name_or_path)]
    pub name: String,
    #[command(flatten)]
    pub placement: GroupPlacement,
    /// On cgroup v1: move memory to the new nodes, as v2 always does.
    #[arg(long)]
    pub migrate: bool,
    /// Print the document numalab.groups/1.
    #[arg(long)]
    pub json: bool,
}

/// Options of `numalab group add`.
#[derive(Debug, Args)]
pub struct GroupAddArguments {
    /// A group, or the path of a cgroup that numalab has not made: /db.
    #[arg(value_parser = name_or_path)]
    pub name: String,
    /// PIDs, process names, postgres:DATADIR, oracle:SID, cgroup:/PATH or unit:NAME.
    #[arg(required = true, value_name = "TARGET")]
    pub processes: Vec<String>,
}

/// Options of `numalab group list`.
#[derive(Debug, Args)]
pub struct GroupListArguments {
    /// Only this group, or the cgroup of this path.
    #[arg(value_parser = name_or_path)]
    pub name: Option<String>,
    /// Print the configuration that makes the same group permanent.
    #[arg(long, value_name = "KIND", value_enum)]
    pub emit: Option<Emit>,
    /// Print the document numalab.groups/1.
    #[arg(long, conflicts_with = "emit")]
    pub json: bool,
}

/// Options of `numalab group delete`.
#[derive(Debug, Args)]
pub struct GroupDeleteArguments {
    /// Its name.
    #[arg(value_parser = name_or_path)]
    pub name: String,
    /// Move its members out first.
    #[arg(long)]
    pub evict: bool,
}

/// For whom a configuration is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Emit {
    /// libcgroup: /etc/cgconfig.conf.
    Cgconfig,
    /// A slice of systemd, and a service in it.
    Systemd,
    /// The kubelet's configuration and a Pod.
    Kubernetes,
    /// The statements that start an Oracle instance in the group.
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
