//! Collects the findings about a matrix, the most severe first.

use std::collections::BTreeSet;

use model::{DistanceTable, Finding, NodeId, NodeMatrix, NodeSet, Severity, Topology};

use super::classes::{Measured, classes_of_row};
use super::findings::{FLAT_LATENCY, INTERLEAVED_PACKAGES, UNSTEADY, finding};
use super::pairs::{Pairs, Range};
use super::{asymmetry, figures, firmware_table, local, row_against_firmware, scale};

/// All findings about a matrix of latencies in ns, compared with the firmware's distances where
/// they are known. `packages` has, for each node, the number of packages (sockets) that its CPUs
/// are in: see [`packages_by_node`].
///
/// What holds for many nodes is one finding that lists them. Distances should be those from nodes
/// with CPUs ([`DistanceTable::from_nodes`]): the rows of other nodes mean nothing.
///
/// The figures of an emulated machine mean nothing: for one, pass [`NodeMatrix::default`], which
/// leaves the findings on the tables alone.
pub fn judge(
    matrix: &NodeMatrix,
    distances: Option<&DistanceTable>,
    packages: &[(NodeId, usize)],
) -> Vec<Finding> {
    let mut found = Vec::new();
    let is_flat = is_flat(matrix);
    if let Some(distances) = distances {
        if !is_flat {
            row_against_firmware::judge(matrix, distances, &mut found);
            scale::judge(matrix, distances, &mut found);
        }
        firmware_table::judge(matrix, distances, &mut found);
    }
    asymmetry::judge(matrix, &mut found);
    local::not_nearest(matrix, &mut found);
    local::outliers(matrix, &mut found);
    if is_flat {
        found.push(flat_latency(matrix, distances));
    }
    interleaved_packages(packages, &mut found);
    unsteady(matrix, &mut found);
    found.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    found
}

/// Whether there are several nodes to distinguish and no row distinguishes any.
fn is_flat(matrix: &NodeMatrix) -> bool {
    let sizes = matrix.rows().map(|(_, cells)| {
        let classes = classes_of_row(matrix, cells);
        (classes.len(), classes.iter().map(Vec::len).sum::<usize>())
    });
    let mut any_pair = false;
    for (classes, cells) in sizes {
        if classes > 1 {
            return false;
        }
        any_pair |= cells > 1;
    }
    any_pair
}

fn flat_latency(matrix: &NodeMatrix, distances: Option<&DistanceTable>) -> Finding {
    let cells = matrix
        .rows()
        .flat_map(|(node, cells)| cells.iter().map(move |cell| (node, cell)));
    let mut range = Range::default();
    range.extend(cells.filter_map(|(node, cell)| Some(Measured::of(node, cell)?.ns)));
    let told_apart = distances.is_some_and(|distances| {
        let values: BTreeSet<u32> = distances.cells().map(|(_, _, value)| value).collect();
        values.len() > 1
    });
    let although = if told_apart {
        ", although the firmware tells them apart"
    } else {
        ""
    };
    let range = range.ns();
    finding(
        FLAT_LATENCY,
        if told_apart {
            Severity::Warning
        } else {
            Severity::Info
        },
        format!(
            "every node measures alike from everywhere ({range}){although}: memory is interleaved \
             below the kernel, or the nodes of a virtual machine are not those of its host"
        ),
    )
}

fn interleaved_packages(packages: &[(NodeId, usize)], found: &mut Vec<Finding>) {
    let interleaved = packages.iter().filter(|(_, count)| *count > 1);
    let nodes: NodeSet = interleaved.clone().map(|(node, _)| *node).collect();
    let counts: BTreeSet<usize> = interleaved.map(|(_, count)| *count).collect();
    let (Some(least), Some(most)) = (counts.first(), counts.last()) else {
        return;
    };
    let has = if nodes.len() == 1 { "has" } else { "have" };
    let count = match least == most {
        true => format!("{most} packages"),
        false => format!("{least} to {most} packages"),
    };
    found.push(finding(
        INTERLEAVED_PACKAGES,
        Severity::Warning,
        format!(
            "{} {has} the CPUs of {count}: the firmware interleaves their memory (node \
             interleaving in its setup), and nothing here can be placed near",
            figures::nodes(&nodes)
        ),
    ));
}

fn unsteady(matrix: &NodeMatrix, found: &mut Vec<Finding>) {
    let mut pairs = Pairs::default();
    for (cpu_node, cells) in matrix.rows() {
        let cells = matrix.memory_nodes().iter().zip(cells);
        for (node, _) in cells.filter(|(_, cell)| cell.is_unsteady) {
            pairs.insert(cpu_node, *node);
        }
    }
    if pairs.is_empty() {
        return;
    }
    found.push(finding(
        UNSTEADY,
        Severity::Warning,
        format!(
            "the figures {} scatter by more than 5 %: measure again when the machine is quieter",
            pairs.directed()
        ),
    ));
}

/// For each node with CPUs, the number of packages they are in; only where every CPU reports one.
pub fn packages_by_node(topology: &Topology) -> Vec<(NodeId, usize)> {
    let of_node = |node: NodeId| {
        let cores = topology.core_list.iter();
        let cores = cores.filter(|core| core.node == Some(node));
        let packages: Option<BTreeSet<u32>> = cores.map(|core| core.package).collect();
        packages.map(|packages| (node, packages.len()))
    };
    let nodes = topology.cpu_nodes();
    nodes.iter().filter_map(of_node).collect()
}

#[cfg(test)]
mod tests;
