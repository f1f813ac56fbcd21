//! What is wrong at the moment, by snapshots alone. What findings (docs/findings.md) say, too, has
//! the rule and the id of theirs; the others are judged by rates, which only snapshots have.

use std::collections::BTreeMap;

use model::{ByteSize, Snapshot};

use crate::forecast::{hits, hits_text};
use crate::{Change, History, NearlyFull, NodeMemory};

/// Pages per second of 4 KiB that missed their node: 40 MB/s.
const MISSES_PER_S: f64 = 10_000.0;

/// Pages per second that NUMA balancing moves: 400 MB/s, of which a workload notices the faults.
const MIGRATIONS_PER_S: f64 = 100_000.0;

/// The share of time in which tasks waited for memory.
const MEMORY_PRESSURE: f64 = 0.10;

/// The ids of all notices and what they mean.
pub const NOTICES: [(&str, &str); 5] = [
    (
        "node-nearly-full",
        "one node is nearly out of free memory while another node or its huge pages have plenty",
    ),
    (
        "huge-pages-exhausted",
        "a node has a pool of huge pages and none of them is free",
    ),
    (
        "allocations-elsewhere",
        "a node is full, and its allocations go to other nodes",
    ),
    ("balancing-storm", "NUMA balancing moves many pages"),
    ("memory-pressure", "tasks wait for memory"),
];

/// Something wrong, since when.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    /// Its id, from [`NOTICES`].
    pub id: &'static str,
    /// When it was first seen without a break, on the clock of the snapshots' `uptime_s`.
    pub since_s: f64,
    /// What is wrong, with figures.
    pub sentence: String,
}

/// The notices that hold, with the time since when.
#[derive(Clone, Debug, Default)]
pub struct Notices {
    since: BTreeMap<&'static str, f64>,
}

impl Notices {
    /// The notices that hold at the last snapshot, in the order of [`NOTICES`].
    pub fn update(&mut self, history: &History) -> Vec<Notice> {
        let Some(latest) = history.latest() else {
            return Vec::new();
        };
        let now = latest.uptime_s;
        let found = found(history);
        self.since
            .retain(|id, since| *since <= now && found.iter().any(|(it, _)| it == id));
        let notices = found.into_iter().map(|(id, sentence)| Notice {
            id,
            since_s: *self.since.entry(id).or_insert(now),
            sentence,
        });
        notices.collect()
    }
}

fn found(history: &History) -> Vec<(&'static str, String)> {
    let change = history.change().unwrap_or_default();
    let sentences = [
        history.latest().and_then(nearly_full),
        huge_pages(history),
        misses(&change),
        migrations(&change),
        pressure(history),
    ];
    let ids = NOTICES.iter().map(|(id, _)| *id);
    ids.zip(sentences)
        .filter_map(|(id, sentence)| Some((id, sentence?)))
        .collect()
}

/// The sentence on a node that is nearly full, and the databases that it hits.
fn nearly_full(latest: &Snapshot) -> Option<String> {
    let nodes: Vec<NodeMemory<'_>> = latest.nodes.iter().filter_map(NodeMemory::of).collect();
    let full = NearlyFull::first(&nodes)?;
    // Where there is file cache, the kernel gives it up for what is bound to the node.
    let hits = match full.node.much_cache() {
        None => hits(latest, full.node.node),
        Some(_) => Vec::new(),
    };
    Some(full.sentence() + &hits_text(&hits, "hits"))
}

fn huge_pages(history: &History) -> Option<String> {
    let nodes = history.latest()?.nodes.iter();
    let mut pools = nodes.flat_map(|node| node.huge_pages.iter().map(move |pool| (node.id, pool)));
    let (node, pool) = pools.find(|(_, pool)| pool.total > 0 && pool.free == Some(0))?;
    let size = ByteSize(pool.page_bytes);
    Some(format!(
        "node {node} has none of its {} huge pages of {size} free",
        pool.total
    ))
}

