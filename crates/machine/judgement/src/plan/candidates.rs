//! Cures that could be given, each with the layout that it leads to (docs/doctor.md).

use std::collections::BTreeMap;

use model::{ByteSize, BytesByNode, MemoryFigures, NeededMemory, NodeId, NodeSet};
use placement::{Destination, Pattern};

use super::patient::{Layout, Patient};
use crate::doctor::DoctorInput;

/// Figures that differ by less are equal.
const EQUAL: f64 = 1.05;

/// A cure.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    /// Where memory goes.
    pub destination: Destination,
    /// Whether private memory goes there, too.
    pub moves_private: bool,
    /// Where memory lies then.
    pub layout: Layout,
    /// What that means.
    pub figures: MemoryFigures,
    /// Bytes to move.
    pub bytes_to_move: u64,
}

impl Candidate {
    /// Whether it is better than figures that cost this many bytes.
    fn is_better(&self, than: &MemoryFigures, bytes: u64) -> bool {
        let found = self.figures;
        let differ = |one: f64, other: f64| one.max(other) >= EQUAL * one.min(other);
        if differ(found.relative_access, than.relative_access) {
            found.relative_access < than.relative_access
        } else if differ(found.fullest_share, than.fullest_share) {
            found.fullest_share < than.fullest_share
        } else {
            self.bytes_to_move < bytes
        }
    }

    /// The better one of two; the first if they are equal.
    fn better(self, other: Self) -> Self {
        match other.is_better(&self.figures, self.bytes_to_move) {
            true => other,
            false => self,
        }
    }
}

/// The cures that are better than to do nothing.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    /// The best one.
    pub best: Option<Candidate>,
    /// The best one of another kind.
    pub runner_up: Option<Candidate>,
    /// Those without room: one sentence each.
    pub no_room: Vec<String>,
}

/// Finds the cures. Where none has room, the best is one for which room must be made first.
pub(crate) fn candidates(input: &DoctorInput, patient: &Patient<'_>) -> Candidates {
    let now = patient.layout();
    let before = patient.figures(&now);
    let mut no_room = Vec::new();
    let (mut with_room, mut without) = (Vec::new(), Vec::new());
    for destination in destinations(patient) {
        let Some(kind) = better_scope(patient, &now, &before, &destination) else {
            continue;
        };
        match lacks_room(input, patient, &now, &kind) {
            None => with_room.push(kind),
            Some(why) => {
                no_room.push(why);
                without.push(kind);
            }
        }
    }
    let kinds = if with_room.is_empty() {
        without
    } else {
        with_room
    };
    let mut found = Candidates {
        no_room,
        ..Candidates::default()
    };
    for kind in kinds {
        let Some(best) = found.best.take() else {
            found.best = Some(kind);
            continue;
        };
        let (best, other) = match kind.is_better(&best.figures, best.bytes_to_move) {
            true => (kind, best),
            false => (best, kind),
        };
        (found.best, found.runner_up) = (Some(best), Some(other));
    }
    found
}

/// The better scope of a cure, if it is better than to do nothing.
fn better_scope(
    patient: &Patient<'_>,
    now: &Layout,
    before: &MemoryFigures,
    cure: &Destination,
) -> Option<Candidate> {
    let scopes = scopes(patient, now, cure).into_iter();
    // To do nothing moves nothing, so that equal figures are no gain.
    let better = scopes.filter(|it| it.is_better(before, 0));
    better.reduce(Candidate::better)
}

/// All cures, each in the scope in which the doctor would give it, be it better than to do nothing
/// or not.
pub(crate) fn all(patient: &Patient<'_>) -> Vec<Candidate> {
    let now = patient.layout();
    let before = patient.figures(&now);
    let kind = |cure: Destination| {
        better_scope(patient, &now, &before, &cure).or_else(|| {
            scopes(patient, &now, &cure)
                .into_iter()
                .reduce(Candidate::better)
        })
    };
    destinations(patient).into_iter().filter_map(kind).collect()
}

/// The better scope of a cure; `None` if it cannot be given.
pub(crate) fn candidate_of(patient: &Patient<'_>, cure: &Destination) -> Option<Candidate> {
    let cure = match cure {
        Destination::Interleave(None) => &Destination::Interleave(Some(patient.allowed.clone())),
        cure => cure,
    };
    let is_known = matches!(cure, Destination::Interleave(_) | Destination::NearCpus);
    let scopes = is_known.then(|| scopes(patient, &patient.layout(), cure))?;
    scopes.into_iter().reduce(Candidate::better)
}

/// A cure for shared memory alone, and for all memory.
fn scopes(patient: &Patient<'_>, now: &Layout, cure: &Destination) -> [Candidate; 2] {
    [false, true].map(|moves_private| candidate(patient, now, cure.clone(), moves_private))
}

