//! Threads that may use only some of the CPUs that the first thread of their process may use.

use model::{CpuSet, Severity, ShellLine, counted, shell_line};

use super::row::{Check, Row};
use crate::doctor::cpu_lists::follows;
use crate::doctor::threads::{RoleMask, count, facts, processes, words};
use crate::doctor::{DoctorInput, sight};
use crate::found::Found;

pub(super) const ROW: Row = Row {
    id: "threads-narrowed",
    severity: Severity::Info,
    about: "threads may use only some of the CPUs that the first thread of their process may use",
    cost: "CPUs that the process was given stay idle while these threads wait for theirs",
    cost_source: "sched_setaffinity(2)",
    checks: &[Check::Doctor(sight::threads, check)],
};

/// The most roles that the sentence names.
const ROLES_MAX: usize = 3;

fn check(input: &DoctorInput) -> Option<Found> {
    processes(input).iter().find_map(|process| {
        let given = &process.first.cpus;
        let masks = process.masks.iter().copied();
        let is_narrower =
            |(_, mask): &RoleMask<'_>| mask.cpus != *given && mask.cpus.is_subset(given);
        let is_asked =
            |mask: &RoleMask<'_>| input.server.as_ref().is_some_and(|it| follows(it, mask));
        let narrower = masks.filter(|mask| is_narrower(mask) && !is_asked(mask));
        let narrower: Vec<_> = narrower.collect();
        if narrower.is_empty() {
            return None;
        }
        let cpus: CpuSet = narrower
            .iter()
            .flat_map(|(_, mask)| mask.cpus.iter())
            .collect();
        let mut roles: Vec<String> = narrower.iter().map(|(role, _)| words(role)).collect();
        roles.dedup();
        let more = roles.len().saturating_sub(ROLES_MAX);
        roles.truncate(ROLES_MAX);
        let more = if more > 0 { " and others" } else { "" };
        let mut evidence = vec![process.fact_of_first()];
        evidence.extend(facts(narrower.iter().copied()));
        let pid = process.first.pid;
        Some(Found {
            message: format!(
                "{} of {} ({}{more}) may use only some of its CPUs {given}: \
                 {cpus} together",
                counted(count(narrower), "thread"),
                process.name(input),
                roles.join(", ")
            ),
            evidence,
            fix: vec![
                ShellLine::of(
                    "# if no setting of the server asks for it, until it sets that again:",
                ),
                shell_line!("taskset --all-tasks --cpu-list --pid {} {}", given, pid),
            ],
            ..Found::default()
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::samples::{threads, valkey};

    #[test]
    fn threads_that_follow_a_setting_of_the_server_are_not_found() {
        let mut input = threads("0-7", &[("bio", "4", 1)]);
        input.server = valkey(&[("bio-cpulist", "4")], &[]).server;
        let residency = input.residency.as_mut().unwrap();
        let roles = &mut residency.threads.as_mut().unwrap().roles;
        roles[1].role = "background job".to_owned();
        assert!(check(&input).is_none());
        input.server = valkey(&[("bio-cpulist", "5")], &[]).server;
        assert!(check(&input).is_some());
    }

    #[test]
    fn threads_with_fewer_cpus_than_the_first_are_found() {
        let found = |first, masks: &[(&str, &str, u32)]| check(&threads(first, masks));
        let one = found("0-7", &[("a", "0-7", 3), ("b", "4", 1), ("b", "5", 2)]).unwrap();
        assert_eq!(
            one.message,
            "3 threads of server (7) (other: b) may use only some of its CPUs 0-7: 4-5 together"
        );
        assert_eq!(
            one.evidence[2].value,
            "Cpus_allowed_list 5, and of 1 more (other: b)"
        );
        assert!(found("0-7", &[("a", "0-7", 3)]).is_none());
        assert!(found("0-3", &[("a", "4-5", 3)]).is_none());
    }
}
