//! What plans are made for: this machine, and what this process may use of it.

use linux::{Root, proc_status, proc_zoneinfo, sysfs_nodes};
use model::Topology;

use crate::failure::Failure;

/// Looks at what this process may use of the machine.
pub fn of_this_process(topology: &Topology) -> Result<experiment::Host<'_>, Failure> {
    let root = Root::live();
    let allowed = proc_status::allowed(&root, std::process::id())?;
    let mut host = experiment::Host::new(topology);
    host.cpus_allowed = Some(allowed.cpus);
    host.memory_nodes_allowed = Some(allowed.memory_nodes);
    host.groups = group_support(&root)?;
    let installed = postgres::find(&postgres_places());
    host.no_postgres = installed.err().map(|error| error.to_string());
    host.base_page_bytes = linux::process::page_bytes();
    host.has_weighted_interleave = linux::interleave_weights::read(&root)?.is_some();
    host.shm_free_bytes = linux::shared_memory::shm_free_bytes();
    for node in &topology.nodes {
        let meminfo = sysfs_nodes::meminfo(&root, node.id)?;
        if let Some(bytes) = meminfo.and_then(|meminfo| meminfo.file_cache_bytes) {
            host.reclaimable_bytes.insert(node.id, bytes);
        }
    }
    for zone in proc_zoneinfo::read(&root)? {
        let reserved = host.reserved_bytes.entry(zone.node).or_default();
        *reserved = reserved.saturating_add(zone.low.saturating_mul(host.base_page_bytes));
    }
    Ok(host)
}

/// Where PostgreSQL is looked for when no option says so.
pub fn postgres_places() -> postgres::Places {
    postgres::Places {
        path: std::env::var_os("PATH"),
        ..postgres::Places::default()
    }
}

fn group_support(root: &Root) -> Result<experiment::GroupSupport, Failure> {
    use experiment::GroupSupport;
    match numa::hierarchy::find(root) {
        Ok(found) => Ok(GroupSupport::Available {
            cgroup_version: found.version,
        }),
        Err(numa::Error::NoGroups { reason }) => Ok(GroupSupport::Missing { reason }),
        Err(numa::Error::GroupsNotPermitted { reason }) => {
            Ok(GroupSupport::NotPermitted { reason })
        }
        Err(error) => Err(error.into()),
    }
}
