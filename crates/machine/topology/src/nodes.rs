//! The nodes of a machine, with their CPUs and memory.

use linux::proc_meminfo::Meminfo;
use linux::sysfs_cpus::CpuLists;
use linux::sysfs_huge_pages::HugePagePool;
use linux::{Error, Root, sysfs_nodes};
use model::{ByteSize, CpuSet, MachineHugePages, Node, NodeHugePages, NodeId, NodeSet};

use crate::gaps::Gaps;
use crate::node_cpus;

/// The online nodes; empty when the kernel knows none.
pub(crate) fn ids(root: &Root, gaps: &mut Gaps) -> Result<NodeSet, Error> {
    let ids = sysfs_nodes::online(root)?;
    let directories = sysfs_nodes::with_directory(root)?;
    let listed = sysfs_nodes::listed_online(root)?.unwrap_or_else(|| ids.clone());
    gaps.of_nodes(
        &directories.difference(&ids),
        "not in the list of online nodes, but with a directory; left out",
    );
    gaps.of_nodes(
        &listed.difference(&ids),
        "in the list of online nodes, but without a directory; left out",
    );
    Ok(ids)
}

/// The nodes that lack a file or a credible field, collected while they are read one by one.
#[derive(Default)]
struct Missing {
    meminfo: NodeSet,
    total: NodeSet,
    free: NodeSet,
    free_above_total: NodeSet,
    pool_size: NodeSet,
    pool_count: NodeSet,
    pool_free: NodeSet,
}

/// Reads these nodes.
pub(crate) fn read(
    root: &Root,
    ids: &NodeSet,
    lists: &CpuLists,
    default_page_bytes: Option<u64>,
    gaps: &mut Gaps,
) -> Result<Vec<Node>, Error> {
    let cpus = node_cpus::read(root, ids, lists, gaps)?;
    let mut missing = Missing::default();
    let mut nodes = Vec::new();
    for (id, cpus) in cpus {
        let meminfo = sysfs_nodes::meminfo(root, id)?;
        let mut known = meminfo.clone().unwrap_or_default();
        if forget_impossible(&mut known) {
            missing.free_above_total.insert(id);
        }
        match &meminfo {
            None => _ = missing.meminfo.insert(id),
            Some(meminfo) => {
                if meminfo.total_bytes.is_none() {
                    missing.total.insert(id);
                }
                if meminfo.free_bytes.is_none() {
                    missing.free.insert(id);
                }
            }
        }
        nodes.push(Node {
            id,
            has_unknown_cpus: cpus.is_none(),
            cpus: cpus.unwrap_or_default(),
            memory_bytes: known.total_bytes,
            free_bytes: known.free_bytes,
            huge_pages: huge_pages(root, id, &known, default_page_bytes, &mut missing)?,
        });
    }
    gaps.of_nodes(&missing.meminfo, "memory unknown (no meminfo)");
    gaps.of_nodes(&missing.total, "memory unknown (no MemTotal in meminfo)");
    gaps.of_nodes(&missing.free, "free memory unknown (no MemFree in meminfo)");
    gaps.of_nodes(&missing.free_above_total, FREE_ABOVE_TOTAL);
    gaps.of_nodes(&missing.pool_size, POOL_WITHOUT_SIZE);
    gaps.of_nodes(
        &missing.pool_count,
        "a pool of huge pages left out (no nr_hugepages)",
    );
    gaps.of_nodes(
        &missing.pool_free,
        "free huge pages of a pool unknown (free_hugepages above nr_hugepages)",
    );
    Ok(nodes)
}

pub(crate) const FREE_ABOVE_TOTAL: &str = "free memory unknown (MemFree above MemTotal in meminfo)";

/// Forgets a free memory that is larger than all memory; returns whether it was.
pub(crate) fn forget_impossible(meminfo: &mut Meminfo) -> bool {
    let sizes = meminfo.free_bytes.zip(meminfo.total_bytes);
    let is_impossible = sizes.is_some_and(|(free, total)| free > total);
    if is_impossible {
        meminfo.free_bytes = None;
    }
    is_impossible
}

