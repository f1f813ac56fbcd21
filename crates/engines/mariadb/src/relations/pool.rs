//! Finds the pages in the buffer pool of a server: every frame of it begins with the header of its
//! page.

use std::collections::{BTreeMap, HashSet};

use linux::Root;
use linux::proc_maps::{self, Mapping};
use linux::process_memory::ProcessMemory;
use residency::numa_maps::parse_line;
use residency::{RangePages, nodes_of_range};

use super::files::{Space, Spaces};
use super::page::{self, HEADER_BYTES, Page};
use server::Error;

/// Smaller mappings are no buffer pool: that has 5 MiB at least, in chunks of 1 MiB or more.
const MAPPING_BYTES_MIN: u64 = 1 << 20;

/// The buffer of double writes has 256 frames in two parts (buf0dblwr.cc, twice
/// `FSP_EXTENT_SIZE` for pages of 16 KiB), and other memory has copies of single pages. What has
/// more is a part of the pool, and so is what has most.
const COPIES_MAX: usize = 256;

/// A part of a server's memory, and the pages that were found there.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// Size of the kernel's pages; `None` where it does not show it.
    pub page_bytes: Option<u64>,
    /// Where its memory lies.
    pub nodes: RangePages,
    /// The pages, each with its offset.
    pub pages: Vec<(u64, Page)>,
}

/// The memory of a server as it looks before its tablespaces are known.
#[derive(Clone, Debug, Default)]
pub(super) struct Looked {
    parts: Vec<Found>,
    /// The pages of each space whose first page is in memory: that of a new table may not be in
    /// its file yet.
    spaces: BTreeMap<u32, u32>,
}

/// Looks for headers of pages in the memory of server `pid`. Reads only where a page of the kernel
/// is present.
///
/// # Errors
/// When the memory of the server may not be read.
pub(super) fn look(root: &Root, pid: u32, page_bytes: u64) -> Result<Looked, Error> {
    let memory = ProcessMemory::open(root, pid)?;
    let mut looked = Looked::default();
    for mapping in proc_maps::read(root, pid)?.list {
        if may_be_pool(&mapping) {
            let range = (mapping.offset, mapping.bytes());
            let nodes = nodes_of_range(root, pid, &mapping, &[pid], range)?;
            let pages = looked.in_mapping(&memory, &mapping, &nodes, page_bytes);
            looked.parts.push(Found {
                page_bytes: kernel_page_bytes(root, pid, &mapping),
                nodes,
                pages,
            });
        }
    }
    Ok(looked)
}

impl Looked {
    /// Returns the pages of known tablespaces, and adds to these what is known from memory alone. A
    /// page that is there twice is counted where most of the others are: the buffer of double
    /// writes and others have copies.
    pub(super) fn found(self, spaces: &mut Spaces) -> Vec<Found> {
        for (space, pages) in &self.spaces {
            let of_memory = || Space {
                database: None,
                name: format!("space {space}"),
                pages: 0,
            };
            let known = spaces.by_id.entry(*space).or_insert_with(of_memory);
            known.pages = known.pages.max(u64::from(*pages));
        }
        let mut parts = self.parts;
        let is_known = |page: &Page| {
            let space = spaces.by_id.get(&page.space);
            space.is_some_and(|space| u64::from(page.number) < space.pages)
        };
        for part in &mut parts {
            part.pages.retain(|(_, page)| is_known(page));
        }
        parts.sort_by_key(|it| std::cmp::Reverse(it.pages.len()));
        let is_more = |part: &Found| part.pages.len() > COPIES_MAX;
        let pool = 1.max(parts.iter().take_while(|part| is_more(part)).count());
        parts.truncate(pool);
        let mut seen = HashSet::new();
        for part in &mut parts {
            let is_new = |(_, page): &(u64, Page)| seen.insert((page.space, page.number));
            part.pages.retain(is_new);
        }
        parts.retain(|part| !part.pages.is_empty());
        parts
    }

