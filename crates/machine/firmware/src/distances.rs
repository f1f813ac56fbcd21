//! Distances from measured latencies: ten times the ratio to the local latency, the same for all
//! nodes of a hop class, so that differences of 1 ns are ignored.

use model::{ClassesByRow, LatencyResult, MeasuredDistances, NodeId, NodeSet};

use crate::Error;

/// The distance of a node to itself (include/linux/topology.h, `LOCAL_DISTANCE`).
const LOCAL: u8 = 10;
/// The least distance between different nodes: the kernel refuses a table in which one is not
/// farther than local (drivers/acpi/numa/srat.c, `slit_valid`).
const REMOTE_MIN: u8 = 11;
/// The greatest: 255 means that a node cannot be reached (ACPI 6.5, 5.2.17).
const REMOTE_MAX: u8 = 254;

/// The kernel's distance between different nodes of which the firmware says nothing
/// (include/linux/topology.h, `REMOTE_DISTANCE`).
const REMOTE_UNKNOWN: u8 = 20;

/// The distances of `nodes` from their measured latencies. A distance that no CPU can measure, from
/// a node without CPUs or to one without memory, is that of the other direction; where none can be
/// measured, that of the firmware stands.
///
/// # Errors
/// When fewer than two nodes are given, a latency that can be measured was measured in neither
/// direction, or there is none of a node's own memory.
pub fn from_latencies(
    source: &str,
    latencies: &LatencyResult,
    nodes: &[NodeId],
) -> Result<MeasuredDistances, Error> {
    if nodes.len() < 2 {
        return Err(Error::TooFewNodes { nodes: nodes.len() });
    }
    let table = latencies.distances.as_ref();
    let firmware: Vec<Vec<Option<u32>>> = nodes
        .iter()
        .map(|from| {
            let to = nodes.iter();
            to.map(|to| table?.distance(*from, *to)).collect()
        })
        .collect();
    let classes = Classes::of(latencies);
    let mut notes = classes.own_memory_notes(nodes);
    let mut measured = Vec::new();
    for (from, of_firmware) in nodes.iter().zip(&firmware) {
        let mut row = Vec::new();
        for (to, of_firmware) in nodes.iter().zip(of_firmware) {
            row.push(match classes.distance(*from, *to)? {
                _ if from == to => LOCAL,
                Some(distance) => distance,
                None => {
                    let (distance, note) = classes.other(*from, *to, *of_firmware)?;
                    notes.push(note);
                    distance
                }
            });
        }
        measured.push(row);
    }
    let (for_schedulers, asymmetry) = symmetric(&measured);
    Ok(MeasuredDistances {
        source: source.to_owned(),
        nodes: nodes.to_vec(),
        firmware,
        for_schedulers,
        asymmetry,
        notes,
        measured,
    })
}

/// The hop classes of all nodes.
struct Classes<'r> {
    by_row: ClassesByRow<'r>,
    /// The nodes with memory.
    memory_nodes: NodeSet,
    /// The middle of the latencies that nodes have to their own memory.
    own_memory_ns: Option<f64>,
}

impl<'r> Classes<'r> {
    fn of(latencies: &'r LatencyResult) -> Self {
        let classes = latencies.hop_classes.iter();
        let own = classes
            .clone()
            .filter(|it| it.memory_nodes.contains(it.cpu_node));
        let mut own: Vec<f64> = own.map(|it| it.ns).collect();
        own.sort_unstable_by(f64::total_cmp);
        Classes {
            by_row: latencies.classes_by_row(),
            memory_nodes: classes.flat_map(|it| &it.memory_nodes).collect(),
            own_memory_ns: own.get(own.len() / 2).copied(),
        }
    }

    /// The distance by the hop class of a node as seen from another; `None` if it was not measured.
    fn distance(&self, from: NodeId, to: NodeId) -> Result<Option<u8>, Error> {
        let Some(class) = self.by_row.class(from, to) else {
            return Ok(None);
        };
        let local = self.by_row.class(from, from).map(|class| class.ns);
        let local = local.or_else(|| self.own_memory_ns.filter(|_| !self.has_memory(from)));
        let ratio = class.ns / local.ok_or(Error::NoLocal { node: from })?;
        let tens = (10.0 * ratio).round();
        if !tens.is_finite() {
            return Err(Error::NoLocal { node: from });
        }
        let bounded = tens.clamp(f64::from(REMOTE_MIN), f64::from(REMOTE_MAX));
        // Within the bounds of a byte, and whole.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        Ok(Some(bounded as u8))
    }

