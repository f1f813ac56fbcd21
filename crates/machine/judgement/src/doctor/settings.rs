//! Kernel settings that hurt a placed database.

use model::ByteSize;

use super::input::{DoctorInput, Found, commands, fact};

/// Databases whose manuals ask for transparent huge pages to be off, by the prefix of a process
/// name: Oracle (Database Installation Guide for Linux, "Disabling Transparent HugePages"), Redis
/// ("Diagnosing latency issues"), MongoDB up to 7 ("Disable Transparent Huge Pages"), Couchbase and
/// Volt (their installation guides).
const ADVISE_AGAINST_TRANSPARENT: [&str; 6] = [
    "ora_",
    "oracle",
    "redis-server",
    "mongod",
    "memcached",
    "voltdb",
];

/// `kernel.numa_balancing` on although processes or memory were placed.
pub(super) fn numa_balancing(input: &DoctorInput) -> Option<Found> {
    let value = input
        .topology
        .settings
        .numa_balancing
        .filter(|value| *value != 0)?;
    let residency = input.residency.as_ref()?;
    let pinned = residency
        .processes
        .iter()
        .filter(|process| process.pinned_to_node.is_some());
    let pinned = pinned.count();
    let placed = input
        .shared()
        .filter(|of| of.policy.as_deref().is_some_and(|it| it != "default"));
    let placed = placed.count();
    (pinned + placed > 0 && input.topology.nodes.len() > 1).then(|| Found {
        message: format!(
            "numa_balancing is {value}, while {pinned} processes are pinned to a node and {placed} \
             segments have a policy of their own"
        ),
        evidence: vec![
            fact("/proc/sys/kernel/numa_balancing", value),
            fact(
                "/proc/PID/status, /proc/PID/numa_maps",
                format!("{pinned} pinned, {placed} placed"),
            ),
        ],
        fix: commands(&[
            "sysctl -w kernel.numa_balancing=0",
            "echo kernel.numa_balancing=0 >/etc/sysctl.d/90-numa.conf",
        ]),
    })
}

/// `vm.zone_reclaim_mode` other than 0 on a machine of several nodes.
pub(super) fn zone_reclaim(input: &DoctorInput) -> Option<Found> {
    let value = input
        .topology
        .settings
        .zone_reclaim_mode
        .filter(|value| *value != 0)?;
    (input.topology.memory_nodes().len() > 1).then(|| Found {
        message: format!("zone_reclaim_mode is {value}"),
        evidence: vec![fact("/proc/sys/vm/zone_reclaim_mode", value)],
        fix: commands(&[
            "sysctl -w vm.zone_reclaim_mode=0",
            "echo vm.zone_reclaim_mode=0 >/etc/sysctl.d/90-numa-reclaim.conf",
        ]),
    })
}

/// `always` where the database asks for `madvise` or `never`.
pub(super) fn transparent_huge_pages(input: &DoctorInput) -> Option<Found> {
    let value = input.topology.settings.transparent_huge_pages.as_deref()?;
    let mut processes = input
        .residency
        .iter()
        .flat_map(|residency| &residency.processes);
    let advises = |name: &str| {
        ADVISE_AGAINST_TRANSPARENT
            .iter()
            .any(|of| name.starts_with(of))
    };
    let process = processes
        .find(|process| advises(&process.name))
        .filter(|_| value == "always")?;
    let path = "/sys/kernel/mm/transparent_hugepage/enabled";
    Some(Found {
        message: format!(
            "transparent huge pages are always on, and {} runs",
            process.name
        ),
        evidence: {
            let mut evidence = vec![
                fact(path, value),
                fact(format!("/proc/{}/comm", process.pid), &process.name),
            ];
            evidence.extend(process.transparent_huge_bytes.map(|bytes| {
                let value = format!("{} in transparent huge pages", ByteSize(bytes));
                fact(format!("/proc/{}/smaps_rollup", process.pid), value)
            }));
            evidence
        },
        fix: vec![
            format!("echo madvise >{path}"),
            "# for every boot: transparent_hugepage=madvise on the kernel's command line"
                .to_owned(),
        ],
    })
}

#[cfg(test)]
mod tests {
    use model::{NodeId, ProcessResidency, Residency, Topology};

    use super::*;

    fn input(pinned: bool, name: &str) -> DoctorInput {
        let nodes = vec![model::Node::default(), model::Node::default()];
        let mut topology = Topology {
            nodes,
            ..Topology::default()
        };
        topology.nodes[1].id = NodeId(1);
        let process = ProcessResidency {
            name: name.to_owned(),
            pinned_to_node: pinned.then_some(NodeId(0)),
            ..ProcessResidency::default()
        };
        let residency = Residency {
            processes: vec![process],
            ..Residency::default()
        };
        DoctorInput {
            topology,
            residency: Some(residency),
            ..DoctorInput::default()
        }
    }

    #[test]
    fn balancing_matters_to_a_database_that_was_placed() {
        let mut it = input(true, "postgres");
        assert!(numa_balancing(&it).is_none());
        it.topology.settings.numa_balancing = Some(1);
        assert!(numa_balancing(&it).is_some());
        it.residency = input(false, "postgres").residency;
        assert!(numa_balancing(&it).is_none());
    }

    #[test]
    fn zone_reclaim_matters_with_several_nodes() {
        let mut it = input(false, "x");
        it.topology.settings.zone_reclaim_mode = Some(0);
        assert!(zone_reclaim(&it).is_none());
        it.topology.settings.zone_reclaim_mode = Some(1);
        assert!(zone_reclaim(&it).is_some());
        it.topology.nodes.truncate(1);
        assert!(zone_reclaim(&it).is_none());
    }

    #[test]
    fn transparent_huge_pages_matter_to_some_databases() {
        let check = |value: &str, name, expected| {
            let mut it = input(false, name);
            it.topology.settings.transparent_huge_pages = Some(value.to_owned());
            assert_eq!(
                transparent_huge_pages(&it).is_some(),
                expected,
                "{value} {name}"
            );
        };
        check("always", "ora_pmon_slob", true);
        check("madvise", "ora_pmon_slob", false);
        check("always", "postgres", false);
    }
}
