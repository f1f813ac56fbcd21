//! Weights of weighted interleaving from measured bandwidths: small numbers whose shares are close
//! to those of the bandwidths.

use model::{MeasuredWeights, NodeId, NodeMatrix, NodeSet, WeightOfNode};

use crate::Error;

/// How far the share of a node may be off its share of the bandwidth. Between a few nodes whose
/// bandwidths are alike to a factor of ten, a round of at most 100 pages comes this close.
const ERROR_MAX: f64 = 0.01;

/// The longest round in pages. The kernel takes weights up to 255.
const ROUND_MAX: u32 = 200;

/// The weights for the memory of `nodes` as used by CPUs of `cpu_nodes`.
///
/// A node's bandwidth is the best that CPUs of one of these nodes measured: when all of them are at
/// work, its memory is what limits them, and the best measurement says most about it. Linux 6.16
/// also takes the figures of a node's nearest CPUs (`mempolicy_set_node_perf`, mm/mempolicy.c).
///
/// # Errors
/// When fewer than two nodes are given, or the memory of one was not measured from these CPUs.
pub fn from_bandwidths(
    source: &str,
    bandwidths: &NodeMatrix,
    cpu_nodes: &NodeSet,
    nodes: &NodeSet,
) -> Result<MeasuredWeights, Error> {
    if nodes.len() < 2 {
        return Err(Error::TooFewMemoryNodes { nodes: nodes.len() });
    }
    let best: Vec<Best> = nodes
        .iter()
        .map(|node| best(bandwidths, cpu_nodes, node))
        .collect::<Result<_, _>>()?;
    let sum: f64 = best.iter().map(|it| it.bytes_per_s).sum();
    if !sum.is_finite() {
        return Err(Error::BandwidthsTooLarge);
    }
    let shares: Vec<f64> = best.iter().map(|it| it.bytes_per_s / sum).collect();
    let (weights, error) = reduced(&shares);
    let all: u32 = weights.iter().map(|weight| u32::from(*weight)).sum();
    let rows = best.into_iter().zip(shares).zip(weights);
    let rows = rows.map(|((best, share), weight)| WeightOfNode {
        node: best.node,
        bytes_per_s: best.bytes_per_s,
        bytes_per_s_low: best.low,
        bytes_per_s_high: best.high,
        cpu_node: best.cpu_node,
        share,
        weight,
        share_by_weight: f64::from(weight) / f64::from(all),
    });
    Ok(MeasuredWeights {
        source: source.to_owned(),
        cpu_nodes: cpu_nodes.clone(),
        nodes: rows.collect(),
        error,
    })
}

/// The best bandwidth of a node's memory.
struct Best {
    node: NodeId,
    cpu_node: NodeId,
    bytes_per_s: f64,
    low: Option<f64>,
    high: Option<f64>,
}

fn best(bandwidths: &NodeMatrix, cpu_nodes: &NodeSet, node: NodeId) -> Result<Best, Error> {
    let cells = cpu_nodes
        .iter()
        .filter_map(|cpu_node| Some((cpu_node, bandwidths.cell(cpu_node, node)?)));
    let measured = cells.clone().filter_map(|(cpu_node, cell)| {
        let bytes_per_s = cell.value.filter(|it| it.is_finite() && *it > 0.0)?;
        Some(Best {
            node,
            cpu_node,
            bytes_per_s,
            low: cell.low,
            high: cell.high,
        })
    });
    let best = measured.max_by(|one, other| one.bytes_per_s.total_cmp(&other.bytes_per_s));
    best.ok_or_else(|| {
        let mut reasons = cells.filter_map(|(_, cell)| cell.absent_because.clone());
        Error::NoBandwidth {
            node,
            cpu_nodes: cpu_nodes.to_string(),
            reason: reasons.next().map_or(String::new(), |it| format!(": {it}")),
        }
    })
}

/// The weights with the shortest round whose shares are at most [`ERROR_MAX`] off, and how far they
/// are off; where a node is so slow that none is close enough, the closest. A short round matters:
/// pages of a weight lie together, and few of them spread better over a small table. Linux 6.16
/// reduces its own weights for the same reason, to at most 32 (`reduce_interleave_weights`).
fn reduced(shares: &[f64]) -> (Vec<u8>, f64) {
    let least = shares.len() as u32;
    let mut closest = (vec![1; shares.len()], f64::INFINITY);
    for round in least..=ROUND_MAX.max(least) {
        let weights = apportioned(shares, round);
        let error = error(shares, &weights);
        if error < closest.1 {
            closest = (weights, error);
        }
        if closest.1 <= ERROR_MAX {
            break;
        }
    }
    closest
}

/// Divides a round of pages by shares, at least one page each: the largest remainders get what is
/// left.
fn apportioned(shares: &[f64], round: u32) -> Vec<u8> {
    let whole = |share: &f64| (share * f64::from(round)).floor().clamp(1.0, 255.0);
    // Between 1 and 255, and whole.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let mut weights: Vec<u8> = shares.iter().map(|share| whole(share) as u8).collect();
    let given: u32 = weights.iter().map(|weight| u32::from(*weight)).sum();
    let mut order: Vec<usize> = (0..shares.len()).collect();
    let remainder = |at: &usize| shares[*at] * f64::from(round) - f64::from(weights[*at]);
    order.sort_by(|one, other| remainder(other).total_cmp(&remainder(one)));
    for at in order.into_iter().take(round.saturating_sub(given) as usize) {
        weights[at] = weights[at].saturating_add(1);
    }
    weights
}

