//! The firmware's distances by node. A row of the kernel holds the distance of each online node, in
//! order of id, without naming the nodes. A row of any other length was read while nodes came or
//! went, or is not complete.

use std::collections::BTreeMap;

use linux::{Error, Root, sysfs_nodes};
use model::NodeSet;

use crate::gaps::Gaps;

/// The distance of a node to itself (ACPI 6.5, 5.2.17).
const LOCAL: u32 = 10;

/// The rows of these nodes, with `None` where it is uncertain which node a value is for; `None`
/// when the kernel gives no row at all.
pub(crate) fn read(
    root: &Root,
    nodes: &NodeSet,
    gaps: &mut Gaps,
) -> Result<Option<Vec<Vec<Option<u32>>>>, Error> {
    let rows = nodes.iter().map(|node| sysfs_nodes::distances(root, node));
    let rows: Vec<Option<Vec<u32>>> = rows.collect::<Result<_, Error>>()?;
    let missing: NodeSet = of_rows(nodes, &rows, |row| row.is_none());
    if missing.len() == nodes.len() {
        gaps.of_nodes(nodes, "distances unknown (no distance file)");
        return Ok(None);
    }
    gaps.of_nodes(&missing, "distances unknown (no distance file)");
    let mut orders = vec![sysfs_nodes::with_directory(root)?];
    orders.extend(sysfs_nodes::listed_online(root)?);
    // The kernel writes rows for the nodes in its list.
    orders.reverse();
    let mut columns: BTreeMap<usize, Vec<Option<usize>>> = BTreeMap::new();
    let table = rows.iter().map(|row| {
        let Some(row) = row else {
            return vec![None; nodes.len()];
        };
        let columns = columns
            .entry(row.len())
            .or_insert_with(|| columns_of(nodes, &orders, &rows, row.len()));
        let cell = |column: &Option<usize>| column.and_then(|column| row.get(column)).copied();
        columns.iter().map(cell).collect()
    });
    let table = table.collect();
    let odd = |row: &Option<Vec<u32>>| {
        row.as_ref()
            .is_some_and(|row| orders.iter().all(|order| order.len() != row.len()))
    };
    gaps.of_nodes(
        &of_rows(nodes, &rows, odd),
        &format!(
            "not one distance for each online node ({}); those whose node is uncertain are unknown",
            nodes.len()
        ),
    );
    Ok(Some(table))
}

/// The nodes whose rows satisfy `is_so`.
fn of_rows<R>(nodes: &NodeSet, rows: &[R], is_so: impl Fn(&R) -> bool) -> NodeSet {
    let rows = nodes.iter().zip(rows);
    rows.filter(|(_, row)| is_so(row))
        .map(|(node, _)| node)
        .collect()
}

