//! The pages of private mappings: a process's own, those that it shares with others since a fork,
//! and those of the files that it maps.

use std::collections::BTreeMap;

use linux::page_flags::ZeroPages;
use linux::pagemap::{Pagemap, PagemapEntry};
use linux::proc_maps::{Mapping, ObjectId};
use linux::{Error, Root};
use model::BytesByNode;

use super::frames::Lookup;
use super::object_part::Counts;
use super::page_runs::{Run, Stretch, each_run, stretches};
use super::page_set::PageSet;
use super::process_maps::ProcessMaps;
use super::tally::Tally;

/// A process with fewer pages than this in its private mappings is read ahead, 256 KiB of entries.
const AHEAD_PAGES_MAX: u64 = 1 << 15;

/// Private memory of one process.
#[derive(Debug, Default)]
pub(super) struct Private {
    /// Bytes by node.
    pub by_node: BytesByNode,
    /// Bytes whose node is unknown.
    pub without_node: u64,
}

/// What was read of a process before it is counted.
#[derive(Debug)]
pub(super) struct Ahead {
    /// Its page map.
    pub pagemap: Pagemap,
    /// The pages of its private mappings.
    stretches: Vec<Stretch>,
    /// Their entries, unless they are many.
    runs: Option<Result<Vec<Run>, Error>>,
}

impl Ahead {
    /// Opens the page map of a process and reads as much of it as is worth it.
    ///
    /// # Errors
    /// When the process is gone or may not be read.
    pub(super) fn read(root: &Root, process: &ProcessMaps, page_bytes: u64) -> Result<Self, Error> {
        let pagemap = Pagemap::open(root, process.pid)?;
        let stretches = stretches(private(process), page_bytes);
        let pages: u64 = stretches.iter().map(|it| it.end - it.start).sum();
        let runs = (pages < AHEAD_PAGES_MAX).then(|| {
            let mut runs = Vec::new();
            each_run(&pagemap, &stretches, |_, run| runs.push(run.clone()))?;
            Ok(runs)
        });
        Ok(Ahead {
            pagemap,
            stretches,
            runs,
        })
    }
}

/// The private mappings of a process.
fn private(process: &ProcessMaps) -> impl Iterator<Item = &Mapping> {
    let mappings = process.mappings.iter();
    mappings.filter(|mapping| !(mapping.is_shared && mapping.has_object()))
}

/// Whether pages of a private mapping may be those of its object. The kernel gives anonymous memory
/// in huge pages of a pool a file, too, which never has pages where the mapping is private
/// (mm/hugetlb.c, `hugetlb_no_page`).
pub(super) fn may_show_its_object(mapping: &Mapping) -> bool {
    mapping.has_object() && !mapping.name.starts_with("/anon_hugepage")
}

/// A pass over the private memory of processes, one after the other.
#[derive(Debug)]
pub(super) struct PrivateMemory {
    zero_pages: ZeroPages,
    page_bytes: u64,
    /// Frames that several processes share since a fork, and the zero page.
    shared_since_fork: PageSet,
}

impl PrivateMemory {
    /// A pass that has seen nothing yet.
    pub(super) fn new(page_bytes: u64) -> Self {
        PrivateMemory {
            zero_pages: ZeroPages::open(),
            page_bytes,
            shared_since_fork: PageSet::default(),
        }
    }

