//! Full looks at the memory of databases, for `watch`, `serve` and `metrics`: what the sampler
//! sees of a database is what its living processes have touched themselves, one process at a
//! time. A full look is the inspection of `numalab inspect`, taken as seldom as its cost demands,
//! and on a thread of its own where figures are asked for again and again.

use std::collections::BTreeMap;
use std::thread::{Builder, JoinHandle};

use linux::{Root, clock, pagemap};
use model::{
    BytesByNode, InstanceSnapshot, MemorySnapshot, MemorySource, ProcessSnapshot, Snapshot,
    Topology,
};
use residency::Options;
use residency::instances::Target;

/// The share of a core that full looks at one database may cost.
const SHARE_OF_CORE: f64 = 0.003;
/// Looks at one database are at least so far apart, in seconds.
const SECONDS_BETWEEN: f64 = 60.0;
/// A look that a command waits for is not taken if it would cost more CPU time than this; one in
/// the background, than that.
const WAIT_SECONDS_MAX: f64 = 1.0;
const BACKGROUND_SECONDS_MAX: f64 = 10.0;
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
#[derive(Debug)]
pub(crate) struct DatabaseLooks {
    latest: BTreeMap<String, FullLook>,
    /// Whether looks are waited for.
    are_awaited: bool,
    /// The look in the background, with the name of its database.
    running: Option<(String, JoinHandle<FullLook>)>,
    /// Whether the kernel shows frames: looks are exact then, and read each page once.
    are_exact: bool,
}

impl DatabaseLooks {
    /// Looks that are waited for, for a single snapshot.
    pub(crate) fn awaited() -> Self {
        Self {
            latest: BTreeMap::new(),
            are_awaited: true,
            running: None,
            are_exact: pagemap::frames_are_shown(),
        }
    }

    /// Looks in the background, one at a time: a later snapshot has what they found.
    pub(crate) fn in_background() -> Self {
        Self {
            are_awaited: false,
            ..Self::awaited()
        }
    }

    /// Fills in the memory of databases of which the sampler does not see all, and takes, or
    /// begins, the looks that are due. What is still unknown is a gap of the snapshot.
    pub(crate) fn complete(&mut self, snapshot: &mut Snapshot) {
        self.collect(snapshot);
        let names: Vec<&String> = snapshot.instances.iter().map(|it| &it.name).collect();
        self.latest.retain(|name, _| names.contains(&name));
        let mut due: Vec<&InstanceSnapshot> = snapshot.instances.iter().collect();
        due.truncate(DATABASES_MAX);
        due.retain(|instance| self.is_due(snapshot, instance));
        // Who has waited longest is next.
        let taken_s = |it: &&InstanceSnapshot| {
            let latest = self.latest.get(&it.name);
            latest.map_or(f64::NEG_INFINITY, |look| look.taken_s)
        };
        due.sort_by(|a, b| taken_s(a).total_cmp(&taken_s(b)));
        let mut cost_s = 0.0;
        for instance in due {
            let (target, uptime_s) = (target(snapshot, instance), snapshot.uptime_s);
            if self.are_awaited {
                let look = look(&target, uptime_s);
                cost_s += look.cost_s;
                self.latest.insert(instance.name.clone(), look);
            } else if self.running.is_none() {
                let thread = Builder::new().name("databases".to_owned());
                // Without a thread, what the sampler sees is shown, as a lower bound.
                let started = thread.spawn(move || look(&target, uptime_s)).ok();
                self.running = started.map(|look| (instance.name.clone(), look));
            }
        }
        snapshot.cost_s += cost_s;
        self.fill_in(snapshot);
    }

    /// Takes over the look in the background, if it has ended.
    fn collect(&mut self, snapshot: &mut Snapshot) {
        let ended = self.running.take_if(|(_, look)| look.is_finished());
        // A look that panicked has said so.
        if let Some((name, Ok(look))) = ended.map(|(name, look)| (name, look.join())) {
            snapshot.cost_s += look.cost_s;
            self.latest.insert(name, look);
        }
    }

    fn fill_in(&self, snapshot: &mut Snapshot) {
        let mut gaps = Vec::new();
        for instance in &mut snapshot.instances {
            match self.latest.get(&instance.name).map(|look| &look.found) {
                Some(Ok(memory)) if is_better(memory, instance) => {
                    instance.memory = Some(memory.clone());
                }
                Some(Err(why)) => {
                    let name = &instance.name;
                    gaps.push(match instance.memory {
                        Some(_) => format!("memory of {name} not known exactly: {why}"),
                        None => format!("memory of {name} unknown: {why}"),
                    });
                }
                _ => {}
            }
        }
        snapshot.gaps.extend(gaps);
    }

