//! Options that say where something is to run and have its memory: those of numactl, and ours.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args};
use model::{ByteSize, CpuId, NodeId};
use numa::bind::{Choice, CpuWish, MemoryWish, Wish};

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
