//! What the doctor's findings on the firmware's distances share.

use model::{Fact, Topology};

use crate::found::{Found, commands, fact};

/// A finding on the distances that the kernel reports.
pub(crate) fn of_firmware(message: String, evidence: Vec<Fact>) -> Found {
    Found {
        evidence,
        fix: commands(&["# measure the actual latencies:", "numalab latency"]),
        ..Found::that(message)
    }
}

/// The rows of the table, as the kernel has them; those of nodes without CPUs mean nothing.
pub(crate) fn rows(topology: &Topology) -> Vec<Fact> {
    let rows = topology.distances.iter().flatten();
    let rows = topology.nodes.iter().zip(rows);
    let rows = rows.filter(|(node, _)| !node.cpus.is_empty());
    let rows = rows.map(|(node, row)| {
        let row = row.iter().map(|distance| match distance {
            Some(distance) => distance.to_string(),
            None => "unknown".to_owned(),
        });
        let row: Vec<String> = row.collect();
        let file = format!("/sys/devices/system/node/node{}/distance", node.id);
        fact(file, row.join(" "))
    });
    rows.collect()
}
