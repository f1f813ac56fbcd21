//! Rates between two snapshots. A counter that went backwards (a reboot, a process that took the id
//! of another) and a node that came or went have no rate, rather than an enormous one.

use model::{NodeId, NodeSnapshot, Snapshot};

/// What happened between two snapshots.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    /// Seconds between them, by the kernel's clock; `None` when that did not advance.
    pub seconds: Option<f64>,
    /// The nodes of the later snapshot.
    pub nodes: Vec<NodeChange>,
    /// The processes of the later snapshot, in its order.
    pub processes: Vec<ProcessChange>,
    /// Pages per second that NUMA balancing moved.
    pub numa_pages_migrated_per_s: Option<f64>,
    /// Hinting faults of NUMA balancing per second.
    pub numa_hint_faults_per_s: Option<f64>,
    /// Of these, on the node of the page.
    pub numa_hint_faults_local_per_s: Option<f64>,
    /// Pages per second moved between nodes for any reason.
    pub pages_migrated_per_s: Option<f64>,
    /// CPUs that the hypervisor gave to others while they were wanted here.
    pub cpus_stolen: Option<f64>,
}

/// Rates of a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeChange {
    /// The node.
    pub id: NodeId,
    /// Pages per second intended for this node and allocated here.
    pub hit_per_s: Option<f64>,
    /// Pages per second intended for another node but allocated here.
    pub miss_per_s: Option<f64>,
    /// Pages per second intended for this node but allocated elsewhere.
    pub foreign_per_s: Option<f64>,
    /// Bytes per second by which free memory grows; negative where it shrinks.
    pub free_bytes_per_s: Option<f64>,
    /// The pools of huge pages, by ascending page size.
    pub huge_pages: Vec<HugePagesChange>,
    /// CPUs of the node that worked, on average.
    pub cpus_busy: Option<f64>,
}

/// The rate of one pool of huge pages.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HugePagesChange {
    /// Size of a page.
    pub page_bytes: u64,
    /// Pages per second by which the free ones grow; negative where they shrink.
    pub free_per_s: Option<f64>,
}

/// The rate of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProcessChange {
    /// Its id.
    pub pid: u32,
    /// Its start in clock ticks since boot.
    pub start_ticks: u64,
    /// CPUs that it used, on average.
    pub cpus_used: Option<f64>,
}

impl NodeChange {
    /// Of the pages intended for this node, the share that was allocated elsewhere; `None` where
    /// none was allocated.
    pub fn share_elsewhere(&self) -> Option<f64> {
        share(self.foreign_per_s?, self.hit_per_s?)
    }
}

impl Change {
    /// The change from one snapshot to a later one.
    pub fn between(before: &Snapshot, after: &Snapshot) -> Change {
        let seconds = after.uptime_s - before.uptime_s;
        let seconds = Some(seconds).filter(|seconds| seconds.is_finite() && *seconds > 0.0);
        let rates = Rates { seconds };
        let nodes = after.nodes.iter().map(|node| {
            let earlier = before.nodes.iter().find(|earlier| earlier.id == node.id);
            rates.of_node(earlier, node)
        });
        let processes = after.processes.iter().map(|process| {
            let earlier = before
                .processes
                .binary_search_by_key(&process.pid, |earlier| earlier.pid)
                .ok()
                .map(|at| &before.processes[at])
                .filter(|earlier| earlier.start_ticks == process.start_ticks);
            ProcessChange {
                pid: process.pid,
                start_ticks: process.start_ticks,
                cpus_used: rates.growing(earlier.map(|earlier| earlier.cpu_s), Some(process.cpu_s)),
            }
        });
        let (was, is) = (&before.counters, &after.counters);
        Change {
            seconds,
            nodes: nodes.collect(),
            processes: processes.collect(),
            numa_pages_migrated_per_s: rates.count(was.numa_pages_migrated, is.numa_pages_migrated),
            numa_hint_faults_per_s: rates.count(was.numa_hint_faults, is.numa_hint_faults),
            numa_hint_faults_local_per_s: rates
                .count(was.numa_hint_faults_local, is.numa_hint_faults_local),
            pages_migrated_per_s: rates.count(was.pages_migrated, is.pages_migrated),
            cpus_stolen: rates.growing(was.steal_s, is.steal_s),
        }
    }

    /// The rates of a node; `None` when the later snapshot lacks it.
    pub fn node(&self, id: NodeId) -> Option<&NodeChange> {
        self.nodes.iter().find(|node| node.id == id)
    }

    /// The rate of a process.
    pub fn process(&self, pid: u32) -> Option<&ProcessChange> {
        let at = self
            .processes
            .binary_search_by_key(&pid, |process| process.pid);
        at.ok().map(|at| &self.processes[at])
    }
}

/// Returns the share of one part of two.
pub(crate) fn share(part: f64, rest: f64) -> Option<f64> {
    let share = part / (part + rest);
    share.is_finite().then(|| share.clamp(0.0, 1.0))
}

struct Rates {
    seconds: Option<f64>,
}

