//! Pages of shared memory that exist although no process has them mapped: those touched by sessions
//! that have ended.

use std::io;

use linux::SystemCallError;
use linux::map_files::MappedObject;
use linux::pagemap::{Pagemap, PagemapEntry};

use super::frames::Lookup;
use super::object_part::Part;
use super::page_set::CHUNK_PAGES;
use super::tally::{Span, Tally};

/// Huge pages mapped at once: a divisor of [`CHUNK_PAGES`].
const HUGE_PAGES_AT_ONCE: u64 = 512;

const _: () = assert!(CHUNK_PAGES.is_multiple_of(HUGE_PAGES_AT_ONCE));

/// Huge pages of one object that are looked for, 32 TiB of 2 MiB: a file without pages may have any
/// length.
pub(super) const HUGE_PAGES_MAX: u64 = 1 << 24;

/// A pass over pages of an object through our own mapping.
pub(super) struct Unmapped<'a, 'b> {
    /// The object.
    pub object: &'a MappedObject,
    /// Size of a base page.
    pub page_bytes: u64,
    /// The pagemap of this process.
    pub pagemap: &'a Pagemap,
    /// The nodes of frames.
    pub frames: &'a mut Lookup<'b>,
    /// Buffer for entries.
    pub entries: &'a mut Vec<PagemapEntry>,
}

impl Unmapped<'_, '_> {
    /// Adds to the tally what exists and was not counted before.
    ///
    /// # Errors
    /// When the kernel refuses a call.
    pub(super) fn at(&mut self, tally: &mut Tally) -> Result<(), SystemCallError> {
        match self.object.huge_page_bytes {
            Some(page_bytes) => self.huge(tally, page_bytes),
            None => self.small(tally),
        }
    }

    fn huge(&mut self, tally: &mut Tally, page_bytes: u64) -> Result<(), SystemCallError> {
        let all = self.object.bytes / page_bytes;
        let pages = all.min(HUGE_PAGES_MAX);
        for first in (0..pages).step_by(HUGE_PAGES_AT_ONCE as usize) {
            let count = HUGE_PAGES_AT_ONCE.min(pages - first) as usize;
            if tally.known.has_all(first, count as u64) {
                continue;
            }
            self.object
                .huge_entries(first, count, self.pagemap, self.entries)?;
            for (number, entry) in (first..).zip(self.entries.iter()) {
                if let Some(frame) = entry.frame() {
                    let (start, end) = (number * page_bytes, (number + 1) * page_bytes);
                    let area = tally.parts(Span { start, end })[0].1;
                    let node = self.frames.node_of(frame);
                    tally.add_huge_page(number, page_bytes, area, node);
                }
            }
        }
        match pages < all {
            true => {
                let arguments = format!("{} bytes of huge pages", self.object.bytes);
                let cause = io::Error::other(format!("only {pages} of {all} are looked for"));
                Err(SystemCallError::with("mmap", arguments, cause))
            }
            false => Ok(()),
        }
    }

    fn small(&mut self, tally: &mut Tally) -> Result<(), SystemCallError> {
        let mut from = 0;
        while let Some((start, end)) = self.object.next_data(from)? {
            for (span, area) in tally.parts(Span { start, end }) {
                let (mut page, last) = (
                    span.start / self.page_bytes,
                    span.end.div_ceil(self.page_bytes),
                );
                while page < last {
                    let count = (last - page).min(CHUNK_PAGES - page % CHUNK_PAGES);
                    let page_bytes = self.page_bytes;
                    let mut part = Part {
                        tally,
                        page,
                        count,
                        area,
                        page_bytes,
                    };
                    if !part.is_known() {
                        let offset = page * self.page_bytes;
                        let pages = count as usize;
                        self.object
                            .entries(offset, pages, self.pagemap, self.entries)?;
                        part.count(self.entries, self.frames);
                    }
                    page += count;
                }
            }
            from = end;
        }
        Ok(())
    }
}
