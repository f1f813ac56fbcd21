//! The node of each page of a range of one object, without touching any page.

use std::collections::BTreeMap;
use std::ops::Range;

use linux::map_files::MappedObject;
use linux::pagemap::{self, Pagemap, PagemapEntry};
use linux::proc_maps::{self, Mapping};
use linux::{Error, Root, SystemCallError, mempolicy};
use model::NodeId;

use super::frames::{Frames, Lookup};
use super::page_runs::GAP;
use super::page_set::CHUNK_PAGES;
use super::unmapped::HUGE_PAGES_MAX;

/// Pages of a part of a range: what a range takes in memory depends on what there is, not on its
/// length, which anybody can map for nothing. 512 pages are what one page table has.
const PART_PAGES: u64 = 512;

/// The pages of a range.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangePages {
    page_bytes: u64,
    /// The numbers of its pages in the object.
    pages: Range<u64>,
    /// The nodes of the pages of parts in which a page was found, by number of the part.
    parts: BTreeMap<u64, Box<[Option<NodeId>]>>,
    /// How many pages were found.
    found: u64,
}

impl RangePages {
    /// A range of which nothing is known: `pages` are numbers of base pages in the object; a huge
    /// page counts as several.
    pub fn unknown(page_bytes: u64, pages: Range<u64>) -> Self {
        RangePages {
            page_bytes,
            pages,
            parts: BTreeMap::new(),
            found: 0,
        }
    }

    /// A range from page `first` on with the node of each page; `None`: not in memory, or not
    /// visible to this user.
    pub fn of(page_bytes: u64, first: u64, nodes: &[Option<NodeId>]) -> Self {
        let mut range = Self::unknown(page_bytes, first..first + nodes.len() as u64);
        for (page, node) in (first..).zip(nodes) {
            range.set(page, *node);
        }
        range
    }

    /// Size of a base page.
    pub fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    /// The pages whose node is known, by number in the object, ascending.
    pub fn known(&self) -> impl Iterator<Item = (u64, NodeId)> + '_ {
        self.parts.iter().flat_map(|(part, nodes)| {
            let numbered = (part * PART_PAGES..).zip(nodes);
            numbered.filter_map(|(page, node)| Some((page, (*node)?)))
        })
    }

    /// The node of a page, by its number in the object.
    fn node(&self, page: u64) -> Option<NodeId> {
        let nodes = self.parts.get(&(page / PART_PAGES))?;
        nodes[(page % PART_PAGES) as usize]
    }

    /// Notes the node of a page of the range, unless it is known.
    fn set(&mut self, page: u64, node: Option<NodeId>) {
        let Some(node) = node.filter(|_| self.pages.contains(&page)) else {
            return;
        };
        let part = self.parts.entry(page / PART_PAGES);
        let nodes = part.or_insert_with(|| vec![None; PART_PAGES as usize].into());
        let known = &mut nodes[(page % PART_PAGES) as usize];
        self.found += u64::from(known.is_none());
        known.get_or_insert(node);
    }

    fn knows_all(&self, mut pages: Range<u64>) -> bool {
        pages.all(|page| self.node(page).is_some())
    }

    /// Forgets the pages that another look did not find.
    pub fn forget_unless_in(&mut self, other: &RangePages) {
        for (part, nodes) in &mut self.parts {
            let was = other.parts.get(part);
            for (index, node) in nodes.iter_mut().enumerate() {
                if was.is_none_or(|was| was[index].is_none()) {
                    self.found -= u64::from(node.take().is_some());
                }
            }
        }
    }

    /// The `bytes` bytes at `offset` of the object, by node; those on no known node are under
    /// `None`.
    pub fn bytes_by_node(&self, offset: u64, bytes: u64) -> BTreeMap<Option<NodeId>, u64> {
        let (end, mut unknown) = (offset.saturating_add(bytes), bytes);
        let mut found: BTreeMap<Option<NodeId>, u64> = BTreeMap::new();
        for (page, node) in self.known() {
            let start = page * self.page_bytes;
            let in_page = end.min(start + self.page_bytes);
            let bytes = in_page.saturating_sub(start.max(offset));
            if bytes > 0 {
                *found.entry(Some(node)).or_default() += bytes;
                unknown -= bytes;
            }
        }
        if unknown > 0 {
            found.insert(None, unknown);
        }
        found
    }

    /// The node of each page that holds some of the `bytes` bytes at `offset` of the object, and
    /// how many of them it holds.
    pub fn pages_of(
        &self,
        offset: u64,
        bytes: u64,
    ) -> impl Iterator<Item = (Option<NodeId>, u64)> + '_ {
        let end = offset.saturating_add(bytes);
        let mut at = offset;
        std::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            let page = at / self.page_bytes;
            let page_end = (page + 1).saturating_mul(self.page_bytes);
            let bytes = end.min(page_end) - at;
            at = page_end;
            Some((self.node(page), bytes))
        })
    }
}

