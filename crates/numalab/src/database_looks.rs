//! Full looks at the memory of databases, for `serve` and `metrics`: the sampler examines one
//! process of the machine at a time, which takes minutes until it has seen all of a database. A
//! full look reads numa_maps of all its processes, as `numalab inspect --numa-maps` does, and is
//! taken as seldom as its cost demands.

use std::collections::BTreeMap;

use linux::{Root, clock};
use model::{InstanceSnapshot, MemorySnapshot, MemorySource, ProcessSnapshot, Snapshot, Topology};
use residency::Options;
use residency::instances::Target;

/// The share of a core that full looks at one database may cost.
const SHARE_OF_CORE: f64 = 0.003;
/// Looks at one database are at least so far apart, in seconds.
const SECONDS_BETWEEN: f64 = 60.0;
/// A look that would cost more CPU time than this is not taken.
const LOOK_SECONDS_MAX: f64 = 1.0;
/// What a look costs before the first: a page of 4 KiB takes the kernel about 20 ns (as the
/// sampler assumes, crate `live`).
const SECONDS_PER_BYTE: f64 = 20e-9 / 4096.0;
/// Databases that are looked at: as many as have metrics of their own.
const DATABASES_MAX: usize = 32;

/// A full look at one database.
#[derive(Debug)]
struct FullLook {
    /// When it was taken, on the clock of the snapshots' `uptime_s`.
    taken_s: f64,
    /// The CPU time that it took.
    cost_s: f64,
    /// What it found, or why nothing.
    found: Result<MemorySnapshot, String>,
}

/// The latest full look at each database.
#[derive(Debug, Default)]
pub(crate) struct DatabaseLooks {
    latest: BTreeMap<String, FullLook>,
}

impl DatabaseLooks {
    /// Fills in the memory of databases that the sampler has not examined completely; takes at most
    /// `looks_max` full looks for that. What is still unknown is a gap of the snapshot.
    pub(crate) fn complete(&mut self, root: &Root, snapshot: &mut Snapshot, looks_max: usize) {
        let names: Vec<&String> = snapshot.instances.iter().map(|it| &it.name).collect();
        self.latest.retain(|name, _| names.contains(&name));
        let lacking: Vec<usize> = (0..snapshot.instances.len())
            .filter(|at| !is_examined(&snapshot.instances[*at]))
            .take(DATABASES_MAX)
            .collect();
        let mut left = looks_max;
        for at in lacking {
            let instance = &snapshot.instances[at];
            let is_due = self.is_due(snapshot, instance);
            if is_due && left > 0 {
                left -= 1;
                let look = look(root, &target(snapshot, instance), snapshot.uptime_s);
                snapshot.cost_s += look.cost_s;
                self.latest.insert(instance.name.clone(), look);
            }
            let name = snapshot.instances[at].name.clone();
            match self.latest.get(&name).map(|look| &look.found) {
                Some(Ok(memory)) => snapshot.instances[at].memory = Some(memory.clone()),
                Some(Err(why)) => {
                    let gap = format!("memory of {name} unknown: {why}");
                    snapshot.gaps.push(gap);
                }
                None => {}
            }
        }
    }

    /// Whether a look at it may be taken now.
    fn is_due(&self, snapshot: &Snapshot, instance: &InstanceSnapshot) -> bool {
        match self.latest.get(&instance.name) {
            Some(look) => {
                let apart = SECONDS_BETWEEN.max(look.cost_s / SHARE_OF_CORE);
                snapshot.uptime_s - look.taken_s >= apart
            }
            None => cost_s(snapshot, instance).is_some_and(|cost_s| cost_s <= LOOK_SECONDS_MAX),
        }
    }
}

/// Whether the size of every process of every database is known, and so the cost of a look.
pub(crate) fn are_sizes_known(snapshot: &Snapshot) -> bool {
    let mut instances = snapshot.instances.iter();
    instances.all(|instance| cost_s(snapshot, instance).is_some())
}

/// Whether every process of it has been examined, or its cgroup says where its memory lies.
fn is_examined(instance: &InstanceSnapshot) -> bool {
    let memory = instance.memory.as_ref();
    memory.is_some_and(|it| it.processes as usize >= instance.pids.len())
}

