//! The types of `numalab.topology/1`: a machine as its kernel and firmware describe it.
//!
//! Everything here is as read, even impossible values; findings are derived elsewhere. Values that
//! could not be read are `None` and `null`. The field names are the document's.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Cache, CpuId, CpuSet, MemorySideCache, NodeId, NodeSet};

/// A machine: nodes, CPUs, cores, caches, memory, distances, devices, settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Topology {
    /// The name of the processor (/proc/cpuinfo).
    pub cpu_model: Option<String>,
    /// Signature of CPUID leaf 0x40000000 when a hypervisor announces itself; of a captured machine
    /// and without CPUID, the name that its firmware has, or `unnamed`. `None` on a bare machine,
    /// and where nothing tells.
    pub hypervisor: Option<String>,
    /// Whether the machine is emulated in software: then its nodes are equally far, and no speed
    /// measured on it is meaningful. `None` where neither CPUID nor a file tells.
    pub emulated: Option<bool>,
    /// The nodes in ascending order of id; never empty.
    pub nodes: Vec<Node>,
    /// Whether the kernel has no node directory (built or started without NUMA), so that the one
    /// node above is implied and contains everything.
    pub node_is_implied: bool,
    /// Nodes the kernel could bring online (`/sys/devices/system/node/possible`).
    pub possible_nodes: Option<NodeSet>,
    /// The firmware's distances, 10 for local: row `i`, column `j` is from the `i`-th to the `j`-th
    /// of `nodes`. Impossible values (below 10, 255, asymmetric) are kept as read. `None` in a row
    /// where it is ambiguous which node a value is for.
    pub distances: Option<Vec<Vec<Option<u32>>>>,
    /// The firmware's ratings of the memory of nodes; omitted from the document where there are
    /// none, as on many machines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub memory_ratings: Vec<MemoryRating>,
    /// Caches in front of the memory of nodes; omitted from the document where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub memory_side_caches: Vec<MemorySideCache>,
    /// CPUs that are online.
    pub cpus: CpuSet,
    /// CPUs that exist but are not online.
    pub offline_cpus: CpuSet,
    /// CPUs the kernel could bring online (`/sys/devices/system/cpu/possible`).
    pub possible_cpus: Option<CpuSet>,
    /// CPUs isolated from the scheduler (`isolcpus=`; `/sys/devices/system/cpu/isolated`).
    pub isolated_cpus: Option<CpuSet>,
    /// Number of packages (sockets) with online CPUs.
    pub packages: Option<u32>,
    /// Number of cores with online CPUs.
    pub cores: Option<u32>,
    /// The most CPUs (hardware threads) online in one core.
    pub threads_per_core: Option<u32>,
    /// One entry for each core with online CPUs, in order of their first CPU. A CPU whose core is
    /// unknown has its own entry.
    pub core_list: Vec<Core>,
    /// Caches, the nearest first; identical caches share one entry.
    pub caches: Vec<Cache>,
    /// `MemTotal` of /proc/meminfo.
    pub memory_bytes: Option<u64>,
    /// Size of a base page: 4096, on Arm and POWER up to 65536. `None` where the files of a
    /// captured machine do not tell.
    pub page_bytes: Option<u64>,
    /// The huge-page pools of the whole machine, by ascending page size.
    pub huge_pages: Vec<MachineHugePages>,
    /// PCI devices for network, storage and computing, in order of address; `None` when the kernel
    /// lists no PCI devices at all.
    pub devices: Option<Vec<Device>>,
    /// Kernel settings that affect memory placement.
    pub settings: KernelSettings,
    /// Gaps and contradictions in the files of the machine, and how they were resolved: one
    /// sentence each. Omitted from the document where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<String>,
}