/// Locates the `bytes` bytes at `offset` of the object behind `mapping` of process `owner`, through
/// all of `pids`, which need not all have it mapped.
///
/// Memory that is not shared has no object: its offsets go on from that of its mapping, and `pids`
/// is its owner alone.
///
/// With frame numbers (root), finds every page in memory; without, those that one of the processes
/// has mapped (move_pages(2) as a query).
///
/// # Errors
/// When none of the processes may be read.
pub fn nodes_of_range(
    root: &Root,
    owner: u32,
    mapping: &Mapping,
    pids: &[u32],
    (offset, bytes): (u64, u64),
) -> Result<RangePages, Error> {
    let page_bytes = linux::process::page_bytes();
    let end = offset.saturating_add(bytes).div_ceil(page_bytes);
    let mut range = RangePages::unknown(page_bytes, offset / page_bytes..end);
    let frames = match pagemap::frames_are_shown() {
        true => Some(Frames::read(root, page_bytes)?),
        false => None,
    };
    let (mut seen, mut refused) = (0, None);
    for pid in pids {
        let looked = match &frames {
            Some(frames) => by_frames(root, *pid, mapping, &mut frames.lookup(), &mut range),
            None => by_question(root, *pid, mapping, &mut range),
        };
        match looked {
            Ok(()) => seen += 1,
            Err(error) => refused = refused.or(Some(error)),
        }
        if range.found == range.pages.end - range.pages.start {
            return Ok(range);
        }
    }
    if let (0, Some(error)) = (seen, refused) {
        return Err(error);
    }
    if let (Some(frames), true) = (&frames, mapping.is_shared) {
        unmapped(root, owner, mapping, &mut frames.lookup(), &mut range)?;
    }
    Ok(range)
}

/// The parts of the range that a process has mapped, each with its first page in the object and its
/// page numbers in the address space: of these, where the kernel can tell, only what is there.
fn parts(root: &Root, pid: u32, of: &Mapping, range: &RangePages) -> Result<Vec<Part>, Error> {
    let mappings = proc_maps::read(root, pid)?.list;
    let pagemap = Pagemap::open(root, pid).ok();
    let mut parts = Vec::new();
    for mapping in &mappings {
        let Some((address, offset, bytes)) = common(of, mapping) else {
            continue;
        };
        let origin = offset / range.page_bytes;
        let start = origin.max(range.pages.start);
        let end = range
            .pages
            .end
            .min(origin.saturating_add(bytes / range.page_bytes));
        if start >= end {
            continue;
        }
        let first = address / range.page_bytes + (start - origin);
        let addresses = first..first + (end - start);
        let populated = match &pagemap {
            Some(pagemap) => pagemap.populated(addresses.clone(), GAP)?,
            None => None,
        };
        for addresses in populated.unwrap_or_else(|| vec![addresses.clone()]) {
            parts.push(Part {
                page: start + (addresses.start - first),
                addresses,
            });
        }
    }
    Ok(parts)
}

/// What a mapping of some process has of the object behind `of`: its address there, its offset in
/// the object, and its length. Memory that is not shared is only at its own address in the owner,
/// which may have joined its mapping with others since.
fn common(of: &Mapping, mapping: &Mapping) -> Option<(u64, u64, u64)> {
    if of.is_shared {
        let is_same = mapping.object == of.object && mapping.is_shared;
        return is_same.then(|| (mapping.start, mapping.offset, mapping.bytes()));
    }
    let (start, end) = (mapping.start.max(of.start), mapping.end.min(of.end));
    let is_same = start < end && !mapping.is_shared;
    is_same.then(|| (start, of.offset + (start - of.start), end - start))
}

/// See [`parts`].
struct Part {
    /// Its first page in the object.
    page: u64,
    /// Page numbers in the address space.
    addresses: Range<u64>,
}

impl Part {
    /// It in pieces: the first page of each in the object, and in the address space, and how many
    /// there are.
    fn pieces(&self) -> impl Iterator<Item = (u64, u64, usize)> + '_ {
        let Range { start, end } = self.addresses;
        let starts = (start..end).step_by(CHUNK_PAGES as usize);
        starts.map(move |at| {
            let count = CHUNK_PAGES.min(end - at) as usize;
            (self.page + (at - start), at, count)
        })
    }
}