/// The CPU time that a look at a database will cost; `None` while the size of a process is unknown.
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn cost_s(snapshot: &Snapshot, instance: &InstanceSnapshot) -> Option<f64> {
    let bytes = instance.pids.iter().map(|pid| {
        let found = snapshot.processes.binary_search_by_key(pid, |it| it.pid);
        Some(snapshot.processes[found.ok()?].resident_bytes? as f64)
    });
    let bytes: Option<f64> = bytes.sum();
    bytes.map(|bytes| bytes * SECONDS_PER_BYTE)
}

/// Returns the target that an instance is looked at by: a PostgreSQL by its oldest process, the
/// postmaster, with all its descendants. By its name, the folder of the cluster would be read,
/// which `CAP_SYS_PTRACE` does not allow.
fn target(snapshot: &Snapshot, instance: &InstanceSnapshot) -> Result<Target, String> {
    let target: Target = instance.name.parse().map_err(|error| format!("{error}"))?;
    let is_member = |it: &&ProcessSnapshot| instance.pids.binary_search(&it.pid).is_ok();
    let members = snapshot.processes.iter().filter(is_member);
    let oldest = members.min_by_key(|it| (it.start_ticks, it.pid));
    Ok(match (target, oldest) {
        (Target::Postgres(_), Some(postmaster)) => Target::Process(postmaster.pid),
        (target, _) => target,
    })
}

fn look(root: &Root, target: &Result<Target, String>, uptime_s: f64) -> FullLook {
    let before_ns = clock::process_cpu_ns();
    let found = topology::read(root).map_err(|error| error.to_string());
    let found = found.and_then(|topology| {
        let target = target.as_ref().map_err(String::clone)?;
        memory(root, target, &topology, uptime_s)
    });
    FullLook {
        taken_s: uptime_s,
        cost_s: clock::process_cpu_ns().saturating_sub(before_ns) as f64 * 1e-9,
        found,
    }
}

fn memory(
    root: &Root,
    target: &Target,
    topology: &Topology,
    uptime_s: f64,
) -> Result<MemorySnapshot, String> {
    let options = Options {
        only_numa_maps: true,
        ..Options::default()
    };
    let found = residency::inspect(root, target, topology, &options);
    let found = found.map_err(|error| error.to_string())?;
    Ok(MemorySnapshot {
        bytes_by_node: found.bytes_by_node,
        source: MemorySource::Inspect,
        processes: u32::try_from(found.processes.len()).unwrap_or(u32::MAX),
        looked_at_s: uptime_s,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(uptime_s: f64, resident_bytes: Option<u64>) -> Snapshot {
        let process = ProcessSnapshot {
            // No process has such an id.
            pid: u32::MAX - 7,
            resident_bytes,
            ..ProcessSnapshot::default()
        };
        let instance = InstanceSnapshot {
            name: "postgres:/no/such/data".to_owned(),
            pids: vec![u32::MAX - 7],
            memory: None,
        };
        Snapshot {
            uptime_s,
            processes: vec![process],
            instances: vec![instance],
            ..Snapshot::default()
        }
    }

    #[test]
    fn a_database_is_looked_at_when_its_size_is_known_and_no_more_often_than_it_costs() {
        let mut looks = DatabaseLooks::default();
        let mut looked = |mut snapshot: Snapshot| {
            looks.complete(&Root::live(), &mut snapshot, 1);
            let taken = looks.latest.values().next().map(|look| look.taken_s);
            (taken, snapshot.gaps.len())
        };
        assert_eq!(looked(snapshot(1.0, None)), (None, 0));
        assert_eq!(looked(snapshot(2.0, Some(1 << 40))), (None, 0), "too large");
        assert_eq!(looked(snapshot(3.0, Some(1 << 30))), (Some(3.0), 1));
        assert_eq!(looked(snapshot(62.0, Some(1 << 30))), (Some(3.0), 1));
        assert_eq!(looked(snapshot(63.0, Some(1 << 30))), (Some(63.0), 1));
        let none = Snapshot::default();
        assert_eq!(looked(none), (None, 0), "it has ended");
    }
}