fn error(shares: &[f64], weights: &[u8]) -> f64 {
    let all: u32 = weights.iter().map(|weight| u32::from(*weight)).sum();
    let of_node =
        |(share, weight): (&f64, &u8)| (share - f64::from(*weight) / f64::from(all)).abs();
    shares.iter().zip(weights).map(of_node).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use model::MatrixCell;
    use proptest::prelude::*;

    use super::*;

    /// A matrix of nodes from 0, in GB/s; 0 was not measured.
    fn matrix(rows: &[&[f64]]) -> NodeMatrix {
        let ids = |count: usize| (0..).map(NodeId).take(count).collect();
        let cell = |gigabytes: &f64| match gigabytes {
            0.0 => MatrixCell::absent("its CPUs are in use"),
            some => MatrixCell::of(some * 1e9),
        };
        let cells = rows.iter().map(|row| row.iter().map(cell).collect());
        NodeMatrix::new(ids(rows.len()), ids(rows[0].len()), cells.collect()).unwrap()
    }

    fn weights(rows: &[&[f64]], cpus: &str, nodes: &str) -> Result<Vec<u8>, String> {
        let (cpus, nodes) = (cpus.parse().unwrap(), nodes.parse().unwrap());
        let made = from_bandwidths("a run", &matrix(rows), &cpus, &nodes);
        let made = made.map_err(|error| error.to_string())?;
        assert!(made.error <= ERROR_MAX, "{made:?}");
        Ok(made.nodes.iter().map(|it| it.weight).collect())
    }

    #[test]
    fn weights_are_the_smallest_numbers_close_to_the_bandwidths() {
        let check = |rows: &[&[f64]], cpus: &str, nodes: &str, expected: &[u8]| {
            assert_eq!(weights(rows, cpus, nodes).unwrap(), expected, "{rows:?}");
        };
        check(&[&[200.0, 100.0]], "0", "0-1", &[2, 1]);
        check(&[&[201.0, 99.0]], "0", "0-1", &[2, 1]);
        // Gregory Price, weighted interleave v5, linux-mm 2024: DRAM 200.9, CXL 22.2 GB/s, 9:1.
        check(&[&[200.9, 22.2]], "0", "0-1", &[9, 1]);
        check(&[&[120.0, 60.0, 40.0]], "0", "0-2", &[6, 3, 2]);
        // From the CPUs of both sockets, each socket's own figure counts.
        check(&[&[100.0, 30.0], &[30.0, 100.0]], "0-1", "0-1", &[1, 1]);
        check(&[&[100.0, 30.0], &[30.0, 100.0]], "1", "0-1", &[2, 7]);
        check(&[&[100.0, 0.0], &[50.0, 100.0]], "0-1", "0-1", &[1, 1]);
    }

    #[test]
    fn memory_without_a_measurement_is_refused() {
        let check = |rows: &[&[f64]], cpus: &str, nodes: &str, expected: &str| {
            let error = weights(rows, cpus, nodes).unwrap_err();
            assert!(error.contains(expected), "{error}");
        };
        let rows: &[&[f64]] = &[&[100.0, 0.0]];
        check(
            rows,
            "0",
            "0-1",
            "node 1 was not measured from CPUs of node 0: its CPUs are in use",
        );
        check(
            rows,
            "1",
            "0-1",
            "node 0 was not measured from CPUs of node 1",
        );
        check(&[&[100.0, 50.0]], "0", "0-2", "node 2 was not measured");
        check(
            &[&[100.0]],
            "0",
            "0",
            "at least two nodes with memory, found 1",
        );
        check(&[&[f64::NAN, 1.0]], "0", "0-1", "node 0 was not measured");
        check(&[&[1e299, 1.7e299]], "0", "0-1", "out of range");
    }

    proptest! {
        #[test]
        fn every_weight_is_one_that_the_kernel_takes(
            row in proptest::collection::vec(proptest::num::f64::POSITIVE, 2..70),
        ) {
            let nodes: NodeSet = (0..row.len() as u32).map(NodeId).collect();
            let made = from_bandwidths("a", &matrix(&[&row]), &NodeSet::of(NodeId(0)), &nodes);
            let Ok(made) = made else { return Ok(()) };
            prop_assert_eq!(made.nodes.len(), row.len());
            prop_assert!(made.nodes.iter().all(|it| it.weight >= 1));
            let shares: f64 = made.nodes.iter().map(|it| it.share_by_weight).sum();
            prop_assert!((shares - 1.0).abs() < 1e-9);
        }

        #[test]
        fn ordinary_bandwidths_are_met_to_a_hundredth(
            row in proptest::collection::vec(10.0..100.0_f64, 2..9),
        ) {
            let nodes: NodeSet = (0..row.len() as u32).map(NodeId).collect();
            let made = from_bandwidths("a", &matrix(&[&row]), &NodeSet::of(NodeId(0)), &nodes);
            let made = made.unwrap();
            prop_assert!(made.error <= ERROR_MAX, "{:?}", made);
            prop_assert!(made.nodes.iter().map(|it| u32::from(it.weight)).sum::<u32>() <= 100);
        }
    }
}