    /// The distance of a pair that was not measured from `from`, and what is to be said of it.
    fn other(
        &self,
        from: NodeId,
        to: NodeId,
        of_firmware: Option<u32>,
    ) -> Result<(u8, String), Error> {
        let pair = format!("node {from} to node {to}");
        if let Some(back) = self.distance(to, from)? {
            let note = format!(
                "{pair} was not measured: its distance is that from node {to} to node {from}"
            );
            return Ok((back, note));
        }
        let can_measure = |from, to| self.has_cpus(from) && self.has_memory(to);
        if can_measure(from, to) || can_measure(to, from) {
            return Err(Error::NotMeasured { from, to });
        }
        // 255, which cannot be reached, stands too.
        let known = of_firmware.and_then(|distance| u8::try_from(distance).ok());
        let known = known.filter(|distance| *distance >= REMOTE_MIN);
        let note = match known {
            Some(distance) => format!(
                "{pair} cannot be measured, for want of CPUs or memory: the firmware's own \
                 distance, {distance}, stands"
            ),
            None => format!(
                "{pair} cannot be measured, for want of CPUs or memory, and the firmware's own \
                 distance is not known here: {REMOTE_UNKNOWN}, as the kernel assumes"
            ),
        };
        Ok((known.unwrap_or(REMOTE_UNKNOWN), note))
    }

    fn has_cpus(&self, node: NodeId) -> bool {
        !self.by_row.row(node).is_empty()
    }

    fn has_memory(&self, node: NodeId) -> bool {
        self.memory_nodes.contains(node)
    }

    /// Nodes that have no memory of their own to compare with.
    fn own_memory_notes(&self, nodes: &[NodeId]) -> Vec<String> {
        let nodes = nodes.iter();
        let without = nodes.filter(|it| self.has_cpus(**it) && !self.has_memory(**it));
        let note = |node| {
            format!(
                "node {node} has no memory of its own: its distances are ratios to what other \
                 nodes have to theirs"
            )
        };
        without.map(note).collect()
    }
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
        let unmeasured: &[(&[u32], f64)] = &[(&[1], 100.0)];
        let error = distances(&[(0, &zero[..1]), (1, unmeasured)], &[0, 1]).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("node 0 to node 1 was not measured"),
            "{error}"
        );
        assert_eq!(distances(&rows, &[0]), Err(Error::TooFewNodes { nodes: 1 }));
    }

    #[test]
    fn where_nothing_can_measure_the_firmware_s_own_distance_stands() {
        // Nodes 2 and 3 have no CPUs.
        let zero: &[(&[u32], f64)] = &[(&[0], 81.0), (&[1], 140.0), (&[2], 170.0), (&[3], 300.0)];
        let one: &[(&[u32], f64)] = &[(&[1], 81.0), (&[0], 140.0), (&[3], 170.0), (&[2], 300.0)];
        let rows = [(0, zero), (1, one)];
        let nodes = [0, 1, 2, 3].map(NodeId);
        let mut result = latencies(&rows);
        let found = from_latencies("m", &result, &nodes).unwrap();
        assert_eq!(found.measured[2], [21, 37, 10, 20]);
        let says = |found: &MeasuredDistances, words: &str| {
            let start = "node 2 to node 3 cannot be measured";
            let mut notes = found.notes.iter();
            notes.any(|note| note.starts_with(start) && note.contains(words))
        };
        assert!(says(&found, "not known here: 20"), "{:?}", found.notes);
        let rows = vec![
            vec![10, 17, 17, 28],
            vec![17, 10, 28, 17],
            vec![17, 28, 10, 28],
            vec![28, 17, 28, 10],
        ];
        result.distances = model::DistanceTable::new(nodes.to_vec(), rows);
        let found = from_latencies("m", &result, &nodes).unwrap();
        assert_eq!(found.measured[2], [21, 37, 10, 28]);
        assert_eq!(found.measured[3], [37, 21, 28, 10]);
        assert!(says(&found, "28, stands"), "{:?}", found.notes);
    }

    #[test]
    fn a_node_without_memory_is_compared_with_the_others() {
        let zero: &[(&[u32], f64)] = &[(&[0], 100.0)];
        let one: &[(&[u32], f64)] = &[(&[0], 200.0)];
        let found = distances(&[(0, zero), (1, one)], &[0, 1]).unwrap();
        assert_eq!(found.measured, [[10, 20], [20, 10]]);
        assert!(found.notes[0].starts_with("node 1 has no memory of its own"));
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
