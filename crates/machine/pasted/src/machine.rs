//! The machine that texts describe, as files of its kernel.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use model::{CpuSet, NodeId, NodeSet};

use crate::error::Error;
use crate::line::{self, LscpuKey};

/// A reading and where it stands.
#[derive(Clone, Debug)]
struct At<T> {
    value: T,
    place: String,
}

/// What texts say of the machine.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machine {
    cpus: BTreeMap<NodeId, At<CpuSet>>,
    online: Option<At<CpuSet>>,
    available: Option<At<NodeSet>>,
    /// Their memory, in kB.
    sizes: BTreeMap<NodeId, At<u64>>,
    processor: Option<String>,
    architecture: Option<String>,
    distances: BTreeMap<(NodeId, NodeId), At<u32>>,
    /// Last values of each node by key, and whether they are in kB.
    node_meminfo: BTreeMap<NodeId, BTreeMap<String, (u64, bool)>>,
    /// Last lines of /proc/meminfo by key.
    meminfo: BTreeMap<String, String>,
    counters: BTreeMap<NodeId, BTreeMap<String, u64>>,
}

impl Machine {
    pub(crate) fn node_cpus(
        &mut self,
        node: NodeId,
        cpus: CpuSet,
        place: &str,
    ) -> Result<(), Error> {
        if let Some(known) = self.cpus.get(&node) {
            same(&known.value, &known.place, &cpus, place, || {
                format!("CPUs of node {node}")
            })?;
        }
        let place = place.to_owned();
        self.cpus.insert(node, At { value: cpus, place });
        Ok(())
    }

    pub(crate) fn online(&mut self, cpus: CpuSet, place: &str) -> Result<(), Error> {
        if let Some(known) = &self.online {
            same(&known.value, &known.place, &cpus, place, || {
                "online CPUs".to_owned()
            })?;
        }
        let place = place.to_owned();
        self.online = Some(At { value: cpus, place });
        Ok(())
    }

    /// The nodes that numactl lists.
    pub(crate) fn available(&mut self, nodes: NodeSet, place: &str) -> Result<(), Error> {
        if let Some(known) = &self.available {
            same(&known.value, &known.place, &nodes, place, || {
                "nodes".to_owned()
            })?;
        }
        let place = place.to_owned();
        self.available = Some(At {
            value: nodes,
            place,
        });
        Ok(())
    }

    /// A line of lscpu.
    pub(crate) fn lscpu(&mut self, key: LscpuKey, value: &str, place: &str) -> Result<(), Error> {
        match key {
            LscpuKey::Online => {
                if let Some(cpus) = line::cpus(value) {
                    self.online(cpus, place)?;
                }
            }
            LscpuKey::Model => self.processor(value),
            LscpuKey::Architecture => self.architecture(value),
        }
        Ok(())
    }

    pub(crate) fn processor(&mut self, name: &str) {
        self.processor = Some(name.to_owned());
    }

    pub(crate) fn architecture(&mut self, name: &str) {
        self.architecture = Some(name.to_owned());
    }

    pub(crate) fn distances(
        &mut self,
        from: NodeId,
        columns: &[NodeId],
        row: &[u32],
        place: &str,
    ) -> Result<(), Error> {
        for (to, distance) in columns.iter().zip(row) {
            if let Some(known) = self.distances.get(&(from, *to)) {
                let what = || format!("distance from node {from} to node {to}");
                same(&known.value, &known.place, distance, place, what)?;
            }
            let (value, place) = (*distance, place.to_owned());
            self.distances.insert((from, *to), At { value, place });
        }
        Ok(())
    }

    pub(crate) fn node_meminfo(
        &mut self,
        node: NodeId,
        key: &str,
        value: u64,
        in_kb: bool,
        place: &str,
    ) -> Result<(), Error> {
        if key == "MemTotal" {
            // Tools round it, and the kernel gives some back after boot.
            if let Some(known) = self.sizes.get(&node)
                && known.value.abs_diff(value) > known.value.max(value) / SIZE_PART
            {
                let what = || format!("kB of memory of node {node}");
                same(&known.value, &known.place, &value, place, what)?;
            }
            let place = place.to_owned();
            self.sizes.insert(node, At { value, place });
        }
        let of_node = self.node_meminfo.entry(node).or_default();
        of_node.insert(key.to_owned(), (value, in_kb));
        Ok(())
    }

