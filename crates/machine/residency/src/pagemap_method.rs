//! Residency from frame numbers: the pages of every process, each counted once, without touching
//! any. Pages of an object that one process has shown are not read again in another.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use linux::map_files::MappedObject;
use linux::page_flags::PageFlags;
use linux::pagemap::{Pagemap, PagemapEntry};
use linux::proc_maps::{Mapping, ObjectId};
use linux::{Error, Root, proc_stat};
use model::BytesByNode;

use super::data_files::{Cache, DataFiles};
use super::frames::{Frames, Lookup};
use super::gaps::Gaps;
use super::kind::kind_of;
use super::object_part::Part;
use super::objects::{self, Objects};
use super::page_set::{CHUNK_PAGES, PageSet};
use super::process_maps::{self, ProcessMaps};
use super::sampled_object::SampledObject;
use super::sampling::{PAGES_MIN, Sample};
use super::tally::{Area, Span, Tally};
use super::unmapped::Unmapped;

/// So many processes are asked for shared memory before all others.
const LARGEST: usize = 8;

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Objects.
    pub segments: BTreeMap<ObjectId, Tally>,
    /// Private memory of each process that was read.
    pub private: BTreeMap<u32, BytesByNode>,
    /// Private bytes of each process whose node is unknown: swapped out, or in frames of no known
    /// node.
    pub private_without_node: BTreeMap<u32, u64>,
}

/// Private memory of one process.
#[derive(Debug, Default)]
struct Private {
    by_node: BytesByNode,
    without_node: u64,
}

/// A pass over a set of processes.
pub(super) struct Scan<'a> {
    root: &'a Root,
    frames: Lookup<'a>,
    flags: PageFlags,
    page_bytes: u64,
    /// Frames of private memory that several processes share since a fork.
    shared_since_fork: PageSet,
    objects: &'a Objects,
    areas: BTreeMap<ObjectId, Vec<Area>>,
    sample: Option<Sample>,
    entries: Vec<PagemapEntry>,
    found: Found,
}

impl<'a> Scan<'a> {
    /// A pass that has seen nothing yet.
    pub(super) fn new(
        root: &'a Root,
        frames: &'a Frames,
        page_bytes: u64,
        objects: &'a Objects,
        areas: BTreeMap<ObjectId, Vec<Area>>,
        sample: Option<Sample>,
    ) -> Self {
        Self {
            root,
            frames: frames.lookup(),
            flags: PageFlags::open(),
            page_bytes,
            shared_since_fork: PageSet::default(),
            objects,
            areas,
            sample,
            entries: Vec::new(),
            found: Found::default(),
        }
    }

    /// Scans all processes, and then the shared memory that exists without being mapped. With data
    /// files, also scans their cached pages.
    pub(super) fn run(
        mut self,
        processes: &[ProcessMaps],
        files: DataFiles,
        gaps: &mut Gaps,
    ) -> Found {
        self.shared_of_largest(processes);
        for process in processes {
            if let Err(error) = self.process(process) {
                gaps.process(process.pid, &error);
            }
            match process_maps::are_unchanged(self.root, process) {
                Ok(true) => {}
                // Older kernels show a zombie's maps as a file without mappings.
                Ok(false) if is_ending(self.root, process.pid) => gaps.ended(process.pid),
                Ok(false) => gaps.add(format!(
                    "process {} changed its shared mappings while it was read",
                    process.pid
                )),
                Err(error) => gaps.process(process.pid, &error),
            }
        }
        self.sampled(processes, gaps);
        self.unmapped(gaps);
        let mut cache = Cache {
            page_bytes: self.page_bytes,
            frames: &mut self.frames,
            entries: &mut self.entries,
            segments: &mut self.found.segments,
        };
        cache.add(files, gaps);
        self.found
    }

    /// Reads the shared memory of the largest processes: they show most of it, and what is known
    /// need not be looked for in thousands of sessions that have touched little. Errors come up
    /// again when all processes are read.
    fn shared_of_largest(&mut self, processes: &[ProcessMaps]) {
        if processes.len() <= LARGEST {
            return;
        }
        let size = |process: &&ProcessMaps| {
            Reverse(proc_stat::resident_pages(self.root, process.pid).unwrap_or(0))
        };
        let mut by_size: Vec<&ProcessMaps> = processes.iter().collect();
        by_size.sort_by_cached_key(size);
        for process in &by_size[..LARGEST] {
            let Ok(mut pagemap) = Pagemap::open(self.root, process.pid) else {
                continue;
            };
            for mapping in objects::shared(process) {
                if self.shared(process.pid, mapping, &mut pagemap).is_err() {
                    break;
                }
            }
        }
    }