    /// Whether a look at it may be taken now.
    fn is_due(&self, snapshot: &Snapshot, instance: &InstanceSnapshot) -> bool {
        if !self.are_exact && is_examined(instance) {
            return false;
        }
        let most_s = match self.are_awaited {
            true => WAIT_SECONDS_MAX,
            false => BACKGROUND_SECONDS_MAX,
        };
        match self.latest.get(&instance.name) {
            Some(look) => {
                let apart = SECONDS_BETWEEN.max(look.cost_s / SHARE_OF_CORE);
                snapshot.uptime_s - look.taken_s >= apart
            }
            None => self
                .cost_s(snapshot, instance)
                .is_some_and(|it| it <= most_s),
        }
    }

    /// The CPU time that a look at a database will cost; `None` while the size of a process is
    /// unknown. Where frames are shown, shared pages are read once and the largest process has
    /// most of them; otherwise every process has its own table of them all.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn cost_s(&self, snapshot: &Snapshot, instance: &InstanceSnapshot) -> Option<f64> {
        let bytes: Vec<u64> = sizes(snapshot, instance)?;
        let bytes = match self.are_exact {
            true => bytes.into_iter().max()? as f64,
            false => bytes.into_iter().map(|bytes| bytes as f64).sum(),
        };
        Some(bytes * SECONDS_PER_BYTE)
    }
}

/// Whether a full look says more than the sampler. What has been taken since may be more than an
/// exact figure of then.
fn is_better(look: &MemorySnapshot, instance: &InstanceSnapshot) -> bool {
    let total = |bytes: &BytesByNode| {
        bytes
            .values()
            .fold(0_u64, |sum, it| sum.saturating_add(*it))
    };
    match (&instance.memory, look.complete) {
        (None, _) => true,
        (Some(sampled), true) => {
            sampled.source == MemorySource::ControlGroup
                || total(&sampled.bytes_by_node) <= total(&look.bytes_by_node)
        }
        (Some(_), false) => !is_examined(instance),
    }
}

/// Whether the size of every process of every database is known, and so the cost of a look.
pub(crate) fn are_sizes_known(snapshot: &Snapshot) -> bool {
    let mut instances = snapshot.instances.iter();
    instances.all(|instance| sizes(snapshot, instance).is_some())
}

/// Whether every process of it has been examined, or its cgroup says where its memory lies.
fn is_examined(instance: &InstanceSnapshot) -> bool {
    let memory = instance.memory.as_ref();
    memory.is_some_and(|it| it.processes as usize >= instance.pids.len())
}

/// The resident memory of each process; `None` while that of one is unknown.
fn sizes(snapshot: &Snapshot, instance: &InstanceSnapshot) -> Option<Vec<u64>> {
    let sizes = instance.pids.iter().map(|pid| {
        let found = snapshot.processes.binary_search_by_key(pid, |it| it.pid);
        snapshot.processes[found.ok()?].resident_bytes
    });
    sizes.collect()
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

fn look(target: &Result<Target, String>, uptime_s: f64) -> FullLook {
    let before_ns = clock::thread_cpu_ns();
    let root = Root::live();
    let found = topology::read(&root).map_err(|error| error.to_string());
    let found = found.and_then(|topology| {
        let target = target.as_ref().map_err(String::clone)?;
        memory(&root, target, &topology, uptime_s)
    });
    FullLook {
        taken_s: uptime_s,
        cost_s: clock::thread_cpu_ns().saturating_sub(before_ns) as f64 * 1e-9,
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
        only_bytes: true,
        ..Options::default()
    };
    let found = residency::inspect(root, target, topology, &options);
    let found = found.map_err(|error| error.to_string())?;
    Ok(MemorySnapshot {
        bytes_by_node: found.bytes_by_node,
        source: MemorySource::Inspect,
        processes: u32::try_from(found.processes.len()).unwrap_or(u32::MAX),
        complete: found.complete,
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
        let mut looks = DatabaseLooks::awaited();
        let mut looked = |mut snapshot: Snapshot| {
            looks.complete(&mut snapshot);
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
