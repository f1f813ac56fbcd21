//! Whether a cure is in force: where memory lies, and where memory that comes later will.

use model::{ByteSize, CpuSet, CureInForce, NodeSet};
use placement::{Destination, TargetPlacement};

use super::candidates::candidate_of;
use super::on_cpus::on_cpus;
use super::patient::Patient;
use crate::doctor::DoctorInput;

/// Memory is where a cure puts it if no more than this share of it is elsewhere: a move leaves
/// pages that are in use.
const ELSEWHERE_MAX: f64 = 0.02;

/// Compares a target with what a cure would lead to.
///
/// # Errors
/// Why it cannot be verified, when nothing is known of its CPUs, or the cure is impossible on this
/// machine.
pub fn in_force(input: &DoctorInput, cure: &TargetPlacement) -> Result<CureInForce, String> {
    if *cure == TargetPlacement::default() {
        return Err("it names neither CPUs nor a place of memory".to_owned());
    }
    if cure.quota.is_some() {
        return Err("a quota is no cure for memory that lies wrong".to_owned());
    }
    let cpus = cure.cpus_on(&input.topology);
    let cpus = cpus.map_err(|error| error.to_string())?;
    let moved = cpus.as_ref().map(|cpus| on_cpus(input, cpus));
    let unknown = || "on which nodes its processes run is unknown".to_owned();
    let now = Patient::of(input).ok_or_else(unknown)?;
    let patient = Patient::of(moved.as_ref().unwrap_or(input)).ok_or_else(unknown)?;
    let layout = now.layout();
    let then = match &cure.memory {
        None => None,
        Some(memory) => {
            memory.pattern(patient.topology, &patient.nodes_used())?;
            candidate_of(&patient, memory)
        }
    };
    let parts = layout.shared.iter().chain(&layout.private);
    let all: u64 = parts.flat_map(|bytes| bytes.values()).sum();
    let to_move = then.as_ref().map_or(0, |it| it.bytes_to_move);
    let is_on = |cpus: &CpuSet| all_cpus(input).all(|it| it.difference(cpus).is_empty());
    let later = match &cure.memory {
        Some(Destination::Interleave(_)) => not_interleaved(input, &patient, "interleave"),
        Some(Destination::WeightedInterleave(_)) => {
            not_interleaved(input, &patient, "weighted interleave")
        }
        Some(Destination::Spread(_)) => vec![
            "no policy of the kernel keeps such proportions: only weighted-interleave does, by the \
             weights of the machine"
                .to_owned(),
        ],
        Some(Destination::Node(node)) => policies_elsewhere(input, &[*node].into_iter().collect()),
        Some(Destination::NearCpus) | None => policies_elsewhere(input, &patient.nodes_used()),
    };
    Ok(CureInForce {
        cure: cure.to_string(),
        threads_are_there: cpus.as_ref().map(is_on),
        now: now.figures(&layout),
        wanted: patient.figures(then.as_ref().map_or(&layout, |it| &it.layout)),
        is_there: to_move as f64 <= ELSEWHERE_MAX * all as f64,
        later,
    })
}

/// The CPUs of all processes, and of threads that may use others.
fn all_cpus(input: &DoctorInput) -> impl Iterator<Item = &CpuSet> {
    let residency = input.residency.iter();
    let processes = residency
        .clone()
        .flat_map(|it| &it.processes)
        .map(|it| &it.cpus);
    let threads = residency.flat_map(|it| &it.threads);
    let roles = threads.flat_map(|it| &it.roles);
    processes.chain(roles.flat_map(|role| &role.masks).map(|mask| &mask.cpus))
}

/// Policies that send memory to other nodes.
fn policies_elsewhere(input: &DoctorInput, used: &NodeSet) -> Vec<String> {
    let elsewhere = input.policies.iter().filter(|(_, policy)| {
        let nodes = policy
            .rsplit_once(':')
            .map(|(_, nodes)| nodes.parse::<NodeSet>());
        matches!(nodes, Some(Ok(nodes)) if !nodes.is_subset(used))
    });
    let sentence = |(pid, policy): (&u32, &String)| {
        format!("process {pid} has policy {policy}, and so has what it starts")
    };
    elsewhere.map(sentence).collect()
}

/// Memory without this policy, in the kernel's words.
fn not_interleaved(input: &DoctorInput, patient: &Patient<'_>, word: &str) -> Vec<String> {
    let is_interleaved = |policy: &str| policy.contains(word);
    let by_process = input.policies.values().any(|policy| is_interleaved(policy));
    let is_even = word == "interleave";
    let by_server = is_even
        && input
            .server
            .as_ref()
            .is_some_and(|it| it.value("innodb_numa_interleave") == Some("ON"));
    if by_process || by_server {
        return Vec::new();
    }
    let small = input.topology.base_page_bytes();
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
        let found = in_force(input, &cure.parse().unwrap()).ok()?;
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
        assert_eq!(found(&input, "spread=7:1"), None);
        assert_eq!(found(&DoctorInput::default(), "near-cpus"), None);
    }
}
