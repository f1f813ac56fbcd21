//! Memory in proportion to what differs between the nodes.

use std::collections::BTreeMap;

use model::{BytesByNode, NodeId, NodeSet};
use placement::Destination;

use super::patient::Patient;
use crate::doctor::DoctorInput;
use crate::doctor::uneven_nodes::Shares;

/// Weights are right to this part of the largest one: nobody measures as exactly as `numalab move`
/// keeps them (docs/move.md).
const ROUNDING: f64 = 0.05;
/// The largest weight: with this many parts, each is right to half of that.
const PARTS_MAX: u32 = 20;

/// Memory in proportion to the bandwidth of the nodes, where they differ; without figures, to the
/// CPUs that use it. `None` where nothing differs.
pub(crate) fn by_what_differs(input: &DoctorInput, patient: &Patient<'_>) -> Option<Destination> {
    let Some(bandwidth) = &patient.bandwidth else {
        let mut used = patient.shared_use();
        used.retain(|node, _| patient.allowed.contains(*node));
        return in_parts(&used).map(|it| Destination::Spread(Some(it)));
    };
    let weights = in_parts(bandwidth)?;
    let of_kernel = input.topology.settings.interleave_weights.as_ref();
    let is_kernels = of_kernel.is_some_and(|it| is_proportional(it, &weights));
    // Only by the kernel's weights, memory that comes later follows.
    Some(match is_kernels {
        true => Destination::WeightedInterleave(Some(patient.allowed.clone())),
        false => Destination::Spread(Some(weights)),
    })
}

/// Memory as evenly as the room of the nodes lets it, that of their own memory included; `None`
/// where it is not known of all, or even.
pub(crate) fn by_room(input: &DoctorInput, patient: &Patient<'_>) -> Option<Destination> {
    let mut own = BytesByNode::new();
    let now = patient.layout();
    for (node, bytes) in now.shared.iter().chain(&now.private).flatten() {
        *own.entry(*node).or_default() += bytes;
    }
    let room = |node: NodeId| {
        let own = own.get(&node).copied().unwrap_or(0);
        let room = input.room.get(&node)?.saturating_add(own) as f64;
        // Proportions are rounded.
        Some((node, room * (1.0 - ROUNDING)))
    };
    let mut rooms: Vec<(NodeId, f64)> = patient.allowed.iter().map(room).collect::<Option<_>>()?;
    rooms.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    let mut left = own.values().sum::<u64>() as f64;
    let mut shares = Shares::new();
    for (at, (node, room)) in rooms.iter().enumerate() {
        let part = room.min(left / (rooms.len() - at) as f64);
        shares.insert(*node, part);
        left -= part;
    }
    Some(Destination::Spread(Some(in_parts(&shares)?)))
}

/// The nodes on which a destination puts memory.
pub(crate) fn nodes_of(destination: &Destination) -> Option<NodeSet> {
    match destination {
        Destination::Interleave(nodes) | Destination::WeightedInterleave(nodes) => nodes.clone(),
        Destination::Spread(weights) => {
            let weights = weights.as_ref()?.iter();
            Some(weights.map(|(node, _)| *node).collect())
        }
        Destination::Node(node) => Some([*node].into_iter().collect()),
        Destination::NearCpus => None,
    }
}

/// These parts as small weights, without those that are nearly nothing; `None` if they are even.
fn in_parts(shares: &Shares) -> Option<Vec<(NodeId, u64)>> {
    let largest = shares.values().copied().fold(f64::MIN_POSITIVE, f64::max);
    let in_units = |share: f64, unit: f64| (share / largest * unit).round();
    // The smallest unit in which each is a whole number, nearly.
    let is_exact = |unit: &f64| {
        let off = |share: &f64| (in_units(*share, *unit) / unit - share / largest).abs();
        shares.values().map(off).all(|off| off <= ROUNDING)
    };
    let mut units = (1..=PARTS_MAX).map(f64::from);
    let unit = units.find(is_exact).unwrap_or(f64::from(PARTS_MAX));
    let weights = shares.iter();
    let weights = weights.map(|(node, share)| (*node, in_units(*share, unit) as u64));
    let weights: Vec<(NodeId, u64)> = weights.filter(|(_, weight)| *weight > 0).collect();
    let (_, first) = *weights.first()?;
    let differ = weights.iter().any(|(_, weight)| *weight != first);
    (weights.len() > 1 && differ).then_some(weights)
}

/// Whether the kernel's weights of these nodes are in these proportions.
fn is_proportional(of_kernel: &BTreeMap<NodeId, u64>, weights: &[(NodeId, u64)]) -> bool {
    let kernel = |node: &NodeId| of_kernel.get(node).copied().unwrap_or(1).max(1) as f64;
    let ratios = weights
        .iter()
        .map(|(node, weight)| kernel(node) / *weight as f64);
    let (least, most) = ratios.fold((f64::INFINITY, 0.0_f64), |(least, most), it| {
        (least.min(it), most.max(it))
    });
    most <= least * (1.0 + ROUNDING)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_become_small_weights() {
        let check = |shares: &[f64], expected: Option<&[u64]>| {
            let shares: Shares = (0..).map(NodeId).zip(shares.iter().copied()).collect();
            let weights = in_parts(&shares);
            let weights: Option<Vec<u64>> =
                weights.map(|it| it.iter().map(|(_, weight)| *weight).collect());
            assert_eq!(weights.as_deref(), expected, "{shares:?}");
        };
        check(&[0.5, 0.5], None);
        check(&[0.51, 0.49], None);
        check(&[2.0 / 3.0, 1.0 / 3.0], Some(&[2, 1]));
        check(&[0.4, 0.4, 0.2], Some(&[2, 2, 1]));
        check(&[0.6, 0.4], Some(&[3, 2]));
        check(&[0.99, 0.005, 0.005], None);
        check(&[3.5, 3.5, 1.5], Some(&[5, 5, 2]));
        check(&[0.0, 0.0], None);
        check(&[0.6, 0.4, 0.0001], Some(&[3, 2]));
        check(&[], None);
    }

    #[test]
    fn the_kernels_weights_count_by_their_proportions() {
        let kernel = |weights: [u64; 2]| (0..).map(NodeId).zip(weights).collect();
        let wanted = [(NodeId(0), 2), (NodeId(1), 1)];
        for (weights, expected) in [([2, 1], true), ([10, 5], true), ([3, 1], false)] {
            assert_eq!(is_proportional(&kernel(weights), &wanted), expected);
        }
    }
}
