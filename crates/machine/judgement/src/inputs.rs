//! What is examined for findings: latencies, bandwidths, and a placement before a program starts.
//! What the doctor examines is more, and read from the kernel: `doctor/input.rs`.

use linux::mempolicy::Policy;
use model::{CpuSet, DistanceTable, NodeHugePages, NodeId, NodeMatrix, NodeSet};
use placement::bind::{Machine, Order};

use crate::hops::classes_of_row;

/// Latencies, and what is known of the machine that they were measured on.
#[derive(Debug, Clone)]
pub struct LatencyInput<'a> {
    pub(crate) matrix: &'a NodeMatrix,
    pub(crate) distances: Option<&'a DistanceTable>,
    pub(crate) packages: &'a [(NodeId, usize)],
    pub(crate) warnings: &'a [&'a str],
    /// Whether there are several nodes to distinguish and no row distinguishes any.
    pub(crate) is_flat: bool,
}

impl<'a> LatencyInput<'a> {
    /// A matrix in ns, with the firmware's distances where they are known, the number of packages
    /// (sockets) that the CPUs of each node are in ([`crate::hops::packages_by_node`]), and the
    /// warnings that were stored with the trials.
    ///
    /// Distances should be those from nodes with CPUs ([`DistanceTable::from_nodes`]): the rows of
    /// other nodes mean nothing. The figures of an emulated machine mean nothing: for one, pass
    /// [`NodeMatrix::default`], which leaves the findings on the tables alone.
    pub fn new(
        matrix: &'a NodeMatrix,
        distances: Option<&'a DistanceTable>,
        packages: &'a [(NodeId, usize)],
        warnings: &'a [&'a str],
    ) -> Self {
        LatencyInput {
            matrix,
            distances,
            packages,
            warnings,
            is_flat: is_flat(matrix),
        }
    }

    /// The distances, if the rows distinguish nodes that can be compared with them.
    pub(crate) fn comparable_distances(&self) -> Option<&'a DistanceTable> {
        self.distances.filter(|_| !self.is_flat)
    }
}

fn is_flat(matrix: &NodeMatrix) -> bool {
    let sizes = matrix.rows().map(|(_, cells)| {
        let classes = classes_of_row(matrix, cells);
        (classes.len(), classes.iter().map(Vec::len).sum::<usize>())
    });
    let mut any_pair = false;
    for (classes, cells) in sizes {
        if classes > 1 {
            return false;
        }
        any_pair |= cells > 1;
    }
    any_pair
}

/// Bandwidths.
#[derive(Debug, Clone)]
pub struct BandwidthInput<'a> {
    /// The kernel's name.
    pub kernel: &'a str,
    /// Bytes per second.
    pub matrix: &'a NodeMatrix,
    /// The warnings that were stored with the trials.
    pub warnings: &'a [&'a str],
}

/// A placement that a program is about to be started under.
#[derive(Debug, Clone)]
pub struct BindInput<'a> {
    /// The machine, with what the process may use.
    pub machine: &'a Machine,
    /// What was requested.
    pub order: &'a Order,
    /// The CPUs that the kernel actually lets the process use.
    pub cpus: &'a CpuSet,
    /// The huge-page pools of the nodes.
    pub huge_pages: &'a [(NodeId, Vec<NodeHugePages>)],
    /// Bytes that the program will take in huge pages, if given.
    pub huge_bytes: Option<u64>,
}

impl BindInput<'_> {
    /// The memory nodes that the policy binds to or prefers; interleaved memory is remote on
    /// purpose.
    pub(crate) fn kept_nodes(&self) -> Option<NodeSet> {
        match self.order.policy.as_ref()? {
            Policy::Interleave(_) | Policy::WeightedInterleave(_) => None,
            policy => policy.nodes(),
        }
    }

    /// The nodes whose CPUs the process may use.
    pub(crate) fn near_nodes(&self) -> NodeSet {
        self.machine.nodes_of(self.cpus)
    }
}
