//! Checks that an SGA fits into free memory, or into free huge pages, on the nodes it may use.

use instance::{SgaLayout, SgaSize};
use model::exit::ExitCode;
use model::{Allocation, Backing, ByteSize, LoadPlan, NodeId, NodeSet, SgaPlan, node_words};

use super::cannot::Cannot;
use super::host::Host;
use crate::definition::PageSize;

/// Returns the bytes of the whole SGA: blocks, headers, directory, sessions, in whole pages.
fn sga_bytes(sga: &SgaPlan, load: &LoadPlan) -> Result<u64, Cannot> {
    let layout = SgaLayout::new(&SgaSize::of(sga, load));
    layout.map(|layout| layout.bytes()).map_err(|error| {
        Cannot::usage(
            error.to_string(),
            "set a valid `cache` or number of `sessions`",
        )
    })
}

/// The demand of an SGA on the nodes it may use.
struct Demand {
    /// The nodes.
    nodes: NodeSet,
    /// Whether each node must hold an equal share; otherwise only the sum counts.
    in_equal_shares: bool,
}

impl Demand {
    /// Creates the demand. Without an allocation, pages go to `memory_nodes`, the nodes that the
    /// processes may use.
    fn new(allocation: &Allocation, memory_nodes: NodeSet) -> Self {
        Demand {
            nodes: allocation.nodes().unwrap_or(memory_nodes),
            // Weights shift the shares; equal shares are close enough for a check in advance.
            in_equal_shares: matches!(
                allocation,
                Allocation::Interleave(_)
                    | Allocation::WeightedInterleave(_)
                    | Allocation::PerNode(_)
            ),
        }
    }

    /// Returns the first nodes that cannot provide `amount`, with what is requested of them and
    /// what they have. Nodes of unknown size count as large enough.
    fn shortage(&self, amount: u64, has: impl Fn(NodeId) -> Option<u64>) -> Option<Shortage> {
        if self.in_equal_shares {
            let asked = amount.div_ceil(self.nodes.len().max(1) as u64);
            return self.nodes.iter().find_map(|node| {
                let there = has(node)?;
                (there < asked).then(|| Shortage {
                    nodes: NodeSet::of(node),
                    asked,
                    there,
                })
            });
        }
        let there: Option<Vec<u64>> = self.nodes.iter().map(has).collect();
        let there = there?.into_iter().fold(0, u64::saturating_add);
        (there < amount).then(|| Shortage {
            nodes: self.nodes.clone(),
            asked: amount,
            there,
        })
    }
}

/// Nodes that have less than requested.
struct Shortage {
    nodes: NodeSet,
    asked: u64,
    there: u64,
}

/// Returns the nodes on which an SGA may lie, of those that its processes may use, and its bytes;
/// `None` for an impossible SGA.
pub(super) fn sga_demand(
    sga: &SgaPlan,
    load: &LoadPlan,
    memory_nodes: NodeSet,
) -> Option<(NodeSet, u64)> {
    let bytes = sga_bytes(sga, load).ok()?;
    Some((Demand::new(&sga.allocation, memory_nodes).nodes, bytes))
}

/// Checks that the SGA fits on its nodes.
pub(crate) fn check(
    host: &Host,
    sga: &SgaPlan,
    load: &LoadPlan,
    memory_nodes: Option<&NodeSet>,
) -> Result<(), Cannot> {
    let memory_nodes = memory_nodes.cloned().unwrap_or_else(|| host.memory_nodes());
    let demand = Demand::new(&sga.allocation, memory_nodes);
    let bytes = sga_bytes(sga, load)?;
    if sga.backing == Backing::Shm {
        check_shm(host, sga.page_bytes, bytes)?;
    }
    let base_page_bytes = host.topology.base_page_bytes();
    if sga.page_bytes == base_page_bytes {
        check_free_memory(host, &demand, bytes)
    } else if sga.page_bytes < base_page_bytes {
        let (asked, base) = (ByteSize(sga.page_bytes), ByteSize(base_page_bytes));
        let reason = format!("needs {asked} pages (the smallest here: {base})");
        Err(Cannot::machine(
            reason,
            format!("set page-size = \"{}\"", PageSize::BASE),
        ))
    } else {
        let pages = bytes.div_ceil(sga.page_bytes);
        check_huge_pages(host, &demand, pages, sga.page_bytes)?;
        check_huge_segment(host, sga.backing, pages * sga.page_bytes)
    }
}

fn check_huge_segment(host: &Host, backing: Backing, bytes: u64) -> Result<(), Cannot> {
    match host.huge_segment_bytes_max {
        Some(most) if backing == Backing::Sysv && bytes > most => Err(Cannot::not_permitted(
            "needs a huge-page segment, which this user may not create",
            "run it as root, or in the group vm.hugetlb_shm_group; or set backing = \"memfd\"",
        )),
        _ => Ok(()),
    }
}

