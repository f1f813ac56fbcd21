//! Whether a cure is in force: where memory lies, and where memory that comes later will.

use model::{ByteSize, CureInForce, NodeSet};
use placement::Destination;

use super::candidates::candidate_of;
use super::patient::Patient;
use crate::doctor::DoctorInput;

/// Memory is where a cure puts it if no more than this share of it is elsewhere: a move leaves
/// pages that are in use.
const ELSEWHERE_MAX: f64 = 0.02;

/// Compares a target with what a cure would lead to; `None` if nothing is known of its CPUs, or the
/// cure cannot be given on this machine.
pub fn in_force(input: &DoctorInput, cure: &Destination) -> Option<CureInForce> {
    let patient = Patient::of(input)?;
    cure.pattern(patient.topology, &patient.nodes_used()).ok()?;
    let then = candidate_of(&patient, cure)?;
    let now = patient.layout();
    let parts = now.shared.iter().chain(&now.private);
    let all: u64 = parts.flat_map(|bytes| bytes.values()).sum();
    Some(CureInForce {
        cure: cure.to_string(),
        now: patient.figures(&now),
        wanted: then.figures,
        is_there: then.bytes_to_move as f64 <= ELSEWHERE_MAX * all as f64,
        later: later(input, &patient, cure),
    })
}

/// Why memory that is allocated later will lie elsewhere.
fn later(input: &DoctorInput, patient: &Patient<'_>, cure: &Destination) -> Vec<String> {
    match cure {
        Destination::Interleave(_) => not_interleaved(input, patient),
        _ => policies_elsewhere(input, patient),
    }
}

/// Policies that send memory to other nodes than those of the CPUs.
fn policies_elsewhere(input: &DoctorInput, patient: &Patient<'_>) -> Vec<String> {
    let used = patient.nodes_used();
    let elsewhere = input.policies.iter().filter(|(_, policy)| {
        let nodes = policy
            .rsplit_once(':')
            .map(|(_, nodes)| nodes.parse::<NodeSet>());
        matches!(nodes, Some(Ok(nodes)) if !nodes.is_subset(&used))
    });
    let sentence = |(pid, policy): (&u32, &String)| {
        format!("process {pid} has policy {policy}, and so has what it starts")
    };
    elsewhere.map(sentence).collect()
}

/// Memory without a policy that interleaves it.
fn not_interleaved(input: &DoctorInput, patient: &Patient<'_>) -> Vec<String> {
    let is_interleaved = |policy: &str| policy.contains("interleave");
    let by_process = input.policies.values().any(|policy| is_interleaved(policy));
    let by_server = input
        .server
        .as_ref()
        .is_some_and(|it| it.value("innodb_numa_interleave") == Some("ON"));
    if by_process || by_server {
        return Vec::new();
    }
    let small = linux::process::page_bytes();
    let without = patient.segments.iter().filter(|segment| {
        let has_policy = segment.policy.as_deref().is_some_and(is_interleaved);
        let is_small = segment.page_bytes.is_none_or(|it| it == small);
        !(has_policy && is_small)
    });
    let mut why: Vec<String> = without
        .map(|segment| {
            let policy = segment.policy.as_deref().unwrap_or("unknown");
            let bytes = ByteSize(segment.mapped_bytes);
            format!("{bytes} of {} have policy {policy}", segment.name)
        })
        .collect();
    if patient.segments.is_empty() {
        why.extend(input.policies.iter().map(|(pid, policy)| {
            format!("process {pid} has policy {policy}, and so has its private memory")
        }));
    }
    why
}

#[cfg(test)]
mod tests {
    use model::{NodeId, SegmentKind};

    use super::*;
    use crate::doctor::samples::target;

    /// Whether a cure is in force, and how many reasons there are that it will not stay so.
    fn found(input: &DoctorInput, cure: &str) -> Option<(bool, usize)> {
        let found = in_force(input, &cure.parse().unwrap())?;
        assert_eq!(found.holds(), found.is_there && found.later.is_empty());
        Some((found.is_there, found.later.len()))
    }

    #[test]
    fn a_cure_is_in_force_where_memory_lies_and_will_lie_as_it_says() {
        let spread = target(&[(0, 50), (1, 50)], "interleave:0-1", "0-1", "0-1");
        assert_eq!(found(&spread, "interleave=0-1"), Some((true, 0)));
        assert_eq!(found(&spread, "interleave"), Some((true, 0)));
        let without_policy = target(&[(0, 50), (1, 50)], "default", "0-1", "0-1");
        assert_eq!(found(&without_policy, "interleave=0-1"), Some((true, 1)));
        let mut by_process = without_policy.clone();
        by_process.policies = [(1, "interleave:0-1".to_owned())].into();
        assert_eq!(found(&by_process, "interleave=0-1"), Some((true, 0)));
        let on_one = target(&[(0, 100)], "interleave:0-1", "0-1", "0-1");
        assert_eq!(found(&on_one, "interleave=0-1"), Some((false, 0)));
        // Memory that lies better is not where it says either.
        let near = target(&[(0, 100)], "default", "0-1", "0");
        assert_eq!(found(&near, "interleave=0-1"), Some((false, 1)));
        assert_eq!(found(&near, "near-cpus"), Some((true, 0)));
        let mut bound = near.clone();
        bound.policies = [(1, "bind:1".to_owned())].into();
        assert_eq!(found(&bound, "near-cpus"), Some((true, 1)));
        bound.policies = [(1, "bind:0".to_owned())].into();
        assert_eq!(found(&bound, "near-cpus"), Some((true, 0)));
        let far = target(&[(1, 100)], "default", "0-1", "0");
        assert_eq!(found(&far, "near-cpus"), Some((false, 0)));
    }

    #[test]
    fn huge_pages_that_come_later_follow_the_process_and_private_memory_too() {
        let mut input = target(&[(0, 50), (1, 50)], "interleave:0-1", "0-1", "0-1");
        let segment = &mut input.residency.as_mut().unwrap().segments[0];
        (segment.kind, segment.page_bytes) = (SegmentKind::HugePages, Some(2 << 20));
        assert_eq!(found(&input, "interleave=0-1"), Some((true, 1)));
        let residency = input.residency.as_mut().unwrap();
        residency.segments.clear();
        let private = [(NodeId(0), 32 << 20), (NodeId(1), 32 << 20)];
        residency.processes[0].private_bytes_by_node = private.into();
        input.policies = [(1, "default".to_owned())].into();
        assert_eq!(found(&input, "interleave=0-1"), Some((true, 1)));
    }

    #[test]
    fn what_cannot_be_is_not_verified() {
        let input = target(&[(0, 100)], "default", "0-1", "0");
        assert_eq!(found(&input, "interleave=7"), None);
        assert_eq!(found(&input, "spread"), None);
        assert_eq!(found(&DoctorInput::default(), "near-cpus"), None);
    }
}
