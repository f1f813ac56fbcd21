//! Where the text of programs and libraries lies: it is cached on the node of whoever read the
//! file first, and stays there.

use model::{NodeSet, Residency, SegmentKind};

/// Less program text than this is not worth a word.
const WORTH_BYTES: u64 = 4 << 20;

/// Bytes of program text on nodes where no process may run, and all bytes of it; `None` when it
/// is little, or most of it lies where processes run.
pub fn far_text(residency: &Residency) -> Option<(u64, u64)> {
    let near: NodeSet = residency
        .processes
        .iter()
        .flat_map(|process| process.nodes_of_cpus.iter())
        .collect();
    let text = residency
        .segments
        .iter()
        .filter(|of| of.kind == SegmentKind::ProgramText);
    let (mut far, mut all) = (0_u64, 0_u64);
    for (node, bytes) in text.flat_map(|segment| &segment.bytes_by_node) {
        all += bytes;
        far += if near.contains(*node) { 0 } else { *bytes };
    }
    (all >= WORTH_BYTES && !near.is_empty() && far > all / 2).then_some((far, all))
}

#[cfg(test)]
mod tests {
    use model::{NodeId, ProcessResidency, SegmentResidency};

    use super::*;

    #[test]
    fn text_is_far_when_no_process_may_run_beside_it() {
        let residency = |node| Residency {
            segments: vec![SegmentResidency {
                kind: SegmentKind::ProgramText,
                bytes_by_node: [(NodeId(node), 8 << 20)].into(),
                ..SegmentResidency::default()
            }],
            processes: vec![ProcessResidency {
                nodes_of_cpus: "0".parse().unwrap(),
                ..ProcessResidency::default()
            }],
            ..Residency::default()
        };
        assert_eq!(far_text(&residency(1)), Some((8 << 20, 8 << 20)));
        assert_eq!(far_text(&residency(0)), None);
    }
}