impl Topology {
    /// The node with this id.
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(self.place(id)?)
    }

    /// The place of a node, which are in ascending order.
    fn place(&self, id: NodeId) -> Option<usize> {
        self.nodes.binary_search_by_key(&id, |node| node.id).ok()
    }

    /// The size of a base page; where nothing tells, that of most machines, 4 KiB.
    pub fn base_page_bytes(&self) -> u64 {
        self.page_bytes.unwrap_or(4 << 10)
    }

    /// The ids of all nodes.
    pub fn node_ids(&self) -> NodeSet {
        self.nodes.iter().map(|node| node.id).collect()
    }

    /// The nodes that have online CPUs.
    pub fn cpu_nodes(&self) -> NodeSet {
        self.nodes
            .iter()
            .filter(|node| !node.cpus.is_empty())
            .map(|node| node.id)
            .collect()
    }

    /// The nodes that have memory, or may have: all except those known to have none.
    pub fn memory_nodes(&self) -> NodeSet {
        let with_memory = self
            .nodes
            .iter()
            .filter(|node| node.memory_bytes != Some(0));
        with_memory.map(|node| node.id).collect()
    }

    /// The total memory of these nodes; `None` when that of one is unknown, or the sum exceeds 64
    /// bits.
    pub fn memory_bytes_of(&self, nodes: &NodeSet) -> Option<u64> {
        let mut nodes = self.nodes.iter().filter(|node| nodes.contains(node.id));
        nodes.try_fold(0_u64, |sum, node| sum.checked_add(node.memory_bytes?))
    }

    /// The node of every online CPU, for whoever asks for many.
    pub fn nodes_of_cpus(&self) -> NodesOfCpus {
        let nodes = self.nodes.iter();
        let cpus = nodes.flat_map(|node| node.cpus.iter().map(move |cpu| (cpu, node.id)));
        let mut nodes: Vec<(CpuId, NodeId)> = cpus.collect();
        nodes.sort_unstable();
        NodesOfCpus(nodes)
    }

    /// The node this CPU belongs to. It looks through all nodes: see [`Self::nodes_of_cpus`].
    pub fn node_of_cpu(&self, cpu: CpuId) -> Option<NodeId> {
        self.nodes
            .iter()
            .find(|node| node.cpus.contains(cpu))
            .map(|node| node.id)
    }

    /// The core this CPU belongs to.
    pub fn core_of_cpu(&self, cpu: CpuId) -> Option<&Core> {
        self.core_list.iter().find(|core| core.cpus.contains(cpu))
    }

    /// The firmware's distance between two nodes.
    pub fn distance(&self, from: NodeId, to: NodeId) -> Option<u32> {
        let row = self.distances.as_ref()?.get(self.place(from)?)?;
        *row.get(self.place(to)?)?
    }
}

/// The nodes of CPUs, each found in logarithmic time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodesOfCpus(Vec<(CpuId, NodeId)>);

impl NodesOfCpus {
    /// The node this CPU belongs to: the first, where several claim it.
    pub fn node(&self, cpu: CpuId) -> Option<NodeId> {
        let before = self.0.partition_point(|(other, _)| *other < cpu);
        let (found, node) = self.0.get(before)?;
        (*found == cpu).then_some(*node)
    }
}

/// One NUMA node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "NodeDocument", into = "NodeDocument")]
pub struct Node {
    /// Its id; ids may be sparse.
    pub id: NodeId,
    /// Its online CPUs; empty for a memory-only node.
    pub cpus: CpuSet,
    /// Whether `cpus` is empty because they are unknown: `null` in the document.
    pub has_unknown_cpus: bool,
    /// `MemTotal` of the node; 0 for a node without memory.
    pub memory_bytes: Option<u64>,
    /// `MemFree` of the node. Pages in huge-page pools are not free in this sense.
    pub free_bytes: Option<u64>,
    /// The huge-page pools of the node, by ascending page size.
    pub huge_pages: Vec<NodeHugePages>,
}

/// A [`Node`] in the document.
#[derive(Serialize, Deserialize)]
struct NodeDocument {
    id: NodeId,
    cpus: Option<CpuSet>,
    memory_bytes: Option<u64>,
    free_bytes: Option<u64>,
    huge_pages: Vec<NodeHugePages>,
}

impl From<NodeDocument> for Node {
    fn from(document: NodeDocument) -> Self {
        Self {
            id: document.id,
            has_unknown_cpus: document.cpus.is_none(),
            cpus: document.cpus.unwrap_or_default(),
            memory_bytes: document.memory_bytes,
            free_bytes: document.free_bytes,
            huge_pages: document.huge_pages,
        }
    }
}

impl From<Node> for NodeDocument {
    fn from(node: Node) -> Self {
        Self {
            id: node.id,
            cpus: (!node.has_unknown_cpus).then_some(node.cpus),
            memory_bytes: node.memory_bytes,
            free_bytes: node.free_bytes,
            huge_pages: node.huge_pages,
        }
    }
}

