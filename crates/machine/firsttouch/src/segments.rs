//! The shared objects that the target maps.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use linux::proc_maps::{Mapping, ObjectId};
use model::SegmentKind;

/// How many segments are followed; a process that maps more has no pages in the rest.
const SEGMENTS_MAX: usize = 65536;

/// Parts of one segment that are followed: as many as a process may have mappings (proc_sys_vm(5),
/// `max_map_count`).
const PARTS_MAX: usize = 65530;

/// One shared object.
#[derive(Debug)]
pub(crate) struct Segment {
    /// Which.
    pub object: ObjectId,
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: SegmentKind,
    /// Size of its pages.
    pub page_bytes: u64,
    /// The largest end of its mappings, as an offset.
    pub mapped_bytes: u64,
    /// The parts of it that were mapped, as offsets, ascending.
    pub mapped: Vec<Range<u64>>,
    /// The processes that mapped it, by index.
    pub processes: BTreeSet<usize>,
}

impl Segment {
    /// Adds a part that was mapped; returns false when there are too many.
    fn add_mapped(&mut self, part: Range<u64>) -> bool {
        let first = self.mapped.partition_point(|it| it.end < part.start);
        let after = self.mapped.partition_point(|it| it.start <= part.end);
        if first == after && self.mapped.len() >= PARTS_MAX {
            return false;
        }
        let joined = self.mapped[first..after].iter();
        let joined = joined.fold(part, |all, it| all.start.min(it.start)..all.end.max(it.end));
        self.mapped.splice(first..after, [joined]);
        true
    }
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Segments {
    /// In the order in which they were seen.
    pub list: Vec<Segment>,
    by_object: HashMap<ObjectId, usize>,
    /// Whether there were more than are followed.
    pub had_too_many: bool,
}

impl Segments {
    /// The segment behind a mapping of process `process`; `None` for private memory, for a file or
    /// device, and when there are too many. `page_bytes` is asked for a new one.
    pub(crate) fn of(
        &mut self,
        mapping: &Mapping,
        process: usize,
        page_bytes: impl FnOnce() -> u64,
    ) -> Option<usize> {
        // A fault in a file tells nothing of who read it into memory.
        let kind = residency::kind_of(&mapping.name, mapping.is_executable, false);
        if !mapping.is_shared || !mapping.has_object() || !residency::has_pages(mapping) {
            return None;
        }
        // The kernel's records do not tell the namespace.
        let object = ObjectId {
            ipc_namespace: None,
            ..mapping.object
        };
        let index = match self.by_object.get(&object) {
            Some(index) => *index,
            None if self.list.len() >= SEGMENTS_MAX => {
                self.had_too_many = true;
                return None;
            }
            None => {
                let page_bytes = page_bytes();
                let is_huge = page_bytes > linux::process::page_bytes();
                if !kind.is_shared_memory() && !is_huge {
                    return None;
                }
                self.by_object.insert(object, self.list.len());
                self.list.push(Segment {
                    object,
                    name: mapping.name.clone(),
                    kind: residency::kind_of(&mapping.name, mapping.is_executable, is_huge),
                    page_bytes,
                    mapped_bytes: 0,
                    mapped: Vec::new(),
                    processes: BTreeSet::new(),
                });
                self.list.len() - 1
            }
        };
        let segment = &mut self.list[index];
        let end = mapping.offset.saturating_add(mapping.bytes());
        segment.mapped_bytes = segment.mapped_bytes.max(end);
        self.had_too_many |= !segment.add_mapped(mapping.offset..end);
        segment.processes.insert(process);
        Some(index)
    }

    /// A process that begins has what its parent has.
    pub(crate) fn inherit(&mut self, parent: usize, child: usize) {
        for segment in &mut self.list {
            if segment.processes.contains(&parent) {
                segment.processes.insert(child);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_were_mapped_are_joined_where_they_meet() {
        let mut segment = Segment {
            object: ObjectId::default(),
            name: String::new(),
            kind: SegmentKind::Memfd,
            page_bytes: 4096,
            mapped_bytes: 0,
            mapped: Vec::new(),
            processes: BTreeSet::new(),
        };
        let mut check = |part, expected: &[(u64, u64)]| {
            assert!(segment.add_mapped(part));
            let parts = segment.mapped.iter().map(|it| (it.start, it.end));
            assert_eq!(parts.collect::<Vec<_>>(), expected);
        };
        let far = (1 << 60, 1 << 61);
        check(20..30, &[(20, 30)]);
        check(1 << 60..1 << 61, &[(20, 30), far]);
        check(0..10, &[(0, 10), (20, 30), far]);
        check(22..28, &[(0, 10), (20, 30), far]);
        check(10..21, &[(0, 30), far]);
        check(0..u64::MAX, &[(0, u64::MAX)]);
    }
}