fn by_frames(
    root: &Root,
    pid: u32,
    mapping: &Mapping,
    frames: &mut Lookup<'_>,
    range: &mut RangePages,
) -> Result<(), Error> {
    let pagemap = Pagemap::open(root, pid)?;
    let mut entries = Vec::new();
    for part in parts(root, pid, mapping, range)? {
        for (page, address, count) in part.pieces() {
            if !range.knows_all(page..page + count as u64) {
                pagemap.read(address, count, &mut entries)?;
                take(&entries, page, frames, range);
            }
        }
    }
    Ok(())
}

/// Notes the nodes of the frames of pages from `first` on.
fn take(entries: &[PagemapEntry], first: u64, frames: &mut Lookup<'_>, range: &mut RangePages) {
    for (page, entry) in (first..).zip(entries) {
        if let Some(frame) = entry.frame()
            && range.node(page).is_none()
        {
            range.set(page, frames.node_of(frame));
        }
    }
}

fn by_question(
    root: &Root,
    pid: u32,
    mapping: &Mapping,
    range: &mut RangePages,
) -> Result<(), Error> {
    for part in parts(root, pid, mapping, range)? {
        for (page, address, count) in part.pieces() {
            let start = address * range.page_bytes;
            let answers = mempolicy::nodes_of_process_pages(pid, start, range.page_bytes, count);
            let answers = answers.map_err(|error| Error::Read {
                path: root.path(&format!("proc/{pid}/maps")),
                cause: std::io::Error::new(error.cause.kind(), error.to_string()),
            })?;
            for (page, answer) in (page..).zip(answers) {
                range.set(page, answer.ok());
            }
        }
    }
    Ok(())
}

/// Finds pages that exist without being mapped by any of the processes.
fn unmapped(
    root: &Root,
    owner: u32,
    mapping: &Mapping,
    frames: &mut Lookup<'_>,
    range: &mut RangePages,
) -> Result<(), Error> {
    let object = MappedObject::open(root, owner, mapping)?;
    let pagemap = Pagemap::open_own()?;
    if let Some(huge_page_bytes) = object.huge_page_bytes {
        unmapped_huge(&object, huge_page_bytes, &pagemap, frames, range);
        return Ok(());
    }
    let looked = unmapped_small(&object, &pagemap, frames, range);
    looked.map_err(|error| Error::Read {
        path: root.path(&format!("proc/{owner}/map_files")),
        cause: std::io::Error::new(error.cause.kind(), error.to_string()),
    })
}

fn unmapped_small(
    object: &MappedObject,
    pagemap: &Pagemap,
    frames: &mut Lookup<'_>,
    range: &mut RangePages,
) -> Result<(), SystemCallError> {
    let mut entries = Vec::new();
    let mut from = range.pages.start * range.page_bytes;
    // No page is beyond the end of an object, or in a hole of it.
    while let Some((start, end)) = object.next_data(from)? {
        from = end;
        let last = range.pages.end.min(end.div_ceil(range.page_bytes));
        let mut page = range.pages.start.max(start / range.page_bytes);
        while page < last {
            let count = CHUNK_PAGES.min(last - page);
            if !range.knows_all(page..page + count) {
                let offset = page * range.page_bytes;
                object.entries(offset, count as usize, pagemap, &mut entries)?;
                take(&entries, page, frames, range);
            }
            page += count;
        }
        if last == range.pages.end {
            break;
        }
    }
    Ok(())
}

