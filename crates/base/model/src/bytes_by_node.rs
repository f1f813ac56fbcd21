//! Bytes by node: the form of every figure on where memory lies.

use std::collections::BTreeMap;

use crate::NodeId;

/// Bytes by node.
pub type BytesByNode = BTreeMap<NodeId, u64>;
