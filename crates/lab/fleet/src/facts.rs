//! The facts of one machine by which it is compared: those that equal machines have in common. What
//! differs from boot to boot and from hour to hour, such as free memory, is none of them.

use std::collections::BTreeMap;

use model::{
    ByteSize, DeviceKind, FactKind, KeptDiagnosis, KernelSettings, Machine, Severity, Topology,
    counted,
};

/// One fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// What it is about.
    pub kind: FactKind,
    /// Its name: `memory of node 1`, `vm.swappiness`.
    pub name: String,
    /// Its value, as it is compared and shown.
    pub value: String,
    /// The value in bytes, if it is one of memory: close values are equal.
    pub bytes: Option<u64>,
    /// Whether it is about a node, so that only machines with the same nodes have it in common.
    pub is_of_node: bool,
}

/// The name of the fact by which machines have the same nodes.
pub(crate) const NODES: &str = "nodes";
/// The name of the fact about the memory of all nodes.
pub(crate) const MEMORY: &str = "memory";

/// Returns the facts of a machine.
pub(crate) fn of(machine: &Machine, kept: Option<&KeptDiagnosis>) -> Vec<Fact> {
    let mut facts = Vec::new();
    of_topology(&mut facts, &machine.topology);
    of_settings(&mut facts, &machine.topology.settings);
    facts.push(plain(FactKind::Kernel, "kernel", machine.kernel.clone()));
    if let Some(kept) = kept {
        of_diagnosis(&mut facts, kept);
    }
    facts
}

fn plain(kind: FactKind, name: &str, value: String) -> Fact {
    Fact {
        kind,
        name: name.to_owned(),
        value,
        bytes: None,
        is_of_node: false,
    }
}

fn of_node(kind: FactKind, name: &str, value: String) -> Fact {
    Fact {
        is_of_node: true,
        ..plain(kind, name, value)
    }
}

fn of_memory(name: String, bytes: u64, is_of_node: bool) -> Fact {
    Fact {
        kind: FactKind::Memory,
        name,
        value: ByteSize(bytes).to_string(),
        bytes: Some(bytes),
        is_of_node,
    }
}

fn of_topology(facts: &mut Vec<Fact>, topology: &Topology) {
    let with_cpus = topology.cpu_nodes();
    let mut nodes = counted(topology.nodes.len(), "node");
    if with_cpus.len() < topology.nodes.len() {
        nodes = format!("{nodes}, {} with CPUs", with_cpus.len());
    }
    facts.push(plain(FactKind::Nodes, NODES, nodes));
    let threads = topology.threads_per_core;
    let threads = threads.map_or(String::new(), |it| {
        format!(", {} per core", counted(it, "thread"))
    });
    let cpus = format!("{} online{threads}", topology.cpus.len());
    facts.push(plain(FactKind::Cpus, "CPUs", cpus));
    let memory = topology.memory_bytes_of(&topology.node_ids());
    if let Some(bytes) = memory.or(topology.memory_bytes) {
        facts.push(of_memory(MEMORY.to_owned(), bytes, false));
    }
    for node in &topology.nodes {
        if let Some(bytes) = node.memory_bytes {
            facts.push(of_memory(
                format!("memory of node {}", node.id),
                bytes,
                true,
            ));
        }
        for pool in &node.huge_pages {
            let size = ByteSize(pool.page_bytes);
            let name = format!("{size} pages of node {}", node.id);
            let fact = of_node(FactKind::HugePages, &name, pool.total.to_string());
            facts.push(fact);
        }
    }
    if let Some(distances) = &topology.distances {
        facts.push(of_node(FactKind::Distances, "distances", table(distances)));
    }
    of_ratings(facts, topology);
    of_devices(facts, topology);
}

/// A table on one line: `10 21; 21 10`.
fn table(distances: &[Vec<Option<u32>>]) -> String {
    let cell = |cell: &Option<u32>| cell.map_or("?".to_owned(), |it| it.to_string());
    let row = |row: &Vec<Option<u32>>| row.iter().map(cell).collect::<Vec<_>>().join(" ");
    distances.iter().map(row).collect::<Vec<_>>().join("; ")
}

fn of_ratings(facts: &mut Vec<Fact>, topology: &Topology) {
    for rating in &topology.memory_ratings {
        let figures = [
            ("read", rating.read_latency_ns, "ns"),
            ("write", rating.write_latency_ns, "ns"),
            ("read", rating.read_bytes_per_s, "bytes/s"),
            ("write", rating.write_bytes_per_s, "bytes/s"),
        ];
        let known = figures
            .iter()
            .filter_map(|(what, value, unit)| Some(format!("{what} {} {unit}", (*value)?)));
        let name = format!("firmware's rating of node {}", rating.node);
        let value = known.collect::<Vec<_>>().join(", ");
        facts.push(of_node(FactKind::Ratings, &name, value));
    }
}

