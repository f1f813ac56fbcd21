//! Which node runs out of memory or huge pages first, when, and which databases that would hit.

use model::{ByteSize, NodeId, NodeSet, NodeSnapshot, Snapshot};

use crate::slope::slope;

/// No forecast beyond a day: the history is ten minutes long.
const SECONDS_MAX: f64 = 86_400.0;

/// What runs out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// Free memory and page cache that the kernel can drop.
    Memory,
    /// Huge pages of this size.
    HugePages {
        /// Size of a page.
        page_bytes: u64,
    },
}

/// Why a database would be hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyHit {
    /// It may have memory on this node alone.
    AllowedOnlyThere,
    /// More than half of its memory is there.
    MostMemoryThere,
}

/// A database that would be hit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HitInstance {
    /// Its name.
    pub name: String,
    /// Why.
    pub why: WhyHit,
}

/// What runs out next.
#[derive(Clone, Debug, PartialEq)]
pub struct Exhaustion {
    /// The node.
    pub node: NodeId,
    /// What runs out there.
    pub resource: Resource,
    /// How much is left: bytes or pages.
    pub left: u64,
    /// How fast it goes, per second, by the median slope.
    pub per_s: f64,
    /// Seconds until nothing is left, by the median slope.
    pub seconds: f64,
    /// The same by the steepest slope of the 95 % interval.
    pub seconds_low: f64,
    /// The same by the flattest.
    pub seconds_high: f64,
    /// The databases that it would hit.
    pub hits: Vec<HitInstance>,
}

/// A forecast of ten minutes of snapshots.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Forecast {
    /// What runs out first; `None` when nothing does within a day, or when the interval of every
    /// slope includes 0.
    pub first: Option<Exhaustion>,
    /// Seconds of history that it rests on.
    pub history_s: f64,
}

impl Forecast {
    /// The forecast from snapshots, oldest first.
    pub fn of<'s>(snapshots: impl DoubleEndedIterator<Item = &'s Snapshot>) -> Forecast {
        let snapshots: Vec<&Snapshot> = snapshots.collect();
        let (Some(first), Some(latest)) = (snapshots.first(), snapshots.last()) else {
            return Forecast::default();
        };
        let all = latest.nodes.iter().flat_map(|node| {
            let pools = node.huge_pages.iter().map(|pool| pool.page_bytes);
            let pools = pools.map(|page_bytes| Resource::HugePages { page_bytes });
            let resources = std::iter::once(Resource::Memory).chain(pools);
            resources.filter_map(|resource| exhaustion(&snapshots, node.id, resource))
        });
        let mut soonest = all.min_by(|a, b| a.seconds.total_cmp(&b.seconds));
        if let Some(soonest) = &mut soonest {
            soonest.hits = hits(latest, soonest.node);
        }
        Forecast {
            first: soonest,
            history_s: latest.uptime_s - first.uptime_s,
        }
    }

    /// The forecast in one sentence; `None` when there is nothing to say.
    pub fn sentence(&self) -> Option<String> {
        let first = self.first.as_ref()?;
        let what = match first.resource {
            Resource::Memory => "memory".to_owned(),
            Resource::HugePages { page_bytes } => format!("huge pages of {}", ByteSize(page_bytes)),
        };
        let text = format!(
            "node {} runs out of {what} in {} (95 % interval {} to {})",
            first.node,
            duration(first.seconds),
            duration(first.seconds_low),
            duration(first.seconds_high)
        );
        Some(text + &hits_text(&first.hits, "would hit"))
    }
}

pub(crate) fn hits_text(hits: &[HitInstance], verb: &str) -> String {
    let Some(first) = hits.first() else {
        return String::new();
    };
    let why = match first.why {
        WhyHit::AllowedOnlyThere => "it may have memory only there",
        WhyHit::MostMemoryThere => "most of its memory is there",
    };
    let others = match hits.len() - 1 {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    format!("; {verb} {} ({why}){others}", first.name)
}

fn duration(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 120.0 => format!("{seconds:.0} s"),
        seconds if seconds < 7200.0 => format!("{:.0} min", seconds / 60.0),
        seconds if seconds <= SECONDS_MAX => format!("{:.1} h", seconds / 3600.0),
        _ => "more than a day".to_owned(),
    }
}

/// Free memory and page cache; `None` when one is unknown.
pub(crate) fn available(node: &NodeSnapshot) -> Option<u64> {
    node.free_bytes?.checked_add(node.page_cache_bytes?)
}

