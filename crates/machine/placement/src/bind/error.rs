//! Why a program cannot be placed as requested.

use linux::SystemCallError;
use model::{CpuSet, NodeSet, cpu_words, node_words};

use super::ChoiceError;

/// Why a program cannot be placed as requested.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// A list on the command line is not valid on this machine.
    #[error("{option} {error}")]
    Choice {
        /// The option.
        option: &'static str,
        /// What is wrong with its list.
        error: ChoiceError,
    },
    /// The node of a device is unknown.
    #[error("{option} {device}: {reason}")]
    Device {
        /// The option.
        option: &'static str,
        /// The device, as given.
        device: String,
        /// Why its node is not known.
        reason: String,
    },
    /// CPUs were requested of nodes that have none.
    #[error(
        "--cpunodebind: no CPUs on {} (memory only); CPUs are on {}",
        node_words(nodes),
        node_words(cpu_nodes)
    )]
    NoCpus {
        /// The nodes.
        nodes: NodeSet,
        /// The nodes that have CPUs.
        cpu_nodes: NodeSet,
    },
    /// Memory was requested of nodes that have none.
    #[error(
        "{option}: no memory on {}; memory is on {}",
        node_words(nodes),
        node_words(memory_nodes)
    )]
    NoMemory {
        /// The option.
        option: &'static str,
        /// The nodes.
        nodes: NodeSet,
        /// The nodes that have memory.
        memory_nodes: NodeSet,
    },
    /// `--preferred` takes one node.
    #[error(
        "--preferred takes one node, not {nodes} ({} nodes); use --preferred-many for several",
        nodes.len()
    )]
    SeveralPreferred {
        /// The nodes.
        nodes: NodeSet,
    },
    /// The cpuset forbids all requested memory nodes.
    #[error(
        "{option}: the cpuset of this process allows memory only on {}, not on \
         {nodes}",
        node_words(allowed)
    )]
    NodesForbidden {
        /// The option.
        option: &'static str,
        /// What was requested.
        nodes: NodeSet,
        /// What is allowed.
        allowed: NodeSet,
    },
    /// The cpuset forbids all requested CPUs.
    #[error("the cpuset of this process does not allow {}", cpu_words(cpus))]
    CpusForbidden {
        /// What was requested.
        cpus: CpuSet,
    },
    /// The kernel is too old for a policy, or built without policies.
    #[error("this kernel does not support {what}: {needs}")]
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
        /// What refuses it, as far as known.
        refuser: &'static str,
    },
    /// A system call failed for another reason.
    #[error(transparent)]
    SystemCall(#[from] SystemCallError),
    /// The machine could not be read.
    #[error(transparent)]
    Read(#[from] linux::Error),
}
