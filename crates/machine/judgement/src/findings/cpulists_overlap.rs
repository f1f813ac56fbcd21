//! CPU lists of a server that share CPUs.

use model::{Severity, ShellLine};

use super::row::{Check, Row};
use crate::doctor::cpu_lists::lists;
use crate::doctor::{DoctorInput, sight};
use crate::found::{Found, fact};

pub(super) const ROW: Row = Row {
    id: "cpulists-overlap",
    severity: Severity::Info,
    about: "CPU lists of a Valkey or Redis share CPUs",
    cost: "the one thread that runs all commands waits for its CPU while a background job or a \
           snapshot has it",
    cost_source: "redis.conf and valkey.conf: the lists are there to keep them apart",
    checks: &[Check::Doctor(sight::redis, check)],
};

/// The list of the thread that runs commands.
const SERVER: &str = "server-cpulist";

fn check(input: &DoctorInput) -> Option<Found> {
    let settings = input.server.as_ref()?;
    let lists = lists(settings);
    let (_, server) = lists.iter().find(|(name, _)| *name == SERVER)?;
    let shared: Vec<_> = lists
        .iter()
        .filter(|(name, _)| *name != SERVER)
        .filter_map(|(name, cpus)| {
            let both = cpus.intersection(server);
            (!both.is_empty()).then_some((*name, both))
        })
        .collect();
    let names: Vec<String> = shared
        .iter()
        .map(|(name, cpus)| format!("{name} ({cpus})"))
        .collect();
    (!shared.is_empty()).then(|| Found {
        message: format!(
            "CPUs of {SERVER} ({server}) are also in {}",
            names.join(", ")
        ),
        evidence: lists
            .iter()
            .map(|(name, _)| {
                let value = settings.value(name).unwrap_or_default();
                fact(settings.source, format!("{name} {value}"))
            })
            .collect(),
        fix: vec![ShellLine::of(
            "# take them out of the other lists in its configuration, and restart it",
        )],
        ..Found::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::samples::valkey;

    #[test]
    fn shared_cpus_are_named() {
        let message =
            |settings: &[(&str, &str)]| check(&valkey(settings, &[])).map(|it| it.message);
        assert_eq!(
            message(&[
                ("server-cpulist", "0-3"),
                ("bio-cpulist", "2-5"),
                ("bgsave-cpulist", "8")
            ])
            .unwrap(),
            "CPUs of server-cpulist (0-3) are also in bio-cpulist (2-3)"
        );
        assert_eq!(
            message(&[("server-cpulist", "0-3"), ("bio-cpulist", "4")]),
            None
        );
        assert_eq!(
            message(&[("bio-cpulist", "4"), ("bgsave-cpulist", "4")]),
            None
        );
    }
}