fn misses(change: &Change) -> Option<String> {
    let nodes = change
        .nodes
        .iter()
        .filter_map(|node| Some((node.id, node.foreign_per_s?)));
    let (node, foreign) = nodes.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let text = format!("{foreign:.0} pages per second meant for node {node} come from other nodes");
    (foreign >= MISSES_PER_S).then_some(text)
}

fn migrations(change: &Change) -> Option<String> {
    let moved = change.numa_pages_migrated_per_s?;
    let text = format!("NUMA balancing moves {moved:.0} pages per second");
    (moved >= MIGRATIONS_PER_S).then_some(text)
}

fn pressure(history: &History) -> Option<String> {
    let share = history.latest()?.pressure.memory_some?;
    let text = format!(
        "tasks waited for memory {:.0} % of the last 10 s",
        share * 100.0
    );
    (share >= MEMORY_PRESSURE).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{InstanceSnapshot, MemorySnapshot, NodeHugePages, NodeId, NodeSnapshot};

    fn snapshot(uptime_s: f64, free: u64) -> Snapshot {
        let pool = NodeHugePages {
            page_bytes: 2 << 20,
            total: 8,
            free: Some(free),
            surplus: None,
        };
        let node = NodeSnapshot {
            huge_pages: vec![pool],
            ..NodeSnapshot::default()
        };
        Snapshot {
            uptime_s,
            nodes: vec![node],
            ..Snapshot::default()
        }
    }

    #[test]
    fn a_notice_says_since_when_and_begins_anew_after_a_break() {
        let (mut history, mut notices) = (History::default(), Notices::default());
        let mut since = |at: f64, free: u64| {
            history.push(snapshot(at, free));
            let notices = notices.update(&history);
            notices.first().map(|notice| (notice.id, notice.since_s))
        };
        assert_eq!(since(1.0, 1), None);
        assert_eq!(since(2.0, 0), Some(("huge-pages-exhausted", 2.0)));
        assert_eq!(since(3.0, 0), Some(("huge-pages-exhausted", 2.0)));
        assert_eq!(since(4.0, 3), None);
        assert_eq!(since(5.0, 0), Some(("huge-pages-exhausted", 5.0)));
    }

    #[test]
    fn a_node_that_is_nearly_full_hits_the_databases_there() {
        let node = |(id, free): (u32, u64)| NodeSnapshot {
            id: NodeId(id),
            memory_bytes: Some(100 << 30),
            free_bytes: Some(free << 30),
            page_cache_bytes: Some(0),
            ..NodeSnapshot::default()
        };
        let memory = MemorySnapshot {
            bytes_by_node: [(NodeId(1), 30 << 30), (NodeId(0), 1 << 30)].into(),
            complete: true,
            ..MemorySnapshot::default()
        };
        let mut latest = Snapshot {
            nodes: [(0, 90), (1, 1)].map(node).into(),
            instances: vec![InstanceSnapshot {
                name: "postgres:/data".to_owned(),
                pids: vec![7],
                memory: Some(memory),
            }],
            ..Snapshot::default()
        };
        let full = "node 1 has 1 GiB free of 100 GiB, node 0 has 90 GiB free";
        let hit = "; hits postgres:/data (most of its memory is there)";
        assert_eq!(nearly_full(&latest).unwrap(), format!("{full}{hit}"));
        latest.nodes[1].page_cache_bytes = Some(60 << 30);
        let cached = format!("{full}; 60 GiB of node 1 are file cache");
        assert_eq!(nearly_full(&latest).unwrap(), cached);
    }

    #[test]
    fn the_page_has_every_notice() {
        let page = include_str!("../../../../docs/watch.md");
        for (id, meaning) in NOTICES {
            let row = format!("| `{id}` | {meaning} |");
            assert!(page.contains(&row), "put this into docs/watch.md: {row}");
        }
    }
}
