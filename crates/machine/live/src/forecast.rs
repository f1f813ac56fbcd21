//! Which node runs out of memory or huge pages first, when, and which databases that would hit.

use model::{NodeId, NodeSet, Snapshot};
use stats::depletion;

use crate::growth::{Growth, growth};
use crate::lowest::Lowest;
use crate::resource::Resource;

/// Why a database would be hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyHit {
    /// It may have memory on this node alone.
    AllowedOnlyThere,
    /// More than half of its memory is there.
    MostMemoryThere,
    /// More than half of what was seen of its memory is there; not all was seen.
    MostSeenMemoryThere,
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
    /// How fast it goes, per second.
    pub per_s: f64,
    /// Seconds until nothing is left at this rate.
    pub seconds: f64,
    /// The lower end of the 95 % interval of this time.
    pub seconds_low: f64,
    /// The upper end.
    pub seconds_high: f64,
    /// Who takes it, as far as one is seen to.
    pub growth: Option<Growth>,
    /// The databases that it would hit.
    pub hits: Vec<HitInstance>,
}

/// A forecast of ten minutes of snapshots ([`stats::depletion`]).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Forecast {
    /// What runs out first; `None` when nothing does that a trend of so many seconds can tell.
    pub first: Option<Exhaustion>,
    /// Seconds of history that it rests on.
    pub history_s: f64,
}

impl Forecast {
    /// The forecast from snapshots, oldest first, and the least there was before them.
    pub fn of<'s>(
        snapshots: impl DoubleEndedIterator<Item = &'s Snapshot>,
        lowest: &Lowest,
    ) -> Forecast {
        let snapshots: Vec<&Snapshot> = snapshots.collect();
        let (Some(first), Some(latest)) = (snapshots.first(), snapshots.last()) else {
            return Forecast::default();
        };
        let all: Vec<(NodeId, Resource)> = Resource::all(latest).collect();
        let exhausted = |(node, resource): &(NodeId, Resource)| {
            let lowest = lowest.of(*node, *resource);
            exhaustion(&snapshots, (*node, *resource), lowest, all.len())
        };
        let mut soonest = all
            .iter()
            .filter_map(exhausted)
            .min_by(|a, b| a.seconds.total_cmp(&b.seconds));
        if let Some(soonest) = &mut soonest {
            soonest.hits = hits(latest, soonest.node);
            let lost_per_s = soonest.per_s * soonest.resource.unit_bytes() as f64;
            soonest.growth = growth(&snapshots, soonest.node, lost_per_s);
        }
        Forecast {
            first: soonest,
            history_s: latest.uptime_s - first.uptime_s,
        }
    }

    /// The forecast in one sentence; `None` when there is nothing to say.
    pub fn sentence(&self) -> Option<String> {
        let first = self.first.as_ref()?;
        let seconds = [first.seconds_low, first.seconds, first.seconds_high].map(duration);
        let [low, expected, high] = &seconds;
        let seen = duration(self.history_s);
        let mut text = format!("node {} runs out of {}", first.node, first.resource);
        text += &match low == high {
            true => format!(" in {expected} at the rate of the last {seen}"),
            false => format!(
                " in {expected} (95 % interval {low} to {high}) at the rate of the last {seen}"
            ),
        };
        if let Some(growth) = &first.growth {
            text = format!("{text}; {}", growth.text());
        }
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
        WhyHit::MostSeenMemoryThere => "most of its memory that was seen is there",
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
        seconds if seconds < 86_400.0 => format!("{:.1} h", seconds / 3600.0),
        _ => "more than a day".to_owned(),
    }
}

