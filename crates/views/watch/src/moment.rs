//! A snapshot with the rates since the one before.

use std::collections::HashMap;

use model::{NodeId, NodeSnapshot, ProcessSnapshot, Snapshot};

/// A snapshot with what changed since the one before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moment {
    pub(crate) snapshot: Snapshot,
    nodes: HashMap<NodeId, NodeRates>,
    /// CPUs used, by id and start.
    processes: HashMap<(u32, u64), f64>,
    pub(crate) machine: MachineRates,
    /// Which node fills up and when, one sentence each; empty when none does.
    pub(crate) forecasts: Vec<String>,
    /// What needs attention, one sentence each.
    pub(crate) notices: Vec<String>,
}

/// What changed on a node: pages per second, and CPUs used.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NodeRates {
    pub(crate) hit: Option<f64>,
    pub(crate) miss: Option<f64>,
    pub(crate) foreign: Option<f64>,
    pub(crate) cpus: Option<f64>,
}

/// What changed on the whole machine, per second.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MachineRates {
    /// Pages that NUMA balancing moved.
    pub(crate) balanced: Option<f64>,
    /// Hint faults of NUMA balancing.
    pub(crate) hint_faults: Option<f64>,
    /// Share of these on the node of the page.
    pub(crate) hint_faults_local: Option<f64>,
    /// Pages moved between nodes for any reason.
    pub(crate) migrated: Option<f64>,
    /// CPUs that other guests had while one here was ready.
    pub(crate) steal_cpus: Option<f64>,
}

impl Moment {
    /// Joins a snapshot with the one before, if there is one.
    pub(crate) fn new(before: Option<&Snapshot>, snapshot: Snapshot) -> Self {
        let mut moment = Moment {
            snapshot,
            ..Moment::default()
        };
        if let Some(before) = before {
            moment.compare(before);
        }
        moment
    }

    /// The rates of a node; all unknown without a snapshot before.
    pub(crate) fn node(&self, id: NodeId) -> NodeRates {
        self.nodes.get(&id).copied().unwrap_or_default()
    }

    /// CPUs that a process used since the snapshot before.
    pub(crate) fn cpus_of(&self, process: &ProcessSnapshot) -> Option<f64> {
        let found = self.processes.get(&(process.pid, process.start_ticks));
        found.copied()
    }

    fn compare(&mut self, before: &Snapshot) {
        let now = &self.snapshot;
        let seconds = now.uptime_s - before.uptime_s;
        if seconds.partial_cmp(&0.0) != Some(std::cmp::Ordering::Greater) {
            return;
        }
        let per_s =
            |was: Option<u64>, is: Option<u64>| Some(is?.checked_sub(was?)? as f64 / seconds);
        let cpus = |was: Option<f64>, is: Option<f64>| {
            let used = is? - was?;
            (used >= 0.0).then_some(used / seconds)
        };
        let node_before = |id| before.nodes.iter().find(|it: &&NodeSnapshot| it.id == id);
        for node in &now.nodes {
            let Some(was) = node_before(node.id) else {
                continue;
            };
            let (old, new) = (was.allocations, node.allocations);
            let rates = NodeRates {
                hit: per_s(old.map(|it| it.hit), new.map(|it| it.hit)),
                miss: per_s(old.map(|it| it.miss), new.map(|it| it.miss)),
                foreign: per_s(old.map(|it| it.foreign), new.map(|it| it.foreign)),
                cpus: cpus(was.cpu_busy_s, node.cpu_busy_s),
            };
            self.nodes.insert(node.id, rates);
        }
        let processes = before.processes.iter();
        let old: HashMap<(u32, u64), f64> = processes
            .map(|it| ((it.pid, it.start_ticks), it.cpu_s))
            .collect();
        for process in &now.processes {
            let identity = (process.pid, process.start_ticks);
            if let Some(cpus) = cpus(old.get(&identity).copied(), Some(process.cpu_s)) {
                self.processes.insert(identity, cpus);
            }
        }
        let (was, is) = (before.counters, now.counters);
        let faults = per_s(was.numa_hint_faults, is.numa_hint_faults);
        let local = per_s(was.numa_hint_faults_local, is.numa_hint_faults_local);
        self.machine = MachineRates {
            balanced: per_s(was.numa_pages_migrated, is.numa_pages_migrated),
            hint_faults: faults,
            hint_faults_local: local.zip(faults.filter(|it| *it > 0.0)).map(|(l, f)| l / f),
            migrated: per_s(was.pages_migrated, is.pages_migrated),
            steal_cpus: cpus(was.steal_s, is.steal_s),
        };
    }
}