/// How many devices of each kind there are, and on which nodes.
fn of_devices(facts: &mut Vec<Fact>, topology: &Topology) {
    let Some(devices) = &topology.devices else {
        return;
    };
    for (kind, word) in [
        (DeviceKind::Network, "network devices"),
        (DeviceKind::Storage, "storage devices"),
        (DeviceKind::Gpu, "GPUs and accelerators"),
    ] {
        let mut by_node: BTreeMap<Option<u32>, u32> = BTreeMap::new();
        for device in devices.iter().filter(|it| it.kind == kind) {
            *by_node.entry(device.node.map(|node| node.0)).or_default() += 1;
        }
        let parts = by_node.iter().map(|(node, count)| match node {
            Some(node) => format!("{count} on node {node}"),
            None => format!("{count} on no node"),
        });
        let parts: Vec<String> = parts.collect();
        let value = match parts.is_empty() {
            true => "none".to_owned(),
            false => parts.join(", "),
        };
        facts.push(of_node(FactKind::Devices, word, value));
    }
}

fn of_settings(facts: &mut Vec<Fact>, settings: &KernelSettings) {
    let number = |value: Option<u32>| value.map(|it| it.to_string());
    let governors = settings.cpu_governors.as_ref().map(|governors| {
        let names: Vec<&str> = governors.iter().map(|it| it.name.as_str()).collect();
        names.join(", ")
    });
    let weights = settings.interleave_weights.as_ref().map(|weights| {
        let weights = weights
            .iter()
            .map(|(node, weight)| format!("{node}: {weight}"));
        weights.collect::<Vec<_>>().join(", ")
    });
    let on = |value: Option<bool>| value.map(|it| if it { "on" } else { "off" }.to_owned());
    for (name, value) in [
        ("kernel.numa_balancing", number(settings.numa_balancing)),
        ("vm.zone_reclaim_mode", number(settings.zone_reclaim_mode)),
        ("vm.swappiness", number(settings.swappiness)),
        (
            "transparent huge pages",
            settings.transparent_huge_pages.clone(),
        ),
        (
            "transparent huge pages, defrag",
            settings.transparent_huge_pages_defrag.clone(),
        ),
        (
            "transparent huge pages, shared memory",
            settings.transparent_huge_pages_shmem.clone(),
        ),
        (
            "numa= at boot",
            Some(
                settings
                    .numa_option
                    .clone()
                    .unwrap_or("not given".to_owned()),
            ),
        ),
        ("CPU frequency governor", governors),
        ("SMT", settings.smt.clone()),
        ("demotion", on(settings.demotion)),
        ("weights of interleaving", weights),
    ] {
        facts.extend(value.map(|value| plain(FactKind::Setting, name, value)));
    }
}

/// What the doctor found, and what it looked for and did not find; names and modules.
fn of_diagnosis(facts: &mut Vec<Fact>, kept: &KeptDiagnosis) {
    for (name, value) in &kept.identity {
        facts.push(plain(FactKind::Firmware, name, value.clone()));
    }
    if let Some(modules) = &kept.memory_modules {
        let modules = modules.iter().rev();
        let modules = modules.map(|(bytes, count)| format!("{count} of {}", ByteSize(*bytes)));
        let value = modules.collect::<Vec<_>>().join(", ");
        facts.push(plain(FactKind::MemoryModules, "memory modules", value));
    }
    if kept.target.is_some() {
        return;
    }
    let diagnosis = &kept.diagnosis;
    for id in &diagnosis.coverage.made {
        let mut found = diagnosis.findings.iter();
        let found = found.any(|it| it.id == *id && it.severity >= Severity::Warning);
        let value = if found { "found" } else { "not found" };
        facts.push(plain(FactKind::Doctor, id, value.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use model::{Node, NodeHugePages, NodeId};

    use super::*;

    #[test]
    fn a_machine_is_described_by_what_equal_machines_have_in_common() {
        let node = |id, cpus: &str| Node {
            id: NodeId(id),
            cpus: cpus.parse().unwrap(),
            memory_bytes: Some(64 << 30),
            free_bytes: Some(u64::from(id)),
            huge_pages: vec![NodeHugePages {
                page_bytes: 2 << 20,
                total: 8,
                ..NodeHugePages::default()
            }],
            ..Node::default()
        };
        let topology = Topology {
            nodes: vec![node(0, "0-3"), node(1, "")],
            cpus: "0-3".parse().unwrap(),
            distances: Some(vec![vec![Some(10), Some(21)], vec![Some(21), None]]),
            ..Topology::default()
        };
        let mut facts = Vec::new();
        of_topology(&mut facts, &topology);
        let shown: Vec<String> = facts
            .iter()
            .map(|it| format!("{}: {}", it.name, it.value))
            .collect();
        assert_eq!(
            shown,
            [
                "nodes: 2 nodes, 1 with CPUs",
                "CPUs: 4 online",
                "memory: 128 GiB",
                "memory of node 0: 64 GiB",
                "2 MiB pages of node 0: 8",
                "memory of node 1: 64 GiB",
                "2 MiB pages of node 1: 8",
                "distances: 10 21; 21 ?",
            ]
        );
    }
}
