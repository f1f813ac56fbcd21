//! Where the cached pages of programs and data files lie: on the node of the process that read the
//! file first, where they stay.

use model::{NodeSet, Residency, SegmentKind};

/// Less program text than this is not worth a finding.
const TEXT_WORTH_BYTES: u64 = 4 << 20;
/// Nor are fewer bytes of data files than this.
const FILES_WORTH_BYTES: u64 = 16 << 20;

/// Bytes of program text on nodes where no process may run, and all bytes of it; `None` when there
/// is little, or most of it lies where processes run.
pub fn far_text(residency: &Residency) -> Option<(u64, u64)> {
    far(residency, SegmentKind::ProgramText, TEXT_WORTH_BYTES)
}

/// The same for data files, as far as they were inspected.
pub fn far_files(residency: &Residency) -> Option<(u64, u64)> {
    far(residency, SegmentKind::File, FILES_WORTH_BYTES)
}

fn far(residency: &Residency, kind: SegmentKind, worth_bytes: u64) -> Option<(u64, u64)> {
    let near: NodeSet = residency
        .processes
        .iter()
        .flat_map(|process| process.nodes_of_cpus.iter())
        .collect();
    let files = residency.segments.iter().filter(|of| of.kind == kind);
    let (mut far, mut all) = (0_u64, 0_u64);
    for (node, bytes) in files.flat_map(|segment| &segment.bytes_by_node) {
        all += bytes;
        far += if near.contains(*node) { 0 } else { *bytes };
    }
    (all >= worth_bytes && !near.is_empty() && far > all / 2).then_some((far, all))
}

#[cfg(test)]
mod tests {
    use model::{NodeId, ProcessResidency, SegmentResidency};

    use super::*;

    #[test]
    fn files_are_far_when_no_process_may_run_beside_them() {
        let residency = |kind, node| Residency {
            segments: vec![SegmentResidency {
                kind,
                bytes_by_node: [(NodeId(node), 16 << 20)].into(),
                ..SegmentResidency::default()
            }],
            processes: vec![ProcessResidency {
                nodes_of_cpus: "0".parse().unwrap(),
                ..ProcessResidency::default()
            }],
            ..Residency::default()
        };
        let all = Some((16 << 20, 16 << 20));
        let text = |node| far_text(&residency(SegmentKind::ProgramText, node));
        let files = |node| far_files(&residency(SegmentKind::File, node));
        assert_eq!((text(1), text(0)), (all, None));
        assert_eq!((files(1), files(0)), (all, None));
        assert_eq!(far_files(&residency(SegmentKind::ProgramText, 1)), None);
    }
}