impl Rates {
    /// The rate of something that may grow and shrink.
    fn any(&self, before: Option<u64>, after: Option<u64>) -> Option<f64> {
        let (before, after) = before.zip(after)?;
        let difference = after.abs_diff(before) as f64;
        let sign = if after < before { -1.0 } else { 1.0 };
        Some(sign * difference / self.seconds?)
    }

    fn count(&self, before: Option<u64>, after: Option<u64>) -> Option<f64> {
        let (before, after) = before.zip(after)?;
        Some(after.checked_sub(before)? as f64 / self.seconds?)
    }

    fn growing(&self, before: Option<f64>, after: Option<f64>) -> Option<f64> {
        let (before, after) = before.zip(after)?;
        let grown = after - before;
        (grown >= 0.0 && grown.is_finite()).then_some(grown / self.seconds?)
    }

    fn of_node(&self, before: Option<&NodeSnapshot>, after: &NodeSnapshot) -> NodeChange {
        let allocations = |node: Option<&NodeSnapshot>| node.and_then(|node| node.allocations);
        let (was, is) = (allocations(before), allocations(Some(after)));
        let pools = after.huge_pages.iter().map(|pool| {
            let earlier = before.into_iter().flat_map(|node| &node.huge_pages);
            let earlier = earlier
                .into_iter()
                .find(|it| it.page_bytes == pool.page_bytes);
            HugePagesChange {
                page_bytes: pool.page_bytes,
                free_per_s: self.any(earlier.and_then(|it| it.free), pool.free),
            }
        });
        // A CPU that came or went brings or takes the time of all its life.
        let same_cpus = before.filter(|node| node.cpus == after.cpus);
        NodeChange {
            id: after.id,
            hit_per_s: self.count(was.map(|it| it.hit), is.map(|it| it.hit)),
            miss_per_s: self.count(was.map(|it| it.miss), is.map(|it| it.miss)),
            foreign_per_s: self.count(was.map(|it| it.foreign), is.map(|it| it.foreign)),
            free_bytes_per_s: self.any(before.and_then(|it| it.free_bytes), after.free_bytes),
            huge_pages: pools.collect(),
            cpus_busy: self.growing(same_cpus.and_then(|it| it.cpu_busy_s), after.cpu_busy_s),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Allocations, ProcessSnapshot};
    use proptest::prelude::*;

    fn snapshot(uptime_s: f64, hit: u64, free: u64, cpu_s: f64, start_ticks: u64) -> Snapshot {
        Snapshot {
            uptime_s,
            nodes: vec![NodeSnapshot {
                id: NodeId(8),
                free_bytes: Some(free),
                allocations: Some(Allocations {
                    hit,
                    miss: 0,
                    foreign: 0,
                }),
                cpu_busy_s: Some(cpu_s),
                ..NodeSnapshot::default()
            }],
            processes: vec![ProcessSnapshot {
                pid: 7,
                start_ticks,
                cpu_s,
                ..ProcessSnapshot::default()
            }],
            ..Snapshot::default()
        }
    }

    #[test]
    fn rates_are_per_second_of_the_kernels_clock() {
        let change = Change::between(
            &snapshot(10.0, 100, 5000, 1.0, 3),
            &snapshot(12.0, 300, 1000, 2.0, 3),
        );
        let node = change.node(NodeId(8)).unwrap();
        assert_eq!((node.hit_per_s, node.miss_per_s), (Some(100.0), Some(0.0)));
        assert_eq!(node.free_bytes_per_s, Some(-2000.0));
        assert_eq!(node.cpus_busy, Some(0.5));
        assert_eq!(change.process(7).unwrap().cpus_used, Some(0.5));
    }

    #[test]
    fn what_went_backwards_or_is_another_has_no_rate() {
        let before = snapshot(10.0, 100, 5, 1.0, 3);
        let check = |after: &Snapshot| {
            let change = Change::between(&before, after);
            assert_eq!(change.nodes[0].hit_per_s, None);
            assert_eq!(change.processes[0].cpus_used, None);
        };
        check(&snapshot(12.0, 99, 5, 0.5, 3));
        check(&snapshot(12.0, 99, 5, 2.0, 4));
        check(&snapshot(10.0, 200, 5, 2.0, 3));
        let mut other = snapshot(12.0, 200, 5, 0.5, 3);
        other.nodes[0].id = NodeId(9);
        check(&other);
    }

    proptest! {
        #[test]
        fn no_rate_of_a_counter_is_negative(
            a in (0.0..1e6_f64, any::<u64>(), any::<u64>(), 0.0..1e9_f64),
            b in (0.0..1e6_f64, any::<u64>(), any::<u64>(), 0.0..1e9_f64),
        ) {
            let of = |(at, hit, free, cpu)| snapshot(at, hit, free, cpu, 1);
            let change = Change::between(&of(a), &of(b));
            let node = &change.nodes[0];
            let rates = [node.hit_per_s, node.cpus_busy, change.processes[0].cpus_used];
            for rate in rates.into_iter().flatten() {
                prop_assert!(rate >= 0.0 && rate.is_finite());
            }
        }
    }
}
