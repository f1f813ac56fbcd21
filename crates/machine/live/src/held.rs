//! What is known of a process between snapshots.

use std::collections::{BTreeMap, BTreeSet};

use linux::{Root, proc_stat, proc_status};
use model::{CpuSet, NodeSet};

use crate::looks::Looked;

/// Processes whose status is read at each snapshot: what it says seldom changes.
const STATUSES_PER_SNAPSHOT: usize = 20;

/// The start of a command line that is shown.
const COMMAND_BYTES_MAX: u64 = 256;

/// What is known of a process between snapshots.
#[derive(Debug, Default)]
pub(crate) struct Held {
    pub(crate) start_ticks: u64,
    pub(crate) status_at: Option<u64>,
    pub(crate) cpus_allowed: Option<CpuSet>,
    pub(crate) memory_nodes_allowed: Option<NodeSet>,
    /// `None` until its status was read, or where the kernel does not say.
    pub(crate) huge_bytes: Option<u64>,
    pub(crate) user: Option<u32>,
    pub(crate) command: Option<String>,
    pub(crate) control_group: Option<String>,
    pub(crate) looked: Option<(f64, Looked)>,
    /// The last look failed: it is not tried again.
    pub(crate) is_closed: bool,
}

/// Reads some statuses of the processes shown, and where wanted their commands and cgroups: of
/// those without one first, of what is visible before databases before others, then the oldest; of
/// what is visible, each command. All that are held run.
pub(crate) fn statuses(
    root: &Root,
    all: &mut BTreeMap<u32, Held>,
    shown: &BTreeSet<u32>,
    (visible, of_databases): (&BTreeSet<u32>, &BTreeSet<u32>),
    (snapshots, has_commands): (u64, bool),
) {
    let held = all.iter().filter(|(pid, _)| shown.contains(pid));
    let rank = |pid| (!visible.contains(pid), !of_databases.contains(pid));
    let order = held.map(|(pid, held)| (held.status_at, rank(pid), *pid));
    let mut order: Vec<(Option<u64>, (bool, bool), u32)> = order.collect();
    let count = STATUSES_PER_SNAPSHOT.min(order.len());
    if count < order.len() {
        order.select_nth_unstable(count);
    }
    for (_, _, pid) in &order[..count] {
        let Some(held) = all.get_mut(pid) else {
            continue;
        };
        held.status_at = Some(snapshots);
        if has_commands {
            held.command = command(root, *pid);
            held.control_group = control_group(root, *pid);
        }
        let Ok(status) = proc_status::read(root, *pid) else {
            continue;
        };
        held.user = status.user;
        held.huge_bytes = status.huge_bytes;
        let allowed = status
            .allowed
            .map(|allowed| (allowed.cpus, allowed.memory_nodes));
        (held.cpus_allowed, held.memory_nodes_allowed) = allowed.unzip();
    }
    // A server changes its title with what it does.
    for pid in visible.iter().filter(|_| has_commands) {
        if let Some(held) = all.get_mut(pid) {
            held.command = command(root, *pid);
        }
    }
}

/// `None` where a process has none, as zombies, or is gone.
fn command(root: &Root, pid: u32) -> Option<String> {
    let command = proc_stat::command_line(root, pid, COMMAND_BYTES_MAX).ok();
    command.filter(|it| !it.is_empty())
}

/// The cgroup of a process: of several hierarchies, the longest path.
fn control_group(root: &Root, pid: u32) -> Option<String> {
    let groups = proc_stat::control_groups(root, pid).ok()?;
    groups.into_iter().max_by_key(String::len)
}
