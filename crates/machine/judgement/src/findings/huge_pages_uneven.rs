//! A pool that is uneven over the nodes for databases; other nodes need none.

use model::{ByteSize, Fact, NodeHugePages, NodeId, Severity, shell_line};

use super::row::{Check, Row};
use crate::doctor::pools::{pool_file, pools};
use crate::doctor::{DoctorInput, sight};
use crate::found::{Found, fact};

pub(super) const ROW: Row = Row {
    id: "huge-pages-uneven",
    severity: Severity::Warning,
    about: "the pool of huge pages is not even over the nodes with memory and CPUs",
    cost: "an interleaved SGA falls back to other nodes or to small pages",
    cost_source: "kernel, admin-guide/mm/hugetlbpage.rst",
    checks: &[Check::Doctor(sight::pools, check)],
};

/// Pools that differ by more than this share of the largest are uneven.
const UNEVEN_PERCENT: u64 = 10;

fn check(input: &DoctorInput) -> Option<Found> {
    let sizes = input.topology.huge_pages.iter().map(|pool| pool.page_bytes);
    let is_uneven = |pools: &Vec<(NodeId, &NodeHugePages)>| {
        let least = pools.iter().map(|(_, pool)| pool.total).min().unwrap_or(0);
        let most = pools.iter().map(|(_, pool)| pool.total).max().unwrap_or(0);
        // One page may be left over, or missing on the node that holds the kernel.
        pools.len() > 1 && most - least > (most / 100 * UNEVEN_PERCENT).max(1)
    };
    let nodes = input.database_nodes();
    let pools = sizes
        .map(|bytes| pools(input, &nodes, bytes))
        .find(is_uneven)?;
    let page_bytes = pools.first()?.1.page_bytes;
    let total = pools
        .iter()
        .fold(0_u64, |sum, (_, pool)| sum.saturating_add(pool.total));
    let each = total.div_ceil(pools.len() as u64);
    let evidence: Vec<Fact> = pools
        .iter()
        .map(|(node, pool)| fact(pool_file(*node, page_bytes, "nr_hugepages"), pool.total))
        .collect();
    Some(Found {
        message: format!(
            "the {total} huge pages of {} are unevenly distributed: {}",
            ByteSize(page_bytes),
            pools
                .iter()
                .map(|(node, pool)| format!("node {node} has {}", pool.total))
                .collect::<Vec<_>>()
                .join(", ")
        ),
        evidence,
        fix: pools
            .iter()
            .map(|(node, _)| {
                shell_line!(
                    "echo {} >{}",
                    each,
                    pool_file(*node, page_bytes, "nr_hugepages")
                )
            })
            .collect(),
        ..Found::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::samples::pools_of;

    #[test]
    fn an_uneven_pool_is_found_and_made_even() {
        let found = check(&pools_of([(100, 0), (20, 0)], "0-1")).unwrap();
        assert!(found.fix[1].starts_with("echo 60 >/sys/devices/system/node/node1/hugepages/"));
        assert!(check(&pools_of([(100, 0), (95, 0)], "0-1")).is_none());
        assert!(check(&pools_of([(2, 0), (1, 0)], "0-1")).is_none());
    }
}
