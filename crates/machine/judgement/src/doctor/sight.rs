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
pub(crate) fn count(coverage: &mut Coverage, finding: &str, seen: Seen) {
    match seen {
        Seen::Yes => {
            coverage.looked_for += 1;
            coverage.made.push(finding.to_owned());
        }
        Seen::Not(what) => {
            *coverage.not_seen.entry(what.to_owned()).or_default() += 1;
            let not_made = coverage.not_made.entry(what.to_owned()).or_default();
            not_made.push(finding.to_owned());
        }
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

/// The zones of the nodes.
pub(crate) fn zones(input: &DoctorInput) -> Seen {
    or(!input.zones.is_empty(), "the zones of nodes")
}

/// Slots for memory modules.
pub(crate) fn memory_slots(input: &DoctorInput) -> Seen {
    match input.topology.hypervisor.is_some() {
        true => Seen::OtherKind,
        false => or(
            input.memory_slots.is_some(),
            "firmware's table of memory modules (root)",
        ),
    }
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

/// Free memory at several moments, of which only a text can tell.
pub(crate) fn moments(input: &DoctorInput) -> Seen {
    match input.moments.len() {
        0 | 1 => Seen::OtherKind,
        _ => Seen::Yes,
    }
}

/// Pools of huge pages at moments of a text.
pub(crate) fn pool_moments(input: &DoctorInput) -> Seen {
    match input.pool_moments.is_empty() {
        true => Seen::OtherKind,
        false => Seen::Yes,
    }
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

/// Several servers.
pub(crate) fn instances(input: &DoctorInput) -> Seen {
    match input.instances.len() {
        0 | 1 => Seen::OtherKind,
        _ => Seen::Yes,
    }
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
    settings(input, &["mariadbd", "mysqld"])
}

/// The settings of a Redis or Valkey server.
pub(crate) fn redis(input: &DoctorInput) -> Seen {
    settings(input, &["redis-server", "valkey-server"])
}

/// The settings of a server whose process has one of these names.
fn settings(input: &DoctorInput, names: &[&str]) -> Seen {
    let Some(residency) = &input.residency else {
        return target(input);
    };
    let mut processes = residency.processes.iter();
    match processes.any(|process| names.contains(&process.name.as_str())) {
        true => or(input.server.is_some(), "the settings of the server"),
        false => Seen::OtherKind,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::samples::{machine, valkey};
    use crate::findings::coverage_of_doctor;

    #[test]
    fn a_check_looks_at_what_is_there_or_says_what_it_lacks() {
        let check = |input: &DoctorInput, sight: Sight, expected: Seen| {
            assert_eq!(sight(input), expected, "{input:?}");
        };
        let settings = Seen::Not("the settings of the server");
        let none = machine(&[&[10]]);
        for sight in [target, threads, postgres_settings, mariadb, redis] {
            check(&none, sight, Seen::Not("a target"));
        }
        check(&none, distances, Seen::Yes);
        check(&none, free_memory, Seen::Yes);
        check(&none, packages, Seen::Not("packages of CPUs"));
        let mut it = valkey(&[], &[]);
        it.residency.as_mut().unwrap().processes[0].name = "redis-server".to_owned();
        check(&it, redis, Seen::Yes);
        check(&it, threads, Seen::Yes);
        for sight in [mariadb, postgres, postgres_settings] {
            check(&it, sight, Seen::OtherKind);
        }
        it.server = None;
        check(&it, redis, settings);
        let process = &mut it.residency.as_mut().unwrap().processes[0];
        process.name = "mariadbd".to_owned();
        check(&it, mariadb, settings);
        it.residency.as_mut().unwrap().processes[0].class = "postmaster".to_owned();
        check(&it, postgres, Seen::Yes);
        check(&it, postgres_settings, settings);
    }

    #[test]
    fn nothing_is_looked_for_where_nothing_is_known() {
        let nothing = coverage_of_doctor(&DoctorInput::default());
        let whole = coverage_of_doctor(&machine(&[&[10, 20], &[20, 10]]));
        assert!(nothing.looked_for < whole.looked_for, "{nothing:?}");
        let all = |it: &Coverage| it.looked_for + it.not_seen.values().sum::<usize>();
        assert_eq!(all(&nothing), all(&whole));
        assert!(nothing.not_seen.contains_key("distances"), "{nothing:?}");
        assert!(!whole.not_seen.contains_key("distances"), "{whole:?}");
        assert_eq!(nothing.not_seen["a target"], whole.not_seen["a target"]);
    }
}
