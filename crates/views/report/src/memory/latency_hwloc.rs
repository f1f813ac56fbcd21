//! Latencies as a topology in hwloc's XML (format 2.0), which `lstopo --input` reads: the nodes of
//! the machine with their CPUs, the measured latencies as memory attributes and, where every pair
//! of nodes was measured, also as a distances matrix.
//!
//! hwloc stores integers, so figures are rounded to ns. The kinds of distances and the flags of
//! attributes are those of hwloc 2.3 and later (`hwloc/distances.h`, `hwloc/memattrs.h`).

use std::collections::BTreeMap;

use model::{CpuSet, Id, IdSet, LatencyResult, NodeId, NodeMatrix, NodeSet, Topology};

/// `HWLOC_DISTANCES_KIND_FROM_USER` and `HWLOC_DISTANCES_KIND_MEANS_LATENCY`.
const KIND_MEASURED_LATENCY: u32 = 2 + 4;

/// `HWLOC_MEMATTR_FLAG_LOWER_FIRST` and `HWLOC_MEMATTR_FLAG_NEED_INITIATOR`.
const FLAGS_OF_LATENCY: u32 = 2 + 4;

/// The name under which hwloc lists the matrix.
const NAME: &str = "numalab:latency_ns";

/// Returns the topology with its latencies; `None` for a matrix whose machine is unknown.
pub fn latency_hwloc_xml(result: &LatencyResult) -> Option<String> {
    let topology = &result.machine.as_ref()?.topology;
    let mut writer = Writer::default();
    writer.line("<?xml version=\"1.0\" encoding=\"UTF-8\"?>");
    writer.line("<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">");
    writer.line("<topology version=\"2.0\">");
    let numbers = writer.machine(topology);
    writer.distances(&result.matrix);
    writer.memory_attribute(topology, &result.matrix, &numbers);
    writer.line("</topology>");
    Some(writer.text)
}

#[derive(Default)]
struct Writer {
    text: String,
    /// The last `gp_index` assigned; each object of the topology has a unique one.
    objects: u32,
}

impl Writer {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn next_number(&mut self) -> u32 {
        self.objects += 1;
        self.objects
    }

    /// Writes machine, nodes, cores and CPUs. Returns the `gp_index` of each node.
    fn machine(&mut self, topology: &Topology) -> BTreeMap<NodeId, u32> {
        let (cpus, nodes) = (mask(&topology.cpus), mask(&topology.node_ids()));
        let number = self.next_number();
        self.line(&format!(
            "  <object type=\"Machine\" os_index=\"0\" \
             cpuset=\"{cpus}\" complete_cpuset=\"{cpus}\" allowed_cpuset=\"{cpus}\" \
             nodeset=\"{nodes}\" complete_nodeset=\"{nodes}\" allowed_nodeset=\"{nodes}\" \
             gp_index=\"{number}\">"
        ));
        let mut numbers = BTreeMap::new();
        for node in topology.nodes.iter().filter(|node| node.cpus.is_empty()) {
            numbers.insert(node.id, self.node(node.id, &node.cpus, node.memory_bytes));
        }
        for node in topology.nodes.iter().filter(|node| !node.cpus.is_empty()) {
            let sets = sets(&node.cpus, node.id);
            let number = self.next_number();
            self.line(&format!(
                "    <object type=\"Group\" {sets} gp_index=\"{number}\" kind=\"0\" subkind=\"0\">"
            ));
            numbers.insert(node.id, self.node(node.id, &node.cpus, node.memory_bytes));
            self.cores(topology, &node.cpus, node.id);
            self.line("    </object>");
        }
        self.line("  </object>");
        numbers
    }

    fn node(&mut self, id: NodeId, cpus: &CpuSet, memory_bytes: Option<u64>) -> u32 {
        let (sets, number) = (sets(cpus, id), self.next_number());
        let memory = memory_bytes.unwrap_or(0);
        self.line(&format!(
            "    <object type=\"NUMANode\" os_index=\"{id}\" {sets} gp_index=\"{number}\" \
             local_memory=\"{memory}\"/>"
        ));
        number
    }

    fn cores(&mut self, topology: &Topology, cpus: &CpuSet, node: NodeId) {
        let mut done = CpuSet::new();
        for cpu in cpus {
            if done.contains(cpu) {
                continue;
            }
            let core = topology.core_of_cpu(cpu);
            let of_core = core.map_or(CpuSet::of(cpu), |core| core.cpus.intersection(cpus));
            let core_id = core.and_then(|core| core.core).unwrap_or(cpu.0);
            let (sets_of_core, number) = (sets(&of_core, node), self.next_number());
            self.line(&format!(
                "    <object type=\"Core\" os_index=\"{core_id}\" {sets_of_core} \
                 gp_index=\"{number}\">"
            ));
            for cpu in &of_core {
                let (sets, number) = (sets(&CpuSet::of(cpu), node), self.next_number());
                self.line(&format!(
                    "      <object type=\"PU\" os_index=\"{cpu}\" {sets} gp_index=\"{number}\"/>"
                ));
            }
            self.line("    </object>");
            done = done.union(&of_core);
        }
    }

    /// Writes the matrix of the CPU nodes, if all of their pairs were measured.
    fn distances(&mut self, matrix: &NodeMatrix) {
        let nodes = matrix.cpu_nodes();
        let row = |from: &NodeId| -> Option<Vec<u64>> {
            let to = nodes.iter();
            to.map(|to| whole(matrix.value(*from, *to)?)).collect()
        };
        let rows: Option<Vec<Vec<u64>>> = nodes.iter().map(row).collect();
        let Some(rows) = rows.filter(|rows| rows.len() > 1) else {
            return;
        };
        let (count, indexes) = (nodes.len(), words(nodes));
        let values = words(&rows.concat());
        self.line(&format!(
            "  <distances2 type=\"NUMANode\" nbobjs=\"{count}\" kind=\"{KIND_MEASURED_LATENCY}\" \
             name=\"{NAME}\" indexing=\"os\">"
        ));
        let length = indexes.len();
        self.line(&format!(
            "    <indexes length=\"{length}\">{indexes}</indexes>"
        ));
        let length = values.len();
        self.line(&format!(
            "    <u64values length=\"{length}\">{values}</u64values>"
        ));
        self.line("  </distances2>");
    }

    /// Writes every cell, with the CPUs of its row as initiator.
    fn memory_attribute(
        &mut self,
        topology: &Topology,
        matrix: &NodeMatrix,
        numbers: &BTreeMap<NodeId, u32>,
    ) {
        let flags = FLAGS_OF_LATENCY;
        self.line(&format!("  <memattr name=\"Latency\" flags=\"{flags}\">"));
        for (from, cells) in matrix.rows() {
            let cpus = topology.node(from).map(|node| &node.cpus);
            let Some(cpus) = cpus.filter(|cpus| !cpus.is_empty()) else {
                continue;
            };
            let initiator = mask(cpus);
            for (to, cell) in matrix.memory_nodes().iter().zip(cells) {
                let value = cell.value.and_then(whole);
                if let (Some(number), Some(value)) = (numbers.get(to), value) {
                    self.line(&format!(
                        "    <memattr_value target_obj_type=\"NUMANode\" \
                         target_obj_gp_index=\"{number}\" value=\"{value}\" \
                         initiator_cpuset=\"{initiator}\"/>"
                    ));
                }
            }
        }
        self.line("  </memattr>");
    }
}

/// Returns the attributes for the CPUs and the node of an object.
fn sets(cpus: &CpuSet, node: NodeId) -> String {
    let (cpus, node) = (mask(cpus), mask(&NodeSet::of(node)));
    format!(
        "cpuset=\"{cpus}\" complete_cpuset=\"{cpus}\" \
         nodeset=\"{node}\" complete_nodeset=\"{node}\""
    )
}

/// Formats a set as hwloc does: words of 32 bits in hexadecimal, the highest first.
fn mask<I: Id>(set: &IdSet<I>) -> String {
    let highest = set.last().map_or(0, |id| id.number() / 32);
    let mut words = vec![0u32; highest as usize + 1];
    for id in set {
        words[(id.number() / 32) as usize] |= 1 << (id.number() % 32);
    }
    let words = words.iter().rev().map(|word| format!("0x{word:08x}"));
    words.collect::<Vec<_>>().join(",")
}

/// Rounds a figure to an integer, as hwloc stores it.
fn whole(ns: f64) -> Option<u64> {
    (ns.is_finite() && ns >= 0.0).then(|| ns.round() as u64)
}

fn words<T: ToString>(numbers: &[T]) -> String {
    numbers
        .iter()
        .map(|number| number.to_string() + " ")
        .collect()
}

#[cfg(test)]
mod tests {
    use model::{CpuSet, NodeSet};

    use super::mask;

    #[test]
    fn sets_are_words_of_32_bits() {
        let check = |list: &str, expected: &str| {
            assert_eq!(mask(&list.parse::<CpuSet>().unwrap()), expected);
        };
        check("", "0x00000000");
        check("0-1", "0x00000003");
        check("0,32,95", "0x80000000,0x00000001,0x00000001");
        assert_eq!(mask(&"31".parse::<NodeSet>().unwrap()), "0x80000000");
    }
}