/// For each node, the position of its distance in rows of this length, if it is certain: by the
/// first of `orders` with as many nodes; otherwise, since only its distance to itself is 10, by the
/// position of that in its own row of this length.
fn columns_of(
    nodes: &NodeSet,
    orders: &[NodeSet],
    rows: &[Option<Vec<u32>>],
    length: usize,
) -> Vec<Option<usize>> {
    if let Some(order) = orders.iter().find(|order| order.len() == length) {
        let place = |node| order.iter().position(|other| other == node);
        return nodes.iter().map(place).collect();
    }
    let own_place = |row: &Option<Vec<u32>>| {
        let row = row.as_ref().filter(|row| row.len() == length)?;
        let mut places = (0..length).filter(|place| row[*place] == LOCAL);
        places.next().filter(|_| places.next().is_none())
    };
    let places: Vec<Option<usize>> = rows.iter().map(own_place).collect();
    // Rows are in order of id: positions that are not cannot be trusted.
    if places.iter().flatten().is_sorted_by(|one, next| one < next) {
        places
    } else {
        vec![None; places.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const UNKNOWN: Option<u32> = None;

    /// The table of some rows; empty text for a row that is missing.
    fn table(nodes: &str, orders: &[&str], rows: &[&str]) -> Vec<Vec<Option<u32>>> {
        let directory = tempfile::tempdir().unwrap();
        let of = directory.path().join("sys/devices/system/node");
        let nodes: NodeSet = nodes.parse().unwrap();
        let directories: NodeSet = orders[0].parse().unwrap();
        for node in &directories {
            std::fs::create_dir_all(of.join(format!("node{node}"))).unwrap();
        }
        if let Some(listed) = orders.get(1) {
            std::fs::write(of.join("online"), format!("{listed}\n")).unwrap();
        }
        for (node, row) in nodes.iter().zip(rows) {
            std::fs::write(of.join(format!("node{node}/distance")), row).unwrap();
        }
        let root = Root::at(directory.path()).unwrap();
        read(&root, &nodes, &mut Gaps::default()).unwrap().unwrap()
    }

    #[test]
    fn a_row_for_the_nodes_that_are_online_is_in_their_order() {
        let known = [[Some(10), Some(21)], [Some(20), Some(10)]];
        assert_eq!(table("0,8", &["0,8"], &["10 21\n", "20 10\n"]), known);
        assert_eq!(
            table("0,8", &["0,8", "0,8"], &["10 21\n", "20 10\n"]),
            known
        );
        // The values do not matter: they are the firmware's.
        let odd = [[Some(10), Some(10)], [Some(255), Some(0)]];
        assert_eq!(table("0-1", &["0-1"], &["10 10\n", "255 0\n"]), odd);
    }

    #[test]
    fn a_list_of_nodes_says_the_order_where_directories_are_missing() {
        let rows = ["10 31 21\n", "21 31 10\n"];
        let known = [[Some(10), Some(21)], [Some(21), Some(10)]];
        assert_eq!(table("0,2", &["0,2", "0-2"], &rows), known);
    }

    #[test]
    fn directories_say_the_order_where_the_list_is_shorter() {
        let rows = ["10 31 21\n", "21 31 10\n"];
        let known = [[Some(10), Some(21)], [Some(21), Some(10)]];
        assert_eq!(table("0,2", &["0-2", "0,2"], &rows), known);
    }

    #[test]
    fn in_rows_of_another_length_the_distance_to_itself_tells_the_place() {
        // Longer: a node in between went offline.
        assert_eq!(
            table("0,2", &["0,2"], &["10 31 21\n", "21 31 10\n"]),
            [[Some(10), Some(21)], [Some(21), Some(10)]]
        );
        // Only one node is left.
        assert_eq!(table("1", &["1", "1"], &["21 10\n"]), [[Some(10)]]);
        // Shorter: node 2 came last, or the rows are cut.
        assert_eq!(
            table("0-2", &["0-2"], &["10 21\n", "20 10\n", "30 31\n"]),
            [
                [Some(10), Some(21), UNKNOWN],
                [Some(20), Some(10), UNKNOWN],
                [Some(30), Some(31), UNKNOWN],
            ]
        );
        // The only row of a length tells no position but its own.
        assert_eq!(
            table("0-1", &["0-1"], &["10 21\n", "21 10 11\n"]),
            [[Some(10), Some(21)], [UNKNOWN, Some(10)]]
        );
    }

    #[test]
    fn nothing_is_guessed() {
        // No distance to itself, or several, or in the wrong order.
        assert_eq!(
            table("0-1", &["0-1"], &["10 21\n", "21\n"])[1],
            [UNKNOWN, UNKNOWN]
        );
        assert_eq!(
            table("0-1", &["0-1"], &["10 10 10\n", "21 22 10\n"]),
            [[UNKNOWN, Some(10)], [UNKNOWN, Some(10)]]
        );
        assert_eq!(
            table("0-1", &["0-1"], &["21 10 22\n", "10 21 22\n"]),
            [[UNKNOWN; 2]; 2]
        );
    }

    proptest! {
        #[test]
        fn no_rows_panic(
            rows in prop::collection::vec(
                prop::option::of(prop::collection::vec(8..13_u32, 0..5)), 1..5),
            orders in prop::collection::vec(prop::collection::btree_set(0..6_u32, 0..6), 0..3),
        ) {
            let nodes: NodeSet = (0..rows.len() as u32).map(model::NodeId).collect();
            let orders: Vec<NodeSet> = orders
                .into_iter()
                .map(|order| order.into_iter().map(model::NodeId).collect())
                .collect();
            for length in 0..6 {
                let columns = columns_of(&nodes, &orders, &rows, length);
                prop_assert_eq!(columns.len(), nodes.len());
                prop_assert!(columns.into_iter().flatten().all(|column| column < length));
            }
        }
    }
}
