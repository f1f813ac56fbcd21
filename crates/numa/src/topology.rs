//! What a machine is: the readings of crate linux put together as a [`Topology`]. Nothing is judged
//! here; impossible values are passed on as they were read.

use linux::proc_meminfo::Meminfo;
use linux::sysfs_huge_pages::HugePagePool;
use linux::{Error, Root, sysfs_nodes};
use model::{
    CpuSet, MachineHugePages, MemoryRating, Node, NodeHugePages, NodeId, NodeSet, Topology,
};

use crate::topology_caches;
use crate::topology_cores;

/// Reads the topology of a live or captured machine. Who runs the machine (`hypervisor`,
/// `emulated`) is not in any file: a caller on a live machine adds it.
///
/// # Errors
/// When a file that every Linux machine has is missing, or any file is malformed.
pub fn read(root: &Root) -> Result<Topology, Error> {
    let lists = linux::sysfs_cpus::lists(root)?;
    let meminfo = root.read_optional("proc/meminfo")?;
    let meminfo = meminfo.map(|file| Meminfo::parse(&file)).transpose()?;
    let machine_pools = machine_pools(root, meminfo.as_ref())?;
    let online_nodes = sysfs_nodes::online(root)?;
    let nodes = if online_nodes.is_empty() {
        vec![implied_node(
            &lists.online,
            meminfo.as_ref(),
            &machine_pools,
        )]
    } else {
        let default_page_bytes = meminfo.as_ref().and_then(|meminfo| meminfo.huge_page_bytes);
        let nodes = online_nodes
            .iter()
            .map(|id| read_node(root, id, default_page_bytes));
        nodes.collect::<Result<_, _>>()?
    };
    let mut settings = linux::kernel_settings::read(root)?;
    settings.cpu_governors = topology_cores::governors(root, &lists.online)?;
    let cores = topology_cores::read(root, &lists.online, &nodes)?;
    Ok(Topology {
        cpu_model: linux::proc_cpuinfo::model_name(root)?,
        hypervisor: None,
        emulated: None,
        node_is_implied: online_nodes.is_empty(),
        possible_nodes: sysfs_nodes::possible(root)?,
        distances: read_distances(root, &online_nodes)?,
        memory_ratings: read_ratings(root, &online_nodes)?,
        nodes,
        packages: cores.packages,
        cores: cores.cores,
        threads_per_core: cores.threads_per_core,
        core_list: cores.list,
        caches: topology_caches::read(root, &lists.online)?,
        cpus: lists.online,
        offline_cpus: lists.offline,
        possible_cpus: lists.possible,
        isolated_cpus: lists.isolated,
        memory_bytes: meminfo.as_ref().map(|meminfo| meminfo.total_bytes),
        huge_pages: machine_pools,
        devices: linux::sysfs_pci::devices(root)?,
        settings,
    })
}

/// The node of a kernel that knows none: it holds everything.
fn implied_node(
    cpus: &CpuSet,
    meminfo: Option<&Meminfo>,
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
        cpus: cpus.clone(),
        memory_bytes: meminfo.map(|meminfo| meminfo.total_bytes),
        free_bytes: meminfo.map(|meminfo| meminfo.free_bytes),
        huge_pages: machine_pools.iter().map(of_machine).collect(),
    }
}

fn read_node(root: &Root, id: NodeId, default_page_bytes: Option<u64>) -> Result<Node, Error> {
    let meminfo = sysfs_nodes::meminfo(root, id)?;
    let pools = match sysfs_nodes::huge_pages(root, id)? {
        Some(pools) => pools,
        None => pool_of_meminfo(meminfo.as_ref(), default_page_bytes),
    };
    let of_node = |pool: HugePagePool| NodeHugePages {
        page_bytes: pool.page_bytes,
        total: pool.total,
        free: pool.free,
        surplus: pool.surplus,
    };
    Ok(Node {
        id,
        cpus: sysfs_nodes::cpus(root, id)?,
        memory_bytes: meminfo.as_ref().map(|meminfo| meminfo.total_bytes),
        free_bytes: meminfo.as_ref().map(|meminfo| meminfo.free_bytes),
        huge_pages: pools.into_iter().map(of_node).collect(),
    })
}

fn machine_pools(root: &Root, meminfo: Option<&Meminfo>) -> Result<Vec<MachineHugePages>, Error> {
    let default_page_bytes = meminfo.and_then(|meminfo| meminfo.huge_page_bytes);
    let pools = match linux::sysfs_huge_pages::machine(root)? {
        Some(pools) => pools,
        None => pool_of_meminfo(meminfo, default_page_bytes),
    };
    let of_machine = |pool: HugePagePool| MachineHugePages {
        page_bytes: pool.page_bytes,
        is_default: default_page_bytes.map(|bytes| bytes == pool.page_bytes),
        total: pool.total,
        free: pool.free,
        reserved: pool.reserved,
        surplus: pool.surplus,
        overcommit: pool.overcommit,
    };
    Ok(pools.into_iter().map(of_machine).collect())
}

/// The pool of the default page size as kernels before 2.6.31 show it: only in meminfo.
fn pool_of_meminfo(meminfo: Option<&Meminfo>, page_bytes: Option<u64>) -> Vec<HugePagePool> {
    let total = meminfo.and_then(|meminfo| meminfo.huge_pages_total);
    let (Some(meminfo), Some(page_bytes), Some(total)) = (meminfo, page_bytes, total) else {
        return Vec::new();
    };
    vec![HugePagePool {
        page_bytes,
        total,
        free: meminfo.huge_pages_free,
        reserved: meminfo.huge_pages_reserved,
        surplus: meminfo.huge_pages_surplus,
        overcommit: None,
    }]
}

/// The rows of all nodes; `None` when the kernel knows no nodes or does not give every row.
fn read_distances(root: &Root, nodes: &NodeSet) -> Result<Option<Vec<Vec<u32>>>, Error> {
    if nodes.is_empty() {
        return Ok(None);
    }
    nodes
        .iter()
        .map(|node| sysfs_nodes::distances(root, node, nodes))
        .collect()
}

fn read_ratings(root: &Root, nodes: &NodeSet) -> Result<Vec<MemoryRating>, Error> {
    let ratings = nodes
        .iter()
        .map(|node| sysfs_nodes::memory_rating(root, node).transpose());
    ratings.flatten().collect()
}
