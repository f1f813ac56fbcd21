//! Pages of shared memory that exist although no process has them mapped: those that sessions
//! touched which have ended.

use linux::map_files::MappedObject;
use linux::pagemap::{Pagemap, PagemapEntry};

use super::frames::Lookup;
use super::object_part::Part;
use super::page_set::CHUNK_PAGES;
use super::tally::{Span, Tally};

/// A look at pages of an object through a mapping of our own.
pub(super) struct Unmapped<'a, 'b> {
    /// The object.
    pub object: &'a MappedObject,
    /// Size of a base page.
    pub page_bytes: u64,
    /// The pagemap of this process.
    pub pagemap: &'a mut Pagemap,
    /// Where frames are.
    pub frames: &'a mut Lookup<'b>,
    /// Room for entries.
    pub entries: &'a mut Vec<PagemapEntry>,
}

impl Unmapped<'_, '_> {
    /// Adds to the tally what exists and was not counted before.
    ///
    /// # Errors
    /// When the kernel refuses a call.
    pub fn at(&mut self, tally: &mut Tally) -> Result<(), linux::SystemCallError> {
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
