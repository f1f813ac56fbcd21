//! Several servers of one machine: which of them run far from their memory, and the node that each
//! would get.

use std::collections::BTreeMap;

use model::{BytesByNode, NodeId, NodeSet, Residency};
use residency::{own_memory, shared_memory};

use super::input::DoctorInput;

/// A server with the node that it would get.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Homed<'a> {
    /// Its memory and its processes.
    pub instance: &'a Residency,
    /// The share of its accesses that are remote now, 0 to 1, if every byte is used alike.
    pub remote_share: f64,
    /// Its node.
    pub home: NodeId,
}

impl Homed<'_> {
    /// Whether all its CPUs are of its node.
    pub(crate) fn runs_at_home(&self) -> bool {
        let mut processes = self.instance.processes.iter();
        processes.all(|process| process.nodes_of_cpus == [self.home].into_iter().collect())
    }
}

/// Gives each server a node of its own, as evenly as their number allows, and the largest one
/// first: of the nodes with fewest servers that of most of its memory. `None` if one fits on no
/// node that it may use, or if nothing is known of its CPUs.
pub(crate) fn homes(input: &DoctorInput) -> Option<Vec<Homed<'_>>> {
    let mut room = room(input);
    let mut servers: BTreeMap<NodeId, usize> = BTreeMap::new();
    let mut instances: Vec<&Residency> = input.instances.iter().collect();
    instances.sort_by_key(|it| (std::cmp::Reverse(bytes(it)), &it.target));
    let mut homed = Vec::new();
    for instance in instances {
        let own = own_memory(instance);
        let on = |node: NodeId| own.get(&node).copied().unwrap_or(0);
        let all = bytes(instance);
        let fits = |node: &NodeId| room.get(node).is_some_and(|room| *room >= all);
        let nodes = allowed(input, instance);
        let home = nodes.iter().filter(fits).min_by_key(|node| {
            let taken = servers.get(node).copied().unwrap_or(0);
            (taken, std::cmp::Reverse(on(*node)), *node)
        })?;
        *servers.entry(home).or_default() += 1;
        *room.get_mut(&home)? -= all;
        homed.push(Homed {
            instance,
            remote_share: remote_share(instance)?,
            home,
        });
    }
    homed.sort_by(|one, other| one.instance.target.cmp(&other.instance.target));
    Some(homed)
}

/// Room for the memory of the servers on each node: theirs counts as free.
fn room(input: &DoctorInput) -> BTreeMap<NodeId, u64> {
    let mut room = input.room.clone();
    for (node, bytes) in input.instances.iter().flat_map(own_memory) {
        if let Some(room) = room.get_mut(&node) {
            *room = room.saturating_add(bytes);
        }
    }
    room
}

/// Nodes of databases on which all its processes may have memory and may run. Huge pages stay on
/// the node of their pool.
fn allowed(input: &DoctorInput, instance: &Residency) -> NodeSet {
    let small = input.topology.base_page_bytes();
    let mut nodes = input.database_nodes();
    for process in &instance.processes {
        if !process.memory_nodes_allowed.is_empty() {
            nodes = nodes.intersection(&process.memory_nodes_allowed);
        }
    }
    let huge = instance.segments.iter();
    let huge = huge.filter(|it| it.page_bytes.unwrap_or(0) > small);
    let of_huge: NodeSet = huge
        .flat_map(|it| it.bytes_by_node.keys().copied())
        .collect();
    match of_huge.is_empty() {
        true => nodes,
        false => nodes.intersection(&of_huge),
    }
}

/// Its memory, without programs and files, which it may share with others.
pub(crate) fn bytes(instance: &Residency) -> u64 {
    own_memory(instance).values().sum()
}

/// The share of its accesses that are remote; `None` if nothing is known of the CPUs of its
/// processes, or it has no memory.
fn remote_share(instance: &Residency) -> Option<f64> {
    let sum = |bytes: &BytesByNode| bytes.values().sum::<u64>() as f64;
    let (mut all, mut local) = (0.0, 0.0);
    for process in &instance.processes {
        let bytes = sum(&process.private_bytes_by_node);
        if bytes > 0.0 {
            local += bytes * process.private_local_share?;
            all += bytes;
        }
    }
    let shared = shared_memory(instance);
    let bytes = sum(&shared);
    if bytes > 0.0 {
        let processes = instance.processes.iter();
        let shares: Option<Vec<f64>> = processes.map(|it| it.shared_local_share).collect();
        let shares = shares.filter(|shares| !shares.is_empty())?;
        local += bytes * shares.iter().sum::<f64>() / shares.len() as f64;
        all += bytes;
    }
    (all > 0.0).then(|| 1.0 - local / all)
}
