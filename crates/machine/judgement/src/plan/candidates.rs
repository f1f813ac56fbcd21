//! Cures that could be given, each with the layout that it leads to (docs/doctor.md).

use std::collections::BTreeMap;

use model::{ByteSize, BytesByNode, MemoryFigures, NeededMemory, NodeId, NodeSet};
use placement::{Destination, Pattern, TargetPlacement};

use super::candidate::{Candidate, EQUAL};
use super::patient::{Layout, Patient};
use super::{cpus_to_memory, weights};
use crate::doctor::DoctorInput;

/// The cures that are better than to do nothing.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    /// The best one, or the one that was asked for.
    pub best: Option<Candidate>,
    /// The best one of another kind.
    pub runner_up: Option<Candidate>,
    /// Those without room: one sentence each.
    pub no_room: Vec<String>,
}

/// Finds the cures, of which `asked` is the best if it is one of them. Where none has room, the
/// best is one for which room must be made first.
pub(crate) fn candidates(
    input: &DoctorInput,
    patient: &Patient<'_>,
    asked: Option<&TargetPlacement>,
) -> Candidates {
    let now = patient.layout();
    let before = patient.figures(&now);
    let mut no_room = Vec::new();
    let (mut kinds, mut without) = (Vec::new(), Vec::new());
    for destination in destinations(input, patient) {
        let Some(kind) = better_scope(patient, &now, &before, &destination) else {
            continue;
        };
        let Some(why) = lacks_room(input, patient, &now, &kind) else {
            kinds.push(kind);
            continue;
        };
        if let Destination::Interleave(_) = destination {
            kinds.extend(as_room_lets(input, patient, &now, &kind));
        }
        no_room.push(why);
        without.push(kind);
    }
    let mut others = Vec::new();
    let cpus = cpus_to_memory::candidate(input, patient).filter(|it| it.is_gain(&before));
    if let Some(cure) = cpus {
        // Memory that lies wrong is no reason to take CPUs away, as long as it can be moved.
        let cpus = cure.cpus.as_ref();
        let may_be_best =
            cpus.is_some_and(|it| it.fits() && (kinds.is_empty() || !it.takes_some_away()));
        match may_be_best {
            true => kinds.push(cure),
            false => others.push(cure),
        }
    }
    if kinds.is_empty() {
        kinds = without;
    }
    let best = match asked {
        None => take_best(&mut kinds),
        Some(asked) => {
            kinds.append(&mut others);
            let asked = in_full(patient, asked.clone());
            let at = kinds.iter().position(|it| it.cure == asked);
            at.map(|at| kinds.swap_remove(at))
        }
    };
    kinds.append(&mut others);
    Candidates {
        best,
        runner_up: take_best(&mut kinds),
        no_room,
    }
}

/// What stands in for interleaving for which there is no room: less on the nodes that lack it,
/// unless accesses become longer by that.
fn as_room_lets(
    input: &DoctorInput,
    patient: &Patient<'_>,
    now: &Layout,
    even: &Candidate,
) -> Option<Candidate> {
    let cure = weights::by_room(input, patient)?;
    let found = better_scope(patient, now, &patient.figures(now), &cure)?;
    let is_longer = found.figures.relative_access >= EQUAL * even.figures.relative_access;
    let has_room = lacks_room(input, patient, now, &found).is_none();
    (has_room && !is_longer).then_some(found)
}

/// A cure with the nodes over which the doctor would interleave, where it names none.
fn in_full(patient: &Patient<'_>, mut cure: TargetPlacement) -> TargetPlacement {
    use Destination::{Interleave, WeightedInterleave};
    if let Some(Interleave(nodes @ None) | WeightedInterleave(nodes @ None)) = &mut cure.memory {
        *nodes = Some(patient.allowed.clone());
    }
    cure
}

/// Takes the best one of these.
fn take_best(kinds: &mut Vec<Candidate>) -> Option<Candidate> {
    let better = |best: usize, at: usize| match kinds[at].is_better(&kinds[best]) {
        true => at,
        false => best,
    };
    let best = (0..kinds.len()).reduce(better)?;
    Some(kinds.remove(best))
}

/// The better scope of a cure, if it is better than to do nothing.
fn better_scope(
    patient: &Patient<'_>,
    now: &Layout,
    before: &MemoryFigures,
    cure: &Destination,
) -> Option<Candidate> {
    let scopes = scopes(patient, now, cure).into_iter();
    let better = scopes.filter(|it| it.is_gain(before));
    better.reduce(Candidate::better)
}

/// All cures, each in the scope in which the doctor would give it, be it better than to do nothing
/// or not.
pub(crate) fn all(input: &DoctorInput, patient: &Patient<'_>) -> Vec<Candidate> {
    let now = patient.layout();
    let before = patient.figures(&now);
    let kind = |cure: Destination| {
        better_scope(patient, &now, &before, &cure).or_else(|| {
            scopes(patient, &now, &cure)
                .into_iter()
                .reduce(Candidate::better)
        })
    };
    let cures = destinations(input, patient).into_iter().filter_map(kind);
    cures
        .chain(cpus_to_memory::candidate(input, patient))
        .collect()
}

/// The better scope of a cure; `None` if it cannot be given.
pub(crate) fn candidate_of(patient: &Patient<'_>, cure: &Destination) -> Option<Candidate> {
    let whole = in_full(
        patient,
        TargetPlacement {
            memory: Some(cure.clone()),
            ..TargetPlacement::default()
        },
    );
    let cure = whole.memory.as_ref()?;
    cure.pattern(patient.topology, &patient.nodes_used()).ok()?;
    let scopes = scopes(patient, &patient.layout(), cure).into_iter();
    scopes.reduce(Candidate::better)
}

/// A cure for shared memory alone, and for all memory.
fn scopes(patient: &Patient<'_>, now: &Layout, cure: &Destination) -> [Candidate; 2] {
    [false, true].map(|moves_private| candidate(patient, now, cure.clone(), moves_private))
}

fn destinations(input: &DoctorInput, patient: &Patient<'_>) -> Vec<Destination> {
    let mut destinations = Vec::new();
    if patient.allowed.len() > 1 {
        destinations.push(Destination::Interleave(Some(patient.allowed.clone())));
        destinations.extend(weights::by_what_differs(input, patient));
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
        cure: TargetPlacement {
            memory: Some(destination),
            ..TargetPlacement::default()
        },
        cpus: None,
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

/// What more, or less, there will be of each page size on each node.
pub(crate) fn more_by_page_size(
    patient: &Patient<'_>,
    now: &Layout,
    then: &Layout,
) -> BTreeMap<(u64, NodeId), i128> {
    let small = patient.topology.base_page_bytes();
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
    more
}

/// What must be free, by page size and node.
pub(crate) fn needs(
    input: &DoctorInput,
    patient: &Patient<'_>,
    now: &Layout,
    then: &Layout,
) -> Vec<NeededMemory> {
    let small = patient.topology.base_page_bytes();
    let more = more_by_page_size(patient, now, then);
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
        candidate.cure,
        ByteSize(need.bytes),
        need.node,
        ByteSize(need.room_bytes.unwrap_or(0))
    ))
}
