//! Distances from measured latencies: ten times the ratio to the local latency, the same for all
//! nodes of a hop class, so that a difference of a nanosecond is none.

use model::{LatencyResult, MeasuredDistances, NodeId};

use crate::Error;

/// The distance of a node to itself (include/linux/topology.h, `LOCAL_DISTANCE`).
const LOCAL: u8 = 10;
/// The least distance between different nodes: the kernel refuses a table in which one is not
/// farther than local (drivers/acpi/numa/srat.c, `slit_valid`).
const REMOTE_MIN: u8 = 11;
/// The greatest: 255 means that a node cannot be reached (ACPI 6.5, 5.2.17).
const REMOTE_MAX: u8 = 254;

/// The distances of `nodes` from their measured latencies. A distance that no CPU can measure, from
/// a node without CPUs or to one without memory, is that of the other direction.
///
/// # Errors
/// When fewer than two nodes are given, or a latency was measured in neither direction.
pub fn from_latencies(
    source: &str,
    latencies: &LatencyResult,
    nodes: &[NodeId],
) -> Result<MeasuredDistances, Error> {
    if nodes.len() < 2 {
        return Err(Error::TooFewNodes { nodes: nodes.len() });
    }
    let mut notes = Vec::new();
    let mut measured = Vec::new();
    for from in nodes {
        let mut row = Vec::new();
        for to in nodes {
            row.push(match (from == to, of_class(latencies, *from, *to)?) {
                (true, _) => LOCAL,
                (false, Some(distance)) => distance,
                (false, None) => {
                    let back = of_class(latencies, *to, *from)?;
                    let missing = Error::NotMeasured {
                        from: *from,
                        to: *to,
                    };
                    notes.push(format!(
                        "node {from} to node {to} was not measured: its distance is that from \
                         node {to} to node {from}"
                    ));
                    back.ok_or(missing)?
                }
            });
        }
        measured.push(row);
    }
    let (for_schedulers, asymmetry) = symmetric(&measured);
    let table = latencies.distances.as_ref();
    let firmware = nodes.iter().map(|from| {
        let to = nodes.iter();
        to.map(|to| table?.distance(*from, *to)).collect()
    });
    Ok(MeasuredDistances {
        source: source.to_owned(),
        nodes: nodes.to_vec(),
        firmware: firmware.collect(),
        for_schedulers,
        asymmetry,
        notes,
        measured,
    })
}

/// The distance by the hop class of a node as seen from another; `None` if it was not measured.
fn of_class(latencies: &LatencyResult, from: NodeId, to: NodeId) -> Result<Option<u8>, Error> {
    let class_of = |node: NodeId| {
        let mut classes = latencies.hop_classes.iter();
        classes.find(|class| class.cpu_node == from && class.memory_nodes.contains(node))
    };
    let Some(class) = class_of(to) else {
        return Ok(None);
    };
    let local = class_of(from).ok_or(Error::NoLocal { node: from })?;
    let ratio = class.ns / local.ns;
    let tens = (10.0 * ratio).round();
    if !tens.is_finite() {
        return Err(Error::NoLocal { node: from });
    }
    let bounded = tens.clamp(f64::from(REMOTE_MIN), f64::from(REMOTE_MAX));
    // Within the bounds of a byte, and whole.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    Ok(Some(bounded as u8))
}

/// One distance for both directions of each pair, their mean, and the largest difference between
/// the two as a share of the larger one.
fn symmetric(rows: &[Vec<u8>]) -> (Vec<Vec<u8>>, f64) {
    let mut asymmetry: f64 = 0.0;
    let mut both = rows.to_vec();
    for from in 0..rows.len() {
        for to in 0..rows.len() {
            let (there, back) = (rows[from][to], rows[to][from]);
            let share = f64::from(there.abs_diff(back)) / f64::from(there.max(back));
            asymmetry = asymmetry.max(share);
            both[from][to] = u8::midpoint(there, back);
        }
    }
    (both, asymmetry)
}

#[cfg(test)]
mod tests {
    use model::{HopClass, NodeSet};
    use proptest::prelude::*;

    use super::*;

