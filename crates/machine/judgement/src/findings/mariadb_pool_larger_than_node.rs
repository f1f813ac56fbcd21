//! A buffer pool that does not fit on any node, and is not interleaved.

use model::{ByteSize, Severity, ShellLine};

use super::row::{Check, Row};
use crate::doctor::innodb_pool::{is_interleaved, nodes_of_server, pool_bytes};
use crate::doctor::{DoctorInput, sight};
use crate::found::{Found, fact};

pub(super) const ROW: Row = Row {
    id: "mariadb-pool-larger-than-node",
    severity: Severity::Warning,
    about: "the buffer pool of a MariaDB is larger than a node, and not interleaved",
    cost: "whoever reads a page first decides where it is: one node fills up, the kernel reclaims \
           its file cache, and the rest spills to the others",
    cost_source: "`numalab run mariadb-interleave` measures it here",
    checks: &[Check::Doctor(sight::mariadb, check)],
};

fn check(input: &DoctorInput) -> Option<Found> {
    let settings = input.server.as_ref()?;
    let pool = pool_bytes(settings)?;
    let nodes = nodes_of_server(input, settings);
    let allowed = input
        .topology
        .nodes
        .iter()
        .filter(|node| nodes.contains(node.id));
    let (bytes, node) = allowed
        .filter_map(|node| Some((node.memory_bytes?, node.id)))
        .max()?;
    let found = nodes.len() > 1 && pool > bytes && !is_interleaved(input, settings);
    found.then(|| Found {
        message: format!(
            "the buffer pool may take {}, more than any node of {nodes} has ({} on node {node}), \
             and it is not interleaved",
            ByteSize(pool),
            ByteSize(bytes)
        ),
        evidence: vec![
            fact(settings.source, format!("innodb_buffer_pool_size {pool}")),
            fact(
                settings.source,
                format!(
                    "innodb_numa_interleave {}",
                    settings
                        .value("innodb_numa_interleave")
                        .unwrap_or("not built in")
                ),
            ),
            fact(
                format!("/sys/devices/system/node/node{node}/meminfo"),
                format!("MemTotal {}", ByteSize(bytes)),
            ),
        ],
        fix: vec![
            ShellLine::of(
                "# innodb_numa_interleave = ON in its configuration, and restart it; where \
                 that is not",
            ),
            ShellLine::remark(format!(
                "built in, start it as: numactl --interleave={nodes} mariadbd …"
            )),
        ],
        ..Found::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::samples::mariadb;

    #[test]
    fn a_pool_that_fits_on_no_node_is_found() {
        // Two nodes of 8 GiB.
        let found = |pool_gib: u64, interleave: &str, policy: &str| {
            let size = (pool_gib << 30).to_string();
            let settings = [
                ("innodb_buffer_pool_size", size.as_str()),
                ("innodb_numa_interleave", interleave),
            ];
            let mut input = mariadb(&settings, &[]);
            input.server_memory.policy = Some(policy.to_owned());
            check(&input).map(|it| it.message)
        };
        assert_eq!(
            found(12, "OFF", "default").unwrap(),
            "the buffer pool may take 12 GiB, more than any node of 0-1 has (8 GiB on node 1), and \
             it is not interleaved"
        );
        assert_eq!(found(12, "ON", "default"), None);
        assert_eq!(found(12, "OFF", "interleave:0-1"), None);
        assert_eq!(found(6, "OFF", "default"), None);
    }
}
