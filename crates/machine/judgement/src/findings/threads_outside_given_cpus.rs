//! Threads that may use CPUs which the first thread of their process may not.

use model::{CpuSet, Severity, counted, cpu_words};

use super::row::{Check, Row};
use crate::doctor::threads::{
    PINNED_MIN, RoleMask, count, cpus_of_machine, facts, hold_on, processes,
};
use crate::doctor::{DoctorInput, sight};
use crate::found::Found;

pub(super) const ROW: Row = Row {
    id: "threads-outside-given-cpus",
    severity: Severity::Warning,
    about: "threads may use CPUs that the first thread of their process may not use",
    cost: "a placement by taskset or numactl that does not hold for these threads",
    cost_source: "sched_setaffinity(2): a thread may set any CPUs of its cpuset",
    checks: &[Check::Doctor(sight::threads, check)],
};

/// The server whose settings give each kind of thread CPUs of its own (`server-cpulist`,
/// `bio-cpulist`).
const WITH_LISTS: &str = "Valkey, Redis";

fn check(input: &DoctorInput) -> Option<Found> {
    let machine = cpus_of_machine(input);
    processes(input).iter().find_map(|process| {
        let given = &process.first.cpus;
        if given.len() < PINNED_MIN || process.on_first_cpus(&machine).is_some() {
            return None;
        }
        let masks = process.masks.iter().copied();
        let is_outside = |(role, mask): &RoleMask<'_>| {
            role.server.as_deref() != Some(WITH_LISTS) && !mask.cpus.is_subset(given)
        };
        let outside: Vec<_> = masks.filter(is_outside).collect();
        if outside.is_empty() {
            return None;
        }
        let cpus = outside.iter().flat_map(|(_, mask)| mask.cpus.iter());
        let cpus: CpuSet = cpus.filter(|cpu| !given.contains(*cpu)).collect();
        let mut evidence = vec![process.fact_of_first()];
        evidence.extend(facts(outside.iter().copied()));
        Some(Found {
            message: format!(
                "{} of {} may use {}, and its first thread may only use {given}; \
                 correct where a setting of the server asks for it",
                counted(count(outside), "thread"),
                process.name(input),
                cpu_words(cpus)
            ),
            evidence,
            fix: hold_on(given, process.first.pid),
            ..Found::default()
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::samples::threads;

    #[test]
    fn threads_beyond_the_cpus_of_the_first_are_found() {
        let found = |first, masks: &[(&str, &str, u32)]| check(&threads(first, masks));
        let found_one = found("4-7", &[("worker", "0-7", 3), ("other", "4-5", 1)]).unwrap();
        assert!(
            found_one
                .message
                .starts_with("3 threads of server (7) may use CPUs 0-3, and its first thread"),
            "{found_one:?}"
        );
        assert_eq!(found_one.evidence.len(), 2);
        assert!(found("0-7", &[("worker", "4-5", 3)]).is_none());
        assert!(found("4", &[("worker", "0-7", 3)]).is_none());
        // That is threads-on-first-cpus.
        assert!(found("4-7", &[("a", "0", 1), ("b", "1", 1)]).is_none());
    }
}