    pub(crate) fn meminfo(&mut self, line: &str) {
        let key = line.split(':').next().unwrap_or_default();
        self.meminfo.insert(key.to_owned(), line.to_owned());
    }

    pub(crate) fn counter(&mut self, node: NodeId, name: &str, count: u64) {
        let of_node = self.counters.entry(node).or_default();
        of_node.insert(name.to_owned(), count);
    }

    /// Reads from a whole file what must agree with the rest.
    pub(crate) fn file(&mut self, path: &str, text: &str, place: &str) -> Result<(), Error> {
        let of_node = path.strip_prefix("sys/devices/system/node/node");
        let of_node = of_node.and_then(|rest| rest.split_once('/'));
        let list = line::cpus(text.trim());
        match (of_node, list) {
            (Some((node, "cpulist")), Some(cpus)) => match node.parse() {
                Ok(node) => self.node_cpus(NodeId(node), cpus, place),
                Err(_) => Ok(()),
            },
            _ if path == "sys/devices/system/cpu/online" => match line::cpus(text.trim()) {
                Some(cpus) => self.online(cpus, place),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Writes the files that the texts do not have themselves. Returns whether the CPUs of any
    /// node are known.
    pub(crate) fn write(
        self,
        of_processes: &NodeSet,
        files: &mut BTreeMap<String, String>,
        remarks: &mut Vec<String>,
    ) -> bool {
        let has_huge_mappings = has_huge_mappings(files);
        let mut add = |path: String, text: String| {
            files.entry(path).or_insert(text);
        };
        let nodes = self.nodes().union(of_processes);
        self.write_nodes(&nodes, &mut add);
        let with_cpus: NodeSet = self.cpus.keys().copied().collect();
        let without = nodes.difference(&with_cpus);
        if !without.is_empty() && !with_cpus.is_empty() {
            let remark = format!("the CPUs of some nodes are not in the text: {without}");
            remarks.push(remark);
        }
        let of_nodes = || {
            let lists = self.cpus.values();
            lists.fold(CpuSet::default(), |all, it| all.union(&it.value))
        };
        let online = match &self.online {
            Some(online) => online.value.clone(),
            None if without.is_empty() => of_nodes(),
            // Which others there are is not known.
            None => CpuSet::default(),
        };
        if !online.is_empty() {
            let path = "sys/devices/system/cpu/online";
            add(path.to_owned(), format!("{online}\n"));
        }
        if let Some(name) = &self.processor {
            let text = format!("processor\t: 0\nmodel name\t: {name}\n");
            add("proc/cpuinfo".to_owned(), text);
        }
        if !files.contains_key(MEMINFO)
            && let Some(text) = self.machine_meminfo(has_huge_mappings, remarks)
        {
            files.insert(MEMINFO.to_owned(), text);
        }
        !online.is_empty() || !with_cpus.is_empty()
    }

    fn write_nodes(&self, nodes: &NodeSet, add: &mut impl FnMut(String, String)) {
        if !nodes.is_empty() {
            add(format!("{NODES}/online"), format!("{nodes}\n"));
        }
        for node in nodes.iter() {
            // Each node has this file, which is empty: there may be nothing else to say of it.
            add(format!("{NODES}/node{node}/uevent"), String::new());
        }
        for (node, cpus) in &self.cpus {
            let text = format!("{}\n", cpus.value);
            add(format!("{NODES}/node{node}/cpulist"), text);
        }
        for (node, row) in self.rows(nodes) {
            add(format!("{NODES}/node{node}/distance"), row);
        }
        for (node, values) in &self.node_meminfo {
            let text = node_meminfo(*node, values);
            add(format!("{NODES}/node{node}/meminfo"), text);
        }
        for (node, counters) in &self.counters {
            // The kernel prints all of them: some alone would be a damaged file.
            let lines = COUNTERS.iter().map(|name| {
                let count = counters.get(*name)?;
                Some(format!("{name} {count}\n"))
            });
            if let Some(text) = lines.collect::<Option<String>>() {
                add(format!("{NODES}/node{node}/numastat"), text);
            }
        }
    }

    /// The rows of distances that are whole: the kernel has a distance to each node that is online,
    /// in the order of their ids.
    fn rows(&self, nodes: &NodeSet) -> Vec<(NodeId, String)> {
        let row = |from: NodeId| -> Option<(NodeId, String)> {
            let cells = nodes
                .iter()
                .map(|to| Some(self.distances.get(&(from, to))?.value));
            let cells: Option<Vec<String>> = cells.map(|it| Some(it?.to_string())).collect();
            Some((from, cells?.join(" ") + "\n"))
        };
        nodes.iter().filter_map(row).collect()
    }

    fn nodes(&self) -> NodeSet {
        let of_distances = self.distances.keys().map(|(from, _)| *from);
        let nodes = self.cpus.keys().copied().chain(of_distances);
        nodes.chain(self.node_meminfo.keys().copied()).collect()
    }

    fn machine_meminfo(
        &self,
        has_huge_mappings: bool,
        remarks: &mut Vec<String>,
    ) -> Option<String> {
        let mut lines: BTreeSet<String> = self.meminfo.values().cloned().collect();
        let mut nodes = self.node_meminfo.values();
        let has_pools = nodes.any(|it| it.contains_key("HugePages_Total"));
        let is_x86 = self.architecture.as_deref().is_none_or(|it| it == "x86_64");
        if (has_pools || has_huge_mappings) && !self.meminfo.contains_key("Hugepagesize") {
            let remark = match is_x86 {
                true => "huge pages are taken to have 2 MiB, as on x86-64: the text has no size",
                false => "the size of a huge page is not in the text",
            };
            remarks.push(remark.to_owned());
            lines.extend(is_x86.then(|| "Hugepagesize: 2048 kB".to_owned()));
        }
        (!lines.is_empty()).then(|| lines.into_iter().map(|line| line + "\n").collect())
    }
}

/// The rows of `numastat`, as the kernel names them (drivers/base/node.c).
pub(crate) const COUNTERS: [&str; 6] = [
    "numa_hit",
    "numa_miss",
    "numa_foreign",
    "interleave_hit",
    "local_node",
    "other_node",
];

/// Sizes of one node differ by no more than such a part.
const SIZE_PART: u64 = 20;

const MEMINFO: &str = "proc/meminfo";
const NODES: &str = "sys/devices/system/node";

/// Whether a process maps huge pages whose size its text does not say: Linux says it since 4.0.
fn has_huge_mappings(files: &BTreeMap<String, String>) -> bool {
    let is_huge = |line: &str| line.contains(" huge") && !line.contains("kernelpagesize_kB");
    let maps = files
        .iter()
        .filter(|(path, _)| path.ends_with("/numa_maps"));
    maps.flat_map(|(_, text)| text.lines()).any(is_huge)
}

fn node_meminfo(node: NodeId, values: &BTreeMap<String, (u64, bool)>) -> String {
    let mut text = String::new();
    for (key, (value, in_kb)) in values {
        let unit = if *in_kb { " kB" } else { "" };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "Node {node} {key}: {value}{unit}");
    }
    text
}

fn same<T: PartialEq + ToString>(
    known: &T,
    at: &str,
    now: &T,
    and_at: &str,
    what: impl FnOnce() -> String,
) -> Result<(), Error> {
    if known == now {
        return Ok(());
    }
    Err(Error::TwoMachines {
        what: what(),
        one: known.to_string(),
        at: at.to_owned(),
        other: now.to_string(),
        and_at: and_at.to_owned(),
    })
}
