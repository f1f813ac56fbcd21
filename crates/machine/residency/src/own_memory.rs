//! The memory of a target by node: shared, and all of its own.

use model::{BytesByNode, Residency};

use crate::tally::add_bytes;

/// Shared memory of the target, without files, by node.
pub fn shared_memory(residency: &Residency) -> BytesByNode {
    let mut sum = BytesByNode::new();
    for segment in residency
        .segments
        .iter()
        .filter(|segment| segment.kind.is_shared_memory())
    {
        add_bytes(&mut sum, &segment.bytes_by_node);
    }
    sum
}

/// Private and shared memory of the target, without programs and files, which other processes may
/// have read in before.
pub fn own_memory(residency: &Residency) -> BytesByNode {
    let mut sum = shared_memory(residency);
    for class in &residency.private {
        add_bytes(&mut sum, &class.bytes_by_node);
    }
    sum
}
