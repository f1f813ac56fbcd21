//! Files of which an instance has hundreds, such as `/dev/shm/ora_ORCL_98304_17`: Oracle's memory
//! under automatic memory management has one for each granule. In a table, they are one row.

use std::borrow::Cow;
use std::cmp::Reverse;

use model::{SegmentKind, SegmentResidency};

/// So many files that differ only in the number at the end of their names are one row.
const FILES_MIN: usize = 8;

/// A row of a table: a segment, or the sum of a series.
#[derive(Debug)]
pub(crate) struct SegmentRow<'s> {
    pub(crate) segment: Cow<'s, SegmentResidency>,
    pub(crate) files: usize,
}

/// The segments as rows of a table: those of one series are one, at the place that its size gives.
pub(crate) fn segment_rows<'s>(segments: &[&'s SegmentResidency]) -> Vec<SegmentRow<'s>> {
    let mut series: Vec<Vec<&SegmentResidency>> = Vec::new();
    for segment in segments {
        match series.iter_mut().find(|it| is_of_series(it[0], segment)) {
            Some(found) => found.push(segment),
            None => series.push(vec![segment]),
        }
    }
    let single = |segment| SegmentRow {
        segment: Cow::Borrowed(segment),
        files: 1,
    };
    let rows = series.into_iter().flat_map(|series| {
        if series.len() < FILES_MIN {
            return series.into_iter().map(single).collect();
        }
        let mut sum = series[0].clone();
        sum.name = format!("{}*", stem(series[0]));
        for segment in &series[1..] {
            add(&mut sum, segment);
        }
        vec![SegmentRow {
            segment: Cow::Owned(sum),
            files: series.len(),
        }]
    });
    let mut rows: Vec<SegmentRow<'_>> = rows.collect();
    if rows.iter().any(|row| row.files > 1) {
        rows.sort_by_key(|row| {
            let of_files = !row.segment.kind.is_shared_memory();
            (of_files, Reverse(row.segment.bytes()))
        });
    }
    rows
}

/// The name without the number at its end.
fn stem(segment: &SegmentResidency) -> &str {
    let is_digit = |letter: char| letter.is_ascii_digit();
    segment.name.trim_end_matches(is_digit)
}

fn is_of_series(row: &SegmentResidency, segment: &SegmentResidency) -> bool {
    let is_file = row.kind == SegmentKind::DevShm && row.sampled.is_none();
    let stem = stem(row);
    let ends_in_number = |name: &str| name.len() > stem.len();
    is_file
        && segment.sampled.is_none()
        && ends_in_number(&row.name)
        && stem == self::stem(segment)
        && ends_in_number(&segment.name)
        && (row.kind, row.page_bytes, &row.policy)
            == (segment.kind, segment.page_bytes, &segment.policy)
}

fn add(row: &mut SegmentResidency, segment: &SegmentResidency) {
    for (node, bytes) in &segment.bytes_by_node {
        *row.bytes_by_node.entry(*node).or_default() += bytes;
    }
    row.bytes_without_node += segment.bytes_without_node;
    row.never_written_bytes += segment.never_written_bytes;
    row.mapped_bytes += segment.mapped_bytes;
    row.processes = row.processes.max(segment.processes);
}

#[cfg(test)]
mod tests {
    use model::NodeId;

    use super::*;

    fn segment(name: &str, node: u32, mib: u64) -> SegmentResidency {
        SegmentResidency {
            name: name.to_owned(),
            kind: SegmentKind::DevShm,
            page_bytes: Some(4096),
            processes: 3,
            bytes_by_node: [(NodeId(node), mib << 20)].into(),
            ..SegmentResidency::default()
        }
    }

    fn shown(segments: &[SegmentResidency]) -> Vec<(String, usize, u64)> {
        let segments: Vec<_> = segments.iter().collect();
        let rows = segment_rows(&segments);
        let rows = rows.iter().map(|row| {
            let mib = row.segment.bytes() >> 20;
            (row.segment.name.clone(), row.files, mib)
        });
        rows.collect()
    }

    #[test]
    fn a_series_of_files_is_one_row() {
        let granules = (0..20).map(|at| segment(&format!("/dev/shm/ora_O_5_{at}"), at % 2, 4));
        let mut all = vec![segment("/dev/shm/other", 0, 70)];
        all.extend(granules);
        all.push(segment("/dev/shm/ora_O_6_1", 0, 1));
        let expected = [
            ("/dev/shm/ora_O_5_*".to_owned(), 20, 80),
            ("/dev/shm/other".to_owned(), 1, 70),
            ("/dev/shm/ora_O_6_1".to_owned(), 1, 1),
        ];
        assert_eq!(shown(&all), expected);
        let of_nodes = &segment_rows(&all.iter().collect::<Vec<_>>())[0].segment;
        let expected = [(NodeId(0), 40 << 20), (NodeId(1), 40 << 20)].into();
        assert_eq!(
            (&of_nodes.bytes_by_node, of_nodes.processes),
            (&expected, 3)
        );
    }

    #[test]
    fn what_differs_is_not_one_row() {
        let names = |count: u32| (0..count).map(|at| segment(&format!("/dev/shm/a{at}"), 0, 4));
        let few: Vec<_> = names(7).collect();
        assert_eq!(shown(&few).len(), 7);
        let other_policy = names(14).map(|it| {
            let policy = it.name.len() % 2 == 0;
            let policy = Some(if policy { "bind:0" } else { "default" }.to_owned());
            SegmentResidency { policy, ..it }
        });
        // a0 to a9, and a10 to a13.
        assert_eq!(shown(&other_policy.collect::<Vec<_>>()).len(), 1 + 4);
        let no_files = names(20).map(|it| SegmentResidency {
            kind: SegmentKind::Sysv,
            ..it
        });
        assert_eq!(shown(&no_files.collect::<Vec<_>>()).len(), 20);
    }
}
