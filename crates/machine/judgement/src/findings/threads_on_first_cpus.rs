//! A server that pins its threads to the first CPUs of the machine, although it was given others.

use model::{CpuSet, Severity, counted};

use super::row::{Check, Row};
use crate::doctor::threads::{
    PINNED_MIN, ProcessMasks, RoleMask, count, cpus_of_machine, facts, hold_on, pinned, processes,
};
use crate::doctor::{DoctorInput, sight};
use crate::found::Found;

pub(super) const ROW: Row = Row {
    id: "threads-on-first-cpus",
    severity: Severity::Warning,
    about: "threads are pinned to the first CPUs of the machine, but their process has others",
    cost: "the threads crowd on CPUs that others use, and run far from the memory of their process",
    cost_source: "sched_setaffinity(2); `numalab latency` measures what a remote access costs here",
    checks: &[Check::Doctor(sight::threads, check)],
};

fn check(input: &DoctorInput) -> Option<Found> {
    let machine = cpus_of_machine(input);
    let processes = processes(input);
    let outside = processes.iter().find_map(|it| outside(input, it, &machine));
    outside.or_else(|| processes.iter().find_map(|it| at_edge(input, it, &machine)))
}

/// Threads that are pinned to the first CPUs, one CPU each, of which the process lacks some.
fn outside(input: &DoctorInput, process: &ProcessMasks<'_>, machine: &CpuSet) -> Option<Found> {
    let given = &process.first.cpus;
    let (pinned, masks) = process.on_first_cpus(machine)?;
    let mut evidence = vec![process.fact_of_first()];
    evidence.extend(facts(masks.iter().copied()));
    Some(Found {
        message: format!(
            "{} of {} are pinned to the first CPUs of the machine ({pinned}), one CPU \
             each, and the process was given {given}",
            counted(count(masks), "thread"),
            process.name(input)
        ),
        evidence,
        fix: hold_on(given, process.first.pid),
        ..Found::default()
    })
}

/// Threads of one role of which the kernel let the process pin those whose CPU it was given: a
/// cpuset refuses the others, and they keep the CPUs of the process.
fn at_edge(input: &DoctorInput, process: &ProcessMasks<'_>, machine: &CpuSet) -> Option<Found> {
    let given = &process.first.cpus;
    let of_role = |role: &str, name: Option<&String>| -> Vec<RoleMask<'_>> {
        let masks = process.masks.iter().copied();
        let is_same = |of: &RoleMask<'_>| of.0.role == role && of.0.names.first() == name;
        masks.filter(is_same).collect()
    };
    process.masks.iter().find_map(|(role, _)| {
        let masks = of_role(&role.role, role.names.first());
        let (pinned, of_pinned) = pinned(&masks);
        let free = masks
            .iter()
            .copied()
            .filter(|(_, mask)| mask.cpus == *given);
        // The first thread itself was not to be pinned.
        let is_first = |tid| tid == process.first.pid;
        let free = count(free.filter(|(_, mask)| !is_first(mask.tid)));
        let all = pinned.len() + free as usize;
        let firsts: CpuSet = machine.iter().take(all).collect();
        let is_edge = free > 0
            && given.len() >= PINNED_MIN
            && pinned.len() >= PINNED_MIN
            && count(of_pinned.iter().copied()) as usize == pinned.len()
            && pinned == firsts.intersection(given)
            && !firsts.is_subset(given);
        is_edge.then(|| {
            let mut evidence = vec![process.fact_of_first()];
            evidence.extend(facts(masks.iter().copied()));
            Found {
                message: format!(
                    "of {all} threads of {}, those for CPUs {pinned} are pinned and the others are \
                     not: the server counts its CPUs from the first of the machine ({firsts}), and \
                     it was given {given}",
                    process.name(input)
                ),
                evidence,
                fix: hold_on(given, process.first.pid),
                ..Found::default()
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::samples::threads;

    #[test]
    fn a_server_that_counts_its_cpus_from_the_first_of_the_machine_is_found() {
        let found = |first, masks: &[(&str, &str, u32)]| check(&threads(first, masks));
        let worker = |cpus, count| ("worker", cpus, count);
        let message = found("4-7", &[worker("0", 1), worker("1", 1), worker("2", 1)]);
        assert_eq!(
            message.unwrap().message,
            "3 threads of server (7) are pinned to the first CPUs of the machine (0-2), one CPU \
             each, and the process was given 4-7"
        );
        // Given: what they are pinned to, or they are pinned elsewhere, or one may be by chance.
        assert!(found("0-3", &[worker("0", 1), worker("1", 1)]).is_none());
        assert!(found("4-7", &[worker("1", 1), worker("2", 1)]).is_none());
        assert!(found("4-7", &[worker("0", 1)]).is_none());
        // A program that pins its first thread, too, has not left what it was given.
        assert!(found("0", &[worker("1", 1), worker("2", 1)]).is_none());
        assert!(found("4-7", &[worker("0-3", 4)]).is_none());
    }

    #[test]
    fn threads_that_a_cpuset_let_pin_only_at_its_edge_are_found() {
        let found = |first, masks: &[(&str, &str, u32)]| check(&threads(first, masks));
        let edge = [("worker", "2", 1), ("worker", "3", 1), ("worker", "2-5", 2)];
        let message = found("2-5", &edge).unwrap().message;
        assert!(
            message.starts_with("of 4 threads of server (7), those for CPUs 2-3 are pinned"),
            "{message}"
        );
        // Pinned to all that was given, or not where counting from the first would end.
        assert!(found("2-5", &[("worker", "2", 1), ("worker", "3", 1)]).is_none());
        let other = [("worker", "4", 1), ("worker", "5", 1), ("worker", "2-5", 2)];
        assert!(found("2-5", &other).is_none());
        let others = [("a", "2", 1), ("a", "3", 1), ("b", "2-5", 2)];
        assert!(found("2-5", &others).is_none());
    }
}
