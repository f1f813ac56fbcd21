//! Who takes what a node loses.

use std::collections::{BTreeMap, BTreeSet};

use model::{ByteSize, MemorySnapshot, NodeId, ProcessSnapshot, Snapshot};

/// Who grows by less than this share of what is lost does not take it.
const SHARE_MIN: f64 = 0.5;

/// Who grows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grower {
    /// A database, by its name.
    Instance(String),
    /// A process of none.
    Process {
        /// Its id.
        pid: u32,
        /// Its `comm`.
        name: String,
    },
}

/// Who takes what a node loses.
#[derive(Clone, Debug, PartialEq)]
pub struct Growth {
    /// Who.
    pub grower: Grower,
    /// How fast.
    pub bytes_per_s: f64,
}

impl Growth {
    pub(crate) fn text(&self) -> String {
        let speed = ByteSize(self.bytes_per_s as u64);
        match &self.grower {
            Grower::Instance(name) => format!("{name} grows by {speed}/s"),
            Grower::Process { pid, name } => format!("process {pid} {name:?} grows by {speed}/s"),
        }
    }
}

/// Who has grown fastest since the oldest snapshot that has processes, if at least half as fast as
/// a node loses bytes: databases by what lies on the node, processes without such figures by what
/// is resident, where they may have memory on that node.
pub(crate) fn growth(snapshots: &[&Snapshot], node: NodeId, lost_per_s: f64) -> Option<Growth> {
    let latest = snapshots.last()?;
    let oldest = snapshots.iter().find(|it| !it.processes.is_empty())?;
    let span = Span {
        oldest,
        latest,
        node,
    };
    let all = span.instances().chain(span.processes());
    let fastest = all.max_by(|a, b| a.bytes_per_s.total_cmp(&b.bytes_per_s))?;
    (fastest.bytes_per_s >= SHARE_MIN * lost_per_s).then_some(fastest)
}

/// Two snapshots of one node.
#[derive(Clone, Copy)]
struct Span<'s> {
    oldest: &'s Snapshot,
    latest: &'s Snapshot,
    node: NodeId,
}

impl<'s> Span<'s> {
    fn instances(self) -> impl Iterator<Item = Growth> + 's {
        self.latest.instances.iter().filter_map(move |instance| {
            let mut all = self.oldest.instances.iter();
            let before = all.find(|it| it.name == instance.name)?;
            Some(Growth {
                grower: Grower::Instance(instance.name.clone()),
                bytes_per_s: self.here(instance.memory.as_ref(), before.memory.as_ref())?,
            })
        })
    }

    fn processes(self) -> impl Iterator<Item = Growth> + 's {
        let before = self.oldest.processes.iter();
        let before: BTreeMap<(u32, u64), &ProcessSnapshot> = before
            .map(|process| ((process.pid, process.start_ticks), process))
            .collect();
        let instances = self.latest.instances.iter();
        let of_instances: BTreeSet<u32> = instances
            .filter(|it| it.memory.is_some())
            .flat_map(|it| it.pids.iter().copied())
            .collect();
        let others = self.latest.processes.iter();
        others.filter_map(move |process| {
            let allowed = process.memory_nodes_allowed.as_ref();
            let may_be_here = allowed.is_none_or(|nodes| nodes.contains(self.node));
            if of_instances.contains(&process.pid) || !may_be_here {
                return None;
            }
            let before = before.get(&(process.pid, process.start_ticks)).copied();
            let memory = before.and_then(|it| it.memory.as_ref());
            let here = self.here(process.memory.as_ref(), memory);
            Some(Growth {
                grower: Grower::Process {
                    pid: process.pid,
                    name: process.name.clone(),
                },
                bytes_per_s: here.or_else(|| self.resident(process, before))?,
            })
        })
    }

    /// How fast what lies on the node grew between two looks at it.
    fn here(self, after: Option<&MemorySnapshot>, before: Option<&MemorySnapshot>) -> Option<f64> {
        let (after, before) = (after?, before?);
        let bytes = |memory: &MemorySnapshot| memory.bytes_by_node.get(&self.node).copied();
        let [later, earlier] = [after, before].map(|memory| bytes(memory).unwrap_or(0) as f64);
        let seconds = after.looked_at_s - before.looked_at_s;
        let is_alike = (after.source, after.complete) == (before.source, before.complete);
        (is_alike && seconds > 0.0).then(|| (later - earlier) / seconds)
    }

    fn resident(self, after: &ProcessSnapshot, before: Option<&ProcessSnapshot>) -> Option<f64> {
        // One that has begun since has all of its memory from then on.
        let earlier = before.map_or(Some(0), |it| it.resident_bytes)?;
        let bytes = after.resident_bytes? as f64 - earlier as f64;
        let seconds = self.latest.uptime_s - self.oldest.uptime_s;
        (seconds > 0.0).then(|| bytes / seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{InstanceSnapshot, NodeSet};

    fn process(pid: u32, resident: u64, allowed: &[u32]) -> ProcessSnapshot {
        ProcessSnapshot {
            pid,
            name: format!("name\u{1b}{pid}"),
            resident_bytes: Some(resident),
            memory_nodes_allowed: Some(allowed.iter().map(|id| NodeId(*id)).collect::<NodeSet>()),
            ..ProcessSnapshot::default()
        }
    }

    fn instance(looked_at_s: f64, here: u64) -> InstanceSnapshot {
        let memory = MemorySnapshot {
            bytes_by_node: [(NodeId(0), 1 << 40), (NodeId(1), here)].into(),
            looked_at_s,
            ..MemorySnapshot::default()
        };
        InstanceSnapshot {
            name: "postgres:/data".to_owned(),
            pids: vec![7],
            memory: Some(memory),
        }
    }

    fn found(after: Snapshot, lost_per_s: f64) -> Option<String> {
        let before = Snapshot {
            processes: vec![
                process(1, 0, &[0, 1]),
                process(2, 0, &[0]),
                process(7, 0, &[0, 1]),
            ],
            instances: vec![instance(0.0, 0)],
            ..Snapshot::default()
        };
        let after = Snapshot {
            uptime_s: 10.0,
            ..after
        };
        let between = Snapshot::default();
        let snapshots = [&between, &before, &between, &after];
        growth(&snapshots, NodeId(1), lost_per_s).map(|growth| growth.text())
    }

    #[test]
    fn the_fastest_that_may_be_there_is_named_if_it_took_half() {
        let processes = || vec![process(1, 100, &[0, 1]), process(2, 900, &[0])];
        let after = || Snapshot {
            processes: processes(),
            instances: vec![instance(5.0, 20)],
            ..Snapshot::default()
        };
        let expected = "process 1 \"name\\u{1b}1\" grows by 10 B/s";
        assert_eq!(found(after(), 20.0).as_deref(), Some(expected));
        assert_eq!(found(after(), 21.0), None);
    }

    #[test]
    fn a_database_grows_by_what_lies_there_and_not_by_its_processes() {
        let after = Snapshot {
            processes: vec![process(7, 1 << 30, &[0, 1]), process(8, 90, &[1])],
            instances: vec![instance(5.0, 100)],
            ..Snapshot::default()
        };
        let expected = "postgres:/data grows by 20 B/s";
        assert_eq!(found(after, 30.0).as_deref(), Some(expected));
    }
}
