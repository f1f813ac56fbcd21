//! The target is bound to some nodes and has small pages, and the free huge pages are elsewhere.

use model::{ByteSize, NodeSet, Severity, node_words, shell_line};

use super::row::{Check, Row};
use crate::doctor::memory::WORTH_BYTES;
use crate::doctor::pools::{pool_file, pools};
use crate::doctor::{DoctorInput, sight};
use crate::found::{Found, fact};

pub(super) const ROW: Row = Row {
    id: "huge-pages-short-on-bound-node",
    severity: Severity::Warning,
    about: "huge pages are free, but not on the nodes to which the target is bound",
    cost: "the SGA has small pages; with huge pages on NUMA jobs took 12 to 15 % less time",
    cost_source: "Closson, \"The NUMA Angle (Part VII)\", 2007",
    checks: &[Check::Doctor(sight::target, check)],
};

fn check(input: &DoctorInput) -> Option<Found> {
    let residency = input.residency.as_ref()?;
    let allowed = residency
        .processes
        .iter()
        .map(|process| &process.memory_nodes_allowed);
    let bound: NodeSet = allowed.flat_map(|nodes| nodes.iter()).collect();
    let memory_nodes = input.topology.memory_nodes();
    if bound.is_empty() || memory_nodes.is_subset(&bound) {
        return None;
    }
    for pool in &input.topology.huge_pages {
        let small = input
            .shared()
            .filter(|of| of.page_bytes.is_some_and(|it| it < pool.page_bytes));
        let bytes: u64 = small.map(|segment| segment.bytes()).sum();
        let pools = pools(input, &memory_nodes, pool.page_bytes);
        let free = |here: bool| -> u64 {
            let chosen = pools
                .iter()
                .filter(|(node, _)| bound.contains(*node) == here);
            chosen
                .map(|(_, pool)| pool.free.unwrap_or(0).saturating_mul(pool.page_bytes))
                .fold(0, u64::saturating_add)
        };
        if bytes >= WORTH_BYTES && free(true) < bytes && free(false) > 0 {
            let needed = bytes.div_ceil(pool.page_bytes).div_ceil(bound.len() as u64);
            let files = bound
                .iter()
                .map(|node| pool_file(node, pool.page_bytes, "nr_hugepages"));
            return Some(Found {
                message: format!(
                    "{} of shared memory are in small pages; {}, to which the processes \
                     are bound, have {} in free huge pages, the others {}",
                    ByteSize(bytes),
                    node_words(&bound),
                    ByteSize(free(true)),
                    ByteSize(free(false))
                ),
                evidence: pools
                    .iter()
                    .map(|(node, pool)| {
                        let free = pool
                            .free
                            .map_or("unknown".to_owned(), |free| free.to_string());
                        fact(pool_file(*node, pool.page_bytes, "free_hugepages"), free)
                    })
                    .collect(),
                fix: files
                    .map(|file| shell_line!("echo {} >{}", needed, file))
                    .collect(),
                ..Found::default()
            });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::samples::pools_of;

    #[test]
    fn free_pages_elsewhere_do_not_help_a_bound_target() {
        let found = check(&pools_of([(4, 4), (400, 400)], "0")).unwrap();
        assert!(
            found.fix[0].starts_with("echo 32 >/sys/devices/system/node/node0/"),
            "{found:?}"
        );
        assert!(check(&pools_of([(40, 40), (400, 400)], "0")).is_none());
        assert!(check(&pools_of([(4, 4), (400, 400)], "0-1")).is_none());
    }
}
