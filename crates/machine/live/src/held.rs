//! What is known of a process between snapshots.

use std::collections::{BTreeMap, BTreeSet};

use linux::{Root, proc_status};
use model::{CpuSet, NodeSet};

use crate::looks::Looked;

/// Processes whose status is read at each snapshot: what it says seldom changes.
const STATUSES_PER_SNAPSHOT: usize = 20;

/// What is known of a process between snapshots.
#[derive(Debug, Default)]
pub(crate) struct Held {
    pub(crate) start_ticks: u64,
    pub(crate) status_at: Option<u64>,
    pub(crate) cpus_allowed: Option<CpuSet>,
    pub(crate) memory_nodes_allowed: Option<NodeSet>,
    /// `None` until its status was read, or where the kernel does not say.
    pub(crate) huge_bytes: Option<u64>,
    pub(crate) looked: Option<(f64, Looked)>,
    /// The last look failed: it is not tried again.
    pub(crate) is_closed: bool,
}

/// Reads some statuses of the processes shown: of those without one first, of databases before
/// others, then the oldest. All that are held run.
pub(crate) fn statuses(
    root: &Root,
    all: &mut BTreeMap<u32, Held>,
    shown: &BTreeSet<u32>,
    of_databases: &BTreeSet<u32>,
    snapshots: u64,
) {
    let held = all.iter().filter(|(pid, _)| shown.contains(pid));
    let order = held.map(|(pid, held)| (held.status_at, !of_databases.contains(pid), *pid));
    let mut order: Vec<(Option<u64>, bool, u32)> = order.collect();
    let count = STATUSES_PER_SNAPSHOT.min(order.len());
    if count < order.len() {
        order.select_nth_unstable(count);
    }
    for (_, _, pid) in &order[..count] {
        let Some(held) = all.get_mut(pid) else {
            continue;
        };
        held.status_at = Some(snapshots);
        let Ok(status) = proc_status::read(root, *pid) else {
            continue;
        };
        held.huge_bytes = status.huge_bytes;
        let allowed = status
            .allowed
            .map(|allowed| (allowed.cpus, allowed.memory_nodes));
        (held.cpus_allowed, held.memory_nodes_allowed) = allowed.unzip();
    }
}
