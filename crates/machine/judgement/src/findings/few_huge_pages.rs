//! A placement on nodes without enough free huge pages.

use model::{Severity, node_words};

use super::row::{Check, Row};
use crate::found::Found;
use crate::inputs::BindInput;

pub(super) const ROW: Row = Row {
    id: "few-huge-pages",
    severity: Severity::Warning,
    about: "the memory nodes have too few free huge pages",
    cost: "a program that takes huge pages fails or is killed by SIGBUS, or runs in small pages",
    cost_source: "kernel, admin-guide/mm/hugetlbpage.rst",
    checks: &[Check::Bind(check)],
};

fn check(input: &BindInput<'_>) -> Option<Found> {
    let all = || input.huge_pages.iter().map(|(node, _)| *node).collect();
    let nodes = match (input.order.memory_nodes(), input.huge_bytes) {
        (Some(nodes), _) => nodes,
        // Any node will do.
        (None, Some(_)) => all(),
        (None, None) => return None,
    };
    let free = |wanted: bool, page_bytes: u64| -> u64 {
        let of_side = input.huge_pages.iter();
        let pools = of_side.filter(|(node, _)| nodes.contains(*node) == wanted);
        let pools = pools.flat_map(|(_, pools)| pools);
        let of_size = pools.filter(|pool| pool.page_bytes == page_bytes);
        of_size.map(|pool| pool.free.unwrap_or(0)).sum()
    };
    let mut sizes: Vec<u64> = input
        .huge_pages
        .iter()
        .flat_map(|(_, pools)| pools)
        .map(|pool| pool.page_bytes)
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    if let Some(huge_bytes) = input.huge_bytes {
        // For any one size: a program takes pages of one size.
        let most = sizes
            .iter()
            .map(|size| size.saturating_mul(free(true, *size)))
            .max();
        let most = most.unwrap_or(0);
        return (most < huge_bytes).then(|| {
            Found::that(format!(
                "at most {most} bytes of huge pages of one size are free and not reserved on {}, \
                 but the program needs {huge_bytes} (set the pools with `numalab pages`)",
                node_words(nodes)
            ))
        });
    }
    let size = sizes
        .into_iter()
        .find(|size| free(true, *size) == 0 && free(false, *size) > 0)?;
    let elsewhere = free(false, size);
    Some(Found::that(format!(
        "no huge pages of {1} KiB are free on {0}, other nodes have {elsewhere}: a program that \
         uses huge pages will fail or be killed by SIGBUS (set the pools with `numalab pages`)",
        node_words(nodes),
        size >> 10
    )))
}
