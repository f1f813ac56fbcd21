//! The figures that are fed: one list, so that each receiver gets the same.

use model::{LatencyResult, MeasuredDistances, Topology};

/// What is known of one machine.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'f> {
    /// `uname -n`.
    pub host: &'f str,
    /// The machine as its kernel shows it.
    pub topology: &'f Topology,
    /// What was measured, if anything was.
    pub latencies: Option<&'f LatencyResult>,
    /// Distances from that, if the machine has several nodes.
    pub distances: Option<&'f MeasuredDistances>,
}

/// One figure: its name, and its value without blanks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    /// Small letters and hyphens.
    pub name: &'static str,
    /// Letters, digits and dots, so that it can be a label (at most 63).
    pub value: String,
}

impl Facts<'_> {
    /// The figures that are known.
    pub fn figures(&self) -> Vec<Figure> {
        let topology = self.topology;
        let memory = topology.memory_nodes();
        let memory_only = memory.difference(&topology.cpu_nodes()).len();
        let per_package = self.nodes_per_package();
        let emulated = topology.emulated.unwrap_or(false);
        let count = |count: usize| Some(count.to_string());
        let figures = [
            ("nodes", count(topology.nodes.len())),
            ("memory-only-nodes", count(memory_only)),
            ("nodes-per-package", per_package.map(|it| it.to_string())),
            // Of an emulator, no latency says anything.
            ("local-ns", self.local_ns().filter(|_| !emulated)),
            ("remote-ratio", self.remote_ratio().filter(|_| !emulated)),
            ("hop-classes", self.hop_classes().filter(|_| !emulated)),
        ];
        let known = figures.into_iter().filter_map(|(name, value)| {
            Some(Figure {
                name,
                value: value?,
            })
        });
        known.collect()
    }

    /// Nodes with CPUs in each package, by which SNC or NPS shows; `None` where packages differ or
    /// are unknown.
    pub(crate) fn nodes_per_package(&self) -> Option<usize> {
        let packages = self.topology.packages.filter(|count| *count > 0)? as usize;
        let nodes = self.topology.cpu_nodes().len();
        nodes.is_multiple_of(packages).then(|| nodes / packages)
    }

    /// The middle of the latencies of nodes to their own memory.
    fn local_ns(&self) -> Option<String> {
        let classes = self.latencies?.hop_classes.iter();
        let own = classes.filter(|it| it.memory_nodes.contains(it.cpu_node));
        let mut own: Vec<f64> = own.map(|it| it.ns).collect();
        own.sort_unstable_by(f64::total_cmp);
        let middle = own.get(own.len() / 2)?;
        Some(format!("{middle:.0}"))
    }

    /// The farthest node, as a multiple of local.
    fn remote_ratio(&self) -> Option<String> {
        let all = self.distances?.for_schedulers.iter().flatten();
        let farthest = all.copied().max()?;
        Some(format!("{:.1}", f64::from(farthest) / 10.0))
    }

    /// How many different distances there are, local among them.
    fn hop_classes(&self) -> Option<String> {
        let all = self.distances?.for_schedulers.iter().flatten();
        let distinct: std::collections::BTreeSet<u8> = all.copied().collect();
        Some(distinct.len().to_string())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use model::{
        CpuSet, HopClass, LatencyResult, MeasuredDistances, Node, NodeId, NodeSet, Topology,
    };

    use super::Facts;

    /// Two packages of two nodes with 16 GiB, and a fifth node with memory alone.
    pub(crate) struct Known {
        pub(crate) topology: Topology,
        pub(crate) latencies: LatencyResult,
        pub(crate) distances: MeasuredDistances,
    }

    pub(crate) fn known() -> Known {
        let node = |id: u32| Node {
            id: NodeId(id),
            cpus: match id {
                4 => CpuSet::default(),
                id => format!("{}-{}", id * 4, id * 4 + 3).parse().unwrap(),
            },
            memory_bytes: Some(16 << 30),
            ..Node::default()
        };
        let topology = Topology {
            nodes: (0..5).map(node).collect(),
            cpus: "0-15".parse().unwrap(),
            packages: Some(2),
            cores: Some(8),
            threads_per_core: Some(2),
            memory_bytes: Some(80 << 30),
            ..Topology::default()
        };
        let class = |cpu_node: u32, memory: u32, ns: f64| HopClass {
            cpu_node: NodeId(cpu_node),
            class: 0,
            memory_nodes: NodeSet::of(NodeId(memory)),
            ns_min: ns,
            ns,
            ns_max: ns,
            distances: Vec::new(),
        };
        let latencies = LatencyResult {
            hop_classes: vec![class(0, 0, 98.4), class(0, 1, 150.0), class(1, 1, 97.0)],
            ..LatencyResult::default()
        };
        let distances = MeasuredDistances {
            source: "20261001-090000-000".to_owned(),
            nodes: (0..5).map(NodeId).collect(),
            for_schedulers: vec![vec![10, 12, 21, 21, 31]; 5],
            asymmetry: 0.08,
            ..MeasuredDistances::default()
        };
        Known {
            topology,
            latencies,
            distances,
        }
    }

    impl Known {
        pub(crate) fn facts(&self) -> Facts<'_> {
            Facts {
                host: "n1",
                topology: &self.topology,
                latencies: Some(&self.latencies),
                distances: Some(&self.distances),
            }
        }
    }

    fn listed(facts: Facts<'_>) -> String {
        let figures = facts.figures();
        let figures = figures.iter().map(|it| format!("{}={}", it.name, it.value));
        figures.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_is_known_is_fed_and_nothing_else() {
        let mut known = known();
        let all = "nodes=5 memory-only-nodes=1 nodes-per-package=2 local-ns=98 remote-ratio=3.1 \
                   hop-classes=4";
        assert_eq!(listed(known.facts()), all);
        let of_kernel = "nodes=5 memory-only-nodes=1 nodes-per-package=2";
        let without = Facts {
            latencies: None,
            distances: None,
            ..known.facts()
        };
        assert_eq!(listed(without), of_kernel);
        known.topology.emulated = Some(true);
        assert_eq!(listed(known.facts()), of_kernel);
        known.topology.packages = Some(3);
        assert_eq!(listed(known.facts()), "nodes=5 memory-only-nodes=1");
    }
}
