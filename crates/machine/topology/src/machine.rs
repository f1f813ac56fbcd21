//! The topology of a machine, put together from what its files say.

use linux::proc_meminfo::Meminfo;
use linux::sysfs_cpus::{CpuLists, CpuSource};
use linux::{Error, Root, sysfs_memory_side_caches, sysfs_nodes};
use model::{Device, MemoryRating, MemorySideCache, Node, NodeSet, Topology};

use crate::gaps::Gaps;
use crate::{caches, contradictions, cores, cpus, distances, nodes};

/// The file that lists a machine's memory.
const MEMINFO: &str = "proc/meminfo";

/// Reads the topology of a live or captured machine. Few files name its hypervisor, and fewer tell
/// whether it is emulated: a caller on a live machine adds what CPUID says.
///
/// # Errors
/// When no CPU is online, there is no memory, or a file is malformed.
pub fn read(root: &Root) -> Result<Topology, Error> {
    let mut gaps = Gaps::default();
    let (nodes, ids) = nodes_and_memory(root, &mut gaps)?;
    let cpus = cpus::read(root, &nodes.cpus)?;
    let mut settings = nodes.settings.clone();
    settings.cpu_governors = cores::governors(cpus.governors, &mut gaps);
    let cores = cores::of(&cpus.positions, &nodes.cpus, &nodes.nodes, &mut gaps);
    let hypervisor = linux::virtual_machine::hypervisor(root)?;
    let topology = Topology {
        cpu_model: linux::proc_cpuinfo::processor_name(root)?,
        emulated: linux::virtual_machine::emulated(root, hypervisor.as_deref())?,
        hypervisor,
        possible_nodes: sysfs_nodes::possible(root)?,
        distances: match ids.is_empty() {
            true => None,
            false => distances::read(root, &ids, &mut gaps)?,
        },
        memory_ratings: ratings(root, &ids)?,
        memory_side_caches: memory_side_caches(root, &ids)?,
        packages: cores.packages,
        cores: cores.cores,
        threads_per_core: cores.threads_per_core,
        core_list: cores.list,
        caches: caches::of(cpus.caches, &nodes.cpus, &mut gaps),
        devices: devices(root, &mut gaps)?,
        settings,
        ..nodes
    };
    contradictions::say(&topology, &mut gaps);
    Ok(Topology {
        gaps: gaps.into_sentences(),
        ..topology
    })
}

/// Reads only the nodes with their CPUs, memory and huge pages, and the settings of the kernel, but
/// nothing of single CPUs or devices. What else a topology has is unknown or empty.
///
/// # Errors
/// As those of [`read`].
pub fn read_nodes(root: &Root) -> Result<Topology, Error> {
    let mut gaps = Gaps::default();
    let (nodes, _) = nodes_and_memory(root, &mut gaps)?;
    Ok(Topology {
        gaps: gaps.into_sentences(),
        ..nodes
    })
}

/// The same without gaps, and the numbers of the nodes that the kernel lists.
fn nodes_and_memory(root: &Root, gaps: &mut Gaps) -> Result<(Topology, NodeSet), Error> {
    let lists = cpu_lists(root, gaps)?;
    let meminfo = root.read_optional(MEMINFO)?;
    let meminfo = meminfo.map(|file| Meminfo::parse(&file)).transpose()?;
    let mut meminfo = meminfo.unwrap_or_default();
    let is_impossible = nodes::forget_impossible(&mut meminfo);
    if is_impossible {
        gaps.add(format!("machine: {}", nodes::FREE_ABOVE_TOTAL));
    }
    if meminfo.total_bytes.is_none() {
        gaps.add("machine: memory unknown (no MemTotal in /proc/meminfo)");
    }
    let machine_pools = nodes::machine_pools(root, &meminfo, gaps)?;
    let ids = nodes::ids(root, gaps)?;
    let page_bytes = meminfo.huge_page_bytes;
    let nodes = if ids.is_empty() {
        if meminfo.total_bytes.is_some() && meminfo.free_bytes.is_none() && !is_impossible {
            gaps.add("machine: free memory unknown (no MemFree in /proc/meminfo)");
        }
        vec![nodes::implied(&lists.online, &meminfo, &machine_pools)]
    } else {
        nodes::read(root, &ids, &lists, page_bytes, gaps)?
    };
    require_memory(root, &meminfo, &nodes)?;
    let topology = Topology {
        node_is_implied: ids.is_empty(),
        nodes,
        cpus: lists.online,
        offline_cpus: lists.offline,
        possible_cpus: lists.possible,
        isolated_cpus: lists.isolated,
        memory_bytes: meminfo.total_bytes,
        page_bytes: linux::base_page::bytes(root)?,
        huge_pages: machine_pools,
        settings: linux::kernel_settings::read(root)?,
        ..Topology::default()
    };
    Ok((topology, ids))
}

fn cpu_lists(root: &Root, gaps: &mut Gaps) -> Result<CpuLists, Error> {
    let lists = linux::sysfs_cpus::lists(root)?;
    match lists.source {
        CpuSource::List => gaps.of_cpus(
            &lists.switched_off,
            "listed as online, but offline by a file of its own; taken as offline",
        ),
        CpuSource::Directories => gaps.add(
            "machine: no usable list of online CPUs; all with a directory are, unless a file of \
             their own says 0",
        ),
        CpuSource::Nodes => {
            gaps.add("machine: no usable list of online CPUs; all that nodes list are");
        }
    }
    Ok(lists)
}

/// Refuses a machine that is known to have no memory.
fn require_memory(root: &Root, meminfo: &Meminfo, nodes: &[Node]) -> Result<(), Error> {
    let of_nodes = || nodes.iter().all(|node| node.memory_bytes == Some(0));
    let has_none = match meminfo.total_bytes {
        Some(total) => total == 0,
        None => of_nodes(),
    };
    if has_none {
        let path = root.path(MEMINFO);
        return Err(Error::NoMemory { path });
    }
    Ok(())
}

fn devices(root: &Root, gaps: &mut Gaps) -> Result<Option<Vec<Device>>, Error> {
    let Some((devices, without_class)) = linux::sysfs_pci::devices(root)? else {
        return Ok(None);
    };
    if without_class > 0 {
        gaps.add(format!(
            "machine: {without_class} of the PCI devices left out (no class)"
        ));
    }
    Ok(Some(devices))
}

fn ratings(root: &Root, nodes: &NodeSet) -> Result<Vec<MemoryRating>, Error> {
    let ratings = nodes
        .iter()
        .map(|node| sysfs_nodes::memory_rating(root, node).transpose());
    ratings.flatten().collect()
}

fn memory_side_caches(root: &Root, nodes: &NodeSet) -> Result<Vec<MemorySideCache>, Error> {
    let mut caches = Vec::new();
    for node in nodes {
        caches.extend(sysfs_memory_side_caches::read(root, node)?);
    }
    Ok(caches)
}
