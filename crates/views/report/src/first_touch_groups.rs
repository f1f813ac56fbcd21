//! Touchers of a segment, each by itself if there are few, else by class of process and node of the
//! CPU: a server has hundreds of sessions.

use std::collections::{BTreeMap, BTreeSet};

use model::{BytesByNode, NodeId, TouchedSegment, counted};

/// The most touchers of which each is shown by itself.
pub(crate) const TOUCHERS_ALONE: usize = 8;

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

/// Returns the groups, that which touched most first.
pub(crate) fn groups(segment: &TouchedSegment) -> Vec<TouchGroup> {
    let mut groups: BTreeMap<(&str, Option<NodeId>, u32), TouchGroup> = BTreeMap::new();
    let are_few = segment.touchers.len() <= TOUCHERS_ALONE;
    for toucher in &segment.touchers {
        let alone = if are_few { toucher.pid } else { 0 };
        let group = groups.entry((&toucher.class, toucher.cpu_node, alone));
        let group = group.or_insert_with(|| TouchGroup {
            class: toucher.class.clone(),
            cpu_node: toucher.cpu_node,
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
    groups.sort_by_key(|group| std::cmp::Reverse((group.bytes, group.later_faults)));
    groups
}
