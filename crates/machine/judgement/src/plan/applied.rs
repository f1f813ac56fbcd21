//! The target as it would be once a plan was followed.

use model::{BytesByNode, Layout as SharedLayout, NodeId, NodeSet, ProcessResidency, Residency};
use placement::Destination;

use super::candidate::Candidate;
use super::candidates::more_by_page_size;
use super::on_cpus::on_cpus;
use super::patient::{Layout, Patient};
use super::weights;
use crate::doctor::DoctorInput;
use crate::doctor::uneven_nodes::{Shares, cpu_shares, use_shares};

/// Returns what the doctor would look at then.
pub(crate) fn applied(
    input: &DoctorInput,
    patient: &Patient<'_>,
    candidate: &Candidate,
) -> DoctorInput {
    let mut then = match &candidate.cpus {
        Some(cure) => on_cpus(input, &cure.cpus),
        None => input.clone(),
    };
    take_room(&mut then, patient, &candidate.layout);
    let by_all = use_shares(&then);
    let Some(residency) = &mut then.residency else {
        return then;
    };
    if let Some(destination) = candidate.destination() {
        let nodes = weights::nodes_of(destination).unwrap_or_else(|| patient.nodes_used());
        let is_weighted = matches!(destination, Destination::WeightedInterleave(_));
        let small = then.topology.base_page_bytes();
        place_shared(residency, small, &candidate.layout, &nodes, is_weighted);
    }
    place_private(residency, patient, &candidate.layout);
    total(residency);
    let shared = residency::shared_memory(residency);
    for process in &mut residency.processes {
        let runs_on = cpu_shares(&process.cpus, patient.topology);
        let last: Shares = process
            .last_node
            .into_iter()
            .map(|node| (node, 1.0))
            .collect();
        let private = &process.private_bytes_by_node;
        process.private_local_share = local_share(private, &runs_on);
        process.private_local_share_last = local_share(private, &last);
        process.shared_local_share = local_share(&shared, &runs_on);
        process.shared_local_share_last = local_share(&shared, &last);
    }
    place_threads(residency, patient, &shared, &by_all);
    then
}

/// Counts what moves in the room of the nodes.
fn take_room(then: &mut DoctorInput, patient: &Patient<'_>, layout: &Layout) {
    let small = then.topology.base_page_bytes();
    for ((page_bytes, node), more) in more_by_page_size(patient, &patient.layout(), layout) {
        let less = |room: u64| u64::try_from(i128::from(room) - more).unwrap_or(0);
        if page_bytes == small {
            let room = then.room.get_mut(&node);
            room.into_iter().for_each(|room| *room = less(*room));
            continue;
        }
        let nodes = then.topology.nodes.iter_mut().filter(|it| it.id == node);
        let mut pools = nodes.flat_map(|it| &mut it.huge_pages);
        let pool = pools.find(|it| it.page_bytes == page_bytes);
        if let Some(free) = pool.and_then(|pool| pool.free.as_mut()) {
            *free = less(*free * page_bytes) / page_bytes;
        }
    }
}

fn place_shared(
    residency: &mut Residency,
    small: u64,
    layout: &Layout,
    nodes: &NodeSet,
    is_weighted: bool,
) {
    let segments = residency.segments.iter_mut();
    let shared = segments.filter(|it| it.kind.is_shared_memory());
    for (segment, bytes) in shared.zip(&layout.shared) {
        segment.bytes_by_node = bytes.clone();
        segment.unseen_at_most_by_node = None;
        segment.areas.clear();
        // Memory in small pages gets a policy, too (docs/move.md).
        if segment.page_bytes.is_none_or(|it| it == small) {
            segment.policy = Some(policy(nodes, is_weighted));
        }
    }
    residency.layout = match nodes.len() {
        0 | 1 => SharedLayout::OneNode,
        _ => SharedLayout::Interleaved,
    };
}

/// The policy that `numalab move` gives to shared memory.
fn policy(nodes: &NodeSet, is_weighted: bool) -> String {
    match nodes.len() {
        _ if is_weighted => format!("weighted interleave:{nodes}"),
        1 => format!("prefer:{nodes}"),
        _ => format!("interleave:{nodes}"),
    }
}

fn place_private(residency: &mut Residency, patient: &Patient<'_>, layout: &Layout) {
    for (user, bytes) in patient.users.iter().zip(&layout.private) {
        let pid = user.process.pid;
        let mut processes = residency.processes.iter_mut();
        if let Some(process) = processes.find(|process| process.pid == pid) {
            process.private_bytes_by_node = bytes.clone();
        }
    }
    for class in &mut residency.private {
        let of_it = residency.processes.iter();
        let of_it = of_it.filter(|process| process.class == class.class);
        class.bytes_by_node = sum(of_it.map(|process| &process.private_bytes_by_node));
    }
}

fn total(residency: &mut Residency) {
    let segments = residency.segments.iter().map(|it| &it.bytes_by_node);
    let private = residency
        .processes
        .iter()
        .map(|it| &it.private_bytes_by_node);
    residency.bytes_by_node = sum(segments.chain(private));
}

fn place_threads(
    residency: &mut Residency,
    patient: &Patient<'_>,
    shared: &BytesByNode,
    by_all: &Shares,
) {
    let Residency {
        threads, processes, ..
    } = residency;
    for role in threads.iter_mut().flat_map(|threads| &mut threads.roles) {
        let is_of_role =
            |process: &&ProcessResidency| role.masks.iter().any(|mask| mask.pid == process.pid);
        let private = processes.iter().filter(is_of_role);
        let private = private.map(|process| &process.private_bytes_by_node);
        role.data_bytes_by_node = sum(private.chain([shared]));
        let runs_on = match cpu_shares(&role.cpus, patient.topology) {
            known if known.is_empty() => by_all.clone(),
            known => known,
        };
        let seen: u32 = role.last_seen_by_node.values().sum();
        let last = role.last_seen_by_node.iter();
        let last: Shares = last
            .map(|(node, count)| (*node, f64::from(*count) / f64::from(seen.max(1))))
            .collect();
        role.data_local_share = local_share(&role.data_bytes_by_node, &runs_on);
        role.data_local_share_last = local_share(&role.data_bytes_by_node, &last);
    }
}

fn sum<'a>(parts: impl Iterator<Item = &'a BytesByNode>) -> BytesByNode {
    let mut sum = BytesByNode::new();
    for (node, bytes) in parts.flatten() {
        *sum.entry(*node).or_default() += bytes;
    }
    sum
}

/// The share of these bytes that is local to whoever runs so; `None` where there are none.
fn local_share(bytes: &BytesByNode, runs_on: &Shares) -> Option<f64> {
    let all: u64 = bytes.values().sum();
    let on = |node: &NodeId| bytes.get(node).copied().unwrap_or(0) as f64;
    let local: f64 = runs_on.iter().map(|(node, share)| on(node) * share).sum();
    (all > 0 && !runs_on.is_empty()).then(|| local / all as f64)
}
