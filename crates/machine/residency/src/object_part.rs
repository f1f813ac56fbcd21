//! Counts the pages of one part of an object: small pages from all their entries, huge pages from
//! one entry each.

use linux::pagemap::PagemapEntry;
use model::NodeId;

use super::frames::Lookup;
use super::page_set::CHUNK_PAGES;
use super::tally::Tally;

/// Pages of one object within one chunk and one area.
pub(super) struct Part<'a> {
    /// The tally of the object.
    pub tally: &'a mut Tally,
    /// First page, as a number in the object.
    pub page: u64,
    /// Pages.
    pub count: u64,
    /// Index of the area.
    pub area: usize,
    /// Size of a base page.
    pub page_bytes: u64,
}

impl Part<'_> {
    /// Whether every page of it was counted before.
    pub(super) fn is_known(&self) -> bool {
        self.tally.known.has_all(self.page, self.count)
    }

    /// Counts the pages of these entries that were not counted before.
    pub(super) fn count(&mut self, entries: &[PagemapEntry], frames: &mut Lookup<'_>) {
        let chunk = self.tally.known.chunk(self.page / CHUNK_PAGES);
        let start = (self.page % CHUNK_PAGES) as usize;
        let (mut counts, mut without) = (Counts::default(), 0);
        for (index, entry) in entries.iter().enumerate() {
            let Some(frame) = entry.frame() else {
                continue;
            };
            if chunk.insert(start + index) {
                match frames.node_of(frame) {
                    Some(node) => counts.add(node),
                    None => without += 1,
                }
            }
        }
        self.tally.bytes_without_node += without * self.page_bytes;
        for (node, pages) in counts.iter() {
            self.tally.add(self.area, node, pages * self.page_bytes);
        }
    }

    /// The huge pages of `step` base pages that were not counted before, each with where its entry
    /// is in the page map of a process that has the part from page `address` on: one entry stands
    /// for each.
    pub(super) fn unknown_huge(&self, step: u64, address: u64) -> impl Iterator<Item = HugePage> {
        let start = self.page.next_multiple_of(step);
        let pages = (start..self.page + self.count).step_by(step as usize);
        let huge = pages.map(move |page| HugePage {
            number: page / step,
            area: self.area,
            entry: address + (page - self.page),
        });
        huge.filter(|huge| !self.tally.known.has_all(huge.number, 1))
    }
}

/// A huge page of an object, and where a process may have it.
pub(super) struct HugePage {
    /// Its number in the object.
    pub number: u64,
    /// Index of the area.
    pub area: usize,
    /// Number of its entry in the page map.
    pub entry: u64,
}

/// Pages by node; quick to add to, since that happens for every page.
#[derive(Default)]
pub(super) struct Counts(Vec<u64>);

impl Counts {
    pub(super) fn add(&mut self, node: NodeId) {
        let index = node.0 as usize;
        if index >= self.0.len() {
            self.0.resize(index + 1, 0);
        }
        self.0[index] += 1;
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (NodeId, u64)> {
        let counts = self.0.iter().enumerate().filter(|(_, pages)| **pages > 0);
        counts.map(|(node, pages)| (NodeId(node as u32), *pages))
    }
}