fn check_shm(host: &Host, page_bytes: u64, bytes: u64) -> Result<(), Cannot> {
    let base_page_bytes = host.topology.base_page_bytes();
    if page_bytes != base_page_bytes {
        let (asked, base) = (ByteSize(page_bytes), ByteSize(base_page_bytes));
        return Err(Cannot::usage(
            format!("needs {asked} pages in /dev/shm, which has {base} pages"),
            "set backing = \"memfd\" or \"sysv\" for huge pages",
        ));
    }
    match host.shm_free_bytes {
        Some(free) if free < bytes => Err(Cannot::machine(
            format!(
                "the SGA needs {} in /dev/shm ({} free)",
                ByteSize(bytes),
                ByteSize(free)
            ),
            "as root: mount -o remount,size=… /dev/shm; or set a smaller `cache`",
        )),
        _ => Ok(()),
    }
}

fn check_free_memory(host: &Host, demand: &Demand, bytes: u64) -> Result<(), Cannot> {
    if let Some(left) = host.group_left_bytes.filter(|left| *left < bytes) {
        let (asked, left) = (ByteSize(bytes), ByteSize(left));
        let reason = format!("the SGA needs {asked} (the control group allows {left})");
        let advice = "raise the memory limit of the control group, or set a smaller `cache`";
        return Err(Cannot::machine(reason, advice));
    }
    match demand.shortage(bytes, |node| host.obtainable_bytes(node)) {
        None => Ok(()),
        Some(Shortage {
            nodes,
            asked,
            there,
        }) => Err(Cannot::machine(
            format!(
                "the SGA needs {} on {} ({} free)",
                ByteSize(asked),
                named(&nodes),
                ByteSize(there)
            ),
            "free memory there, or set a smaller `cache`",
        )),
    }
}

fn check_huge_pages(
    host: &Host,
    demand: &Demand,
    pages: u64,
    page_bytes: u64,
) -> Result<(), Cannot> {
    let pool = |node| {
        let pools = &host.topology.node(node)?.huge_pages;
        pools.iter().find(|pool| pool.page_bytes == page_bytes)
    };
    let size = ByteSize(page_bytes);
    if let Some(node) = demand.nodes.iter().find(|node| pool(*node).is_none()) {
        let reason = format!("node {node} has no pool of {size} pages");
        let advice = "use a page size that this kernel supports (`numalab topology` lists them)";
        return Err(Cannot::machine(reason, advice));
    }
    let free = |node| pool(node)?.free;
    let Some(shortage) = demand.shortage(pages, free) else {
        return Ok(());
    };
    let Shortage {
        nodes,
        asked,
        there,
    } = shortage;
    let reason = format!(
        "needs {asked} {size} pages on {} ({there} free)",
        named(&nodes)
    );
    let totals = shares(demand, &nodes, asked - there).filter_map(|(node, missing)| {
        let total = pool(node)?.total.saturating_add(missing);
        Some((node, total))
    });
    Err(Cannot {
        reason,
        advice: format!("as root: {}", command(host, page_bytes, totals)),
        exit_code: ExitCode::MachineCannot,
    })
}

/// Returns the command that sets the pools to these totals: `numalab pages`, which `numalab undo`
/// reverts. A kernel without NUMA has no pools by node; there the command writes the file (kernel,
/// `Documentation/admin-guide/mm/hugetlbpage.rst`).
fn command(host: &Host, page_bytes: u64, totals: impl Iterator<Item = (NodeId, u64)>) -> String {
    let kibibytes = page_bytes / 1024;
    if host.topology.node_is_implied {
        let total: u64 = totals.map(|(_, total)| total).sum();
        let pool = format!("/sys/kernel/mm/hugepages/hugepages-{kibibytes}kB");
        return format!("echo {total} > {pool}/nr_hugepages");
    }
    let totals: Vec<String> = totals
        .map(|(node, total)| format!("{node}={total}"))
        .collect();
    let totals = totals.join(",");
    format!("numalab pages --size {kibibytes}K --set {totals} (`numalab undo` takes it back)")
}

/// Returns the number of pages to add to the pool of each node: with equal shares only to the short
/// node, otherwise spread over all nodes.
fn shares(
    demand: &Demand,
    short: &NodeSet,
    missing: u64,
) -> impl Iterator<Item = (NodeId, u64)> + use<> {
    let nodes = if demand.in_equal_shares {
        short
    } else {
        &demand.nodes
    };
    let each = missing.div_ceil(nodes.len().max(1) as u64);
    let nodes: Vec<NodeId> = nodes.iter().collect();
    nodes.into_iter().map(move |node| (node, each))
}