fn left(node: &NodeSnapshot, resource: Resource) -> Option<u64> {
    match resource {
        Resource::Memory => available(node).filter(|_| node.memory_bytes > Some(0)),
        Resource::HugePages { page_bytes } => {
            let mut pools = node.huge_pages.iter();
            let pool = pools.find(|pool| pool.page_bytes == page_bytes)?;
            pool.free.filter(|_| pool.total > 0)
        }
    }
}

fn exhaustion(snapshots: &[&Snapshot], node: NodeId, resource: Resource) -> Option<Exhaustion> {
    let points = snapshots.iter().filter_map(|snapshot| {
        let node = snapshot.nodes.iter().find(|it| it.id == node)?;
        Some((snapshot.uptime_s, left(node, resource)?))
    });
    let points: Vec<(f64, u64)> = points.collect();
    let left = points.last()?.1;
    let as_floats: Vec<(f64, f64)> = points.iter().map(|(at, it)| (*at, *it as f64)).collect();
    let slope = slope(&as_floats)?;
    if slope.high >= 0.0 || left == 0 {
        return None;
    }
    let seconds = |slope: f64| left as f64 / -slope;
    let expected = seconds(slope.median);
    (expected <= SECONDS_MAX).then(|| Exhaustion {
        node,
        resource,
        left,
        per_s: -slope.median,
        seconds: expected,
        seconds_low: seconds(slope.low),
        seconds_high: seconds(slope.high),
        hits: Vec::new(),
    })
}

pub(crate) fn hits(snapshot: &Snapshot, node: NodeId) -> Vec<HitInstance> {
    let only = NodeSet::of(node);
    let hits = snapshot.instances.iter().filter_map(|instance| {
        let of_it = snapshot
            .processes
            .iter()
            .filter(|it| instance.pids.contains(&it.pid));
        let mut allowed = of_it.map(|process| process.memory_nodes_allowed.as_ref());
        // Nothing is known of an instance without processes.
        let first = allowed.next();
        let is_bound = snapshot.nodes.len() > 1
            && first == Some(Some(&only))
            && allowed.all(|it| it == Some(&only));
        let bytes = instance.memory.as_ref().map(|memory| &memory.bytes_by_node);
        let has_most = bytes.is_some_and(|bytes| {
            let all = bytes
                .values()
                .fold(0_u64, |sum, bytes| sum.saturating_add(*bytes));
            bytes.get(&node).is_some_and(|here| *here > all / 2)
        });
        let why = match (is_bound, has_most) {
            (true, _) => WhyHit::AllowedOnlyThere,
            (_, true) => WhyHit::MostMemoryThere,
            _ => return None,
        };
        Some(HitInstance {
            name: instance.name.clone(),
            why,
        })
    });
    hits.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{InstanceSnapshot, MemorySnapshot};

    const GIB: u64 = 1 << 30;

    fn node(id: u32, free: u64) -> NodeSnapshot {
        NodeSnapshot {
            id: NodeId(id),
            memory_bytes: Some(100 * GIB),
            free_bytes: Some(free),
            page_cache_bytes: Some(0),
            ..NodeSnapshot::default()
        }
    }

    fn history(free: impl Fn(u64) -> u64) -> Vec<Snapshot> {
        let bytes_by_node = [(NodeId(1), 30 * GIB), (NodeId(0), GIB)].into();
        let memory = MemorySnapshot {
            bytes_by_node,
            ..MemorySnapshot::default()
        };
        let instance = InstanceSnapshot {
            name: "postgres:/data".to_owned(),
            pids: vec![7],
            memory: Some(memory),
        };
        let at = |second: u64| Snapshot {
            uptime_s: 1000.0 + second as f64,
            nodes: vec![node(0, 90 * GIB), node(1, free(second))],
            instances: vec![instance.clone()],
            ..Snapshot::default()
        };
        (0..60).map(at).collect()
    }

    #[test]
    fn the_node_that_shrinks_runs_out_and_hits_what_lies_there() {
        let snapshots = history(|second| 20 * GIB - second * GIB / 10);
        let forecast = Forecast::of(snapshots.iter());
        let sentence = forecast.sentence().unwrap();
        let expected = "node 1 runs out of memory in 2 min (95 % interval 2 min to 2 min); \
                        would hit postgres:/data (most of its memory is there)";
        assert_eq!(sentence, expected);
        assert_eq!(forecast.history_s, 59.0);
    }

    #[test]
    fn memory_that_goes_up_and_down_has_no_forecast() {
        let snapshots = history(|second| 20 * GIB + second * 7919 % 101 * (GIB / 100));
        assert_eq!(Forecast::of(snapshots.iter()).sentence(), None);
        assert_eq!(Forecast::of([].iter()), Forecast::default());
    }
}
