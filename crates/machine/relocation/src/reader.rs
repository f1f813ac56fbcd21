//! Where the pages of a stretch are now. Touches, allocates and swaps in nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use linux::Root;
use linux::move_pages::{self, HugePage};
use linux::page_flags::{FrameFlags, PageFlags};
use linux::pagemap::{Pagemap, PagemapEntry};
use linux::proc_maps::ObjectId;
use model::NodeId;

use super::chunk::{Chunk, Mapped, Unit};
use super::huge_pages_met::HugePagesMet;
use super::memory::{Part, Source, Stretch};
use super::read_error::ReadError;
use residency::{Frames, PageSet};

/// A pass over the memory of a target that reports no page twice.
pub(super) struct Reader<'a> {
    root: &'a Root,
    flags: PageFlags,
    frames: Arc<Frames>,
    /// Processes through which objects are not looked at any more: they have ended, or the kernel
    /// refuses to move pages of theirs.
    closed: BTreeSet<u32>,
    /// Frames of private memory that processes share since a fork; of a huge page, the first frame.
    shared_since_fork: PageSet,
    /// Huge pages of objects that the pass has met.
    pub huge_pages: HugePagesMet,
    /// Larger pages of private memory that the pass has seen, by the small pages in one.
    larger: BTreeMap<u64, u64>,
    open: Option<(u32, Pagemap)>,
    entries: Vec<PagemapEntry>,
}

impl<'a> Reader<'a> {
    /// A pass that has seen nothing yet.
    pub(super) fn new(root: &'a Root) -> Self {
        let frames = Frames::read(root, linux::process::page_bytes());
        Self::with(root, Arc::new(frames.unwrap_or_default()))
    }

    /// Another pass that has seen nothing yet.
    pub(super) fn another_pass(&self) -> Self {
        Self::with(self.root, Arc::clone(&self.frames))
    }

    fn with(root: &'a Root, frames: Arc<Frames>) -> Self {
        Reader {
            root,
            flags: PageFlags::open(),
            frames,
            closed: BTreeSet::new(),
            shared_since_fork: PageSet::default(),
            huge_pages: HugePagesMet::default(),
            larger: BTreeMap::new(),
            open: None,
            entries: Vec::new(),
        }
    }

    /// The pages of a stretch that are in memory and were not seen before.
    ///
    /// # Errors
    /// When the process has ended, or the kernel refuses.
    pub(super) fn read(&mut self, part: &Part, stretch: &Stretch) -> Result<Chunk, ReadError> {
        let mut chunk = Chunk {
            pid: stretch.pid,
            ..Chunk::default()
        };
        if let Some((pid, address)) = self.view_of_all(part, stretch) {
            let found = self.small(stretch.first, address, Of::Object);
            chunk.pid = pid;
            return found.look_up(chunk);
        }
        let found = match &part.source {
            Source::Window(_, object) => {
                let window = object.window(stretch.first * part.page_bytes, pages(stretch))?;
                window.look_at_resident()?;
                let address = window.address_of(0);
                self.entries_at(0, address, pages(stretch))?;
                chunk.mapped = Some(Mapped::Small { _window: window });
                self.small(stretch.first, address, Of::Object)
            }
            Source::Process if part.is_of_huge_pool() => self.huge(part, stretch, None)?,
            Source::HugeObject(id, object) if stretch.pid == 0 => {
                let window = object.huge_window(stretch.first, pages(stretch))?;
                window.show_existing()?;
                let stretch = Stretch {
                    address: window.address_of(0),
                    ..*stretch
                };
                chunk.mapped = Some(Mapped::Huge { _window: window });
                self.huge(part, &stretch, Some(*id))?
            }
            Source::HugeObject(id, _) => self.huge(part, stretch, Some(*id))?,
            Source::Process => {
                self.entries_at(stretch.pid, stretch.address, pages(stretch))?;
                let found = self.small(stretch.first, stretch.address, Of::Process);
                Found {
                    units: self.in_turn(found.units),
                    ..found
                }
            }
        };
        found.look_up(chunk)
    }

    /// Looks at objects through this process no more.
    pub(super) fn close(&mut self, pid: u32) {
        self.closed.insert(pid);
    }

    /// A process that has mapped and touched every page of a stretch of an object, and the address
    /// of the first; its entries were read. Far cheaper than our own mapping, which has each page
    /// mapped and unmapped, and pages that no process misses stay as they are.
    fn view_of_all(&mut self, part: &Part, stretch: &Stretch) -> Option<(u32, u64)> {
        let open = part
            .views
            .iter()
            .filter_map(|view| Some((view.pid, view.address_of(stretch, part.page_bytes)?)));
        let views: Vec<(u32, u64)> = open.filter(|it| !self.closed.contains(&it.0)).collect();
        views.into_iter().find(|(pid, address)| {
            let is_read = self.entries_at(*pid, *address, pages(stretch)).is_ok();
            let mut entries = self.entries.iter();
            is_read
                && entries.len() == pages(stretch)
                && entries.all(|entry| {
                    // The process may have mapped something else there by now.
                    entry.is_present() && entry.is_of_object() && entry.frame().is_some()
                })
        })
    }

