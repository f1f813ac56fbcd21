//! Touchers of a segment, each by itself if there are few, else by class of process and node of the
//! CPU: a server has hundreds of sessions. One that touched much is never hidden among them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use model::{BytesByNode, NodeId, TouchedSegment, counted};

/// The most touchers of which each is shown by itself.
pub(crate) const TOUCHERS_ALONE: usize = 8;

/// A process that touched one part in so many of what was touched is shown by itself.
const PART_ALONE: u64 = 10;

/// Processes of one class that touched a segment from the CPUs of one node.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct TouchGroup {
    /// The class.
    pub class: String,
    /// The node of the CPUs; `None` when the machine does not tell.
    pub cpu_node: Option<NodeId>,
    /// Their ids.
    pub pids: BTreeSet<u32>,
    /// Pages that they touched before all others.
    pub bytes: u64,
    /// Page faults on pages that others had touched before.
    pub later_faults: u64,
    /// Time of the earliest and the latest first touch, in s.
    pub between_s: Option<(f64, f64)>,
    /// Where those pages are now; `None` when that is unknown.
    pub bytes_by_node: Option<BytesByNode>,
    /// Whether it is the one process that touched the most of all.
    pub is_largest: bool,
}

impl TouchGroup {
    /// Returns `autoprewarm worker 4242`, or `session (41)`, for a table.
    pub(crate) fn label(&self) -> String {
        match self.pids.first() {
            Some(pid) if self.pids.len() == 1 => format!("{} {pid}", self.class),
            _ => format!("{} ({})", self.class, self.pids.len()),
        }
    }

    /// Returns `autoprewarm worker (pid 4242)`, or `session (41 processes)`.
    pub(crate) fn who(&self) -> String {
        match self.pids.first() {
            Some(pid) if self.pids.len() == 1 => format!("{} (pid {pid})", self.class),
            _ => format!("{} ({})", self.class, counted(self.pids.len(), "process")),
        }
    }
}

/// Returns the groups, that which touched most first. The process that touched most is a group.
pub(crate) fn groups(segment: &TouchedSegment) -> Vec<TouchGroup> {
    let mut groups: BTreeMap<(&str, Option<NodeId>, u32), TouchGroup> = BTreeMap::new();
    let are_few = segment.touchers.len() <= TOUCHERS_ALONE;
    // A process has one entry for each node that it ran on.
    let mut by_process: BTreeMap<u32, u64> = BTreeMap::new();
    for toucher in &segment.touchers {
        let sum = by_process.entry(toucher.pid).or_default();
        *sum = sum.saturating_add(toucher.bytes);
    }
    let most = by_process
        .iter()
        .max_by_key(|(pid, bytes)| (**bytes, Reverse(**pid)));
    let largest = most.filter(|(_, bytes)| **bytes > 0).map(|(pid, _)| *pid);
    for toucher in &segment.touchers {
        let is_largest = largest == Some(toucher.pid);
        let part = by_process[&toucher.pid].saturating_mul(PART_ALONE);
        let has_much = part > 0 && part >= segment.touched_bytes;
        let alone = match are_few || is_largest || has_much {
            true => toucher.pid,
            false => 0,
        };
        let group = groups.entry((&toucher.class, toucher.cpu_node, alone));
        let group = group.or_insert_with(|| TouchGroup {
            class: toucher.class.clone(),
            cpu_node: toucher.cpu_node,
            is_largest,
            ..TouchGroup::default()
        });
        group.pids.insert(toucher.pid);
        group.bytes = group.bytes.saturating_add(toucher.bytes);
        group.later_faults = group.later_faults.saturating_add(toucher.later_faults);
        if let (Some(first), Some(last)) = (toucher.first_s, toucher.last_s) {
            let (from, to) = group.between_s.unwrap_or((first, last));
            group.between_s = Some((from.min(first), to.max(last)));
        }
        for (node, bytes) in toucher.bytes_by_node.iter().flatten() {
            let nodes = group.bytes_by_node.get_or_insert_default();
            *nodes.entry(*node).or_default() += bytes;
        }
    }
    let mut groups: Vec<TouchGroup> = groups.into_values().collect();
    groups.sort_by_key(|group| Reverse((group.bytes, group.later_faults)));
    groups
}
