//! Cores and packages, combined from what each CPU reports about itself.

use std::collections::BTreeMap;

use linux::sysfs_cpus::CpuPosition;
use model::{Core, CpuGovernor, CpuId, CpuSet, Node, NodeId};

use crate::gaps::Gaps;
use crate::packages::Numbers;

/// The cores of a machine and their counts; a count is `None` unless every CPU reports its place.
pub(crate) struct Cores {
    pub(crate) list: Vec<Core>,
    pub(crate) packages: Option<u32>,
    pub(crate) cores: Option<u32>,
    pub(crate) threads_per_core: Option<u32>,
}

/// The cores that the CPUs in `online` form, from the positions of all of these.
pub(crate) fn of(
    positions: &BTreeMap<CpuId, CpuPosition>,
    online: &CpuSet,
    nodes: &[Node],
    gaps: &mut Gaps,
) -> Cores {
    let siblings = siblings(positions);
    let mut packages = Numbers::of_packages(positions);
    let mut dies = Numbers::of_dies(positions);
    let core = |(cpu, at): (&CpuId, &CpuPosition)| Some((*cpu, at.core?));
    let mut core_of_cpu: BTreeMap<CpuId, u32> = positions.iter().filter_map(core).collect();
    for numbers in [&mut packages.of_cpu, &mut dies.of_cpu, &mut core_of_cpu] {
        give_to_siblings(numbers, &siblings);
    }
    let node_of_cpu = nodes_by_cpu(nodes);
    let mut cores: BTreeMap<CoreKey, CpuSet> = BTreeMap::new();
    for cpu in online {
        let key = CoreKey {
            node: node_of_cpu.get(&cpu).copied(),
            package: packages.of_cpu.get(&cpu).copied(),
            die: dies.of_cpu.get(&cpu).copied(),
            core: core_of_cpu.get(&cpu).copied(),
            siblings: siblings.get(&cpu).cloned(),
            alone: None,
        };
        cores.entry(key.or_alone(cpu)).or_default().insert(cpu);
    }
    let alone: CpuSet = cores.keys().filter_map(|key| key.alone).collect();
    say_what_is_unknown(online, &packages, &dies, &alone, gaps);
    let threads_max = cores.values().map(CpuSet::len).max().unwrap_or(0);
    let mut list: Vec<Core> = cores
        .into_iter()
        .map(|(key, cpus)| key.core(cpus))
        .collect();
    list.sort_by_key(|core| core.cpus.first());
    let has_packages = packages.unknown(online).is_empty();
    Cores {
        packages: count(packages.count()).filter(|_| has_packages),
        cores: count(list.len()).filter(|_| alone.is_empty()),
        threads_per_core: count(threads_max).filter(|_| alone.is_empty()),
        list,
    }
}

/// The CPUs of each CPU's core. A CPU that does not list them may be listed by those that do.
fn siblings(positions: &BTreeMap<CpuId, CpuPosition>) -> BTreeMap<CpuId, CpuSet> {
    let own = |(cpu, at): (&CpuId, &CpuPosition)| Some((*cpu, at.core_cpus.clone()?));
    let mut siblings: BTreeMap<CpuId, CpuSet> = positions.iter().filter_map(own).collect();
    if siblings.len() < positions.len() {
        for cpus in positions.values().filter_map(|at| at.core_cpus.as_ref()) {
            for cpu in cpus {
                siblings.entry(cpu).or_insert_with(|| cpus.clone());
            }
        }
    }
    siblings
}

/// Shares numbers among siblings: CPUs of one core have the same package, die and core number.
fn give_to_siblings(numbers: &mut BTreeMap<CpuId, u32>, siblings: &BTreeMap<CpuId, CpuSet>) {
    for (cpu, cpus) in siblings {
        let known = cpus.iter().find_map(|other| numbers.get(&other).copied());
        if let Some(number) = known {
            numbers.entry(*cpu).or_insert(number);
        }
    }
}

fn say_what_is_unknown(
    online: &CpuSet,
    packages: &Numbers,
    dies: &Numbers,
    alone: &CpuSet,
    gaps: &mut Gaps,
) {
    if packages.are_ours {
        gaps.add("machine: packages numbered here by their first CPU (no physical_package_id)");
    }
    gaps.of_cpus(
        &packages.contradicted,
        "the CPUs of a package (package_cpus, core_siblings) are not those of its \
         physical_package_id, which is used",
    );
    let mut what = "package unknown (no physical_package_id, package_cpus or core_siblings)";
    let of_dies;
    if dies.are_ours && packages.of_cpu.is_empty() {
        of_dies = format!("{what}; there are {} dies", dies.count());
        what = &of_dies;
    }
    gaps.of_cpus(&packages.unknown(online), what);
    gaps.of_cpus(
        alone,
        "core unknown (no core_cpus or thread_siblings); shown as a core of its own",
    );
}

/// What the CPUs of one core have in common.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct CoreKey {
    node: Option<NodeId>,
    package: Option<u32>,
    die: Option<u32>,
    core: Option<u32>,
    siblings: Option<CpuSet>,
    /// Set for a CPU that does not report its core: it stands alone.
    alone: Option<CpuId>,
}

impl CoreKey {
    /// Marks a CPU that does not report its core. Core numbers are unique within a package only.
    fn or_alone(self, cpu: CpuId) -> Self {
        let says_core = self.core.and(self.package).is_some() || self.siblings.is_some();
        Self {
            alone: (!says_core).then_some(cpu),
            ..self
        }
    }

    fn core(self, cpus: CpuSet) -> Core {
        Core {
            cpus,
            node: self.node,
            package: self.package,
            die: self.die,
            core: self.core,
        }
    }
}

fn nodes_by_cpu(nodes: &[Node]) -> BTreeMap<CpuId, NodeId> {
    let of_node = |node: &'_ Node| {
        node.cpus
            .iter()
            .map(|cpu| (cpu, node.id))
            .collect::<Vec<_>>()
    };
    nodes.iter().flat_map(of_node).collect()
}

fn count(number: usize) -> Option<u32> {
    u32::try_from(number).ok()
}

/// The frequency governors with their CPUs, by name; `None` when no CPU has one.
pub(crate) fn governors(
    of_cpus: BTreeMap<CpuId, Option<String>>,
    gaps: &mut Gaps,
) -> Option<Vec<CpuGovernor>> {
    let mut by_name: BTreeMap<String, CpuSet> = BTreeMap::new();
    let mut without = CpuSet::new();
    for (cpu, governor) in of_cpus {
        match governor {
            Some(name) => by_name.entry(name).or_default().insert(cpu),
            None => without.insert(cpu),
        };
    }
    if by_name.is_empty() {
        return None;
    }
    gaps.of_cpus(&without, "governor unknown (no scaling_governor)");
    let governor = |(name, cpus)| CpuGovernor { name, cpus };
    Some(by_name.into_iter().map(governor).collect())
}
