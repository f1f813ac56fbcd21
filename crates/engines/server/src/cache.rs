//! The memory of a server's cache: its ranges, and the node of every page.

use std::collections::BTreeMap;

use linux::Root;
use linux::proc_maps::Mapping;
use model::{NodeId, SgaEvidence};
use residency::{RangePages, nodes_of_range};

use crate::Error;

/// Where the cache of a server lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheMemory {
    /// The process whose mappings the ranges are of.
    pub owner: u32,
    /// The process that has touched most of the cache: page size and policy are read there.
    pub toucher: u32,
    /// Processes that may have it mapped, the one that has touched most first.
    pub processes: Vec<u32>,
    /// Its parts: one of shared memory, or several of a process's own.
    pub ranges: Vec<CacheRange>,
}

/// A part of a mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheRange {
    /// The mapping, as the owner has it.
    pub mapping: Mapping,
    /// Offset of the part in the object that is mapped. Memory of one process has none: that of
    /// its mapping goes on.
    pub offset: u64,
    /// Its length.
    pub bytes: u64,
}

impl CacheMemory {
    /// Returns the node of each page, range by range, as the server's processes show it.
    ///
    /// # Errors
    /// When no process may be read.
    pub(crate) fn pages(&self, root: &Root) -> Result<Vec<RangePages>, Error> {
        let pages = self.ranges.iter().map(|range| {
            let part = (range.offset, range.bytes);
            let (owner, processes) = (self.owner, &self.processes);
            Ok(nodes_of_range(
                root,
                owner,
                &range.mapping,
                processes,
                part,
            )?)
        });
        pages
            .collect::<Result<_, placement::Error>>()
            .map_err(Error::from)
    }

    /// Returns what the kernel reports about the cache, given where its pages were before and are
    /// now.
    ///
    /// # Errors
    /// When numa_maps cannot be read or has no line for it.
    pub(crate) fn evidence(
        &self,
        root: &Root,
        before: &[RangePages],
        mut after: Vec<RangePages>,
    ) -> Result<SgaEvidence, Error> {
        for (after, before) in after.iter_mut().zip(before) {
            // A page that did not exist before has not moved.
            after.forget_unless_in(before);
        }
        let first = self
            .ranges
            .first()
            .ok_or_else(|| Error::answer("the memory of the cache", "a range", "none"))?;
        let file = root.read(&format!("proc/{}/numa_maps", self.toucher))?;
        let prefix = format!("{:x} ", first.mapping.start);
        let line = file.lines().find(|(_, line)| line.starts_with(&prefix));
        let (_, line) = line.ok_or_else(|| {
            Error::answer(
                "numa_maps of a session",
                format!("a line for the shared memory, {prefix}"),
                "none",
            )
        })?;
        let line = residency::numa_maps::parse_line(line).map_err(placement::Error::from)?;
        Ok(SgaEvidence {
            name: first.mapping.name.clone(),
            page_bytes: line.kernel_page_bytes.unwrap_or(0),
            policy: line.policy,
            bytes_by_node_before: self.bytes_by_node(before),
            bytes_by_node_after: self.bytes_by_node(&after),
            bytes_without_node: 0,
            pools: Vec::new(),
            weights: BTreeMap::new(),
        })
    }

    /// Returns the bytes by node of the pages that exist.
    fn bytes_by_node(&self, pages: &[RangePages]) -> BTreeMap<NodeId, u64> {
        let mut sum = BTreeMap::new();
        for (range, pages) in self.ranges.iter().zip(pages) {
            for (node, bytes) in pages.bytes_by_node(range.offset, range.bytes) {
                if let Some(node) = node {
                    *sum.entry(node).or_default() += bytes;
                }
            }
        }
        sum
    }
}
