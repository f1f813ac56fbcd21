//! Where the pages of a segment are now, and which of them nobody was seen to touch first.

use std::collections::BTreeMap;

use linux::Root;
use linux::proc_maps::{self, Mapping};
use model::{BytesByNode, NodeId};

use crate::page_records::BEFORE;
use crate::segments::Segment;
use crate::tracker::Tracker;

/// Pages that are looked at together: 4 GiB of pages of 4 KiB, in 8 MiB.
const PAGES_TOGETHER: u64 = 1 << 20;

/// How many processes that map a segment are looked through without frame numbers: each shows only
/// the pages that it has mapped itself.
const PROCESSES_MAX: usize = 64;

/// The pages of a segment.
#[derive(Debug, Default)]
pub(crate) struct Whereabouts {
    /// All pages in memory, by node.
    pub by_node: BytesByNode,
    /// Those that were there before the look.
    pub before_bytes: u64,
    /// Those whose first touch was not seen, although they came later.
    pub unseen_bytes: u64,
    /// The others, by the number of their first toucher.
    pub of_toucher: BTreeMap<u32, BytesByNode>,
}

/// Finds the pages of a segment through the processes that still map it; `None` when there is none,
/// or none may be read.
pub(crate) fn find(root: &Root, tracker: &Tracker, index: usize) -> Option<Whereabouts> {
    let mut found = Whereabouts::default();
    let page_bytes = linux::process::page_bytes();
    let segment = &tracker.segments.list[index];
    each_page(root, tracker, index, &mut |offset, node| {
        *found.by_node.entry(node).or_default() += page_bytes;
        match tracker.pages.get(index, offset / segment.page_bytes) {
            Some(record) if record.toucher == BEFORE => found.before_bytes += page_bytes,
            Some(record) => {
                let of_toucher = found.of_toucher.entry(record.toucher).or_default();
                *of_toucher.entry(node).or_default() += page_bytes;
            }
            None => found.unseen_bytes += page_bytes,
        }
    })?;
    Some(found)
}

/// Notes all pages of a segment that are in memory; returns how many have no room. `None` when none
/// of its processes may be read.
pub(crate) fn note_before(root: &Root, tracker: &mut Tracker, index: usize) -> Option<u64> {
    let mut pages = std::mem::take(&mut tracker.pages);
    let page_bytes = tracker.segments.list[index].page_bytes;
    let mut without_room = 0;
    let looked = each_page(root, tracker, index, &mut |offset, _| {
        let has_room = pages.was_before(index, offset / page_bytes);
        without_room += u64::from(!has_room);
    });
    tracker.pages = pages;
    looked.map(|()| without_room)
}

/// Calls `take` for each base page of a segment that is in memory, with its offset and node.
fn each_page(
    root: &Root,
    tracker: &Tracker,
    index: usize,
    take: &mut dyn FnMut(u64, NodeId),
) -> Option<()> {
    let segment = &tracker.segments.list[index];
    let (owner, mapping) = holders(root, tracker, segment).next()?;
    let pids: Vec<u32> = match linux::pagemap::frames_are_shown() {
        // One shows all pages of the object.
        true => vec![owner],
        false => holders(root, tracker, segment)
            .map(|(pid, _)| pid)
            .take(PROCESSES_MAX)
            .collect(),
    };
    let page_bytes = linux::process::page_bytes();
    let step = PAGES_TOGETHER * page_bytes;
    // Not from 0 on: an object may be mapped at an offset of 2^60, and has no pages below.
    for part in &segment.mapped {
        let mut offset = part.start;
        while offset < part.end {
            let bytes = step.min(part.end - offset);
            let range = (offset, bytes);
            let pages = residency::nodes_of_range(root, owner, &mapping, &pids, range).ok()?;
            for (page, node) in pages.known() {
                take(page * page_bytes, node);
            }
            offset += bytes;
        }
    }
    Some(())
}

/// Running processes that map the segment, each with a mapping of it.
fn holders(
    root: &Root,
    tracker: &Tracker,
    segment: &Segment,
) -> impl Iterator<Item = (u32, Mapping)> {
    let mut running: Vec<usize> = tracker.processes.running().collect();
    running.sort_unstable();
    let of_it = running
        .into_iter()
        .filter(|index| segment.processes.contains(index));
    of_it.filter_map(move |index| {
        let pid = tracker.processes.list[index].pid;
        let mappings = proc_maps::read_shared(root, pid).ok()?.list;
        let is_it = |mapping: &Mapping| mapping.object.may_be(&segment.object);
        Some((pid, mappings.into_iter().find(is_it)?))
    })
}
