//! This machine as `serve` and `metrics` show it: a snapshot, with what follows from those before
//! it.

use std::time::{Duration, Instant};

use linux::Root;
use live::{Exhaustion, History, Notices, Resource, Sampler, Scope};
use model::Snapshot;
use serve::{Expected, Look};

use crate::failure::Failure;

/// So many processes are examined at first, if the account of looks allows.
const LOOKS_MAX: usize = 64;
/// How long to look for the memory of databases at first.
const LOOKS_WITHIN: Duration = Duration::from_secs(1);

/// What has been seen of this machine in the last minutes.
pub(crate) struct Observation {
    sampler: Sampler,
    seen: Seen,
}

/// The snapshots of the last minutes, and what follows from them.
#[derive(Default)]
pub(crate) struct Seen {
    history: History,
    notices: Notices,
}

impl Seen {
    /// Adds a snapshot; returns it with what follows.
    pub(crate) fn add(&mut self, snapshot: Snapshot) -> Look {
        self.history.push(snapshot.clone());
        let forecast = self.history.forecast();
        let notices = self.notices.update(&self.history).into_iter();
        let mut notices: Vec<String> = notices.map(|notice| notice.sentence).collect();
        notices.extend(forecast.sentence());
        Look {
            snapshot,
            change: self.history.change(),
            forecast: forecast.first.iter().map(expected).collect(),
            notices,
        }
    }
}

impl Observation {
    /// Prepares to look at this machine and all its processes.
    pub(crate) fn of_this_machine() -> Result<Self, Failure> {
        linux::process::raise_open_files();
        let sampler = Sampler::new(Root::live(), Scope::Machine)?;
        Ok(Self {
            sampler,
            seen: Seen::default(),
        })
    }

    /// Looks at the machine.
    pub(crate) fn look(&mut self) -> Result<Look, live::Error> {
        let snapshot = match self.seen.history.latest() {
            None => first(&mut self.sampler)?,
            Some(_) => self.sampler.take()?,
        };
        Ok(self.seen.add(snapshot))
    }
}

/// Takes one snapshot of this machine.
pub(crate) fn only_snapshot() -> Result<Snapshot, Failure> {
    let mut sampler = Sampler::new(Root::live(), Scope::Machine)?;
    Ok(first(&mut sampler)?)
}

/// Takes the first snapshot. Each look examines the memory of one process; so it looks until all
/// processes of databases are examined, or no more can be.
fn first(sampler: &mut Sampler) -> Result<Snapshot, live::Error> {
    let started = Instant::now();
    let mut snapshot = sampler.take()?;
    for _ in 1..LOOKS_MAX {
        let before = examined(&snapshot);
        if is_complete(&snapshot) || started.elapsed() > LOOKS_WITHIN {
            break;
        }
        let cost_s = snapshot.cost_s;
        snapshot = sampler.take()?;
        snapshot.cost_s += cost_s;
        if examined(&snapshot) == before {
            break;
        }
    }
    Ok(snapshot)
}

fn examined(snapshot: &Snapshot) -> usize {
    let processes = snapshot.processes.iter();
    processes.filter(|it| it.memory.is_some()).count()
}

/// Whether every process of a database without a cgroup of its own has been examined.
fn is_complete(snapshot: &Snapshot) -> bool {
    let is_examined = |pid: &u32| {
        let found = snapshot.processes.binary_search_by_key(pid, |it| it.pid);
        found.is_ok_and(|at| snapshot.processes[at].memory.is_some())
    };
    snapshot.instances.iter().all(|instance| {
        let memory = instance.memory.as_ref();
        let is_charged = memory.is_some_and(|it| it.source == model::MemorySource::ControlGroup);
        is_charged || instance.pids.iter().all(is_examined)
    })
}

fn expected(first: &Exhaustion) -> Expected {
    let resource = match first.resource {
        Resource::Memory => "memory".to_owned(),
        Resource::HugePages { page_bytes } => format!("huge-pages-{page_bytes}"),
    };
    Expected {
        node: first.node.0,
        resource,
        seconds: first.seconds,
        interval: (first.seconds_low, first.seconds_high),
    }
}
