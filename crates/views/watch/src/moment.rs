//! A snapshot with what follows from those before it: rates, the forecast, notices.

use live::{Change, Growths, History, Minute, NodeChange, Notice};
use model::{NodeId, ProcessSnapshot, Snapshot};

/// A snapshot with what follows from those before it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moment {
    pub(crate) snapshot: Snapshot,
    pub(crate) change: Change,
    pub(crate) growths: Growths,
    pub(crate) minute: Minute,
    /// Which node runs out of what, and when; `None` when none does.
    pub(crate) forecast: Option<String>,
    /// What needs attention.
    pub(crate) notices: Vec<Notice>,
    /// CPU time of each thread of what is open at the snapshot before, by id and start.
    threads_before: Vec<(u32, u64, f64)>,
}

impl Moment {
    /// Joins the last snapshot of a history with the one before, if there is one.
    pub(crate) fn new(history: &History, forecast: Option<String>, notices: Vec<Notice>) -> Self {
        let mut newest = history.snapshots().rev();
        let snapshot = newest.next().cloned().unwrap_or_default();
        let before = newest.next().and_then(|it| it.opened.as_ref());
        let is_same = |it: &&model::OpenedSnapshot| {
            let opened = snapshot.opened.as_ref();
            opened.is_some_and(|opened| opened.subject == it.subject)
        };
        let threads = before.filter(is_same).map_or(&[][..], |it| &it.threads[..]);
        let threads = threads.iter().map(|it| (it.tid, it.start_ticks, it.cpu_s));
        Moment {
            change: history.change().unwrap_or_default(),
            growths: history.growths(),
            minute: Minute::of(history),
            forecast,
            notices,
            threads_before: threads.collect(),
            snapshot,
        }
    }

    /// The rates of a node; all unknown without a snapshot before.
    pub(crate) fn node(&self, id: NodeId) -> NodeChange {
        self.change.node(id).cloned().unwrap_or_default()
    }

    /// CPUs that a process used since the snapshot before.
    pub(crate) fn cpus_of(&self, process: &ProcessSnapshot) -> Option<f64> {
        self.change.process(process.pid)?.cpus_used
    }

    /// By how many bytes per second the memory of a process grows.
    pub(crate) fn growth_of(&self, process: &ProcessSnapshot) -> Option<f64> {
        let processes = &self.snapshot.processes;
        let found = processes.binary_search_by_key(&process.pid, |it| it.pid);
        *self.growths.processes.get(found.ok()?)?
    }

    /// CPUs that a thread used since the snapshot before.
    pub(crate) fn cpus_of_thread(&self, thread: &model::ThreadSnapshot) -> Option<f64> {
        let mut before = self.threads_before.iter();
        let before = before.find(|it| (it.0, it.1) == (thread.tid, thread.start_ticks))?;
        let used = thread.cpu_s - before.2;
        (used >= 0.0).then_some(used / self.change.seconds?)
    }

    /// Of the hint faults of NUMA balancing, the share on the node of the page.
    pub(crate) fn hint_faults_local(&self) -> Option<f64> {
        let faults = self.change.numa_hint_faults_per_s.filter(|it| *it > 0.0)?;
        Some(self.change.numa_hint_faults_local_per_s? / faults)
    }
}
