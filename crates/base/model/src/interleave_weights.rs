//! The types of `numalab.weights/1`: weights of weighted interleaving from measured bandwidth.

use serde::{Deserialize, Serialize};

use crate::{NodeId, NodeSet};

/// Weights that follow from measured bandwidths.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MeasuredWeights {
    /// What was measured: the id of a stored run, or a file.
    pub source: String,
    /// The nodes whose CPUs use the memory.
    pub cpu_nodes: NodeSet,
    /// The nodes with memory.
    pub nodes: Vec<WeightOfNode>,
    /// The largest difference between the share of a node by its weight and by its bandwidth.
    pub error: f64,
}

/// The weight of one node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WeightOfNode {
    /// The node.
    pub node: NodeId,
    /// Bandwidth of its memory in bytes per second.
    pub bytes_per_s: f64,
    /// Lower end of the interval of that; `None` where unknown.
    pub bytes_per_s_low: Option<f64>,
    /// Upper end of it.
    pub bytes_per_s_high: Option<f64>,
    /// The node whose CPUs measured that.
    pub cpu_node: NodeId,
    /// Its share of the bandwidth of all nodes, 0 to 1.
    pub share: f64,
    /// Its weight: pages per round.
    pub weight: u8,
    /// Its share of the pages by these weights, 0 to 1.
    pub share_by_weight: f64,
}
