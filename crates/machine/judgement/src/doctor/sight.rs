//! What a check of the doctor looks at. A check that cannot see it finds nothing, which is no
//! all-clear.

use model::Coverage;

use super::input::DoctorInput;

/// Whether a check could look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// It could.
    Yes,
    /// It could not: what was missing.
    Not(&'static str),
    /// The target is of another kind, so there was nothing to look at.
    OtherKind,
}

/// What a check looks at.
pub(crate) type Sight = fn(&DoctorInput) -> Seen;

/// Counts one check.
pub(crate) fn count(coverage: &mut Coverage, seen: Seen) {
    match seen {
        Seen::Yes => coverage.looked_for += 1,
        Seen::Not(what) => *coverage.not_seen.entry(what.to_owned()).or_default() += 1,
        Seen::OtherKind => {}
    }
}

const fn or(is_there: bool, what: &'static str) -> Seen {
    match is_there {
        true => Seen::Yes,
        false => Seen::Not(what),
    }
}

/// Nothing in particular.
pub(crate) fn anything(_: &DoctorInput) -> Seen {
    Seen::Yes
}

/// How much memory of the nodes is free.
pub(crate) fn free_memory(input: &DoctorInput) -> Seen {
    let mut nodes = input.topology.nodes.iter();
    or(
        nodes.any(|node| node.free_bytes.is_some()),
        "the free memory of nodes",
    )
}

/// How much memory the nodes have.
pub(crate) fn node_memory(input: &DoctorInput) -> Seen {
    let mut nodes = input.topology.nodes.iter();
    or(
        nodes.any(|node| node.memory_bytes.is_some()),
        "the memory of nodes",
    )
}

/// The firmware's distances. A kernel without nodes has none to look at.
pub(crate) fn distances(input: &DoctorInput) -> Seen {
    let topology = &input.topology;
    or(
        topology.distances.is_some() || topology.node_is_implied,
        "distances",
    )
}

/// The packages of CPUs.
pub(crate) fn packages(input: &DoctorInput) -> Seen {
    let mut cores = input.topology.core_list.iter();
    or(cores.any(|core| core.package.is_some()), "packages of CPUs")
}

/// The pools of huge pages.
pub(crate) fn pools(input: &DoctorInput) -> Seen {
    or(!input.topology.huge_pages.is_empty(), "pools of huge pages")
}

/// The counters of allocations.
pub(crate) fn allocations(input: &DoctorInput) -> Seen {
    or(
        !input.allocations.is_empty(),
        "allocation counters (numastat)",
    )
}

/// The devices.
pub(crate) fn devices(input: &DoctorInput) -> Seen {
    or(input.topology.devices.is_some(), "devices")
}

/// `numa=` at boot.
pub(crate) fn command_line(input: &DoctorInput) -> Seen {
    or(input.topology.settings.numa_off.is_some(), "/proc/cmdline")
}

/// `kernel.numa_balancing`. A kernel without NUMA has no such setting.
pub(crate) fn numa_balancing(input: &DoctorInput) -> Seen {
    let topology = &input.topology;
    or(
        topology.settings.numa_balancing.is_some() || topology.node_is_implied,
        "kernel.numa_balancing",
    )
}

/// `vm.zone_reclaim_mode`. A kernel without NUMA has no such setting.
pub(crate) fn zone_reclaim(input: &DoctorInput) -> Seen {
    let topology = &input.topology;
    or(
        topology.settings.zone_reclaim_mode.is_some() || topology.node_is_implied,
        "vm.zone_reclaim_mode",
    )
}

/// Transparent huge pages.
pub(crate) fn transparent_huge_pages(input: &DoctorInput) -> Seen {
    or(
        input.topology.settings.transparent_huge_pages.is_some(),
        "transparent huge pages",
    )
}

/// The memory of a target.
pub(crate) fn target(input: &DoctorInput) -> Seen {
    or(input.residency.is_some(), "a target")
}

/// The threads of a target.
pub(crate) fn threads(input: &DoctorInput) -> Seen {
    match &input.residency {
        None => target(input),
        Some(residency) => or(residency.threads.is_some(), "the threads of the target"),
    }
}

/// A PostgreSQL server.
pub(crate) fn postgres(input: &DoctorInput) -> Seen {
    match &input.residency {
        None => target(input),
        Some(residency) => {
            let mut classes = residency.processes.iter().map(|it| it.class.as_str());
            match classes.any(|class| class == "postmaster") {
                true => Seen::Yes,
                false => Seen::OtherKind,
            }
        }
    }
}

/// The settings of a PostgreSQL server.
pub(crate) fn postgres_settings(input: &DoctorInput) -> Seen {
    match postgres(input) {
        Seen::Yes => or(input.postgres.is_some(), "the settings of the server"),
        seen => seen,
    }
}

/// The settings of a MariaDB server.
pub(crate) fn mariadb(input: &DoctorInput) -> Seen {
    settings(input, |id| id == "mariadb")
}

/// The settings of a Redis or Valkey server.
pub(crate) fn redis(input: &DoctorInput) -> Seen {
    settings(input, |id| ["redis", "valkey"].contains(&id))
}

fn settings(input: &DoctorInput, is_meant: fn(&str) -> bool) -> Seen {
    let Some(residency) = &input.residency else {
        return target(input);
    };
    match &input.server {
        Some(settings) if is_meant(settings.server.id()) => Seen::Yes,
        Some(_) => Seen::OtherKind,
        None => match residency.target.split_once(':') {
            Some((id, _)) if is_meant(id) => Seen::Not("the settings of the server"),
            _ => Seen::OtherKind,
        },
    }
}
