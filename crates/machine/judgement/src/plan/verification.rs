//! Whether a cure is in force: where memory lies, and where memory that comes later will.

use model::{ByteSize, CureInForce, NodeSet};
use placement::Destination;

use super::candidates::candidates_for;
use super::patient::Patient;
use crate::doctor::DoctorInput;

/// Compares a target with what a cure would lead to; `None` if nothing is known of its CPUs, or the
/// cure cannot be given to it.
pub fn in_force(input: &DoctorInput, cure: &Destination) -> Option<CureInForce> {
    let patient = Patient::of(input)?;
    let now = patient.figures(&patient.layout());
    let better = candidates_for(&patient, cure)?;
    let is_better = better.is_better(&now, 0);
    Some(CureInForce {
        cure: cure.to_string(),
        now,
        wanted: better.figures,
        is_there: !is_better,
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