    fn process(&mut self, process: &ProcessMaps) -> Result<(), Error> {
        let mut pagemap = Pagemap::open(self.root, process.pid)?;
        let mut private = Private::default();
        let mut result = Ok(());
        for mapping in &process.mappings {
            let part = if mapping.is_shared && mapping.has_object() {
                self.shared(process.pid, mapping, &mut pagemap)
            } else {
                self.private(process.pid, mapping, &mut pagemap, &mut private)
            };
            if part.is_err() {
                result = part;
                break;
            }
        }
        let pid = process.pid;
        self.found.private.insert(pid, private.by_node);
        let without_node = &mut self.found.private_without_node;
        without_node.insert(pid, private.without_node);
        result
    }

    /// Adds a mapping to the tally of its object, which is created when first seen.
    fn object(&mut self, pid: u32, mapping: &Mapping) {
        let id = mapping.object;
        // How much of an object exists matters for shared memory only.
        let object = self.objects.get(id).filter(|_| mapping.is_shared);
        let may_sample = self.sample.is_some();
        let page_bytes = self.page_bytes;
        let areas = &mut self.areas;
        let tally = self.found.segments.entry(id).or_insert_with(|| {
            let huge = object.and_then(|object| object.huge_page_bytes);
            let kind = kind_of(&mapping.name, mapping.is_executable, huge.is_some());
            let pages = object.map_or(0, |of| of.bytes / huge.unwrap_or(page_bytes));
            Tally {
                is_sampled: may_sample && kind.is_shared_memory() && pages >= PAGES_MIN,
                name: mapping.name.clone(),
                kind,
                object: Some(id),
                page_bytes: Some(huge.unwrap_or(page_bytes)),
                areas: areas.remove(&id).unwrap_or_default(),
                allocated_bytes: object.map(|object| object.allocated_bytes),
                ..Tally::default()
            }
        });
        if mapping.is_executable && !tally.kind.is_shared_memory() {
            tally.kind = model::SegmentKind::ProgramText;
        }
        tally.pids.insert(pid);
        let end = mapping.offset.saturating_add(mapping.bytes());
        tally.spans.insert(Span {
            start: mapping.offset,
            end,
        });
    }

    fn shared(&mut self, pid: u32, mapping: &Mapping, pagemap: &mut Pagemap) -> Result<(), Error> {
        self.object(pid, mapping);
        let tally = self
            .found
            .segments
            .get_mut(&mapping.object)
            .expect("it was just put there");
        let object = self.objects.get(mapping.object);
        if tally.is_sampled || object.is_some_and(|object| is_whole(tally, object)) {
            return Ok(());
        }
        let step = tally.page_bytes.unwrap_or(self.page_bytes) / self.page_bytes;
        let end = mapping.offset.saturating_add(mapping.bytes());
        for (span, area) in tally.parts(Span {
            start: mapping.offset,
            end,
        }) {
            // Page numbers in the object, and in the address space.
            let first = span.start / self.page_bytes;
            let last = span.end.div_ceil(self.page_bytes);
            let to_address = mapping.start / self.page_bytes;
            let origin = mapping.offset / self.page_bytes;
            let mut page = first;
            while page < last {
                let count = (last - page).min(CHUNK_PAGES - page % CHUNK_PAGES);
                let address = to_address + (page - origin);
                let mut part = Part {
                    tally,
                    page,
                    count,
                    area,
                    page_bytes: self.page_bytes,
                };
                if step > 1 {
                    part.huge(step, address, pagemap, &mut self.frames, &mut self.entries)?;
                } else if !part.is_known() {
                    pagemap.read(address, count as usize, &mut self.entries)?;
                    part.count(&self.entries, &mut self.frames);
                }
                page += count;
            }
        }
        Ok(())
    }

    fn private(
        &mut self,
        pid: u32,
        mapping: &Mapping,
        pagemap: &mut Pagemap,
        private: &mut Private,
    ) -> Result<(), Error> {
        let has_file = may_show_its_object(mapping);
        if has_file {
            self.object(pid, mapping);
        }
        let pages = mapping.bytes() / self.page_bytes;
        let first = mapping.start / self.page_bytes;
        let origin = mapping.offset / self.page_bytes;
        let mut page = 0;
        while page < pages {
            let count = (pages - page).min(CHUNK_PAGES);
            pagemap.read_near(first + page, count as usize, &mut self.entries)?;
            for index in 0..self.entries.len() {
                let entry = self.entries[index];
                let of_file = has_file.then_some(mapping.object);
                self.private_page(of_file, origin + page + index as u64, entry, private);
            }
            page += count;
        }
        Ok(())
    }

    /// Counts one page of a private mapping: the process's own, or still that of its file.
    fn private_page(
        &mut self,
        of_file: Option<ObjectId>,
        page: u64,
        entry: PagemapEntry,
        private: &mut Private,
    ) {
        if entry.is_swapped() {
            private.without_node += self.page_bytes;
        }
        let Some(frame) = entry.frame() else {
            return;
        };
        if let Some(object) = of_file.filter(|_| entry.is_of_object()) {
            let segments = &mut self.found.segments;
            let tally = segments.get_mut(&object).expect("put there before");
            if tally.known.insert(page) {
                match self.frames.node_of(frame) {
                    Some(node) => tally.add(tally.areas.len(), node, self.page_bytes),
                    None => tally.bytes_without_node += self.page_bytes,
                }
            }
            return;
        }
        let is_new = entry.is_exclusive()
            || (self.shared_since_fork.insert(frame) && !self.flags.is_zero_page(frame));
        match self.frames.node_of(frame).filter(|_| is_new) {
            Some(node) => *private.by_node.entry(node).or_default() += self.page_bytes,
            None if is_new => private.without_node += self.page_bytes,
            None => {}
        }
    }

