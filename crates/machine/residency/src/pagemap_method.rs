//! Residency from frame numbers: the pages of every process, each counted once, without touching
//! any. Pages of an object that one process has shown are not read again in another.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use linux::map_files::MappedObject;
use linux::move_pages::{self, HugePage as Said};
use linux::pagemap::{Pagemap, PagemapEntry};
use linux::proc_maps::{Mapping, ObjectId};
use linux::{Error, Root, on_threads, proc_stat};
use model::{BytesByNode, NodeId};

use super::data_files::{Cache, DataFiles};
use super::frames::{Frames, Lookup};
use super::gaps::Gaps;
use super::kind::kind_of;
use super::object_part::{HugePage, Part};
use super::objects::{self, Objects};
use super::page_runs::{Stretch, each_run};
use super::page_set::CHUNK_PAGES;
use super::private_memory::{Ahead, Private, PrivateMemory, may_show_its_object};
use super::process_maps::{self, PROCESSES_AT_ONCE, ProcessMaps};
use super::sampled_object::SampledObject;
use super::sampling::{PAGES_MIN, Sample};
use super::tally::{Area, Span, Tally};
use super::unmapped::Unmapped;

/// So many processes are asked for shared memory before all others.
const LARGEST: usize = 8;

/// So many processes are read before they are counted, with at most 32 MiB of entries.
const BATCH: usize = 128;

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

