//! The node of each page of a range of one object, without touching any page.

use std::collections::BTreeMap;

use linux::map_files::MappedObject;
use linux::pagemap::{self, Pagemap};
use linux::proc_maps::{self, Mapping};
use linux::{Error, Root, mempolicy};
use model::NodeId;

use super::frames::{Frames, Lookup};
use super::page_set::CHUNK_PAGES;

/// The pages of a range.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangePages {
    /// Size of a base page; a huge page counts as several.
    pub page_bytes: u64,
    /// Number of the first page in the object.
    pub first: u64,
    /// The node of each page; `None`: not in memory, or not visible to this user.
    pub nodes: Vec<Option<NodeId>>,
}

impl RangePages {
    /// The `bytes` bytes at `offset` of the object, by node; those on no known node are under
    /// `None`.
    pub fn bytes_by_node(&self, offset: u64, bytes: u64) -> BTreeMap<Option<NodeId>, u64> {
        let mut found = BTreeMap::new();
        for (node, bytes) in self.pages_of(offset, bytes) {
            *found.entry(node).or_default() += bytes;
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
            let page_end = (page + 1) * self.page_bytes;
            let index = page.checked_sub(self.first).map(|index| index as usize);
            let node = index.and_then(|index| self.nodes.get(index).copied().flatten());
            let bytes = end.min(page_end) - at;
            at = page_end;
            Some((node, bytes))
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
    let first = offset / page_bytes;
    let pages = (offset + bytes).div_ceil(page_bytes) - first;
    let mut range = RangePages {
        page_bytes,
        first,
        nodes: vec![None; pages as usize],
    };
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
        if range.nodes.iter().all(Option::is_some) {
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

/// The parts of the range that a process has mapped, each with its index in the range and its page
/// number in the address space.
fn parts(root: &Root, pid: u32, of: &Mapping, range: &RangePages) -> Result<Vec<Part>, Error> {
    let mappings = proc_maps::read(root, pid)?.list;
    let last = range.first + range.nodes.len() as u64;
    let parts = mappings.iter().filter_map(|mapping| {
        let (address, offset, bytes) = common(of, mapping)?;
        let origin = offset / range.page_bytes;
        let start = origin.max(range.first);
        let end = last.min(origin + bytes / range.page_bytes);
        (start < end).then(|| Part {
            index: (start - range.first) as usize,
            pages: end - start,
            address: address / range.page_bytes + (start - origin),
        })
    });
    Ok(parts.collect())
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
    /// Index in the range.
    index: usize,
    pages: u64,
    /// Page number in the address space.
    address: u64,
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
        let mut done = 0;
        while done < part.pages {
            let count = (part.pages - done).min(CHUNK_PAGES) as usize;
            let from = part.index + done as usize;
            done += count as u64;
            let known = &mut range.nodes[from..from + count];
            if known.iter().all(Option::is_some) {
                continue;
            }
            pagemap.read(part.address + (done - count as u64), count, &mut entries)?;
            for (node, entry) in known.iter_mut().zip(&entries) {
                *node = node.or_else(|| frames.node_of(entry.frame()?));
            }
        }
    }
    Ok(())
}

fn by_question(
    root: &Root,
    pid: u32,
    mapping: &Mapping,
    range: &mut RangePages,
) -> Result<(), Error> {
    for part in parts(root, pid, mapping, range)? {
        let start = part.address * range.page_bytes;
        let pages = part.pages as usize;
        let answers = mempolicy::nodes_of_process_pages(pid, start, range.page_bytes, pages);
        let answers = answers.map_err(|error| Error::Read {
            path: root.path(&format!("proc/{pid}/maps")),
            cause: std::io::Error::new(error.cause.kind(), error.to_string()),
        })?;
        for (node, answer) in range.nodes[part.index..].iter_mut().zip(answers) {
            *node = node.or(answer.ok());
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
    let mut entries = Vec::new();
    let chunk = CHUNK_PAGES as usize;
    for from in (0..range.nodes.len()).step_by(chunk) {
        let count = chunk.min(range.nodes.len() - from);
        let known = &mut range.nodes[from..from + count];
        if known.iter().all(Option::is_some) {
            continue;
        }
        let offset = (range.first + from as u64) * range.page_bytes;
        let looked = object.entries(offset, count, &pagemap, &mut entries);
        looked.map_err(|error| Error::Read {
            path: root.path(&format!("proc/{owner}/map_files")),
            cause: std::io::Error::new(error.cause.kind(), error.to_string()),
        })?;
        for (node, entry) in known.iter_mut().zip(&entries) {
            *node = node.or_else(|| frames.node_of(entry.frame()?));
        }
    }
    Ok(())
}

/// The same for huge pages. Those that the kernel does not show stay unknown.
fn unmapped_huge(
    object: &MappedObject,
    huge_page_bytes: u64,
    pagemap: &Pagemap,
    frames: &mut Lookup<'_>,
    range: &mut RangePages,
) {
    let step = huge_page_bytes / range.page_bytes;
    let last = range.first + range.nodes.len() as u64;
    let mut entries = Vec::new();
    for number in range.first / step..last.div_ceil(step) {
        let start = (number * step).max(range.first) - range.first;
        let end = ((number + 1) * step).min(last) - range.first;
        let known = &mut range.nodes[start as usize..end as usize];
        if known.iter().all(Option::is_some) {
            continue;
        }
        let Ok(()) = object.huge_entries(number, 1, pagemap, &mut entries) else {
            return;
        };
        let frame = entries.first().and_then(|entry| entry.frame());
        let node = frame.and_then(|frame| frames.node_of(frame));
        known.iter_mut().for_each(|it| *it = it.or(node));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use linux::Root;
    use linux::shared_memory::{ObjectKind, SharedMemory};
    use model::NodeId;

    use super::{RangePages, nodes_of_range};

    #[test]
    fn a_block_may_lie_on_two_nodes() {
        let range = RangePages {
            page_bytes: 4096,
            first: 10,
            nodes: vec![Some(NodeId(0)), Some(NodeId(1)), None],
        };
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
        let memory = SharedMemory::create(ObjectKind::Memfd, 64 * 4096, 4096).unwrap();
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
            let pages = nodes_of_range(&root, own, &line, &[own], (8192, 16 * 4096));
            pages.unwrap()
        };
        let before = look();
        assert_eq!((before.first, before.nodes), (2, vec![None; 16]));
        mapping.populate_for_writing().unwrap();
        assert!(look().nodes.iter().all(Option::is_some));
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
        assert!(pages.nodes.iter().all(Option::is_some), "{mapping:?}");
        assert_eq!(memory[4 << 20], 1);
    }
}