/// Returns `node 3`, or `nodes 0-7`.
fn named(nodes: &NodeSet) -> String {
    node_words(nodes)
}

#[cfg(test)]
mod tests {
    use super::super::test_hosts::article_000;
    use super::*;
    use model::{Backing, NodeHugePages, Topology};

    const MIB: u64 = 1 << 20;

    fn of(sessions: u32) -> LoadPlan {
        LoadPlan {
            sessions,
            ..LoadPlan::default()
        }
    }

    fn check_sga(
        machine: &Topology,
        cache_bytes: u64,
        page_bytes: u64,
        allocation: Allocation,
        expected: Result<(), &str>,
    ) {
        let sga = SgaPlan {
            cache_bytes,
            backing: Backing::Memfd,
            page_bytes,
            allocation,
        };
        let outcome =
            check(&Host::new(machine), &sga, &of(8), None).map_err(|cannot| cannot.to_string());
        assert_eq!(outcome, expected.map_err(str::to_owned));
    }

    fn bind(nodes: &str) -> Allocation {
        Allocation::Bind(nodes.parse().unwrap())
    }

    /// Returns a machine with 100 MiB free on node 0 and 500 MiB on each other node.
    fn tight() -> Topology {
        let mut machine = article_000();
        for node in &mut machine.nodes {
            node.free_bytes = Some(if node.id == NodeId(0) { 100 } else { 500 } * MIB);
        }
        machine
    }

    #[test]
    fn bound_memory_must_be_free_on_the_nodes_together() {
        let machine = tight();
        check_sga(&machine, 64 * MIB, 4096, bind("0"), Ok(()));
        check_sga(
            &machine,
            128 * MIB,
            4096,
            bind("0"),
            Err("the SGA needs 129.32 MiB on node 0 (100 MiB free); \
                 free memory there, or set a smaller `cache`"),
        );
        check_sga(&machine, 550 * MIB, 4096, bind("0-1"), Ok(()));
        check_sga(&machine, 3200 * MIB, 4096, Allocation::OsDefault, Ok(()));
        let everywhere = "the SGA needs 3.55 GiB on nodes 0-7 (3.52 GiB free); \
                          free memory there, or set a smaller `cache`";
        check_sga(
            &machine,
            3600 * MIB,
            4096,
            Allocation::OsDefault,
            Err(everywhere),
        );
    }

    #[test]
    fn interleaved_memory_must_be_free_on_each_node() {
        let machine = tight();
        let all = Allocation::Interleave("0-7".parse().unwrap());
        check_sga(&machine, 512 * MIB, 4096, all.clone(), Ok(()));
        check_sga(
            &machine,
            1024 * MIB,
            4096,
            all,
            Err("the SGA needs 129.26 MiB on node 0 (100 MiB free); \
                 free memory there, or set a smaller `cache`"),
        );
    }

