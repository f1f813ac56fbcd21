//! The shared objects that the target maps.

use std::collections::{BTreeSet, HashMap};

use linux::proc_maps::{Mapping, ObjectId};
use model::SegmentKind;

/// How many segments are followed; a process that maps more has no pages in the rest.
const SEGMENTS_MAX: usize = 65536;

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
    /// The processes that mapped it, by index.
    pub processes: BTreeSet<usize>,
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
                    processes: BTreeSet::new(),
                });
                self.list.len() - 1
            }
        };
        let segment = &mut self.list[index];
        let end = mapping.offset.saturating_add(mapping.bytes());
        segment.mapped_bytes = segment.mapped_bytes.max(end);
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