const POOL_WITHOUT_SIZE: &str = "huge pages left out (no Hugepagesize in /proc/meminfo)";

fn huge_pages(
    root: &Root,
    id: NodeId,
    meminfo: &Meminfo,
    default_page_bytes: Option<u64>,
    missing: &mut Missing,
) -> Result<Vec<NodeHugePages>, Error> {
    let pools = sysfs_nodes::huge_pages(root, id)?.unwrap_or_else(|| {
        let pool = pool_of_meminfo(meminfo, default_page_bytes);
        if pool.is_none() && meminfo.huge_pages_total.is_some_and(|total| total > 0) {
            missing.pool_size.insert(id);
        }
        pool.into_iter().collect()
    });
    if pools.iter().any(|pool| pool.total.is_none()) {
        missing.pool_count.insert(id);
    }
    let is_impossible = |pool: &HugePagePool| pool.total.is_some() && pool.free > pool.total;
    if pools.iter().any(is_impossible) {
        missing.pool_free.insert(id);
    }
    let of_node = |pool: HugePagePool| {
        Some(NodeHugePages {
            page_bytes: pool.page_bytes,
            total: pool.total?,
            free: pool.free.filter(|_| !is_impossible(&pool)),
            surplus: pool.surplus,
        })
    };
    Ok(pools.into_iter().filter_map(of_node).collect())
}

/// The implied node of a kernel that knows none: it holds everything.
pub(crate) fn implied(
    cpus: &CpuSet,
    meminfo: &Meminfo,
    machine_pools: &[MachineHugePages],
) -> Node {
    let of_machine = |pool: &MachineHugePages| NodeHugePages {
        page_bytes: pool.page_bytes,
        total: pool.total,
        free: pool.free,
        surplus: pool.surplus,
    };
    Node {
        id: NodeId(0),
        has_unknown_cpus: false,
        cpus: cpus.clone(),
        memory_bytes: meminfo.total_bytes,
        free_bytes: meminfo.free_bytes,
        huge_pages: machine_pools.iter().map(of_machine).collect(),
    }
}

/// The huge-page pools of the whole machine.
pub(crate) fn machine_pools(
    root: &Root,
    meminfo: &Meminfo,
    gaps: &mut Gaps,
) -> Result<Vec<MachineHugePages>, Error> {
    let default_page_bytes = meminfo.huge_page_bytes;
    let pools = match linux::sysfs_huge_pages::machine(root)? {
        Some(pools) => pools,
        None => pool_of_meminfo(meminfo, default_page_bytes)
            .into_iter()
            .collect(),
    };
    let mut machine_pools = Vec::new();
    for pool in pools {
        let Some(total) = pool.total else {
            let size = ByteSize(pool.page_bytes);
            gaps.add(format!(
                "machine: huge pages of {size} left out (no nr_hugepages)"
            ));
            continue;
        };
        machine_pools.push(MachineHugePages {
            page_bytes: pool.page_bytes,
            is_default: default_page_bytes.map(|bytes| bytes == pool.page_bytes),
            total,
            free: pool.free,
            reserved: pool.reserved,
            surplus: pool.surplus,
            overcommit: pool.overcommit,
        });
    }
    Ok(machine_pools)
}

/// The pool of the default page size as kernels before 2.6.31 show it: only in meminfo.
fn pool_of_meminfo(meminfo: &Meminfo, page_bytes: Option<u64>) -> Option<HugePagePool> {
    Some(HugePagePool {
        page_bytes: page_bytes?,
        total: Some(meminfo.huge_pages_total?),
        free: meminfo.huge_pages_free,
        reserved: meminfo.huge_pages_reserved,
        surplus: meminfo.huge_pages_surplus,
        overcommit: None,
    })
}
