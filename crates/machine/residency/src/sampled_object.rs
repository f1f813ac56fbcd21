//! Inspects some pages of one object: through the mappings of a few processes, or where none of
//! them has a page mapped, through our own.

use linux::map_files::MappedObject;
use linux::pagemap::{Pagemap, PagemapEntry};
use linux::proc_maps::{Mapping, ObjectId};
use linux::{Root, SystemCallError};

use super::frames::Lookup;
use super::objects;
use super::process_maps::ProcessMaps;
use super::sampling::{self, Counts};
use super::tally::{Span, Tally};

/// Processes to query for a page before we map it ourselves.
const PROCESSES_OF_SMALL_PAGES: usize = 4;
/// The same for huge pages, which not every kernel lets us map without filling holes.
const PROCESSES_OF_HUGE_PAGES: usize = 64;

/// A process and its mappings of the object.
struct Viewer<'a> {
    pagemap: Pagemap,
    mappings: Vec<&'a Mapping>,
}

/// An inspection of some pages of an object.
pub(super) struct SampledObject<'a, 'b> {
    /// The object.
    pub object: &'a MappedObject,
    /// Size of a base page.
    pub page_bytes: u64,
    /// The nodes of frames.
    pub frames: &'a mut Lookup<'b>,
    /// Buffer for entries.
    pub entries: &'a mut Vec<PagemapEntry>,
}

impl SampledObject<'_, '_> {
    /// Inspects the pages that a seed chooses.
    ///
    /// # Errors
    /// When the kernel refuses a call.
    pub(super) fn counts(
        &mut self,
        root: &Root,
        id: ObjectId,
        processes: &[ProcessMaps],
        tally: &Tally,
        seed: u64,
    ) -> Result<Counts, SystemCallError> {
        let own_page_bytes = self.object.huge_page_bytes.unwrap_or(self.page_bytes);
        let is_small = self.object.huge_page_bytes.is_none();
        let viewers_max = match is_small {
            true => PROCESSES_OF_SMALL_PAGES,
            false => PROCESSES_OF_HUGE_PAGES,
        };
        let viewers = viewers(root, id, processes, viewers_max);
        let own = Pagemap::open_own().map_err(|error| failed(&error))?;
        let mut counts = Counts::default();
        for page in sampling::pages(self.object.bytes.div_ceil(own_page_bytes), seed) {
            let offset = page * own_page_bytes;
            counts.pages += 1;
            // A page that does not exist is in no process, and is most of a sparse segment. Where
            // the kernel cannot tell, it is looked for.
            if is_small && !self.object.has_data(offset).unwrap_or(true) {
                continue;
            }
            let mut entry = self.seen_by(&viewers, offset);
            if entry.is_none() && is_small {
                self.object.entries(offset, 1, &own, self.entries)?;
                entry = self.entries.first().copied();
            } else if entry.is_none() {
                let looked = self.object.huge_entries(page, 1, &own, self.entries);
                entry = self.entries.first().copied().filter(|_| looked.is_ok());
            }
            if let Some(frame) = entry.and_then(PagemapEntry::frame) {
                let end = offset + own_page_bytes;
                let area = tally
                    .parts(Span { start: offset, end })
                    .first()
                    .map(|part| part.1);
                counts.add(area.unwrap_or(0), self.frames.node_of(frame));
            }
        }
        Ok(counts)
    }

    /// The entry of the first process that has the page mapped. A process that has ended by now
    /// shows nothing.
    fn seen_by(&mut self, viewers: &[Viewer<'_>], offset: u64) -> Option<PagemapEntry> {
        for viewer in viewers {
            let covers = |mapping: &&&Mapping| {
                offset
                    .checked_sub(mapping.offset)
                    .is_some_and(|at| at < mapping.bytes())
            };
            let Some(mapping) = viewer.mappings.iter().find(covers) else {
                continue;
            };
            let page = (mapping.start + (offset - mapping.offset)) / self.page_bytes;
            let read = viewer.pagemap.read(page, 1, self.entries);
            let entry = self.entries.first().copied().filter(|_| read.is_ok());
            if let Some(entry) = entry.filter(|entry| entry.is_present()) {
                return Some(entry);
            }
        }
        None
    }
}

fn viewers<'a>(
    root: &Root,
    id: ObjectId,
    processes: &'a [ProcessMaps],
    viewers_max: usize,
) -> Vec<Viewer<'a>> {
    let viewers = processes.iter().filter_map(|process| {
        let mappings = objects::shared(process).filter(|mapping| mapping.object == id);
        let mappings: Vec<&Mapping> = mappings.collect();
        let is_viewer = !mappings.is_empty();
        let pagemap = is_viewer.then(|| Pagemap::open(root, process.pid).ok())??;
        Some(Viewer { pagemap, mappings })
    });
    viewers.take(viewers_max).collect()
}

fn failed(error: &linux::Error) -> SystemCallError {
    SystemCallError::with(
        "open",
        "/proc/self/pagemap",
        std::io::Error::other(error.to_string()),
    )
}
