//! Where the cached pages of programs and data files lie: on the node of the process that read the
//! file first, where they stay.

use model::{ByteSize, Residency, SegmentKind, ShellLine, shell_line};

use super::memory::{nodes_used, source};
use crate::found::{Found, fact};

/// The largest files that a finding names.
const FILES_SHOWN: usize = 8;

/// The finding on files of a kind most of which lie on nodes where no process may run; none where
/// there are fewer bytes of them than are worth a finding.
pub(crate) fn far_cache(
    residency: &Residency,
    kind: SegmentKind,
    what: &str,
    worth_bytes: u64,
) -> Option<Found> {
    let used = nodes_used(residency);
    let segments = residency.segments.iter();
    let mut files: Vec<_> = segments.filter(|of| of.kind == kind).collect();
    let (mut far, mut all) = (0_u64, 0_u64);
    for (node, bytes) in files.iter().flat_map(|file| &file.bytes_by_node) {
        all += bytes;
        far += if used.contains(*node) { 0 } else { *bytes };
    }
    if all < worth_bytes || used.is_empty() || far <= all / 2 {
        return None;
    }
    files.sort_by_key(|of| std::cmp::Reverse(of.bytes()));
    let names: Vec<&str> = files
        .iter()
        .map(|of| of.name.as_str())
        .take(FILES_SHOWN)
        .collect();
    let mut fix = vec![ShellLine::of(
        "# stop it, drop the files from the page cache, and read them in again on its nodes:",
    )];
    fix.extend(
        names
            .iter()
            .map(|name| shell_line!("dd if={} iflag=nocache count=0", name)),
    );
    fix.push(shell_line!(
        "numactl --cpunodebind={} --membind={} COMMAND",
        used,
        used
    ));
    Some(Found {
        evidence: vec![fact(source(residency), names.join(", "))],
        fix,
        ..Found::that(format!(
            "{} of {} of {what} lie on other nodes than {used}, where the processes run",
            ByteSize(far),
            ByteSize(all)
        ))
    })
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
        let found = |kind, node| far_cache(&residency(kind, node), kind, "text", 16 << 20);
        for kind in [SegmentKind::ProgramText, SegmentKind::File] {
            let message = found(kind, 1).unwrap().message;
            assert!(message.starts_with("16 MiB of 16 MiB of text"), "{message}");
            assert!(found(kind, 0).is_none());
        }
        let text = residency(SegmentKind::ProgramText, 1);
        assert!(far_cache(&text, SegmentKind::File, "files", 16 << 20).is_none());
        let little = far_cache(&text, SegmentKind::ProgramText, "text", 17 << 20);
        assert!(little.is_none());
    }

    #[test]
    fn the_name_of_a_file_is_one_word_of_the_fix() {
        let residency = Residency {
            segments: vec![SegmentResidency {
                name: "/tmp/a;reboot".to_owned(),
                kind: SegmentKind::File,
                bytes_by_node: [(NodeId(1), 16 << 20)].into(),
                ..SegmentResidency::default()
            }],
            processes: vec![ProcessResidency {
                nodes_of_cpus: "0".parse().unwrap(),
                ..ProcessResidency::default()
            }],
            ..Residency::default()
        };
        let found = far_cache(&residency, SegmentKind::File, "files", 1).unwrap();
        assert!(
            found.fix[1].starts_with("dd if='/tmp/a;reboot' "),
            "{found:?}"
        );
    }
}