    /// Returns what looks like pages in a mapping, each with its offset.
    fn in_mapping(
        &mut self,
        memory: &ProcessMemory,
        mapping: &Mapping,
        nodes: &RangePages,
        page_bytes: u64,
    ) -> Vec<(u64, Page)> {
        let address_of = |offset: u64| mapping.start + (offset - mapping.offset);
        let frames = nodes.known().flat_map(|(page, _)| {
            let address = address_of(page * nodes.page_bytes());
            let first = address.next_multiple_of(page_bytes);
            (first..address + nodes.page_bytes()).step_by(page_bytes as usize)
        });
        let mut header = [0; HEADER_BYTES];
        let mut pages = Vec::new();
        for address in frames {
            let offset = mapping.offset + (address - mapping.start);
            if memory.read(address, &mut header).is_err() {
                continue;
            }
            if let Some(page) = page::parse(&header) {
                pages.push((offset, page));
                let of_space = page::space_pages(&header);
                self.spaces
                    .extend(of_space.map(|pages| (page.space, pages)));
            }
        }
        pages
    }
}

/// Huge pages of a pool have a file of the kernel's.
fn is_huge(mapping: &Mapping) -> bool {
    mapping.name.starts_with("/anon_hugepage")
}

/// The size of the kernel's pages of a mapping.
fn kernel_page_bytes(root: &Root, pid: u32, mapping: &Mapping) -> Option<u64> {
    if !is_huge(mapping) {
        return Some(linux::process::page_bytes());
    }
    let file = root.read_lossy(&format!("proc/{pid}/numa_maps")).ok()?;
    let mut lines = file.lines().filter_map(|(_, line)| parse_line(line).ok());
    lines
        .find(|line| line.address == mapping.start)?
        .kernel_page_bytes
}

/// Memory of the process's own, without a file.
fn may_be_pool(mapping: &Mapping) -> bool {
    mapping.is_accessible
        && !mapping.is_executable
        && !mapping.is_shared
        && (mapping.name.is_empty() || is_huge(mapping))
        && mapping.bytes() >= MAPPING_BYTES_MIN
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relations::page::Part;

    #[test]
    fn pages_in_the_memory_of_a_process_are_found() {
        const FRAME: usize = 16 << 10;
        let mut memory = vec![0_u8; (8 << 20) + FRAME];
        let start = memory.as_ptr().align_offset(FRAME);
        let mut write = |frame: usize, space: u32, number: u32| {
            let at = start + frame * FRAME;
            memory[at + 4..at + 8].copy_from_slice(&number.to_be_bytes());
            memory[at + 24..at + 26].copy_from_slice(&17855_u16.to_be_bytes());
            memory[at + 34..at + 38].copy_from_slice(&space.to_be_bytes());
            memory[at + 66..at + 74].copy_from_slice(&3_u64.to_be_bytes());
        };
        write(2, 5, 7);
        write(9, 5, 8);
        write(10, 5, 8);
        // Beyond the file, of no file, and freed (buf0lru.cc wipes space and number).
        write(11, 5, 100);
        write(12, 6, 1);
        write(13, 0xFEFE_FEFE, 0xFEFE_FEFE);
        // Of a space that is known by its first page in memory alone.
        write(14, 7, 1);
        write(15, 7, 0);
        let at = start + 15 * FRAME;
        memory[at + 24..at + 26].copy_from_slice(&8_u16.to_be_bytes());
        memory[at + 38..at + 42].copy_from_slice(&7_u32.to_be_bytes());
        memory[at + 46..at + 50].copy_from_slice(&2_u32.to_be_bytes());
        let space = Space {
            database: None,
            name: "a".to_owned(),
            pages: 100,
        };
        let mut spaces = Spaces {
            by_id: [(5, space)].into(),
            page_bytes: FRAME as u64,
        };
        let found = match look(&Root::live(), std::process::id(), FRAME as u64) {
            Ok(looked) => looked.found(&mut spaces),
            // Without root, the kernel may refuse to tell the nodes of pages.
            Err(error) => {
                let test = "pages_in_the_memory_of_a_process_are_found";
                return testing::not_run(test, testing::Need::Root, &error.to_string());
            }
        };
        let pages = found.iter().flat_map(|it| &it.pages);
        let mut pages: Vec<Page> = pages.map(|(_, page)| *page).collect();
        pages.sort_by_key(|page| (page.space, page.number));
        let page = |space, number, part| Page {
            space,
            number,
            part,
        };
        let index = Part::Index(3);
        let expected = [
            page(5, 7, index),
            page(5, 8, index),
            page(7, 0, Part::Space),
            page(7, 1, index),
        ];
        assert_eq!(pages, expected);
        drop(memory);
    }
}
