//! The memory of a target, divided into parts that can be moved: a segment of shared memory, or the
//! private memory of one process.

use linux::map_files::MappedObject;
use linux::proc_maps::{Mapping, ObjectId};
use linux::{Root, capabilities};
use model::SegmentKind;

use placement::Pattern;

/// Memory that is read, journalled and moved at once: bounds the list of pages in one call and the
/// time for which the kernel locks the memory map of the process.
pub const CHUNK_BYTES: u64 = 16 << 20;

/// Memory that is moved at once at first, so that it soon shows how long the rest takes. No less
/// than a transparent huge page, which stays whole.
pub(super) const BYTES_FIRST: u64 = 2 << 20;

/// One part.
#[derive(Debug)]
pub struct Part {
    /// Name of the segment in /proc/PID/maps, or of the process.
    pub name: String,
    /// What it is.
    pub kind: PartKind,
    /// Size of its pages if they are from a pool of huge pages, else of a base page: the unit of
    /// page numbers.
    pub page_bytes: u64,
    /// The node on which each page belongs.
    pub pattern: Pattern,
    /// How its pages are reached.
    pub(super) source: Source,
    /// Where processes have an object of small pages mapped. Looking there costs a fraction of our
    /// own mapping, but shows only what that process has touched.
    pub(super) views: Vec<View>,
    /// The ranges that may hold its pages, in pieces of at most [`CHUNK_BYTES`].
    pub(super) stretches: Vec<Stretch>,
}

/// What a part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartKind {
    /// A segment of shared memory.
    Segment(SegmentKind),
    /// The private memory of this process.
    Private {
        /// The process.
        pid: u32,
        /// When it started, in ticks: a later process with this id is a different one.
        start_ticks: u64,
    },
}

/// How the pages of a part are reached.
#[derive(Debug)]
pub(super) enum Source {
    /// An object of small pages: through our own mapping, which also finds pages that no process
    /// has mapped now, and finds each page once.
    Window(ObjectId, MappedObject),
    /// An object of huge pages: through the processes that have them mapped, or, with process 0,
    /// through our own mapping, where the kernel can show us a page without allocating one.
    HugeObject(ObjectId, MappedObject),
    /// Private memory: through its process.
    Process,
}

impl Part {
    /// The object, if it is one.
    pub fn object(&self) -> Option<ObjectId> {
        match &self.source {
            Source::Window(id, _) | Source::HugeObject(id, _) => Some(*id),
            Source::Process => None,
        }
    }

    /// The object whose policy a move of this part sets: not where it is for some pages only.
    pub(super) fn object_with_policy(&self) -> Option<(ObjectId, &MappedObject)> {
        match &self.source {
            Source::Window(id, object) if !self.pattern.is_dosed() => Some((*id, object)),
            _ => None,
        }
    }

    /// Whether it is an object of huge pages.
    pub(super) fn is_huge_object(&self) -> bool {
        matches!(self.source, Source::HugeObject(..))
    }

    /// Whether its pages come from a pool of huge pages.
    pub fn is_of_huge_pool(&self) -> bool {
        self.page_bytes > linux::process::page_bytes()
    }
}

/// A process's mapping of an object of small pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct View {
    /// The process.
    pub pid: u32,
    /// Number of the first page in the object.
    pub first: u64,
    /// How many pages.
    pub pages: u64,
    /// Address of the first page in the process.
    pub address: u64,
}

/// Views of an object that are tried before our own mapping: each costs a read of its page map.
pub(super) const VIEWS_MAX: usize = 8;

impl View {
    /// The view of a mapping.
    pub(super) fn of(pid: u32, mapping: &Mapping, page_bytes: u64) -> Self {
        View {
            pid,
            first: mapping.offset / page_bytes,
            pages: mapping.bytes() / page_bytes,
            address: mapping.start,
        }
    }

    /// The address of the first page of a stretch, if all of the stretch is mapped.
    pub(super) fn address_of(&self, stretch: &Stretch, page_bytes: u64) -> Option<u64> {
        let before = stretch.first.checked_sub(self.first)?;
        let is_in_it = before.checked_add(stretch.pages)? <= self.pages;
        is_in_it.then(|| self.address + before * page_bytes)
    }
}

/// Whether huge pages of an object can be reached through our own mapping, which shows every page,
/// also those that processes lose while others move. Page `first` is tried. A page that it shows
/// has one more process that maps it, and moves only if pages of several may be moved.
pub(super) fn shows_huge_pages(root: &Root, object: &MappedObject, first: u64) -> bool {
    capabilities::may_move_pages_of_others(root) && object.huge_window(first, 1).is_ok()
}

