//! The pools of the nodes that the server may use have fewer huge pages than it needs.

use model::{NodeId, Severity, shell_line};

use super::row::{Check, Row};
use crate::doctor::pools::pool_file;
use crate::doctor::postgres_server::{is_in_small_pages, postmaster};
use crate::doctor::{DoctorInput, sight};
use crate::found::{Found, fact};

pub(super) const ROW: Row = Row {
    id: "postgres-huge-pages-short",
    severity: Severity::Warning,
    about: "the nodes that PostgreSQL may use have fewer huge pages than it needs",
    cost: "with huge_pages = on it does not start, with try it runs in small pages",
    cost_source: "PostgreSQL, \"Linux Huge Pages\"; kernel, admin-guide/mm/hugetlbpage.rst",
    checks: &[Check::Doctor(sight::postgres_settings, check)],
};

fn check(input: &DoctorInput) -> Option<Found> {
    let settings = input.postgres.as_ref()?;
    let needed = settings.huge_pages_needed.filter(|needed| *needed > 0)?;
    let wants_them = settings.huge_pages != "off";
    if !wants_them || is_in_small_pages(input, settings) == Some(false) {
        return None;
    }
    let allowed = &postmaster(input.residency.as_ref()?)?.memory_nodes_allowed;
    let bytes = settings.huge_page_bytes?;
    let free = |node: &NodeId| -> u64 {
        let nodes = input.topology.nodes.iter().filter(|it| it.id == *node);
        let pools = nodes.flat_map(|node| &node.huge_pages);
        let of_size = pools.filter(|pool| pool.page_bytes == bytes);
        of_size.map(|pool| pool.free.unwrap_or(0)).sum()
    };
    let there: u64 = allowed.iter().map(|node| free(&node)).sum();
    if allowed.is_empty() || there >= needed {
        return None;
    }
    let each = needed.div_ceil(allowed.len() as u64);
    let pools = allowed
        .iter()
        .map(|node| fact(pool_file(node, bytes, "free_hugepages"), free(&node)));
    Some(Found {
        message: format!(
            "the server needs {needed} huge pages for its shared memory, but the nodes it may \
             use, {allowed}, have {there} free"
        ),
        evidence: std::iter::once(fact("SHOW shared_memory_size_in_huge_pages", needed))
            .chain(pools)
            .collect(),
        fix: allowed
            .iter()
            .map(|node| shell_line!("echo {} >{}", each, pool_file(node, bytes, "nr_hugepages")))
            .collect(),
        ..Found::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::samples::{HUGE, server};

    #[test]
    fn the_pools_of_the_allowed_nodes_count() {
        let found = check(&server("try", 4096, "0")).unwrap();
        assert!(found.message.contains("needs 150") && found.message.contains("have 100 free"));
        assert!(found.fix[0].starts_with("echo 150 >/sys/devices/system/node/node0/"));
        assert!(check(&server("try", 4096, "0-1")).is_none());
        assert!(check(&server("try", HUGE, "0")).is_none());
        assert!(check(&server("off", 4096, "0")).is_none());
    }
}
