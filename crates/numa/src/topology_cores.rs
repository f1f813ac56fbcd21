//! Cores and packages, put together from what each CPU says of itself.

use std::collections::{BTreeMap, BTreeSet};

use linux::sysfs_cpus::{self, CpuPosition};
use linux::{Error, Root};
use model::{Core, CpuGovernor, CpuId, CpuSet, Node, NodeId};

/// The cores of a machine and their counts; counts are `None` when no CPU says where it sits.
pub(crate) struct Cores {
    pub(crate) list: Vec<Core>,
    pub(crate) packages: Option<u32>,
    pub(crate) cores: Option<u32>,
    pub(crate) threads_per_core: Option<u32>,
}

/// Reads the position of every CPU in `online`.
pub(crate) fn read(root: &Root, online: &CpuSet, nodes: &[Node]) -> Result<Cores, Error> {
    let node_of_cpu = nodes_by_cpu(nodes);
    let mut cores: BTreeMap<CoreKey, CpuSet> = BTreeMap::new();
    for cpu in online {
        let node = node_of_cpu.get(&cpu).copied();
        let key = CoreKey::new(cpu, node, sysfs_cpus::position(root, cpu)?);
        cores.entry(key).or_default().insert(cpu);
    }
    let is_known = cores
        .keys()
        .any(|key| key.position != CpuPosition::default());
    let packages: BTreeSet<u32> = cores
        .keys()
        .filter_map(|key| key.position.package)
        .collect();
    let threads_max = cores.values().map(CpuSet::len).max().unwrap_or(0);
    let mut list: Vec<Core> = cores
        .into_iter()
        .map(|(key, cpus)| key.core(cpus))
        .collect();
    list.sort_by_key(|core| core.cpus.first());
    Ok(Cores {
        packages: count(packages.len()).filter(|packages| *packages > 0),
        cores: count(list.len()).filter(|_| is_known),
        threads_per_core: count(threads_max).filter(|_| is_known),
        list,
    })
}

/// What CPUs have in common when they are one core.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct CoreKey {
    node: Option<NodeId>,
    position: CpuPosition,
    /// Set for a CPU that does not say what core it is in: it stands alone.
    alone: Option<CpuId>,
}

impl CoreKey {
    fn new(cpu: CpuId, node: Option<NodeId>, position: CpuPosition) -> Self {
        let says_core = position.siblings.is_some() || position.core.is_some();
        Self {
            node,
            position,
            alone: (!says_core).then_some(cpu),
        }
    }

    fn core(self, cpus: CpuSet) -> Core {
        let CpuPosition {
            package,
            die,
            core,
            siblings: _,
        } = self.position;
        Core {
            cpus,
            node: self.node,
            package,
            die,
            core,
        }
    }
}

/// The node of each CPU; of the first node that claims it, should several do.
fn nodes_by_cpu(nodes: &[Node]) -> BTreeMap<CpuId, NodeId> {
    let mut by_cpu = BTreeMap::new();
    for node in nodes {
        for cpu in &node.cpus {
            by_cpu.entry(cpu).or_insert(node.id);
        }
    }
    by_cpu
}

fn count(number: usize) -> Option<u32> {
    u32::try_from(number).ok()
}

/// The frequency governors with their CPUs, by name; `None` when no CPU has one.
pub(crate) fn governors(root: &Root, online: &CpuSet) -> Result<Option<Vec<CpuGovernor>>, Error> {
    let mut by_name: BTreeMap<String, CpuSet> = BTreeMap::new();
    for cpu in online {
        if let Some(name) = sysfs_cpus::governor(root, cpu)? {
            by_name.entry(name).or_default().insert(cpu);
        }
    }
    if by_name.is_empty() {
        return Ok(None);
    }
    let governor = |(name, cpus)| CpuGovernor { name, cpus };
    Ok(Some(by_name.into_iter().map(governor).collect()))
}
