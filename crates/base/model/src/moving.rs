//! The types of `numalab.move/1`: the plan of a move, and its result.

use serde::{Deserialize, Serialize};

use crate::BytesByNode;

/// A move: planned or executed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MoveReport {
    /// The target, as the user named it.
    pub target: String,
    /// The destination, as the user named it.
    pub to: String,
    /// How far it got.
    pub status: MoveStatus,
    /// The parts.
    pub parts: Vec<MovedPart>,
    /// Bytes to move.
    pub bytes_to_move: u64,
    /// Bytes moved; `None` for a plan.
    pub bytes_moved: Option<u64>,
    /// Pages moved; a larger page counts as one.
    pub pages_moved: Option<u64>,
    /// Calls of move_pages(2) that moved or queried pages, excluding those of the plan.
    pub system_calls: Option<u64>,
    /// Duration of the move.
    pub seconds: Option<f64>,
    /// Pages that stayed, by reason.
    pub refused: Vec<Refused>,
    /// Anything else the user should know, one sentence each.
    pub notes: Vec<String>,
}

/// How far a move got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MoveStatus {
    /// Only planned.
    #[default]
    Planned,
    /// To its end.
    Complete,
    /// Interrupted by the user; the same command continues with the rest.
    Interrupted,
    /// All processes of the target ended.
    TargetEnded,
}

/// A segment, or the private memory of the processes of one class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MovedPart {
    /// Name of the segment or the class.
    pub name: String,
    /// Its kind, for people: `System V`, `private`.
    pub kind: String,
    /// Whether it is shared memory.
    pub shared: bool,
    /// The number of processes, for private memory.
    pub processes: Option<u32>,
    /// Size of its pages.
    pub page_bytes: u64,
    /// Bytes by node before.
    pub bytes_by_node_before: BytesByNode,
    /// Bytes by node as planned.
    pub bytes_by_node_planned: BytesByNode,
    /// Bytes by node afterwards, by the method of `numalab inspect`; `None` for a plan.
    pub bytes_by_node_after: Option<BytesByNode>,
    /// Pages from which they are estimated; `None`: every page was looked at.
    pub pages_sampled: Option<u64>,
    /// How far a node's share of the estimate may be off, 0 to 1, with a confidence of 95 %.
    pub share_margin: Option<f64>,
    /// Bytes by node of the pages that the move has met, by the status that the kernel returned
    /// for each; `None` for a plan, or where the move did not come to its end.
    pub bytes_by_node_by_status: Option<BytesByNode>,
    /// Bytes to move.
    pub bytes_to_move: u64,
    /// The previous policy, where the move sets another one for pages allocated later.
    pub policy_before: Option<String>,
    /// The policy set.
    pub policy_then: Option<String>,
}

impl MovedPart {
    /// The largest difference between a node's planned and actual share, 0 to 1: by the status of
    /// each page, and by what an inspection shows beyond the margin of its sample.
    pub fn share_error(&self) -> Option<f64> {
        let after = self.bytes_by_node_after.as_ref()?;
        let looked = self.error_of(after) - self.share_margin.unwrap_or(0.0);
        let by_status = self.bytes_by_node_by_status.as_ref();
        let by_status = by_status.map_or(0.0, |bytes| self.error_of(bytes));
        Some(looked.max(by_status))
    }

    fn error_of(&self, actual: &BytesByNode) -> f64 {
        let share = |bytes: &BytesByNode, node| {
            let all: u64 = bytes.values().sum();
            let of_node = bytes.get(node).copied().unwrap_or(0);
            if all == 0 {
                0.0
            } else {
                of_node as f64 / all as f64
            }
        };
        let planned = &self.bytes_by_node_planned;
        let nodes = planned.keys().chain(actual.keys());
        let errors = nodes.map(|node| (share(planned, node) - share(actual, node)).abs());
        errors.fold(0.0, f64::max)
    }
}

/// Pages that stayed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// The reason.
    pub reason: String,
    /// Their size.
    pub bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NodeId;

    #[test]
    fn the_error_is_that_of_the_worst_node() {
        let bytes = |list: &[(u32, u64)]| -> BytesByNode {
            list.iter()
                .map(|(node, bytes)| (NodeId(*node), *bytes))
                .collect()
        };
        let mut part = MovedPart {
            bytes_by_node_planned: bytes(&[(0, 50), (1, 50)]),
            ..MovedPart::default()
        };
        assert_eq!(part.share_error(), None);
        part.bytes_by_node_after = Some(bytes(&[(0, 40), (1, 50), (2, 10)]));
        assert!((part.share_error().unwrap() - 0.1).abs() < 1e-9);
        part.share_margin = Some(0.04);
        assert!((part.share_error().unwrap() - 0.06).abs() < 1e-9);
        part.bytes_by_node_by_status = Some(bytes(&[(0, 42), (1, 58)]));
        assert!((part.share_error().unwrap() - 0.08).abs() < 1e-9);
        part.bytes_by_node_by_status = Some(bytes(&[(0, 5), (1, 5)]));
        part.share_margin = None;
        part.bytes_by_node_after = Some(BytesByNode::new());
        assert_eq!(part.share_error(), Some(0.5));
    }
}