/// Latency and bandwidth of a node's memory as rated by the firmware (HMAT), from the best of the
/// nodes with CPUs (kernel, `Documentation/admin-guide/mm/numaperf.rst`). Not measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemoryRating {
    /// The node whose memory is rated.
    pub node: NodeId,
    /// The nodes from which it is rated.
    pub from: NodeSet,
    /// `read_latency`.
    pub read_latency_ns: Option<u64>,
    /// `write_latency`.
    pub write_latency_ns: Option<u64>,
    /// `read_bandwidth`.
    pub read_bytes_per_s: Option<u64>,
    /// `write_bandwidth`.
    pub write_bytes_per_s: Option<u64>,
}

/// One huge-page pool of one node (kernel, `Documentation/admin-guide/mm/hugetlbpage.rst`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeHugePages {
    /// Size of one page.
    pub page_bytes: u64,
    /// Pages in the pool (`nr_hugepages`).
    pub total: u64,
    /// Pages of the pool not in use (`free_hugepages`).
    pub free: Option<u64>,
    /// Pages beyond the configured size of the pool (`surplus_hugepages`).
    #[serde(default)]
    pub surplus: Option<u64>,
}

/// One huge-page pool, over all nodes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineHugePages {
    /// Size of one page.
    pub page_bytes: u64,
    /// Whether this is the size that `MAP_HUGETLB` uses when none is given (`Hugepagesize` of
    /// /proc/meminfo).
    pub is_default: Option<bool>,
    /// Pages in the pool (`nr_hugepages`).
    pub total: u64,
    /// Pages of the pool not in use (`free_hugepages`).
    pub free: Option<u64>,
    /// Free pages already reserved for a mapping (`resv_hugepages`).
    pub reserved: Option<u64>,
    /// Pages beyond the configured size of the pool (`surplus_hugepages`).
    pub surplus: Option<u64>,
    /// How many pages the kernel may add on demand (`nr_overcommit_hugepages`).
    pub overcommit: Option<u64>,
}

/// One core: the CPUs that share its execution units.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Core {
    /// Its online CPUs: hardware threads, siblings of one another.
    pub cpus: CpuSet,
    /// The node of its CPUs.
    pub node: Option<NodeId>,
    /// The package it is in (`physical_package_id`).
    pub package: Option<u32>,
    /// The die within the package (`die_id`).
    #[serde(default)]
    pub die: Option<u32>,
    /// Its id within the die or package (`core_id`); not unique in the machine.
    pub core: Option<u32>,
}

/// One PCI device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// PCI address, such as `0000:3b:00.0`.
    pub address: String,
    /// Its purpose.
    pub kind: DeviceKind,
    /// Names under which users know it (`eth0`, `nvme0`, `vda`); empty when there are none.
    pub names: Vec<String>,
    /// The node it is attached to; `None` when the firmware does not report it (`numa_node` -1).
    pub node: Option<NodeId>,
}

/// The purpose of a device, by its PCI class code (PCI Code and ID Assignment Specification).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceKind {
    /// Class 0x02.
    Network,
    /// Class 0x01.
    Storage,
    /// Class 0x03 (display) and 0x12 (processing accelerator).
    Gpu,
}

/// Kernel settings that affect memory placement; each `None` where the kernel lacks it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct KernelSettings {
    /// `kernel.numa_balancing`: 0 off, 1 moves pages to their users, 2 moves between memory tiers
    /// (kernel, `Documentation/admin-guide/sysctl/kernel.rst`).
    pub numa_balancing: Option<u32>,
    /// `vm.zone_reclaim_mode`: 0 allocates from other nodes before reclaiming; bits 1, 2, 4 reclaim
    /// first (kernel, `Documentation/admin-guide/sysctl/vm.rst`).
    pub zone_reclaim_mode: Option<u32>,
    /// `vm.swappiness`.
    pub swappiness: Option<u32>,
    /// Transparent huge pages for private memory: `always`, `madvise` or `never`.
    pub transparent_huge_pages: Option<String>,
    /// How hard the kernel tries to allocate transparent huge pages.
    pub transparent_huge_pages_defrag: Option<String>,
    /// Transparent huge pages for shared memory.
    pub transparent_huge_pages_shmem: Option<String>,
    /// Whether NUMA is switched off at boot (`numa=off` on /proc/cmdline).
    pub numa_off: Option<bool>,
    /// The value of `numa=` on /proc/cmdline, if present: `off`, `fake=4`, ….
    pub numa_option: Option<String>,
    /// The mounted cgroup versions.
    pub cgroup: Option<CgroupVersion>,
    /// CPU frequency governors with their CPUs, by name; `None` without cpufreq.
    pub cpu_governors: Option<Vec<CpuGovernor>>,
    /// `on`, `off`, `forceoff`, `notsupported` or `notimplemented`
    /// (`/sys/devices/system/cpu/smt/control`).
    pub smt: Option<String>,
    /// Whether cold pages are demoted to slower nodes instead of reclaimed
    /// (`/sys/kernel/mm/numa/demotion_enabled`).
    pub demotion: Option<bool>,
    /// The weights of weighted interleaving, in pages per round
    /// (`/sys/kernel/mm/mempolicy/weighted_interleave`, Linux 6.9).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interleave_weights: Option<BTreeMap<NodeId, u64>>,
}

