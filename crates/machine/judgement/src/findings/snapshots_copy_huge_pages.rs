//! A server that forks to save while its memory is in transparent huge pages.

use model::{ByteSize, ServerSettings, Severity, ShellLine};

use super::row::{Check, Row};
use crate::doctor::memory::WORTH_BYTES;
use crate::doctor::{DoctorInput, sight};
use crate::found::{Found, fact};

pub(super) const ROW: Row = Row {
    id: "snapshots-copy-huge-pages",
    severity: Severity::Warning,
    about: "a Valkey or Redis that forks to save has its memory in transparent huge pages",
    cost: "while the child saves, the first write to a page copies 2 MiB where it would copy \
           4 KiB, from the node of the page to that of the writer",
    cost_source: "fork(2), copy-on-write; the administration pages of Redis and Valkey",
    checks: &[Check::Doctor(sight::redis, check)],
};

fn check(input: &DoctorInput) -> Option<Found> {
    let settings = input.server.as_ref()?;
    let mut processes = input.residency.as_ref()?.processes.iter();
    let process = processes.find(|process| process.pid == settings.pid)?;
    let huge_bytes = process.transparent_huge_bytes;
    let huge_bytes = huge_bytes.filter(|bytes| *bytes >= WORTH_BYTES)?;
    let forks = forks(settings);
    if forks.is_empty() {
        return None;
    }
    let pid = settings.pid;
    let mut evidence: Vec<_> = forks.iter().map(|it| fact(settings.source, it)).collect();
    evidence.extend(
        settings
            .value("disable-thp")
            .map(|value| fact(settings.source, format!("disable-thp {value}"))),
    );
    evidence.push(fact(
        format!("/proc/{pid}/smaps_rollup"),
        format!("{} in transparent huge pages", ByteSize(huge_bytes)),
    ));
    Some(Found {
        message: format!(
            "{} of process {pid} is in transparent huge pages, and it forks to save",
            ByteSize(huge_bytes)
        ),
        evidence,
        fix: vec![
            ShellLine::of(
                "# disable-thp yes in its configuration (Redis 6.2, Valkey), or for the machine:",
            ),
            ShellLine::of("echo madvise >/sys/kernel/mm/transparent_hugepage/enabled"),
            ShellLine::of("# then restart it: pages that are huge stay so"),
        ],
        ..Found::default()
    })
}

/// The settings on which it forks, in its words: snapshots, and rewrites of the file to which it
/// appends.
fn forks(settings: &ServerSettings) -> Vec<String> {
    let appends = settings.value("appendonly").filter(|it| *it == "yes");
    let appends = appends.map(|it| ("appendonly", it));
    let saves = settings.value("save").map(|it| ("save", it));
    let both = saves.into_iter().chain(appends);
    both.map(|(name, value)| format!("{name} {value}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::samples::valkey;

    #[test]
    fn huge_pages_of_a_server_that_forks_are_found() {
        let found = |settings: &[(&str, &str)], huge_bytes: Option<u64>| {
            let mut input = valkey(settings, &[]);
            let residency = input.residency.as_mut().unwrap();
            residency.processes[0].transparent_huge_bytes = huge_bytes;
            check(&input).is_some()
        };
        let huge = Some(1 << 30);
        assert!(found(&[("save", "3600 1"), ("appendonly", "no")], huge));
        assert!(found(&[("save", ""), ("appendonly", "yes")], huge));
        assert!(!found(&[("save", ""), ("appendonly", "no")], huge));
        assert!(!found(&[("save", "3600 1")], Some(4 << 20)));
        assert!(!found(&[("save", "3600 1")], None));
    }
}
