//! Why a program cannot be placed as asked.

use linux::SystemCallError;
use model::{CpuSet, NodeSet};

use super::ChoiceError;

/// Why a program cannot be placed as asked.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// A list on the command line means nothing on this machine.
    #[error("{option} {error}")]
    Choice {
        /// The option.
        option: &'static str,
        /// What is wrong with its list.
        error: ChoiceError,
    },
    /// A device is attached to no node that is known.
    #[error("{option} {device}: {reason}")]
    Device {
        /// The option.
        option: &'static str,
        /// The device as it was named.
        device: String,
        /// Why its node is not known.
        reason: String,
    },
    /// CPUs are wanted of nodes that have none.
    #[error(
        "--cpunodebind: node {nodes} has memory only and no CPUs; nodes with CPUs are {cpu_nodes}"
    )]
    NoCpus {
        /// The nodes.
        nodes: NodeSet,
        /// Those that have some.
        cpu_nodes: NodeSet,
    },
    /// Memory is wanted of nodes that have none.
    #[error("{option}: node {nodes} has no memory; nodes with memory are {memory_nodes}")]
    NoMemory {
        /// The option.
        option: &'static str,
        /// The nodes.
        nodes: NodeSet,
        /// Those that have some.
        memory_nodes: NodeSet,
    },
    /// `--preferred` takes one node.
    #[error(
        "--preferred takes one node, {nodes} are {}; --preferred-many takes several",
        nodes.len()
    )]
    SeveralPreferred {
        /// The nodes.
        nodes: NodeSet,
    },
    /// The cpuset forbids all of it.
    #[error(
        "{option}: the cpuset of this process allows memory of nodes {allowed} only, and none of \
         {nodes}"
    )]
    NodesForbidden {
        /// The option.
        option: &'static str,
        /// What was asked for.
        nodes: NodeSet,
        /// What is allowed.
        allowed: NodeSet,
    },
    /// The cpuset forbids all CPUs.
    #[error("the cpuset of this process allows none of the CPUs {cpus}")]
    CpusForbidden {
        /// What was asked for.
        cpus: CpuSet,
    },
    /// The kernel is too old for a policy, or built without policies.
    #[error("this kernel has no {what}: {needs}")]
    Kernel {
        /// What it lacks.
        what: &'static str,
        /// Which kernel has it.
        needs: &'static str,
    },
    /// A system call is refused, though it needs no capability.
    #[error("{error}; this needs no capability, so {refuser}")]
    Refused {
        /// The call.
        error: SystemCallError,
        /// What refuses it, as far as is known.
        refuser: &'static str,
    },
    /// A system call failed otherwise.
    #[error(transparent)]
    SystemCall(#[from] SystemCallError),
    /// The machine could not be read.
    #[error(transparent)]
    Read(#[from] linux::Error),
}