/// The same for huge pages. Those that the kernel does not show stay unknown, and those beyond
/// [`HUGE_PAGES_MAX`].
fn unmapped_huge(
    object: &MappedObject,
    huge_page_bytes: u64,
    pagemap: &Pagemap,
    frames: &mut Lookup<'_>,
    range: &mut RangePages,
) {
    let step = huge_page_bytes / range.page_bytes;
    let first = range.pages.start / step;
    let last = range.pages.end.div_ceil(step);
    let last = last.min(object.bytes.div_ceil(huge_page_bytes));
    let mut entries = Vec::new();
    for number in first..last.min(first + HUGE_PAGES_MAX) {
        let pages = number * step..(number + 1) * step;
        if range.knows_all(pages.clone()) {
            continue;
        }
        let Ok(()) = object.huge_entries(number, 1, pagemap, &mut entries) else {
            return;
        };
        let frame = entries.first().and_then(|entry| entry.frame());
        let node = frame.and_then(|frame| frames.node_of(frame));
        pages.for_each(|page| range.set(page, node));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use linux::Root;
    use linux::anonymous_memory::{AnonymousMemory, Pages};
    use linux::shared_memory::{ObjectKind, SharedMemory};
    use model::NodeId;

    use super::{RangePages, nodes_of_range};

    #[test]
    fn a_block_may_lie_on_two_nodes() {
        let nodes = [Some(NodeId(0)), Some(NodeId(1)), None];
        let range = RangePages::of(4096, 10, &nodes);
        let check = |offset, bytes, expected: &[(Option<u32>, u64)]| {
            let expected: BTreeMap<_, _> = expected
                .iter()
                .map(|(node, bytes)| (node.map(NodeId), *bytes))
                .collect();
            assert_eq!(
                range.bytes_by_node(offset, bytes),
                expected,
                "{offset} {bytes}"
            );
        };
        check(40960, 8192, &[(Some(0), 4096), (Some(1), 4096)]);
        check(
            40960 + 128,
            8192,
            &[(Some(0), 3968), (Some(1), 4096), (None, 128)],
        );
        check(0, 100, &[(None, 100)]);
        check(49152, 8192, &[(None, 8192)]);
        check(40960, 0, &[]);
    }

    #[test]
    fn touched_pages_have_a_node_and_others_have_none() {
        let page = linux::process::page_bytes();
        let memory = SharedMemory::create(ObjectKind::Memfd, 64 * page as usize, page).unwrap();
        let mapping = memory.map().unwrap();
        let root = Root::live();
        let own = std::process::id();
        let start = mapping.address().addr() as u64;
        let look = || {
            let maps = linux::proc_maps::read(&root, own).unwrap().list;
            let line = maps
                .iter()
                .find(|line| line.start == start)
                .unwrap()
                .clone();
            let pages = nodes_of_range(&root, own, &line, &[own], (2 * page, 16 * page));
            pages.unwrap()
        };
        let before = look();
        assert_eq!(before, RangePages::unknown(page, 2..18));
        mapping.populate_for_writing().unwrap();
        let pages: Vec<u64> = look().known().map(|(page, _)| page).collect();
        assert_eq!(pages, Vec::from_iter(2..18));
    }

    #[test]
    fn memory_of_one_process_is_found_at_its_address() {
        let (root, own) = (Root::live(), std::process::id());
        let memory = vec![1_u8; 8 << 20];
        let start = memory.as_ptr() as u64;
        let maps = linux::proc_maps::read(&root, own).unwrap().list;
        let holds = |it: &&linux::proc_maps::Mapping| it.start <= start && start < it.end;
        let mapping = maps.iter().find(holds).unwrap();
        let range = (mapping.offset + (start - mapping.start), 4 << 20);
        let pages = nodes_of_range(&root, own, mapping, &[own], range).unwrap();
        assert!(pages.knows_all(pages.pages.clone()), "{mapping:?}");
        assert_eq!(memory[4 << 20], 1);
    }
    /// Address space costs nothing, and a page map has 8 bytes for each page of it.
    #[test]
    fn what_a_range_takes_depends_on_what_is_there() {
        let (root, own) = (Root::live(), std::process::id());
        let most: usize = 64 << 40;
        let mut memory = None;
        // As much as the kernel lets this process have.
        for bytes in (0..16).map(|shift| most >> shift) {
            memory = memory.or_else(|| AnonymousMemory::map(bytes, Pages::small()).ok());
        }
        let mut memory = memory.unwrap();
        let start = memory.address() as u64;
        let words = memory.words_mut();
        let last = words.len() - 1;
        for word in [0, last] {
            words[word] = 1;
        }
        let bytes = words.len() as u64 * 8;
        let maps = linux::proc_maps::read(&root, own).unwrap().list;
        let holds = |it: &&linux::proc_maps::Mapping| it.start <= start && start < it.end;
        let mapping = maps.iter().find(holds).unwrap();
        let origin = mapping.offset + (start - mapping.start);
        let pages = nodes_of_range(&root, own, mapping, &[own], (origin, bytes)).unwrap();
        let found: Vec<u64> = pages
            .known()
            .map(|(page, _)| page - origin / 4096)
            .collect();
        assert_eq!(found, [0, bytes / 4096 - 1]);
        assert_eq!(pages.parts.len(), 2);
    }

    #[test]
    fn pages_that_were_not_there_before_are_forgotten() {
        let node = |id: u32| Some(NodeId(id));
        let mut after = RangePages::of(4096, 510, &[node(0), node(1), node(0), None]);
        let before = RangePages::of(4096, 510, &[node(1), None, node(0), node(0)]);
        after.forget_unless_in(&before);
        assert_eq!(
            after.known().collect::<Vec<_>>(),
            [(510, NodeId(0)), (512, NodeId(0))]
        );
        assert_eq!(after.found, 2);
    }
}
