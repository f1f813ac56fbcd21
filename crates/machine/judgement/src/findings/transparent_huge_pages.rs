//! `always` where the database asks for `madvise` or `never`.

use model::{ByteSize, Severity, ShellLine, shell_line};

use super::row::{Check, Row};
use crate::doctor::{DoctorInput, sight};
use crate::found::{Found, fact};

pub(super) const ROW: Row = Row {
    id: "transparent-huge-pages",
    severity: Severity::Warning,
    about: "transparent huge pages are always on for a database that advises against them",
    cost: "stalls while pages are compacted, and memory that grows",
    cost_source: "the manuals of these databases",
    checks: &[Check::Doctor(sight::transparent_huge_pages, check)],
};

/// Databases whose manuals ask for transparent huge pages to be off, by the prefix of a process
/// name: Oracle (Database Installation Guide for Linux, "Disabling Transparent HugePages"), Redis
/// and Valkey ("Diagnosing latency issues"), MongoDB up to 7 ("Disable Transparent Huge Pages"),
/// Couchbase and Volt (their installation guides).
const ADVISE_AGAINST_TRANSPARENT: [&str; 7] = [
    "ora_",
    "oracle",
    "redis-server",
    "valkey-server",
    "mongod",
    "memcached",
    "voltdb",
];

fn check(input: &DoctorInput) -> Option<Found> {
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
            shell_line!("echo madvise >{}", path),
            ShellLine::of(
                "# for every boot: transparent_hugepage=madvise on the kernel's command line",
            ),
        ],
        ..Found::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::samples::process_of;

    #[test]
    fn transparent_huge_pages_matter_to_some_databases() {
        let case = |value: &str, name, expected| {
            let mut it = process_of(false, name);
            it.topology.settings.transparent_huge_pages = Some(value.to_owned());
            assert_eq!(check(&it).is_some(), expected, "{value} {name}");
        };
        case("always", "ora_pmon_slob", true);
        case("madvise", "ora_pmon_slob", false);
        case("always", "postgres", false);
    }
}
