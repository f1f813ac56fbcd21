//! The files of nodes: memory, pools, counters.

use std::collections::BTreeMap;

use linux::proc_meminfo::Meminfo;
use linux::sysfs_huge_pages::HugePagePool;
use linux::{Error, Root, node_numastat, sysfs_huge_pages, sysfs_nodes};
use model::{Allocations, CpuId, CpuSet, NodeHugePages, NodeId, NodeSet, NodeSnapshot};

/// The nodes of a machine and their CPUs, held between snapshots.
#[derive(Debug)]
pub(crate) struct NodeFiles {
    nodes: Vec<(NodeId, CpuSet)>,
    online: NodeSet,
    cpus: Vec<CpuId>,
    /// The kernel has no directory of nodes: the machine is its only node.
    is_implied: bool,
}

impl NodeFiles {
    pub(crate) fn new(root: &Root) -> Result<Self, Error> {
        let topology = topology::read(root)?;
        let nodes = topology.nodes.into_iter();
        Ok(Self {
            nodes: nodes.map(|node| (node.id, node.cpus)).collect(),
            online: sysfs_nodes::online(root)?,
            cpus: Vec::new(),
            is_implied: topology.node_is_implied,
        })
    }

    /// The only node, if there is one.
    pub(crate) fn only(&self) -> Option<NodeId> {
        match self.nodes[..] {
            [(id, _)] => Some(id),
            _ => None,
        }
    }

    /// Looks again when nodes or CPUs came or went.
    fn refresh(&mut self, root: &Root, busy_s: &BTreeMap<CpuId, f64>) -> Result<(), Error> {
        let is_same = self.cpus.iter().eq(busy_s.keys());
        if !is_same || sysfs_nodes::online(root)? != self.online {
            let is_first = self.cpus.is_empty();
            if !is_first {
                *self = Self::new(root)?;
            }
            self.cpus = busy_s.keys().copied().collect();
        }
        Ok(())
    }

    pub(crate) fn take(
        &mut self,
        root: &Root,
        busy_s: &BTreeMap<CpuId, f64>,
        gaps: &mut Vec<String>,
    ) -> Result<Vec<NodeSnapshot>, Error> {
        self.refresh(root, busy_s)?;
        let mut nodes = Vec::new();
        for (id, cpus) in &self.nodes {
            let mut node = match self.is_implied {
                true => implied(root, *id)?,
                false => listed(root, *id)?,
            };
            let times = cpus.iter().map(|cpu| busy_s.get(&cpu).copied());
            node.cpu_busy_s = times.sum::<Option<f64>>();
            node.cpus = cpus.clone();
            nodes.push(node);
        }
        if self.is_implied {
            gaps.push("this kernel shows no nodes: the machine is shown as one".to_owned());
        } else if nodes.iter().all(|node| node.allocations.is_none()) {
            gaps.push("allocations by node unknown: no numastat in this kernel".to_owned());
        }
        Ok(nodes)
    }
}

fn listed(root: &Root, id: NodeId) -> Result<NodeSnapshot, Error> {
    let meminfo = sysfs_nodes::meminfo(root, id)?.unwrap_or_default();
    let allocations = node_numastat::read(root, id)?;
    let pools = sysfs_nodes::huge_pages(root, id)?;
    Ok(NodeSnapshot {
        allocations: allocations.map(|counters| Allocations {
            hit: counters.hit,
            miss: counters.miss,
            foreign: counters.foreign,
        }),
        huge_pages: huge_pages(pools),
        ..of(id, &meminfo)
    })
}

fn implied(root: &Root, id: NodeId) -> Result<NodeSnapshot, Error> {
    let file = root.read_optional("proc/meminfo")?;
    let meminfo = file.map(|file| Meminfo::parse(&file)).transpose()?;
    Ok(NodeSnapshot {
        huge_pages: huge_pages(sysfs_huge_pages::machine(root)?),
        ..of(id, &meminfo.unwrap_or_default())
    })
}

fn of(id: NodeId, meminfo: &Meminfo) -> NodeSnapshot {
    let cache = meminfo.file_pages_bytes.zip(meminfo.shared_bytes);
    NodeSnapshot {
        id,
        memory_bytes: meminfo.total_bytes,
        free_bytes: meminfo.free_bytes,
        // The two are read one after the other, and may contradict each other by some pages.
        page_cache_bytes: cache.map(|(files, shared)| files.saturating_sub(shared)),
        anonymous_bytes: meminfo.anonymous_bytes,
        shared_bytes: meminfo.shared_bytes,
        ..NodeSnapshot::default()
    }
}

fn huge_pages(pools: Option<Vec<HugePagePool>>) -> Vec<NodeHugePages> {
    let pools = pools.unwrap_or_default().into_iter();
    let known = pools.filter_map(|pool| {
        Some(NodeHugePages {
            page_bytes: pool.page_bytes,
            total: pool.total?,
            free: pool.free,
            surplus: pool.surplus,
        })
    });
    known.collect()
}
