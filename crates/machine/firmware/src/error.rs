//! Why there is no table.

use model::{NodeId, node_words};

/// Why distances, a table or weights could not be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A table of the firmware is not what its specification says.
    #[error("the table {table} of the firmware: expected {expected}, found {found}")]
    Malformed {
        /// Its signature.
        table: String,
        /// What was expected.
        expected: String,
        /// What was found.
        found: String,
    },
    /// A latency is missing that nothing stands in for.
    #[error("the latency from node {from} to node {to} was not measured, nor the other way round")]
    NotMeasured {
        /// The node of the CPU.
        from: NodeId,
        /// The node of the memory.
        to: NodeId,
    },
    /// The local latency of a node is missing, and so what the others are compared with.
    #[error("the local latency of node {node} was not measured")]
    NoLocal {
        /// The node.
        node: NodeId,
    },
    /// There is nothing to say about one node.
    #[error("distances need at least two nodes, found {nodes}")]
    TooFewNodes {
        /// How many there are.
        nodes: usize,
    },
    /// The bandwidth of a node's memory is missing.
    #[error(
        "the memory of node {node} was not measured from CPUs of {}{reason}",
        node_words(cpu_nodes)
    )]
    NoBandwidth {
        /// The node.
        node: NodeId,
        /// The nodes of the CPUs.
        cpu_nodes: String,
        /// Why it was not measured, after a colon; empty where unknown.
        reason: String,
    },
    /// Figures that no memory has, whose sum is infinite.
    #[error("the bandwidths are out of range")]
    BandwidthsTooLarge,
    /// There is nothing to weigh against each other.
    #[error("weights need at least two nodes with memory, found {nodes}")]
    TooFewMemoryNodes {
        /// How many there are.
        nodes: usize,
    },
    /// The firmware's table of proximity domains does not have the nodes of the kernel.
    #[error(
        "the firmware's table SRAT gives {}, but the kernel has {}: \
         which proximity domain is which node is unknown",
        node_words(of_table),
        node_words(of_kernel)
    )]
    OtherNodes {
        /// Nodes that follow from the table.
        of_table: String,
        /// Nodes of the kernel.
        of_kernel: String,
    },
    /// The kernel only takes a table that is newer than the firmware's, and none is.
    #[error(
        "the firmware's table SLIT has the highest revision of all, so the kernel would ignore ours"
    )]
    NoNewerRevision,
}
