//! How fast the memory of processes and databases grows: of processes over the last ten seconds,
//! since the kernel counts pages roughly and one that rests is read seldom; of a database between
//! the last two looks at it.

use std::collections::{BTreeMap, VecDeque};

use model::{InstanceSnapshot, MemorySource, ProcessSnapshot, Snapshot};

/// How far growth looks back, in seconds.
const SECONDS: f64 = 10.0;

/// How fast what is in a snapshot grows, in bytes per second and in the order of the snapshot;
/// `None` where it is not known yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Growths {
    /// Resident memory of processes.
    pub processes: Vec<Option<f64>>,
    /// Memory of databases.
    pub instances: Vec<Option<f64>>,
}

/// Id, start and resident bytes of a process.
type Level = (u32, u64, u64);

/// What was resident in the last seconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Levels {
    /// By time; processes by ascending id.
    processes: VecDeque<(f64, Vec<Level>)>,
    /// The last look at each database, and the one before.
    instances: BTreeMap<String, (Look, Option<Look>)>,
}

/// What a look at a database found.
#[derive(Clone, Copy, Debug)]
struct Look {
    at_s: f64,
    bytes: u64,
    kind: (MemorySource, bool),
}

impl Look {
    fn of(instance: &InstanceSnapshot) -> Option<Self> {
        let memory = instance.memory.as_ref()?;
        let bytes = memory.bytes_by_node.values();
        Some(Look {
            at_s: memory.looked_at_s,
            bytes: bytes.fold(0, |sum, it| sum.saturating_add(*it)),
            kind: (memory.source, memory.complete),
        })
    }
}

impl Levels {
    /// Adds a snapshot.
    pub(crate) fn push(&mut self, snapshot: &Snapshot) {
        let processes = snapshot.processes.iter();
        let levels = processes.filter_map(|it| Some((it.pid, it.start_ticks, it.resident_bytes?)));
        self.processes
            .push_back((snapshot.uptime_s, levels.collect()));
        // One that is older than that is kept.
        while let Some((second, _)) = self.processes.get(1)
            && snapshot.uptime_s - second >= SECONDS
        {
            self.processes.pop_front();
        }
        let before = std::mem::take(&mut self.instances);
        for instance in &snapshot.instances {
            let (last, earlier) = before.get(&instance.name).copied().unzip();
            let Some(look) = Look::of(instance).or(last) else {
                continue;
            };
            let earlier = match last {
                Some(last) if last.at_s < look.at_s => Some(last),
                _ => earlier.flatten(),
            };
            self.instances
                .insert(instance.name.clone(), (look, earlier));
        }
    }

    /// How fast what is in the last snapshot grows.
    pub(crate) fn growths(&self, latest: &Snapshot) -> Growths {
        let processes = latest.processes.iter();
        let instances = latest.instances.iter();
        Growths {
            processes: processes
                .map(|it| self.process(it, latest.uptime_s))
                .collect(),
            instances: instances.map(|it| self.instance(&it.name)).collect(),
        }
    }

    fn process(&self, process: &ProcessSnapshot, uptime_s: f64) -> Option<f64> {
        let bytes = process.resident_bytes?;
        let mut levels = self.processes.iter();
        let (at_s, before) = levels.find_map(|(at_s, levels)| {
            let found = levels.binary_search_by_key(&process.pid, |it| it.0).ok()?;
            let (_, start_ticks, bytes) = levels[found];
            (start_ticks == process.start_ticks).then_some((*at_s, bytes))
        })?;
        per_second(before, bytes, uptime_s - at_s)
    }

    fn instance(&self, name: &str) -> Option<f64> {
        let (last, earlier) = self.instances.get(name)?;
        let earlier = earlier.filter(|it| it.kind == last.kind)?;
        per_second(earlier.bytes, last.bytes, last.at_s - earlier.at_s)
    }
}

fn per_second(before: u64, after: u64, seconds: f64) -> Option<f64> {
    let grown = after as f64 - before as f64;
    (seconds.is_finite() && seconds > 0.0).then(|| grown / seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{MemorySnapshot, NodeId};

    fn snapshot(uptime_s: f64, start_ticks: u64, bytes: u64, look: (f64, u64)) -> Snapshot {
        let process = ProcessSnapshot {
            pid: 7,
            start_ticks,
            resident_bytes: Some(bytes),
            ..ProcessSnapshot::default()
        };
        let instance = InstanceSnapshot {
            name: "postgres:/data".to_owned(),
            memory: Some(MemorySnapshot {
                bytes_by_node: [(NodeId(0), look.1)].into(),
                looked_at_s: look.0,
                ..MemorySnapshot::default()
            }),
            ..InstanceSnapshot::default()
        };
        Snapshot {
            uptime_s,
            processes: vec![process],
            instances: vec![instance],
            ..Snapshot::default()
        }
    }

    fn growths(snapshots: &[Snapshot]) -> Growths {
        let mut levels = Levels::default();
        snapshots.iter().for_each(|it| levels.push(it));
        levels.growths(snapshots.last().unwrap())
    }

    #[test]
    fn a_process_grows_over_ten_seconds_and_a_database_between_looks() {
        let (look, next) = ((0.0, 1000), (60.0, 400));
        let seconds = (0..=30_u32).map(|at| {
            let look = if at < 20 { look } else { next };
            snapshot(f64::from(at), 5, u64::from(at * at), look)
        });
        let expected = Growths {
            processes: vec![Some(50.0)],
            instances: vec![Some(-10.0)],
        };
        assert_eq!(growths(&seconds.collect::<Vec<_>>()), expected);
    }

    #[test]
    fn what_took_the_id_of_another_has_not_grown_from_it() {
        let of = |at, start_ticks, bytes| snapshot(at, start_ticks, bytes, (0.0, 1));
        let unknown = growths(&[of(1.0, 5, 10), of(2.0, 6, 90)]);
        assert_eq!((unknown.processes[0], unknown.instances[0]), (None, None));
        let known = growths(&[of(1.0, 5, 10), of(2.0, 6, 90), of(4.0, 6, 70)]);
        assert_eq!(known.processes[0], Some(-10.0));
    }
}