/// The mounted cgroup versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CgroupVersion {
    /// Only version 1 hierarchies.
    V1,
    /// Only the unified hierarchy.
    V2,
    /// Both: controllers are in version 1 hierarchies, with the unified one mounted beside them.
    Hybrid,
    /// None at all.
    None,
}

/// The CPUs that run under one frequency governor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CpuGovernor {
    /// The kernel's name, such as `performance`.
    pub name: String,
    /// Its CPUs.
    pub cpus: CpuSet,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_nodes() -> Topology {
        let node = |id, cpus: &str, memory_bytes| Node {
            id: NodeId(id),
            cpus: cpus.parse().unwrap(),
            memory_bytes,
            ..Node::default()
        };
        Topology {
            nodes: vec![
                node(0, "0-1", Some(1 << 30)),
                node(8, "", None),
                node(9, "2", Some(0)),
            ],
            distances: Some(vec![
                vec![Some(10), Some(20), Some(30)],
                vec![Some(21), Some(10), None],
                vec![Some(22), Some(32), Some(10)],
            ]),
            core_list: vec![Core {
                cpus: "0-1".parse().unwrap(),
                ..Core::default()
            }],
            ..Topology::default()
        }
    }

    #[test]
    fn nodes_are_found_by_what_they_have() {
        let topology = two_nodes();
        assert_eq!(topology.node_ids().to_string(), "0,8-9");
        assert_eq!(topology.cpu_nodes().to_string(), "0,9");
        assert_eq!(topology.memory_nodes().to_string(), "0,8");
        assert_eq!(topology.node_of_cpu(CpuId(1)), Some(NodeId(0)));
        assert_eq!(topology.node_of_cpu(CpuId(3)), None);
        let nodes = topology.nodes_of_cpus();
        for cpu in (0..4).map(CpuId) {
            assert_eq!(nodes.node(cpu), topology.node_of_cpu(cpu), "{cpu}");
        }
        assert_eq!(topology.core_of_cpu(CpuId(1)), topology.core_list.first());
        assert!(topology.node(NodeId(1)).is_none());
        let memory = |list: &str| topology.memory_bytes_of(&list.parse().unwrap());
        assert_eq!((memory("0,9"), memory("0,8")), (Some(1 << 30), None));
    }

    #[test]
    fn distances_are_looked_up_by_id_and_direction() {
        let topology = two_nodes();
        assert_eq!(topology.distance(NodeId(0), NodeId(9)), Some(30));
        assert_eq!(topology.distance(NodeId(9), NodeId(0)), Some(22));
        assert_eq!(topology.distance(NodeId(8), NodeId(9)), None);
        assert_eq!(topology.distance(NodeId(0), NodeId(1)), None);
    }

    #[test]
    fn cpus_that_are_unknown_are_null_and_not_none() {
        let mut node = two_nodes().nodes[1].clone();
        let json = |node: &Node| serde_json::to_value(node).unwrap()["cpus"].clone();
        assert_eq!(json(&node), "");
        node.has_unknown_cpus = true;
        assert_eq!(json(&node), serde_json::Value::Null);
        let text = serde_json::to_string(&node).unwrap();
        assert_eq!(serde_json::from_str::<Node>(&text).unwrap(), node);
    }

    #[test]
    fn documents_written_before_a_field_existed_can_be_read() {
        let old = r#"{"nodes":[{"id":0,"cpus":"0-3","memory_bytes":null,"free_bytes":null,
            "huge_pages":[{"page_bytes":2097152,"total":1,"free":1}]}],"cpus":"0-3"}"#;
        let topology: Topology = serde_json::from_str(old).unwrap();
        assert_eq!(topology.nodes[0].huge_pages[0].surplus, None);
        assert!(topology.memory_ratings.is_empty());
        assert_eq!(topology.settings, KernelSettings::default());
    }
}