fn exhaustion(
    snapshots: &[&Snapshot],
    (node, resource): (NodeId, Resource),
    lowest: Option<u64>,
    compared: usize,
) -> Option<Exhaustion> {
    let points = snapshots.iter().filter_map(|snapshot| {
        let node = snapshot.nodes.iter().find(|it| it.id == node)?;
        Some((snapshot.uptime_s, resource.left(node)?))
    });
    let points: Vec<(f64, u64)> = points.collect();
    let left = points.last()?.1;
    let points: Vec<(f64, f64)> = points.iter().map(|(at, it)| (*at, *it as f64)).collect();
    let found = depletion(&points, lowest.map(|it| it as f64), compared)?;
    Some(Exhaustion {
        node,
        resource,
        left,
        per_s: found.rate,
        seconds: found.expected,
        seconds_low: found.low,
        seconds_high: found.high,
        growth: None,
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
        let memory = instance.memory.as_ref();
        let is_all_seen = memory.is_some_and(|it| it.complete);
        let bytes = memory.map(|memory| &memory.bytes_by_node);
        let has_most = bytes.is_some_and(|bytes| {
            let all = bytes
                .values()
                .fold(0_u64, |sum, bytes| sum.saturating_add(*bytes));
            bytes.get(&node).is_some_and(|here| *here > all / 2)
        });
        let why = match (is_bound, has_most) {
            (true, _) => WhyHit::AllowedOnlyThere,
            (_, true) if is_all_seen => WhyHit::MostMemoryThere,
            (_, true) => WhyHit::MostSeenMemoryThere,
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
    use crate::History;
    use model::{InstanceSnapshot, MemorySnapshot, NodeSnapshot, ProcessSnapshot};

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

    fn at(second: u64, free: u64) -> Snapshot {
        let bytes_by_node = [(NodeId(1), 30 * GIB), (NodeId(0), GIB)].into();
        let memory = MemorySnapshot {
            bytes_by_node,
            complete: true,
            ..MemorySnapshot::default()
        };
        let instance = InstanceSnapshot {
            name: "postgres:/data".to_owned(),
            pids: vec![7],
            memory: Some(memory),
        };
        let growing = ProcessSnapshot {
            pid: 9,
            name: "loader".to_owned(),
            resident_bytes: Some(100 * GIB - free),
            ..ProcessSnapshot::default()
        };
        Snapshot {
            uptime_s: 1000.0 + second as f64,
            nodes: vec![node(0, 90 * GIB), node(1, free)],
            instances: vec![instance],
            processes: vec![growing],
            ..Snapshot::default()
        }
    }

    fn history(seconds: u64, free: impl Fn(u64) -> u64) -> History {
        let mut history = History::default();
        (0..seconds).for_each(|second| history.push(at(second, free(second))));
        history
    }

    #[test]
    fn the_node_that_shrinks_runs_out_and_hits_what_lies_there() {
        let forecast = history(60, |second| 20 * GIB - second * GIB / 10).forecast();
        let expected = "node 1 runs out of memory in 2 min at the rate of the last 59 s; process \
                        9 \"loader\" grows by 102.4 MiB/s; would hit postgres:/data (most of its \
                        memory is there)";
        assert_eq!(forecast.sentence().unwrap(), expected);
        assert_eq!(forecast.history_s, 59.0);
        let rough = |second| 20 * GIB - second * GIB / 10 - second / 7 % 2 * GIB;
        let sentence = history(60, rough).forecast().sentence().unwrap();
        assert!(
            sentence.contains(" (95 % interval 55 s to 80 min) at "),
            "{sentence}"
        );
    }

    #[test]
    fn who_grows_is_known_after_ten_minutes_too() {
        let forecast = history(2000, |second| 50 * GIB - second * GIB / 100).forecast();
        let sentence = forecast.sentence().unwrap();
        assert!(
            sentence.contains("the last 10 min; process 9 "),
            "{sentence}"
        );
    }

    #[test]
    fn memory_that_goes_up_and_down_has_no_forecast() {
        let history = history(60, |second| 20 * GIB + second * 7919 % 101 * (GIB / 100));
        assert_eq!(history.forecast().sentence(), None);
        assert_eq!(History::default().forecast(), Forecast::default());
    }

    #[test]
    fn what_has_been_lower_today_is_no_news() {
        let falls = |second: u64| 20 * GIB - second % 700 * GIB / 40;
        let first = history(650, falls).forecast();
        assert!(first.first.is_some());
        // It came back once, and so is not believed before it is lower than ever.
        assert_eq!(history(1350, falls).forecast().first, None);
        let lower = |second| falls(second) - second / 700 * GIB * 2;
        assert!(history(1399, lower).forecast().first.is_some());
    }
}