/// A pass over a set of processes.
pub(super) struct Scan<'a> {
    root: &'a Root,
    frames: Lookup<'a>,
    page_bytes: u64,
    private: PrivateMemory,
    /// Processes of which all shared mappings were read.
    shared_is_read: BTreeSet<u32>,
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
            page_bytes,
            private: PrivateMemory::new(page_bytes),
            shared_is_read: BTreeSet::new(),
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
        for batch in processes.chunks(BATCH) {
            self.batch(batch, gaps);
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
        let mut by_size: Vec<&ProcessMaps> = processes.iter().collect();
        by_size.sort_by_key(|process| Reverse(process.resident_pages));
        for process in by_size.into_iter().take(LARGEST) {
            let Ok(pagemap) = Pagemap::open(self.root, process.pid) else {
                continue;
            };
            let mut shared = objects::shared(process);
            if shared.all(|mapping| self.shared(process.pid, mapping, &pagemap).is_ok()) {
                self.shared_is_read.insert(process.pid);
            }
        }
    }

    /// Scans some of the processes: what the kernel says of several at once, counted in order.
    fn batch(&mut self, processes: &[ProcessMaps], gaps: &mut Gaps) {
        let (root, page_bytes) = (self.root, self.page_bytes);
        let read = |process: &ProcessMaps| Ahead::read(root, process, page_bytes);
        let read = on_threads::map(processes, PROCESSES_AT_ONCE, read);
        for (process, ahead) in processes.iter().zip(read) {
            if let Err(error) = ahead.and_then(|ahead| self.process(process, ahead)) {
                gaps.process(process.pid, &error);
            }
        }
        let are_unchanged = |process: &ProcessMaps| process_maps::are_unchanged(root, process);
        let are_unchanged = on_threads::map(processes, PROCESSES_AT_ONCE, are_unchanged);
        for (process, is_unchanged) in processes.iter().zip(are_unchanged) {
            match is_unchanged {
                Ok(true) => {}
                // Older kernels show a zombie's maps as a file without mappings.
                Ok(false) if is_ending(root, process.pid) => gaps.ended(process.pid),
                Ok(false) => gaps.add(format!(
                    "process {} changed its shared mappings while it was read",
                    process.pid
                )),
                Err(error) => gaps.process(process.pid, &error),
            }
        }
    }

    fn process(&mut self, process: &ProcessMaps, ahead: Ahead) -> Result<(), Error> {
        let pid = process.pid;
        let mut private = Private::default();
        let counted = self.pages(process, ahead, &mut private);
        self.found.private.insert(pid, private.by_node);
        let without_node = &mut self.found.private_without_node;
        without_node.insert(pid, private.without_node);
        counted
    }

    fn pages(
        &mut self,
        process: &ProcessMaps,
        ahead: Ahead,
        private: &mut Private,
    ) -> Result<(), Error> {
        for mapping in &process.mappings {
            if mapping.is_shared && mapping.has_object() {
                if self.shared_is_read.contains(&process.pid) {
                    continue;
                }
                self.shared(process.pid, mapping, &ahead.pagemap)?;
            } else if may_show_its_object(mapping) {
                self.object(process.pid, mapping);
            }
        }
        let (segments, frames) = (&mut self.found.segments, &mut self.frames);
        self.private
            .of_process(process, ahead, segments, frames, private)
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

    fn shared(&mut self, pid: u32, mapping: &Mapping, pagemap: &Pagemap) -> Result<(), Error> {
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
        // Pages of the object, their area, and where the process has them.
        let mut parts: Vec<(Range<u64>, usize, u64)> = Vec::new();
        let span = Span {
            start: mapping.offset,
            end,
        };
        for (span, area) in tally.parts(span) {
            let last = span.end.div_ceil(self.page_bytes);
            let to_address = mapping.start / self.page_bytes;
            let origin = mapping.offset / self.page_bytes;
            let mut page = span.start / self.page_bytes;
            while page < last {
                let count = (last - page).min(CHUNK_PAGES - page % CHUNK_PAGES);
                parts.push((page..page + count, area, to_address + (page - origin)));
                page += count;
            }
        }
        let (page_bytes, frames) = (self.page_bytes, &mut self.frames);
        if step > 1 {
            let mut huge = Vec::new();
            for (pages, area, address) in parts {
                let part = Part {
                    tally,
                    page: pages.start,
                    count: pages.end - pages.start,
                    area,
                    page_bytes,
                };
                huge.extend(part.unknown_huge(step, address));
            }
            let huge_bytes = step * page_bytes;
            for (huge, node) in nodes_of_huge(pid, &huge, huge_bytes, pagemap, frames)? {
                tally.add_huge_page(huge.number, huge_bytes, huge.area, node);
            }
            return Ok(());
        }
        parts.retain(|(pages, ..)| !tally.known.has_all(pages.start, pages.end - pages.start));
        let stretch = |(pages, _, address): &(Range<u64>, usize, u64)| {
            *address..address + (pages.end - pages.start)
        };
        let stretches: Vec<Stretch> = parts.iter().map(stretch).collect();
        each_run(pagemap, &stretches, |index, run| {
            let (pages, area, address) = &parts[index];
            let mut part = Part {
                tally,
                page: pages.start + (run.first - address),
                count: run.entries.len() as u64,
                area: *area,
                page_bytes,
            };
            part.count(&run.entries, frames);
        })
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
        let Ok(pagemap) = Pagemap::open_own() else {
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
                pagemap: &pagemap,
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

/// The huge pages that a process has, each with its node, if that is known. The kernel says the
/// nodes of all in one call; what it does not say there is in the page map, an entry for each.
fn nodes_of_huge<'a>(
    pid: u32,
    pages: &'a [HugePage],
    huge_bytes: u64,
    pagemap: &Pagemap,
    frames: &mut Lookup<'_>,
) -> Result<Vec<(&'a HugePage, Option<NodeId>)>, Error> {
    let base_bytes = linux::process::page_bytes();
    let addresses: Vec<u64> = pages.iter().map(|page| page.entry * base_bytes).collect();
    let said = move_pages::huge_pages_of(pid, &addresses, huge_bytes);
    let mut found = Vec::new();
    for (page, said) in pages.iter().zip(said) {
        match said {
            Said::On(node) => found.push((page, Some(node))),
            Said::Absent => {}
            Said::NotSaid => {
                let entry = pagemap.entry(page.entry)?;
                let frame = entry.and_then(PagemapEntry::frame);
                found.extend(frame.map(|frame| (page, frames.node_of(frame))));
            }
        }
    }
    Ok(found)
}

/// Whether every page of an object of shared memory that exists was found: then no other process
/// can show more, however much of a sparse object it has mapped.
fn is_whole(tally: &Tally, object: &MappedObject) -> bool {
    let found = tally.found_bytes();
    tally.kind.is_shared_memory()
        && found >= object.allocated_bytes
        && object.allocated_bytes_now().is_ok_and(|now| found >= now)
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
