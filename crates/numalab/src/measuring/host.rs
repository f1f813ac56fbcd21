//! The host that plans are made for: this machine, and what this process may use of it.

use experiment::Support;
use linux::{Root, SystemCallError, proc_status, proc_zoneinfo, sysfs_nodes};
use model::Topology;

use crate::databases::table;
use crate::failure::Failure;

/// Reads what this process may use of the machine.
pub(crate) fn of_this_process(topology: &Topology) -> Result<experiment::Host, Failure> {
    let root = Root::live();
    let allowed = proc_status::allowed(&root, std::process::id())?;
    let mut host = experiment::Host::new(topology);
    host.cpus_allowed = Some(allowed.cpus);
    host.memory_nodes_allowed = Some(allowed.memory_nodes);
    host.groups = of_cgroups(&root, "cpuset")?;
    host.quotas = of_cgroups(&root, "cpu")?;
    if host.quotas == Support::Available {
        host.quota_cpus_max = placement::cpu_quota::cpus_max(&root)?;
    }
    host.policies = of_call(linux::mempolicy::try_policies());
    host.evidence = of_files(&root, ["proc/self/numa_maps", "proc/self/schedstat"]);
    host.evidence_of_others = match linux::pagemap::frames_are_shown() {
        true => Support::Available,
        false => of_call(linux::mempolicy::try_question()),
    };
    host.huge_segment_bytes_max = linux::shared_memory::huge_segment_bytes_max(&root);
    host.missing_servers = table::missing(postgres_places());
    host.has_weighted_interleave = linux::kernel_settings::interleave_weights(&root)?.is_some();
    host.group_left_bytes = placement::memory_limit::left_bytes(&root)?;
    host.shm_free_bytes = linux::shared_memory::shm_free_bytes();
    for node in &topology.nodes {
        let meminfo = sysfs_nodes::meminfo(&root, node.id)?;
        if let Some(bytes) = meminfo.and_then(|meminfo| meminfo.file_cache_bytes) {
            host.reclaimable_bytes.insert(node.id, bytes);
        }
    }
    for zone in proc_zoneinfo::read(&root)? {
        let reserved = host.reserved_bytes.entry(zone.node).or_default();
        let bytes = zone.low.saturating_mul(topology.base_page_bytes());
        *reserved = reserved.saturating_add(bytes);
    }
    Ok(host)
}

/// Returns where to look for PostgreSQL if no option says so.
pub(crate) fn postgres_places() -> postgresql::Places {
    postgresql::Places {
        path: std::env::var_os("PATH"),
        ..postgresql::Places::default()
    }
}

/// Whether cgroups with a controller can be created.
fn of_cgroups(root: &Root, controller: &str) -> Result<Support, Failure> {
    match placement::hierarchy::find_writable(root, controller) {
        Ok(_) => Ok(Support::Available),
        Err(placement::Error::NoGroups { reason }) => Ok(Support::Missing { reason }),
        Err(placement::Error::GroupsNotPermitted { reason }) => {
            Ok(Support::NotPermitted { reason })
        }
        Err(error) => Err(error.into()),
    }
}

/// Whether a system call is available, given the result of trying it.
fn of_call(tried: Result<(), SystemCallError>) -> Support {
    match tried {
        Ok(()) => Support::Available,
        Err(error) if error.is_permission() => Support::NotPermitted {
            reason: error.to_string(),
        },
        Err(error) => Support::Missing {
            reason: error.to_string(),
        },
    }
}

/// Whether files can be read.
fn of_files<const N: usize>(root: &Root, paths: [&str; N]) -> Support {
    for path in paths {
        match root.read_optional(path) {
            Ok(Some(_)) => {}
            Ok(None) => {
                let reason = format!("there is no /{path}");
                return Support::Missing { reason };
            }
            Err(error) => {
                let reason = error.to_string();
                return Support::NotPermitted { reason };
            }
        }
    }
    Support::Available
}
