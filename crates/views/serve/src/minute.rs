//! The last minute of each node, for the live page.

use live::{Change, History, available};
use model::{NodeId, NodeSnapshot, Snapshot};

/// How far it reaches back, in seconds.
pub(crate) const SECONDS: f64 = 60.0;

/// What a node did in the last minute: points of seconds before the last look, and a share of 0 to
/// 1, the oldest first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NodeMinute {
    /// The node.
    pub node: NodeId,
    /// The share of its memory that is in use: neither free nor page cache.
    pub used: Vec<(f64, f64)>,
    /// The share of its CPUs that worked since the look before.
    pub busy: Vec<(f64, f64)>,
}

/// Returns the last minute of each node of the last look.
pub fn last_minute(history: &History) -> Vec<NodeMinute> {
    let Some(latest) = history.latest() else {
        return Vec::new();
    };
    let snapshots = history.snapshots();
    let recent: Vec<(f64, &Snapshot)> = snapshots
        .map(|it| (latest.uptime_s - it.uptime_s, it))
        .filter(|(ago, _)| *ago <= SECONDS)
        .collect();
    let pairs = recent.iter().zip(recent.iter().skip(1));
    let changes: Vec<(f64, Change)> = pairs
        .map(|((_, before), (ago, after))| (*ago, Change::between(before, after)))
        .collect();
    let of_node = |node: &NodeSnapshot| {
        let cpus = node.cpus.len() as f64;
        let used = recent.iter().filter_map(|(ago, snapshot)| {
            let then = snapshot.nodes.iter().find(|it| it.id == node.id)?;
            let memory = then.memory_bytes?;
            let used = memory.checked_sub(available(then)?)? as f64 / memory as f64;
            used.is_finite().then_some((*ago, used))
        });
        let busy = changes.iter().filter_map(|(ago, change)| {
            let share = change.node(node.id)?.cpus_busy? / cpus;
            share.is_finite().then_some((*ago, share.clamp(0.0, 1.0)))
        });
        NodeMinute {
            node: node.id,
            used: used.collect(),
            busy: busy.collect(),
        }
    };
    latest.nodes.iter().map(of_node).collect()
}

#[cfg(test)]
mod tests {
    use super::{NodeMinute, last_minute};
    use live::History;
    use model::{NodeId, NodeSnapshot, Snapshot};

    fn snapshot(uptime_s: f64, free_bytes: u64, cpu_busy_s: f64) -> Snapshot {
        let node = NodeSnapshot {
            id: NodeId(3),
            cpus: "0-1".parse().unwrap(),
            memory_bytes: Some(100),
            free_bytes: Some(free_bytes),
            page_cache_bytes: Some(10),
            cpu_busy_s: Some(cpu_busy_s),
            ..NodeSnapshot::default()
        };
        Snapshot {
            uptime_s,
            nodes: vec![node],
            ..Snapshot::default()
        }
    }

    #[test]
    fn the_last_minute_has_shares_of_memory_and_cpus() {
        let mut history = History::default();
        assert_eq!(last_minute(&history), []);
        for (uptime_s, free, busy) in [(5.0, 0, 0.0), (100.0, 50, 40.0), (110.0, 30, 50.0)] {
            history.push(snapshot(uptime_s, free, busy));
        }
        let expected = NodeMinute {
            node: NodeId(3),
            used: vec![(10.0, 0.4), (0.0, 0.6)],
            busy: vec![(0.0, 0.5)],
        };
        assert_eq!(last_minute(&history), [expected]);
    }

    #[test]
    fn what_is_unknown_has_no_points() {
        let mut history = History::default();
        let mut unknown = snapshot(1.0, 0, 0.0);
        unknown.nodes[0].memory_bytes = None;
        history.push(unknown.clone());
        unknown.uptime_s = 2.0;
        unknown.nodes[0].cpu_busy_s = None;
        history.push(unknown);
        let minute = &last_minute(&history)[0];
        assert!(
            minute.used.is_empty() && minute.busy.is_empty(),
            "{minute:?}"
        );
    }
}