    /// Estimates large segments from some of their pages.
    fn sampled(&mut self, processes: &[ProcessMaps], gaps: &mut Gaps) {
        let Some(sample) = self.sample.clone() else {
            return;
        };
        for (id, tally) in &mut self.found.segments {
            let Some(object) = self.objects.get(*id).filter(|_| tally.is_sampled) else {
                continue;
            };
            let mut look = SampledObject {
                object,
                page_bytes: self.page_bytes,
                frames: &mut self.frames,
                entries: &mut self.entries,
            };
            match look.counts(self.root, *id, processes, tally, sample.seed) {
                Ok(counts) => tally.estimate(&counts, object, &sample),
                Err(error) => gaps.add(format!("a sample of {}: {error}", tally.name)),
            }
        }
    }

    /// Counts pages of shared memory that exist although none of the processes has them mapped:
    /// those touched by sessions that have ended.
    fn unmapped(&mut self, gaps: &mut Gaps) {
        let Ok(mut pagemap) = Pagemap::open_own() else {
            return;
        };
        for (id, tally) in &mut self.found.segments {
            let Some(object) = self.objects.get(*id) else {
                if tally.kind.is_shared_memory() {
                    gaps.add(format!("how much there is of {} is not known", tally.name));
                }
                continue;
            };
            let is_missing = !tally.is_sampled && tally.found_bytes() < object.allocated_bytes;
            if !is_missing || !tally.kind.is_shared_memory() {
                continue;
            }
            let mut look = Unmapped {
                object,
                page_bytes: self.page_bytes,
                pagemap: &mut pagemap,
                frames: &mut self.frames,
                entries: &mut self.entries,
            };
            let looked = look.at(tally).and_then(|()| object.never_written_bytes());
            let looked = looked.map(|bytes| tally.never_written_bytes = bytes);
            if let Err(error) = looked {
                gaps.add(format!("unmapped pages of {}: {error}", tally.name));
            }
        }
    }
}

/// Whether every page of an object of shared memory that exists was found: then no other process
/// can show more, however much of a sparse object it has mapped.
fn is_whole(tally: &Tally, object: &MappedObject) -> bool {
    let found = tally.found_bytes();
    tally.kind.is_shared_memory()
        && found >= object.allocated_bytes
        && object.allocated_bytes_now().is_ok_and(|now| found >= now)
}

/// Whether pages of a private mapping may be those of its object. The kernel gives anonymous memory
/// in huge pages of a pool a file, too, which never has pages where the mapping is private
/// (mm/hugetlb.c, `hugetlb_no_page`).
fn may_show_its_object(mapping: &Mapping) -> bool {
    mapping.has_object() && !mapping.name.starts_with("/anon_hugepage")
}

fn is_ending(root: &Root, pid: u32) -> bool {
    proc_stat::read(root, pid).is_ok_and(|process| process.is_ending)
}

#[cfg(test)]
mod tests {
    use linux::map_files::MappedObject;
    use linux::shared_memory::{ObjectKind, SharedMemory};
    use linux::shared_memory_file::SharedMemoryFile;
    use model::{NodeId, SegmentKind};

    use super::{Tally, is_whole};

    #[test]
    fn an_object_is_whole_when_all_that_exists_now_was_found() {
        let page_bytes = linux::process::page_bytes();
        let bytes = 16 * page_bytes as usize;
        let memory = SharedMemory::create(ObjectKind::Memfd, bytes, page_bytes).unwrap();
        let file = SharedMemoryFile::of(&memory).unwrap();
        file.write(&[1], 0).unwrap();
        file.write(&[1], 9 * page_bytes).unwrap();
        let object = MappedObject::open_to_look(&file.path()).unwrap().unwrap();
        let check = |kind, pages: u64| {
            let mut tally = Tally {
                kind,
                ..Tally::default()
            };
            tally.add(0, NodeId(0), pages * page_bytes);
            is_whole(&tally, &object)
        };
        assert!(!check(SegmentKind::Memfd, 1));
        assert!(check(SegmentKind::Memfd, 2));
        // Of a file, what is in memory has nothing to do with what is allocated on a disk.
        assert!(!check(SegmentKind::File, 2));
        file.write(&[1], 3 * page_bytes).unwrap();
        assert!(!check(SegmentKind::Memfd, 2), "a page was added since");
        assert!(check(SegmentKind::Memfd, 3));
    }
}