fn destinations(patient: &Patient<'_>) -> Vec<Destination> {
    let mut destinations = Vec::new();
    if patient.allowed.len() > 1 {
        destinations.push(Destination::Interleave(Some(patient.allowed.clone())));
    }
    let near = patient.users.iter().all(|user| {
        let near = near(user.runs_on.keys().copied(), patient);
        let allowed = &user.process.memory_nodes_allowed;
        !near.is_empty() && (allowed.is_empty() || near.is_subset(allowed))
    });
    if near {
        destinations.push(Destination::NearCpus);
    }
    destinations
}

/// Those of these nodes that have memory.
fn near(nodes: impl IntoIterator<Item = NodeId>, patient: &Patient<'_>) -> NodeSet {
    let nodes: NodeSet = nodes.into_iter().collect();
    nodes.intersection(&patient.topology.memory_nodes())
}

/// What a destination leads to, for shared memory alone or for all memory.
pub(crate) fn candidate(
    patient: &Patient<'_>,
    now: &Layout,
    destination: Destination,
    moves_private: bool,
) -> Candidate {
    let place = |bytes: &mut BytesByNode, near_to: &NodeSet| {
        // Without memory near these CPUs, it stays where it is.
        if let Ok(pattern) = destination.pattern(patient.topology, near_to) {
            *bytes = by_pattern(bytes, &pattern);
        }
    };
    let of_shared = patient.nodes_used();
    let mut layout = now.clone();
    for bytes in &mut layout.shared {
        place(bytes, &of_shared);
    }
    if moves_private {
        for (bytes, user) in layout.private.iter_mut().zip(&patient.users) {
            place(bytes, &user.runs_on.keys().copied().collect());
        }
    }
    let parts = |layout: &Layout| -> Vec<BytesByNode> {
        layout
            .shared
            .iter()
            .chain(&layout.private)
            .cloned()
            .collect()
    };
    let moved = parts(now)
        .iter()
        .zip(&parts(&layout))
        .map(|(now, then)| leaving(now, then))
        .sum();
    Candidate {
        figures: patient.figures(&layout),
        bytes_to_move: moved,
        destination,
        moves_private,
        layout,
    }
}

/// These bytes, over the nodes as a pattern says.
fn by_pattern(bytes: &BytesByNode, pattern: &Pattern) -> BytesByNode {
    let all: u64 = bytes.values().sum();
    let count = pattern.len() as u64;
    let mut placed = BytesByNode::new();
    for at in 0..count {
        let part = all / count + u64::from(at < all % count);
        *placed.entry(pattern.node_of(at)).or_default() += part;
    }
    placed.retain(|_, bytes| *bytes > 0);
    placed
}

/// Bytes that leave their node.
fn leaving(now: &BytesByNode, then: &BytesByNode) -> u64 {
    let left = now.iter().map(|(node, bytes)| {
        let stay = then.get(node).copied().unwrap_or(0);
        bytes.saturating_sub(stay)
    });
    left.sum()
}

/// What must be free, by page size and node.
pub(crate) fn needs(
    input: &DoctorInput,
    patient: &Patient<'_>,
    now: &Layout,
    then: &Layout,
) -> Vec<NeededMemory> {
    let small = linux::process::page_bytes();
    let mut more: BTreeMap<(u64, NodeId), i128> = BTreeMap::new();
    let mut count = |page_bytes: u64, now: &BytesByNode, then: &BytesByNode| {
        for (node, bytes) in then {
            *more.entry((page_bytes, *node)).or_default() += i128::from(*bytes);
        }
        for (node, bytes) in now {
            *more.entry((page_bytes, *node)).or_default() -= i128::from(*bytes);
        }
    };
    let segments = patient.segments.iter();
    for ((segment, now), placed) in segments.zip(&now.shared).zip(&then.shared) {
        count(segment.page_bytes.unwrap_or(small), now, placed);
    }
    for (now, placed) in now.private.iter().zip(&then.private) {
        count(small, now, placed);
    }
    let need = |((page_bytes, node), more)| {
        let bytes = u64::try_from(more).ok().filter(|bytes| *bytes > 0)?;
        let room_bytes = match page_bytes == small {
            true => input.room.get(&node).copied(),
            false => input.free_huge_bytes(node, page_bytes),
        };
        Some(NeededMemory {
            node,
            huge_page_bytes: (page_bytes != small).then_some(page_bytes),
            bytes,
            room_bytes,
        })
    };
    more.into_iter().filter_map(need).collect()
}

/// Says which node lacks room for it, if one does.
fn lacks_room(
    input: &DoctorInput,
    patient: &Patient<'_>,
    now: &Layout,
    candidate: &Candidate,
) -> Option<String> {
    let mut needs = needs(input, patient, now, &candidate.layout).into_iter();
    let need = needs.find(NeededMemory::lacks_room)?;
    let pages = need.huge_page_bytes.map_or(String::new(), |bytes| {
        format!(" in huge pages of {}", ByteSize(bytes))
    });
    Some(format!(
        "{} would need {}{pages} on node {}, which has room for {}",
        candidate.destination,
        ByteSize(need.bytes),
        need.node,
        ByteSize(need.room_bytes.unwrap_or(0))
    ))
}