    /// Counts the private memory of a process; pages of files for their tallies, which are there.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(super) fn of_process(
        &mut self,
        process: &ProcessMaps,
        ahead: Ahead,
        segments: &mut BTreeMap<ObjectId, Tally>,
        frames: &mut Lookup<'_>,
        found: &mut Private,
    ) -> Result<(), Error> {
        let mappings: Vec<&Mapping> = private(process).collect();
        let mut count = |run: &Run| self.run(&mappings, run, segments, frames, found);
        match ahead.runs {
            Some(runs) => runs?.iter().for_each(count),
            None => each_run(&ahead.pagemap, &ahead.stretches, |_, run| count(run))?,
        }
        Ok(())
    }

    /// Counts the entries of a run, each by the mapping that it belongs to.
    fn run(
        &mut self,
        mappings: &[&Mapping],
        run: &Run,
        segments: &mut BTreeMap<ObjectId, Tally>,
        frames: &mut Lookup<'_>,
        found: &mut Private,
    ) {
        let run_end = run.first + run.entries.len() as u64;
        let page_bytes = self.page_bytes;
        let page_of = |address: u64| address / page_bytes;
        let before = mappings.partition_point(|mapping| page_of(mapping.end) <= run.first);
        for mapping in &mappings[before..] {
            let start = page_of(mapping.start).max(run.first);
            let end = page_of(mapping.end).min(run_end);
            if start >= end {
                break;
            }
            let entries = &run.entries[(start - run.first) as usize..(end - run.first) as usize];
            let tally = match may_show_its_object(mapping) {
                true => segments.get_mut(&mapping.object),
                false => None,
            };
            let page = page_of(mapping.offset) + (start - page_of(mapping.start));
            self.pages(page, entries, tally, frames, found);
        }
    }

    /// Counts pages of a private mapping: the process's own, or still those of its file, of which
    /// `first` is the number of the first.
    fn pages(
        &mut self,
        first: u64,
        entries: &[PagemapEntry],
        mut tally: Option<&mut Tally>,
        frames: &mut Lookup<'_>,
        found: &mut Private,
    ) {
        let (mut counts, mut without_node) = (Counts::default(), 0);
        for (page, entry) in (first..).zip(entries) {
            without_node += u64::from(entry.is_swapped());
            let Some(frame) = entry.frame() else {
                continue;
            };
            if let Some(tally) = tally.as_deref_mut().filter(|_| entry.is_of_object()) {
                if tally.known.insert(page) {
                    match frames.node_of(frame) {
                        Some(node) => tally.add(tally.areas.len(), node, self.page_bytes),
                        None => tally.bytes_without_node += self.page_bytes,
                    }
                }
                continue;
            }
            let is_new = entry.is_exclusive()
                || (self.shared_since_fork.insert(frame) && !self.zero_pages.has(frame));
            match frames.node_of(frame).filter(|_| is_new) {
                Some(node) => counts.add(node),
                None => without_node += u64::from(is_new),
            }
        }
        found.without_node += without_node * self.page_bytes;
        for (node, pages) in counts.iter() {
            *found.by_node.entry(node).or_default() += pages * self.page_bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use linux::pagemap::PagemapEntry;
    use linux::proc_maps::{self, Mapping};
    use linux::{Root, TextFile};

    use super::{Private, PrivateMemory};
    use crate::frames::Frames;
    use crate::page_runs::Run;
    use crate::tally::Tally;

    #[test]
    fn entries_count_for_their_mappings_and_shared_frames_once() {
        let text = "a000-c000 rw-p 00000000 00:00 0 \n\
                    e000-10000 rw-p 00005000 fe:00 7    /lib/x\n";
        let mappings = proc_maps::parse(&TextFile::new("/maps", text)).list;
        let mappings: Vec<&Mapping> = mappings.iter().collect();
        let object = mappings[1].object;
        let (present, exclusive, of_file, swapped) = (1 << 63, 1 << 56, 1 << 61, 1 << 62);
        // Of pages 10 to 15; 12 and 13 are in no mapping, as those of the kernel are.
        let entries = [
            present | exclusive | 100,
            present | 101,
            present | exclusive | 102,
            present | exclusive | 103,
            present | of_file | 104,
            swapped | 1,
        ];
        let run = Run {
            first: 10,
            entries: entries.map(PagemapEntry).into(),
        };
        let frames = Frames::read(&Root::live(), 4096).unwrap();
        let mut segments = BTreeMap::from([(object, Tally::default())]);
        let mut memory = PrivateMemory::new(4096);
        let mut count = || {
            let mut found = Private::default();
            let mut lookup = frames.lookup();
            memory.run(&mappings, &run, &mut segments, &mut lookup, &mut found);
            let with_node: u64 = found.by_node.values().sum();
            (with_node + found.without_node) / 4096
        };
        // Its own, the one that it shares, and the one that is swapped out.
        assert_eq!(count(), 3);
        // Another process that shares the second.
        assert_eq!(count(), 2);
        let tally = &segments[&object];
        assert_eq!(tally.found_bytes(), 4096);
        assert!(tally.known.has_all(5, 1) && !tally.known.has_all(6, 1));
    }
}