    /// Marks the new frames of private pages as seen after the pages were moved.
    pub(super) fn met_again(&mut self, part: &Part, stretch: &Stretch) {
        // One entry stands for a huge page, as in [`Self::huge`].
        let (calls, entries) = match part.is_of_huge_pool() {
            true => (stretch.pages, 1),
            false => (1, pages(stretch)),
        };
        for call in 0..calls {
            let address = stretch.address + call * part.page_bytes;
            if self.entries_at(stretch.pid, address, entries).is_err() {
                return;
            }
            let shared = self.entries.iter().filter(|entry| !entry.is_exclusive());
            for frame in shared.filter_map(|entry| entry.frame()) {
                self.shared_since_fork.insert(frame);
            }
        }
    }

    /// Small pages, and larger ones that they form, from the entries that were read.
    fn small(&mut self, first: u64, address: u64, of: Of) -> Found {
        let page_bytes = linux::process::page_bytes();
        let flags = self.flags_of_entries(of);
        let frames = Arc::clone(&self.frames);
        let mut nodes = frames.lookup();
        let mut units: Vec<Unit> = Vec::new();
        let mut are_nodes_known = true;
        let (mut last_frame, mut is_met) = (None, false);
        for (index, (entry, flags)) in (0_u64..).zip(self.entries.iter().zip(flags)) {
            let follows = |frame: u64| last_frame.is_some_and(|last: u64| last + 1 == frame);
            let continues = flags.is_tail() && entry.frame().is_some_and(follows);
            last_frame = entry.frame();
            if !entry.is_present() || !of.has(entry) || flags.is_zero_page() {
                last_frame = None;
                continue;
            }
            if let (true, Some(unit)) = (continues, units.last_mut()) {
                unit.pages += u64::from(!is_met);
                unit.turn = unit.page / unit.pages;
                continue;
            }
            is_met = match entry.frame().filter(|_| !entry.is_exclusive()) {
                Some(frame) if !entry.is_of_object() => !self.shared_since_fork.insert(frame),
                _ => false,
            };
            if !is_met {
                let node = entry.frame().and_then(|frame| nodes.node_of(frame));
                are_nodes_known &= node.is_some();
                units.push(Unit {
                    page: first + index,
                    pages: 1,
                    turn: first + index,
                    address: address + index * page_bytes,
                    node: node.unwrap_or(NodeId(0)),
                });
            }
        }
        Found {
            units,
            are_nodes_known,
            calls: 0,
        }
    }

    /// Gives larger pages their turns one after the other, wherever they are. Their places may have
    /// a common factor with a pattern: InnoDB touches a page at the start of every 8 MiB of its
    /// pool first, and of four nodes, one would get all of these.
    fn in_turn(&mut self, mut units: Vec<Unit>) -> Vec<Unit> {
        for unit in units.iter_mut().filter(|unit| unit.pages > 1) {
            let seen = self.larger.entry(unit.pages).or_default();
            unit.turn = *seen;
            *seen += 1;
        }
        units
    }

    /// The flags of the frame of each entry; one query covers a run of consecutive frames. A single
    /// frame of an object has none that matter: it is no part of a larger page, nor a zero page.
    fn flags_of_entries(&self, of: Of) -> Vec<FrameFlags> {
        let mut all = Vec::with_capacity(self.entries.len());
        let follows = |one: &PagemapEntry, next: &PagemapEntry| match (one.frame(), next.frame()) {
            (Some(one), Some(next)) => one + 1 == next,
            (None, None) => true,
            _ => false,
        };
        for run in self.entries.chunk_by(follows) {
            let is_plain = of == Of::Object && run.len() == 1;
            match run[0].frame().filter(|_| !is_plain) {
                Some(frame) => all.extend(self.flags.of(frame, run.len())),
                None => all.resize(all.len() + run.len(), FrameFlags::default()),
            }
        }
        all
    }