    /// A row: its node, and its classes of nodes with their ns.
    type Row<'r> = (u32, &'r [(&'r [u32], f64)]);

    fn latencies(rows: &[Row<'_>]) -> LatencyResult {
        let classes = rows.iter().flat_map(|(from, classes)| {
            classes.iter().map(|(nodes, ns)| HopClass {
                cpu_node: NodeId(*from),
                class: 0,
                memory_nodes: nodes.iter().map(|id| NodeId(*id)).collect::<NodeSet>(),
                ns_min: *ns,
                ns: *ns,
                ns_max: *ns,
                distances: Vec::new(),
            })
        });
        LatencyResult {
            hop_classes: classes.collect(),
            ..LatencyResult::default()
        }
    }

    fn distances(rows: &[Row<'_>], nodes: &[u32]) -> Result<MeasuredDistances, Error> {
        let nodes: Vec<NodeId> = nodes.iter().map(|id| NodeId(*id)).collect();
        from_latencies("matrix.txt", &latencies(rows), &nodes)
    }

    #[test]
    fn nodes_of_one_hop_class_are_equally_far() {
        // Article 002: 53, 211, 217 and 248 ns; 214 is the middle of the second class.
        let row: &[(&[u32], f64)] = &[(&[0], 53.0), (&[1, 2], 214.0), (&[3], 248.0)];
        let near: &[(&[u32], f64)] = &[(&[1, 2, 3], 50.0), (&[0], 100.0)];
        let rows = [(0, row), (1, near), (2, near), (3, near)];
        let found = distances(&rows, &[0, 1, 2, 3]).unwrap();
        assert_eq!(found.measured[0], [10, 40, 40, 47]);
        // What measures like local memory is no local memory.
        assert_eq!(found.measured[1], [20, 10, 11, 11]);
        assert_eq!(found.for_schedulers[0], [10, 30, 30, 33]);
        assert_eq!(found.for_schedulers[3], [33, 11, 11, 10]);
        assert!((found.asymmetry - 27.0 / 47.0).abs() < 1e-9);
    }

    #[test]
    fn what_no_cpu_can_measure_is_as_far_as_the_way_back() {
        // Node 2 has no CPUs.
        let zero: &[(&[u32], f64)] = &[(&[0], 100.0), (&[1], 200.0), (&[2], 300.0)];
        let one: &[(&[u32], f64)] = &[(&[1], 100.0), (&[0], 200.0), (&[2], 300.0)];
        let rows = [(0, zero), (1, one)];
        let found = distances(&rows, &[0, 1, 2]).unwrap();
        assert_eq!(found.measured[2], [30, 30, 10]);
        assert_eq!(found.notes.len(), 2);
        assert!(found.notes[0].starts_with("node 2 to node 0 was not measured"));
        let error = distances(&rows, &[0, 1, 2, 3]).unwrap_err().to_string();
        assert!(
            error.contains("node 0 to node 3 was not measured"),
            "{error}"
        );
        assert_eq!(distances(&rows, &[0]), Err(Error::TooFewNodes { nodes: 1 }));
    }

    proptest! {
        #[test]
        fn any_latencies_give_a_table_that_the_kernel_takes(
            figures in proptest::collection::vec(proptest::num::f64::ANY, 9),
        ) {
            let rows: Vec<Vec<(Vec<u32>, f64)>> = figures.chunks(3)
                .map(|row| (0..3).map(|id| vec![id]).zip(row.iter().copied()).collect())
                .collect();
            let rows: Vec<Vec<(&[u32], f64)>> = rows.iter()
                .map(|row| row.iter().map(|(ids, ns)| (ids.as_slice(), *ns)).collect())
                .collect();
            let rows: Vec<Row<'_>> =
                (0..).zip(&rows).map(|(from, row)| (from, row.as_slice())).collect();
            let Ok(found) = distances(&rows, &[0, 1, 2]) else { return Ok(()) };
            for (from, row) in found.measured.iter().enumerate() {
                for (to, distance) in row.iter().enumerate() {
                    prop_assert_eq!(*distance == 10, from == to);
                    prop_assert!((10..=254).contains(distance));
                    prop_assert_eq!(
                        found.for_schedulers[from][to],
                        found.for_schedulers[to][from]
                    );
                }
            }
        }
    }
}
