//! How near memory is to a process: by where its threads may run, and by where they last ran.

use std::collections::BTreeMap;

use model::{BytesByNode, CpuId, CpuSet, NodeId, Topology};

/// Fractions of the time of a process by node: 1 in total, or empty where nothing is known.
pub(super) type TimeByNode = BTreeMap<NodeId, f64>;

/// Where the threads of a process run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Nearness {
    /// CPUs that any of the threads may use.
    pub cpus: CpuSet,
    /// The nodes of the CPUs that the threads may use, if each uses all of its CPUs equally.
    pub may: TimeByNode,
    /// The nodes of the CPUs on which the threads last ran, with equal weight for each thread.
    pub last: TimeByNode,
}

/// One thread: the CPUs that it may use, and the one on which it last ran.
pub(super) type Place = (CpuSet, Option<CpuId>);

impl Nearness {
    /// How near memory is to these threads.
    pub(super) fn of(threads: &[Place], topology: &Topology) -> Self {
        let mut nearness = Nearness::default();
        for (cpus, last_cpu) in threads {
            if !cpus.is_subset(&nearness.cpus) {
                nearness.cpus.extend(cpus.iter());
            }
            let nodes = topology.nodes.iter();
            let counts = nodes.map(|node| (node.id, node.cpus.intersection(cpus).len()));
            let counts: Vec<_> = counts.filter(|(_, count)| *count > 0).collect();
            let all: usize = counts.iter().map(|(_, count)| count).sum();
            for (node, count) in counts {
                *nearness.may.entry(node).or_default() += count as f64 / all as f64;
            }
            if let Some(node) = last_cpu.and_then(|cpu| topology.node_of_cpu(cpu)) {
                *nearness.last.entry(node).or_default() += 1.0;
            }
        }
        for by_node in [&mut nearness.may, &mut nearness.last] {
            let sum: f64 = by_node.values().sum();
            by_node.values_mut().for_each(|part| *part /= sum);
        }
        nearness
    }
}

/// The share of memory that is local if a process divides its time like this and uses all of the
/// memory equally; `None` without memory, or where nothing is known of the time.
pub(super) fn local_share(bytes: &BytesByNode, time: &TimeByNode) -> Option<f64> {
    let all = bytes
        .values()
        .fold(0_u64, |sum, bytes| sum.saturating_add(*bytes));
    let local = |(node, part): (&NodeId, &f64)| {
        part * bytes.get(node).copied().unwrap_or(0) as f64 / all as f64
    };
    (all > 0 && !time.is_empty()).then(|| time.iter().map(local).sum())
}

#[cfg(test)]
mod tests {
    use model::Node;

    use super::*;

    /// Four nodes with two CPUs each, and one without.
    fn topology() -> Topology {
        let node = |(id, cpus): (u32, &str)| Node {
            id: NodeId(id),
            cpus: cpus.parse().unwrap(),
            ..Node::default()
        };
        let cpus = ["0-1", "2-3", "4-5", "6-7", ""];
        Topology {
            nodes: (0..).zip(cpus).map(node).collect(),
            ..Topology::default()
        }
    }

    fn check(threads: &[(&str, u32)], bytes: &[(u32, u64)], may: Option<f64>, last: Option<f64>) {
        let threads: Vec<Place> = threads
            .iter()
            .map(|(cpus, last)| (cpus.parse().unwrap(), Some(CpuId(*last))))
            .collect();
        let bytes = bytes
            .iter()
            .map(|(node, bytes)| (NodeId(*node), *bytes))
            .collect();
        let nearness = Nearness::of(&threads, &topology());
        let found = [&nearness.may, &nearness.last].map(|time| local_share(&bytes, time));
        assert_eq!(found, [may, last], "{threads:?} {bytes:?}");
    }

    #[test]
    fn a_process_that_may_run_anywhere_is_near_to_a_part_of_its_memory() {
        let (all_on_0, even) = (
            &[(0, 400)][..],
            &[(0, 100), (1, 100), (2, 100), (3, 100)][..],
        );
        check(&[("0-7", 0)], all_on_0, Some(0.25), Some(1.0));
        check(&[("0-7", 7)], all_on_0, Some(0.25), Some(0.0));
        check(&[("0-7", 2)], even, Some(0.25), Some(0.25));
        check(&[("0-1", 1)], all_on_0, Some(1.0), Some(1.0));
        check(&[("2-7", 2)], all_on_0, Some(0.0), Some(0.0));
        // More CPUs on one node than on the other; offline CPUs are on no node.
        check(&[("0-2,100", 2)], &[(0, 9)], Some(2.0 / 3.0), Some(0.0));
        check(&[("0-7", 0)], &[(4, 400)], Some(0.0), Some(0.0));
    }

    #[test]
    fn every_thread_counts_alike() {
        let threads = [("0-1", 0), ("2-3", 2), ("2-3", 3), ("2-3", 2)];
        check(&threads, &[(1, 100)], Some(0.75), Some(0.75));
        check(&threads, &[(0, 100)], Some(0.25), Some(0.25));
    }

    #[test]
    fn without_memory_or_threads_there_is_no_share() {
        check(&[("0-7", 0)], &[], None, None);
        check(&[], &[(0, 1)], None, None);
        check(&[("100", 100)], &[(0, 1)], None, None);
    }
}