    /// Huge pages of a pool that the process has mapped. The kernel says the nodes of those of an
    /// object in one call; where it does not, and for private ones, one entry of the page map
    /// stands for each.
    fn huge(
        &mut self,
        part: &Part,
        stretch: &Stretch,
        object: Option<ObjectId>,
    ) -> Result<Found, ReadError> {
        if object.is_some_and(|id| self.huge_pages.has_all(id, stretch)) {
            return Ok(Found::default());
        }
        let address_of = |index: u64| stretch.address + index * part.page_bytes;
        let addresses: Vec<u64> = (0..stretch.pages).map(address_of).collect();
        let said = match object {
            Some(_) => move_pages::huge_pages_of(stretch.pid, &addresses, part.page_bytes),
            None => vec![HugePage::NotSaid; addresses.len()],
        };
        let mut found = Found {
            are_nodes_known: true,
            calls: u64::from(object.is_some()),
            ..Found::default()
        };
        for ((page, address), said) in (stretch.first..).zip(addresses).zip(said) {
            let unit = |node: Option<NodeId>| Unit {
                page,
                pages: 1,
                turn: page,
                address,
                node: node.unwrap_or(NodeId(0)),
            };
            let new = match (object, said) {
                (Some(id), HugePage::On(node)) => {
                    self.huge_pages.insert(id, page).then_some(Some(node))
                }
                (_, HugePage::Absent) => None,
                _ => self.huge_by_entry(stretch.pid, page, address, object)?,
            };
            if let Some(node) = new {
                found.are_nodes_known &= node.is_some();
                found.units.push(unit(node));
            }
        }
        Ok(found)
    }

    /// The node of a huge page that is in memory and new, by its entry; the node is `None` where
    /// its frame has no known one.
    fn huge_by_entry(
        &mut self,
        pid: u32,
        page: u64,
        address: u64,
        object: Option<ObjectId>,
    ) -> Result<Option<Option<NodeId>>, ReadError> {
        self.entries_at(pid, address, 1)?;
        let entry = self.entries.first().filter(|entry| entry.is_present());
        let Some(entry) = entry.copied() else {
            return Ok(None);
        };
        let shared_frame = entry.frame().filter(|_| !entry.is_exclusive());
        let is_new = match (object, shared_frame) {
            (Some(id), _) => self.huge_pages.insert(id, page),
            (None, Some(frame)) => self.shared_since_fork.insert(frame),
            (None, None) => true,
        };
        Ok(is_new.then(|| entry.frame().and_then(|frame| self.frames.node_of(frame))))
    }

    fn entries_at(&mut self, pid: u32, address: u64, count: usize) -> Result<(), ReadError> {
        if self.open.as_ref().is_none_or(|(open, _)| *open != pid) {
            let pagemap = match pid {
                0 => Pagemap::open_own()?,
                pid => Pagemap::open(self.root, pid)?,
            };
            self.open = Some((pid, pagemap));
        }
        let (_, pagemap) = self.open.as_mut().expect("it was just put there");
        let first = address / linux::process::page_bytes();
        Ok(pagemap.read(first, count, &mut self.entries)?)
    }
}

/// What small pages belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    Object,
    Process,
}

impl Of {
    /// Whether the page of an entry is the owner's.
    fn has(self, entry: &PagemapEntry) -> bool {
        self == Of::Object || !entry.is_of_object()
    }
}

/// Pages that were found in page maps.
#[derive(Default)]
struct Found {
    units: Vec<Unit>,
    /// Whether the frames of all of them have a known node: then the kernel need not be asked.
    are_nodes_known: bool,
    /// Calls that this took.
    calls: u64,
}

impl Found {
    /// Puts the pages into a chunk, with their nodes.
    fn look_up(self, mut chunk: Chunk) -> Result<Chunk, ReadError> {
        chunk.calls = self.calls;
        if self.are_nodes_known || self.units.is_empty() {
            chunk.units = self.units;
            return Ok(chunk);
        }
        let addresses: Vec<u64> = self.units.iter().map(|unit| unit.address).collect();
        let nodes = move_pages::nodes_of(chunk.pid, &addresses)?;
        chunk.calls += 1;
        let found = self.units.into_iter().zip(nodes);
        // Leaves out pages that are gone by now.
        let found = found.filter_map(|(unit, node)| {
            Some(Unit {
                node: node.ok()?,
                ..unit
            })
        });
        chunk.units = found.collect();
        Ok(chunk)
    }
}

fn pages(stretch: &Stretch) -> usize {
    usize::try_from(stretch.pages).expect("a stretch is no longer than a chunk")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn larger_pages_of_private_memory_take_turns_wherever_they_are() {
        let unit = |page: u64, pages: u64| Unit {
            page,
            pages,
            turn: page / pages,
            address: page << 12,
            node: NodeId(0),
        };
        let root = Root::live();
        let mut reader = Reader::new(&root);
        let turns = |units: Vec<Unit>| units.iter().map(|it| it.turn).collect::<Vec<_>>();
        // Every fourth of them, small pages between, and some of another size.
        let units = vec![unit(0, 512), unit(512, 1), unit(2048, 512), unit(4096, 16)];
        assert_eq!(turns(reader.in_turn(units)), [0, 512, 1, 0]);
        let more = vec![unit(6144, 512), unit(8192, 16)];
        assert_eq!(turns(reader.in_turn(more)), [2, 1]);
    }
}
