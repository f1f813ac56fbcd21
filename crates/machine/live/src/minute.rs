//! The last minute, for pictures: of each node, and of the faults of NUMA balancing.

use model::{NodeId, NodeSnapshot, Snapshot};

use crate::change::share;
use crate::{Change, History, NodeChange, available};

/// Points of seconds before the last snapshot, and a share of 0 to 1, the oldest first.
pub type Points = Vec<(f64, f64)>;

/// What happened in the last minute.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Minute {
    /// The nodes of the last snapshot.
    pub nodes: Vec<NodeMinute>,
    /// Of the faults of NUMA balancing, the share on the node of the page.
    pub faults_local: Points,
}

/// What a node did in the last minute.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NodeMinute {
    /// The node.
    pub node: NodeId,
    /// The share of its memory that is in use: neither free nor page cache.
    pub used: Points,
    /// The share of its CPUs that worked since the snapshot before.
    pub busy: Points,
    /// Of the pages allocated for it since the snapshot before, the share that went to other nodes.
    pub elsewhere: Points,
}

impl Minute {
    /// How far it reaches back, in seconds.
    pub const SECONDS: f64 = 60.0;

    /// The last minute of a history.
    pub fn of(history: &History) -> Self {
        let Some(latest) = history.latest() else {
            return Minute::default();
        };
        let newest_first = history.snapshots().rev();
        let mut recent: Vec<(f64, &Snapshot)> = newest_first
            .map(|it| (latest.uptime_s - it.uptime_s, it))
            .take_while(|(ago, _)| *ago <= Self::SECONDS)
            .collect();
        recent.reverse();
        let pairs = recent.iter().zip(recent.iter().skip(1));
        let changes: Vec<(f64, Change)> = pairs
            .map(|((_, before), (ago, after))| (*ago, Change::between(before, after)))
            .collect();
        let nodes = latest.nodes.iter();
        let faults = changes.iter().filter_map(|(ago, change)| {
            let local = change.numa_hint_faults_local_per_s?;
            Some((*ago, share(local, change.numa_hint_faults_per_s? - local)?))
        });
        Minute {
            nodes: nodes
                .map(|it| NodeMinute::of(it, &recent, &changes))
                .collect(),
            faults_local: faults.collect(),
        }
    }

    /// The last minute of a node.
    pub fn node(&self, id: NodeId) -> Option<&NodeMinute> {
        self.nodes.iter().find(|it| it.node == id)
    }
}

impl NodeMinute {
    fn of(node: &NodeSnapshot, recent: &[(f64, &Snapshot)], changes: &[(f64, Change)]) -> Self {
        let cpus = node.cpus.len() as f64;
        let used = recent.iter().filter_map(|(ago, snapshot)| {
            let then = snapshot.nodes.iter().find(|it| it.id == node.id)?;
            let available = available(then)?;
            let used = then.memory_bytes?.checked_sub(available)?;
            Some((*ago, share(used as f64, available as f64)?))
        });
        let points = |of: fn(&NodeChange, f64) -> Option<f64>| -> Points {
            let points = changes.iter();
            let points =
                points.filter_map(|(ago, change)| Some((*ago, of(change.node(node.id)?, cpus)?)));
            points.collect()
        };
        NodeMinute {
            node: node.id,
            used: used.collect(),
            busy: points(|it, cpus| {
                let busy = it.cpus_busy?.min(cpus);
                share(busy, cpus - busy)
            }),
            elsewhere: points(|it, _| it.share_elsewhere()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Allocations;

    fn snapshot(uptime_s: f64, free_bytes: u64, cpu_busy_s: f64) -> Snapshot {
        let node = NodeSnapshot {
            id: NodeId(3),
            cpus: "0-1".parse().unwrap(),
            memory_bytes: Some(100),
            free_bytes: Some(free_bytes),
            page_cache_bytes: Some(10),
            cpu_busy_s: Some(cpu_busy_s),
            allocations: Some(Allocations {
                hit: 3 * free_bytes,
                miss: 0,
                foreign: free_bytes,
            }),
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
        assert_eq!(Minute::of(&history), Minute::default());
        for (uptime_s, free, busy) in [(5.0, 0, 0.0), (100.0, 30, 40.0), (110.0, 50, 50.0)] {
            history.push(snapshot(uptime_s, free, busy));
        }
        let expected = NodeMinute {
            node: NodeId(3),
            used: vec![(10.0, 0.6), (0.0, 0.4)],
            busy: vec![(0.0, 0.5)],
            elsewhere: vec![(0.0, 0.25)],
        };
        assert_eq!(Minute::of(&history).nodes, [expected]);
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
        let minute = &Minute::of(&history).nodes[0];
        assert!(
            minute.used.is_empty() && minute.busy.is_empty(),
            "{minute:?}"
        );
    }
}