/// Consecutive pages of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stretch {
    /// The process through which they are reached; 0 for our own window.
    pub pid: u32,
    /// Number of the first page: in the object, or in the address space of the process.
    pub first: u64,
    /// How many.
    pub pages: u64,
    /// Address of the first page in the process.
    pub address: u64,
}

/// Divides pages into stretches that end at chunk boundaries, so that no larger page is split.
pub(super) fn stretches(
    pid: u32,
    first: u64,
    pages: u64,
    address: u64,
    page_bytes: u64,
) -> impl Iterator<Item = Stretch> {
    let chunk = (CHUNK_BYTES / page_bytes).max(1);
    let end = first.saturating_add(pages);
    let mut next = first;
    std::iter::from_fn(move || {
        (next < end).then(|| {
            let count = (chunk - next % chunk).min(end - next);
            let stretch = Stretch {
                pid,
                first: next,
                pages: count,
                address: address + (next - first) * page_bytes,
            };
            next += count;
            stretch
        })
    })
}

/// Divides the first stretches so that a batch may be as small as `bytes`, and the next ones twice
/// as large each.
pub(super) fn in_growing_pieces(
    stretches: Vec<Stretch>,
    page_bytes: u64,
    mut bytes: u64,
) -> Vec<Stretch> {
    let mut pieces = Vec::with_capacity(stretches.len());
    for mut rest in stretches {
        while bytes < CHUNK_BYTES && rest.pages * page_bytes > bytes {
            // At a multiple of its size, as stretches do.
            let piece = (bytes / page_bytes).max(1);
            let pages = (piece - rest.first % piece).min(rest.pages);
            pieces.push(Stretch { pages, ..rest });
            rest.first += pages;
            rest.pages -= pages;
            rest.address += pages * page_bytes;
            bytes *= 2;
        }
        if rest.pages > 0 {
            pieces.push(rest);
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::{BYTES_FIRST, Stretch, View, in_growing_pieces, stretches};

    #[test]
    fn the_first_pieces_grow_and_end_where_no_huge_page_is_split() {
        let pages = |mib: u64| mib << 20 >> 12;
        let check = |first, stretches: &[u64], page_bytes: u64, expected: &[u64]| {
            let mut next = first;
            let stretch = |pages: &u64| {
                let stretch = Stretch {
                    pid: 7,
                    first: next,
                    pages: *pages,
                    address: next * page_bytes,
                };
                next += pages;
                stretch
            };
            let all = stretches.iter().map(stretch).collect();
            let pieces = in_growing_pieces(all, page_bytes, BYTES_FIRST);
            let counts: Vec<u64> = pieces.iter().map(|piece| piece.pages).collect();
            assert_eq!(counts, expected);
            let mut next = first;
            for piece in pieces {
                assert_eq!((piece.first, piece.address), (next, next * page_bytes));
                next += piece.pages;
            }
        };
        let mib = |all: &[u64]| all.iter().map(|it| pages(*it)).collect::<Vec<u64>>();
        check(0, &mib(&[16, 16, 16]), 4096, &mib(&[2, 2, 4, 8, 16, 16]));
        check(0, &mib(&[1, 16]), 4096, &mib(&[1, 1, 2, 4, 9]));
        check(511, &[1, 512], 4096, &[1, 512]);
        check(0, &[8, 8], 2 << 20, &[1, 1, 2, 4, 8]);
        check(0, &[1, 1], 1 << 30, &[1, 1]);
        check(0, &[], 4096, &[]);
    }

    #[test]
    fn a_view_shows_a_stretch_whole_or_not_at_all() {
        let view = View {
            pid: 7,
            first: 10,
            pages: 20,
            address: 1 << 30,
        };
        let check = |first, pages, expected| {
            let stretch = Stretch {
                pid: 0,
                first,
                pages,
                address: 0,
            };
            assert_eq!(view.address_of(&stretch, 4096), expected);
        };
        check(10, 20, Some(1 << 30));
        check(29, 1, Some((1 << 30) + 19 * 4096));
        check(9, 2, None);
        check(29, 2, None);
        check(u64::MAX, 1, None);
    }

    #[test]
    fn stretches_end_where_chunks_do() {
        let all: Vec<Stretch> = stretches(7, 4090, 4102, 1 << 30, 4096).collect();
        let seen: Vec<_> = all.iter().map(|it| (it.first, it.pages)).collect();
        assert_eq!(seen, [(4090, 6), (4096, 4096)]);
        assert_eq!(all[1].address, (1 << 30) + 6 * 4096);
        let huge = stretches(7, 0, 3, 0, 1 << 30).count();
        assert_eq!(huge, 3);
        assert_eq!(stretches(7, 5, 0, 0, 4096).count(), 0);
    }
}
