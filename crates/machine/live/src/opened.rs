//! Threads and segments of the process or instance that a reader has opened.

use linux::process_activity::ActivityReader;
use linux::{Root, proc_stat};
use model::{OpenedSnapshot, OpenedSubject, SegmentSnapshot, ThreadSnapshot};
use std::collections::BTreeSet;

use crate::looks::{Looked, by_name};

/// Threads that are read at each snapshot: a file each.
const THREADS_MAX: usize = 200;

/// Segments in a snapshot.
const SEGMENTS_MAX: usize = 100;

/// Seconds between two looks at what is open, whose cost is paid as that of all looks.
const SECONDS_BETWEEN_LOOKS: f64 = 10.0;

/// Whether memory that was looked at then is looked at again, for it is open.
pub(crate) fn is_due(looked_at_s: Option<f64>, uptime_s: f64) -> bool {
    looked_at_s.is_none_or(|at| uptime_s - at >= SECONDS_BETWEEN_LOOKS)
}

/// The threads of the process, and the segments that were found in `looked`.
pub(crate) fn snapshot<'l>(
    root: &Root,
    reader: &mut ActivityReader,
    subject: &OpenedSubject,
    looked: impl Iterator<Item = &'l Looked>,
) -> OpenedSnapshot {
    let threads = match subject {
        OpenedSubject::Process(pid) => proc_stat::threads(root, *pid),
        OpenedSubject::Instance(_) => Vec::new(),
    };
    let shown = threads.iter().take(THREADS_MAX);
    let shown = shown.filter_map(|tid| thread(reader, subject, *tid));
    let (segments, segments_left_out) = segments(looked).map_or((None, 0), |(segments, more)| {
        (Some(segments), u64::try_from(more).unwrap_or(u64::MAX))
    });
    OpenedSnapshot {
        subject: subject.clone(),
        threads: shown.collect(),
        threads_left_out: threads.len().saturating_sub(THREADS_MAX) as u64,
        segments,
        segments_left_out,
    }
}

fn thread(
    reader: &mut ActivityReader,
    subject: &OpenedSubject,
    tid: u32,
) -> Option<ThreadSnapshot> {
    let OpenedSubject::Process(pid) = subject else {
        return None;
    };
    let activity = reader.read_thread(*pid, tid).ok()??;
    Some(ThreadSnapshot {
        tid,
        start_ticks: activity.start_ticks,
        name: activity.name,
        cpu_s: activity.cpu_s,
        last_cpu: activity.last_cpu,
    })
}

/// The segments, the largest first, and how many more there are; `None` before the first look.
fn segments<'l>(looked: impl Iterator<Item = &'l Looked>) -> Option<(Vec<SegmentSnapshot>, usize)> {
    let mut looked = looked.peekable();
    looked.peek()?;
    let (private, shared) = by_name(looked);
    let shared = shared.into_iter().map(|(name, bytes_by_node)| {
        // Objects beyond the limit of a look are counted together.
        let name = if name.is_empty() { "other files" } else { name };
        SegmentSnapshot {
            name: Some(name.to_owned()),
            bytes_by_node,
        }
    });
    let private = SegmentSnapshot {
        name: None,
        bytes_by_node: private,
    };
    let all = |it: &SegmentSnapshot| -> u64 {
        let bytes = it.bytes_by_node.values();
        bytes.fold(0, |sum, bytes| sum.saturating_add(*bytes))
    };
    let mut segments: Vec<SegmentSnapshot> = std::iter::once(private).chain(shared).collect();
    segments.retain(|it| all(it) > 0);
    segments.sort_by(|a, b| all(b).cmp(&all(a)).then_with(|| a.name.cmp(&b.name)));
    let more = segments.len().saturating_sub(SEGMENTS_MAX);
    segments.truncate(SEGMENTS_MAX);
    Some((segments, more))
}

/// What a reader looks at: it comes first, and has more in the next snapshots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attention {
    /// What is open: its threads and segments are read.
    pub opened: Option<OpenedSubject>,
    /// Processes on the screen: their titles are read again for each snapshot, and their memory is
    /// looked at before that of others.
    pub visible: BTreeSet<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::NodeId;

    #[test]
    fn segments_are_counted_once_and_the_largest_comes_first() {
        let of = |private: u64, shared: u64| Looked {
            private: [(NodeId(0), private)].into(),
            shared: [("/SYSV1".to_owned(), [(NodeId(1), shared)].into())].into(),
        };
        let looked = [of(1, 10), of(2, 30)];
        let (segments, more) = segments(looked.iter()).unwrap();
        let names: Vec<_> = segments.iter().map(|it| it.name.as_deref()).collect();
        assert_eq!((names, more), (vec![Some("/SYSV1"), None], 0));
        assert_eq!(segments[0].bytes_by_node[&NodeId(1)], 30);
        assert_eq!(segments[1].bytes_by_node[&NodeId(0)], 3);
    }

    #[test]
    fn nothing_is_known_before_the_first_look() {
        assert_eq!(segments([].iter()), None);
        assert!(is_due(None, 1.0) && !is_due(Some(5.0), 6.0) && is_due(Some(5.0), 15.0));
    }
}
