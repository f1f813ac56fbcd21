//! Pools of huge pages: unused, uneven over nodes, or on the wrong nodes.

use model::{ByteSize, Fact, NodeHugePages, NodeId, NodeSet};

use super::input::{DoctorInput, Found, WORTH_BYTES, fact};

/// Pools that differ by more than this share of the largest are uneven.
const UNEVEN_PERCENT: u64 = 10;

/// The file of a node's pool.
fn pool_file(node: NodeId, page_bytes: u64, file: &str) -> String {
    let kib = page_bytes / 1024;
    format!("/sys/devices/system/node/node{node}/hugepages/hugepages-{kib}kB/{file}")
}

/// The pools of one page size on these nodes.
fn pools<'a>(
    input: &'a DoctorInput,
    nodes: &NodeSet,
    page_bytes: u64,
) -> Vec<(NodeId, &'a NodeHugePages)> {
    let nodes = input
        .topology
        .nodes
        .iter()
        .filter(|node| nodes.contains(node.id));
    let of_size = nodes.flat_map(|node| node.huge_pages.iter().map(|pool| (node.id, pool)));
    of_size
        .filter(|(_, pool)| pool.page_bytes == page_bytes)
        .collect()
}

/// A pool of which every page is free and none is reserved.
pub(super) fn unused(input: &DoctorInput) -> Option<Found> {
    let pool = input.topology.huge_pages.iter().find(|pool| {
        let is_promised = pool.reserved.unwrap_or(0) > 0;
        pool.total > 0 && pool.free == Some(pool.total) && !is_promised
    })?;
    let kib = pool.page_bytes / 1024;
    let directory = format!("/sys/kernel/mm/hugepages/hugepages-{kib}kB");
    let size = ByteSize(pool.total.saturating_mul(pool.page_bytes));
    Some(Found {
        message: format!(
            "{} huge pages of {} ({size}) are set aside and all of them are free",
            pool.total,
            ByteSize(pool.page_bytes)
        ),
        evidence: vec![
            fact(format!("{directory}/nr_hugepages"), pool.total),
            fact(format!("{directory}/free_hugepages"), pool.total),
        ],
        fix: vec![
            "# have the database use them: huge_pages = on (PostgreSQL), use_large_pages = only \
             (Oracle), large-pages (MySQL), and restart it; or give the memory back:"
                .to_owned(),
            format!("echo 0 >{directory}/nr_hugepages"),
        ],
    })
}

/// A pool that is uneven over the nodes for databases; other nodes need none.
pub(super) fn uneven(input: &DoctorInput) -> Option<Found> {
    let sizes = input.topology.huge_pages.iter().map(|pool| pool.page_bytes);
    let uneven = |pools: &Vec<(NodeId, &NodeHugePages)>| {
        let least = pools.iter().map(|(_, pool)| pool.total).min().unwrap_or(0);
        let most = pools.iter().map(|(_, pool)| pool.total).max().unwrap_or(0);
        // One page may be left over, or missing on the node that holds the kernel.
        pools.len() > 1 && most - least > (most / 100 * UNEVEN_PERCENT).max(1)
    };
    let nodes = input.database_nodes();
    let pools = sizes
        .map(|bytes| pools(input, &nodes, bytes))
        .find(uneven)?;
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
            "the {total} huge pages of {} are not even over nodes: {}",
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
                format!(
                    "echo {each} >{}",
                    pool_file(*node, page_bytes, "nr_hugepages")
                )
            })
            .collect(),
    })
}

/// The target is bound to some nodes and has small pages, and the free huge pages are elsewhere.
pub(super) fn short_on_bound_node(input: &DoctorInput) -> Option<Found> {
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
                    "{} of shared memory are in small pages; nodes {bound}, to which the processes \
                     are bound, have {} in free huge pages, the others {}",
                    ByteSize(bytes),
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
                fix: files.map(|file| format!("echo {needed} >{file}")).collect(),
            });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use model::{
        MachineHugePages, Node, ProcessResidency, Residency, SegmentKind, SegmentResidency,
        Topology,
    };

    use super::*;

    const HUGE: u64 = 2 << 20;

    /// Two nodes with (total, free) huge pages, and a target with small pages bound to `bound`.
    fn input(pools: [(u64, u64); 2], bound: &str) -> DoctorInput {
        let node = |id: u32| Node {
            id: NodeId(id),
            memory_bytes: Some(8 << 30),
            huge_pages: vec![NodeHugePages {
                page_bytes: HUGE,
                total: pools[id as usize].0,
                free: Some(pools[id as usize].1),
                surplus: None,
            }],
            ..Node::default()
        };
        let machine = MachineHugePages {
            page_bytes: HUGE,
            total: pools.iter().map(|pool| pool.0).sum(),
            free: Some(pools.iter().map(|pool| pool.1).sum()),
            ..MachineHugePages::default()
        };
        let topology = Topology {
            nodes: vec![node(0), node(1)],
            huge_pages: vec![machine],
            ..Topology::default()
        };
        let residency = Residency {
            segments: vec![SegmentResidency {
                kind: SegmentKind::Sysv,
                page_bytes: Some(4096),
                bytes_by_node: [(NodeId(0), 64 << 20)].into(),
                ..SegmentResidency::default()
            }],
            processes: vec![ProcessResidency {
                memory_nodes_allowed: bound.parse().unwrap(),
                ..ProcessResidency::default()
            }],
            ..Residency::default()
        };
        DoctorInput {
            topology,
            residency: Some(residency),
            ..DoctorInput::default()
        }
    }

    #[test]
    fn a_pool_that_nobody_uses_is_found() {
        assert!(unused(&input([(10, 10), (10, 10)], "0-1")).is_some());
        assert!(unused(&input([(10, 9), (10, 10)], "0-1")).is_none());
        assert!(unused(&input([(0, 0), (0, 0)], "0-1")).is_none());
    }

    #[test]
    fn an_uneven_pool_is_found_and_made_even() {
        let found = uneven(&input([(100, 0), (20, 0)], "0-1")).unwrap();
        assert!(found.fix[1].starts_with("echo 60 >/sys/devices/system/node/node1/hugepages/"));
        assert!(uneven(&input([(100, 0), (95, 0)], "0-1")).is_none());
        assert!(uneven(&input([(2, 0), (1, 0)], "0-1")).is_none());
    }

    #[test]
    fn free_pages_elsewhere_do_not_help_a_bound_target() {
        let found = short_on_bound_node(&input([(4, 4), (400, 400)], "0")).unwrap();
        assert!(
            found.fix[0].starts_with("echo 32 >/sys/devices/system/node/node0/"),
            "{found:?}"
        );
        assert!(short_on_bound_node(&input([(40, 40), (400, 400)], "0")).is_none());
        assert!(short_on_bound_node(&input([(4, 4), (400, 400)], "0-1")).is_none());
    }
}
