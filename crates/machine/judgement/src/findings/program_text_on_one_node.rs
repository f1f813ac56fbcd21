//! Program text on one of the nodes where the processes run.

use model::{
    ByteSize, NodeId, SegmentKind, SegmentResidency, Severity, ShellLine, node_words, shell_line,
};

use super::row::{Check, Row};
use crate::doctor::memory::{nodes_used, source};
use crate::doctor::{DoctorInput, sight};
use crate::found::{Found, fact};

pub(super) const ROW: Row = Row {
    id: "program-text-on-one-node",
    severity: Severity::Info,
    about: "program text is cached on one node, and its processes may run on others, too",
    cost: "with the text on another node, instructions per cycle fell from 1 to 0.65, and \
           throughput by 30 to 40 %",
    cost_source: "issue 9294 of scylladb",
    checks: &[Check::Doctor(sight::target, check)],
};

/// Less program text than this is not worth a finding: it fits into the caches of a node.
const WORTH_BYTES: u64 = 4 << 20;
/// The share of it that makes a node the only one.
const SHARE_MIN: f64 = 0.9;

fn check(input: &DoctorInput) -> Option<Found> {
    let residency = input.residency.as_ref()?;
    let used = nodes_used(residency);
    let texts = residency.segments.iter();
    let texts = texts.filter(|of| of.kind == SegmentKind::ProgramText && of.bytes() >= WORTH_BYTES);
    let largest = texts.max_by_key(|of| of.bytes())?;
    let (node, share) = fullest(largest)?;
    // Text where no process runs is a finding of its own.
    let is_one_of_several = used.len() > 1 && used.contains(node) && share >= SHARE_MIN;
    let other = used.iter().find(|other| *other != node)?;
    is_one_of_several.then(|| {
        let (bytes, file) = (ByteSize(largest.bytes()), &largest.name);
        Found {
            evidence: vec![fact(source(residency), &largest.name)],
            fix: vec![
                ShellLine::of(
                    "# for an instance on each node: a copy for each, cached and started \
                     there:",
                ),
                shell_line!(
                    "numactl --cpunodebind={} --membind={} cp {} COPY",
                    other,
                    other,
                    file
                ),
                shell_line!("numalab bind -N {} -m {} -- COPY", other, other),
                ShellLine::of(
                    "# for one instance on all of them: stop it, drop its text from the page \
                     cache, and spread it",
                ),
                shell_line!("dd if={} iflag=nocache count=0", file),
                shell_line!("numactl --interleave={} cat {} >/dev/null", used, file),
            ],
            ..Found::that(format!(
                "{:.0} % of {bytes} of program text lie on node {node}, and the processes may run \
                 on {}: with a copy for each node, all of it would be local everywhere",
                share * 100.0,
                node_words(used)
            ))
        }
    })
}

/// The node with the most of a segment, and its share.
fn fullest(segment: &SegmentResidency) -> Option<(NodeId, f64)> {
    let by_node = segment.bytes_by_node.iter();
    let (node, bytes) = by_node.max_by_key(|(_, bytes)| **bytes)?;
    Some((*node, *bytes as f64 / segment.bytes() as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::samples::target;

    fn found(bytes: &[(u32, u64)], cpus: &str, kind: SegmentKind) -> Option<String> {
        let mut it = target(bytes, "default", "0-2", cpus);
        let residency = it.residency.iter_mut();
        let segments = residency.flat_map(|residency| &mut residency.segments);
        segments.for_each(|segment| segment.kind = kind);
        check(&it).map(|found| found.message)
    }

    #[test]
    fn text_on_one_of_several_nodes_is_found() {
        let text = SegmentKind::ProgramText;
        let expected = "95 % of 20 MiB of program text lie on node 0, and the processes may run on \
                        nodes 0-1: with a copy for each node, all of it would be local everywhere";
        let on_one = found(&[(0, 19), (1, 1)], "0-1", text);
        assert_eq!(on_one.as_deref(), Some(expected));
        assert_eq!(found(&[(0, 15), (1, 5)], "0-1", text), None);
        assert_eq!(found(&[(0, 20)], "0", text), None);
        assert_eq!(found(&[(2, 20)], "0-1", text), None);
        assert_eq!(found(&[(0, 3)], "0-1", text), None);
        assert_eq!(found(&[], "0-1", text), None);
        assert_eq!(found(&[(0, 20)], "0-1", SegmentKind::File), None);
    }
}