    #[test]
    fn a_control_group_may_allow_less_than_is_free() {
        let machine = tight();
        let mut host = Host::new(&machine);
        host.group_left_bytes = Some(200 * MIB);
        let sga = |mebibytes| SgaPlan {
            cache_bytes: mebibytes * MIB,
            backing: Backing::Memfd,
            page_bytes: 4096,
            allocation: Allocation::OsDefault,
        };
        assert_eq!(check(&host, &sga(128), &of(8), None), Ok(()));
        let refused = check(&host, &sga(256), &of(8), None).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the SGA needs 258.57 MiB (the control group allows 200 MiB); \
             raise the memory limit of the control group, or set a smaller `cache`"
        );
    }

    #[test]
    fn memory_the_kernel_would_give_up_counts() {
        let machine = tight();
        let mut host = Host::new(&machine);
        host.reclaimable_bytes.insert(NodeId(0), 900 * MIB);
        let sga = SgaPlan {
            cache_bytes: 512 * MIB,
            backing: Backing::Memfd,
            page_bytes: 4096,
            allocation: bind("0"),
        };
        assert_eq!(check(&host, &sga, &of(8), None), Ok(()));
        // The kernel's reserve does not count.
        host.reserved_bytes.insert(NodeId(0), 500 * MIB);
        let refused = check(&host, &sga, &of(8), None).unwrap_err().to_string();
        assert!(refused.contains("(500 MiB free)"), "{refused}");
    }

    #[test]
    fn unknown_memory_is_believed_to_be_enough() {
        let mut machine = tight();
        machine.nodes[0].free_bytes = None;
        check_sga(&machine, 4096 * MIB, 4096, bind("0"), Ok(()));
    }

    /// Returns a machine with a pool of 2 MiB pages on every node.
    fn with_pools(free: [u64; 8]) -> Topology {
        let mut machine = article_000();
        for (node, free) in machine.nodes.iter_mut().zip(free) {
            node.huge_pages = vec![NodeHugePages {
                page_bytes: 2 * MIB,
                total: free + 10,
                free: Some(free),
                surplus: Some(0),
            }];
        }
        machine
    }

    #[test]
    fn too_few_huge_pages_name_the_command() {
        let machine = with_pools([100, 200, 0, 0, 0, 0, 0, 0]);
        check_sga(&machine, 128 * MIB, 2 * MIB, bind("0"), Ok(()));
        check_sga(
            &machine,
            256 * MIB,
            2 * MIB,
            bind("0"),
            Err("needs 130 2 MiB pages on node 0 (100 free); as root: \
                 numalab pages --size 2048K --set 0=140 (`numalab undo` takes it back)"),
        );
        check_sga(&machine, 512 * MIB, 2 * MIB, bind("0-1"), Ok(()));
        check_sga(
            &machine,
            640 * MIB,
            2 * MIB,
            bind("0-1"),
            Err("needs 324 2 MiB pages on nodes 0-1 (300 free); as root: \
                 numalab pages --size 2048K --set 0=122,1=222 (`numalab undo` takes it back)"),
        );
        let both = Allocation::Interleave("1-2".parse().unwrap());
        check_sga(
            &machine,
            256 * MIB,
            2 * MIB,
            both,
            Err("needs 65 2 MiB pages on node 2 (0 free); as root: \
                 numalab pages --size 2048K --set 2=75 (`numalab undo` takes it back)"),
        );
    }

    #[test]
    fn a_segment_of_huge_pages_may_take_root() {
        let machine = with_pools([1000; 8]);
        let mut host = Host::new(&machine);
        let check_backing = |host: &Host, backing| {
            let sga = SgaPlan {
                cache_bytes: 64 * MIB,
                backing,
                page_bytes: 2 * MIB,
                allocation: bind("0"),
            };
            check(host, &sga, &of(8), None)
        };
        assert_eq!(check_backing(&host, Backing::Sysv), Ok(()));
        host.huge_segment_bytes_max = Some(8 * MIB);
        assert_eq!(check_backing(&host, Backing::Memfd), Ok(()));
        let cannot = check_backing(&host, Backing::Sysv).unwrap_err();
        assert_eq!(cannot.exit_code, ExitCode::NotPermitted);
        assert_eq!(
            cannot.reason,
            "needs a huge-page segment, which this user may not create"
        );
        host.huge_segment_bytes_max = Some(1024 * MIB);
        assert_eq!(check_backing(&host, Backing::Sysv), Ok(()));
    }

    #[test]
    fn page_sizes_the_kernel_does_not_have_are_named() {
        let machine = with_pools([100; 8]);
        check_sga(
            &machine,
            256 * MIB,
            1 << 30,
            bind("3"),
            Err("node 3 has no pool of 1 GiB pages; \
                 use a page size that this kernel supports (`numalab topology` lists them)"),
        );
    }

    #[test]
    fn a_machine_without_nodes_has_one_pool() {
        let mut machine = with_pools([0; 8]);
        machine.node_is_implied = true;
        machine.nodes.truncate(1);
        let sga = SgaPlan {
            cache_bytes: 2 * MIB,
            backing: Backing::Sysv,
            page_bytes: 2 * MIB,
            allocation: Allocation::OsDefault,
        };
        let cannot = check(&Host::new(&machine), &sga, &of(1), None).unwrap_err();
        assert_eq!(
            cannot.advice,
            "as root: echo 12 > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"
        );
    }

    #[test]
    fn dev_shm_must_have_room_and_has_no_huge_pages() {
        let machine = with_pools([1000; 8]);
        let mut host = Host::new(&machine);
        host.shm_free_bytes = Some(64 * MIB);
        let check_shm = |cache_bytes, page_bytes| {
            let sga = SgaPlan {
                cache_bytes,
                backing: Backing::Shm,
                page_bytes,
                allocation: Allocation::OsDefault,
            };
            check(&host, &sga, &of(1), None).map_err(|cannot| cannot.to_string())
        };
        assert_eq!(check_shm(32 * MIB, 4096), Ok(()));
        assert_eq!(
            check_shm(64 * MIB, 4096).unwrap_err(),
            "the SGA needs 64.64 MiB in /dev/shm (64 MiB free); \
             as root: mount -o remount,size=… /dev/shm; or set a smaller `cache`"
        );
        assert_eq!(
            check_shm(32 * MIB, 2 * MIB).unwrap_err(),
            "needs 2 MiB pages in /dev/shm, which has 4 KiB pages; set backing = \"memfd\" or \
             \"sysv\" for huge pages"
        );
    }
}
