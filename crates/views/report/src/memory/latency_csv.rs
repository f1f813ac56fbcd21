//! Latencies as comma-separated values, for spreadsheets and for `numalab latency --from`.

use model::{LatencyCurve, NodeMatrix, TransferMatrix};

/// Formats a matrix: the first line holds the memory nodes, each following line a CPU node and its
/// figures. A field is empty where nothing was measured.
pub fn matrix_csv(matrix: &NodeMatrix) -> String {
    let mut text = String::from("cpu_node");
    for node in matrix.memory_nodes() {
        text.push_str(&format!(",{node}"));
    }
    text.push('\n');
    for (node, cells) in matrix.rows() {
        text.push_str(&node.to_string());
        for cell in cells {
            text.push_str(&format!(",{}", figure(cell.value)));
        }
        text.push('\n');
    }
    text
}

/// Formats every point of every curve, one per line.
pub fn curves_csv(curves: &[LatencyCurve]) -> String {
    let mut text = String::from("cpu_node,memory_node,bytes,ns,ns_min,ns_max\n");
    for curve in curves {
        for point in &curve.points {
            let figures = [point.ns, point.ns_min, point.ns_max];
            let [ns, ns_min, ns_max] = figures.map(|ns| figure(Some(ns)));
            text.push_str(&format!(
                "{},{},{},{ns},{ns_min},{ns_max}\n",
                curve.cpu_node, curve.memory_node, point.bytes
            ));
        }
    }
    text
}

/// Formats every measured transfer, one per line.
pub fn transfers_csv(transfers: &[TransferMatrix]) -> String {
    let mut text = String::from("home_node,from_cpu,to_cpu,ns\n");
    for matrix in transfers {
        for (from, row) in matrix.cpus.iter().zip(&matrix.ns) {
            for (to, ns) in matrix.cpus.iter().zip(row) {
                if ns.is_some() {
                    let (home, ns) = (matrix.home_node, figure(*ns));
                    text.push_str(&format!("{home},{from},{to},{ns}\n"));
                }
            }
        }
    }
    text
}

/// Formats a figure with the fewest digits that round-trip; empty for an unknown figure.
fn figure(value: Option<f64>) -> String {
    let known = value.filter(|value| value.is_finite());
    known.map_or(String::new(), |value| value.to_string())
}
