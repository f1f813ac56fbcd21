//! Pools of huge pages as text and as the document `numalab.pages/1`.

use model::{ByteSize, NodeId, PoolChange, PoolNeed, PoolOfNode, PoolReservation, counted};
use serde::Serialize;

use crate::form::style::{Style, TextOptions};
use crate::form::table::{Side, Table};

/// The name of the format.
pub(crate) const PAGES_FORMAT: &str = "numalab.pages/1";

/// Processes of one segment that are listed.
const PROCESSES_SHOWN: usize = 4;

/// The document.
#[derive(Debug, Serialize)]
pub struct PagesDocument<'a> {
    /// `numalab.pages/1`.
    pub format: &'static str,
    /// All pools, after any change.
    pub pools: &'a [PoolOfNode],
    /// Who has reserved pages, as far as that can be seen.
    pub reservations: &'a [PoolReservation],
    /// The changes made.
    pub set: &'a [PoolChange],
    /// The needs of an SGA, if requested.
    pub needs: Option<NeedsDocument<'a>>,
}

/// The needs of an SGA.
#[derive(Debug, Serialize)]
pub struct NeedsDocument<'a> {
    /// Its size.
    pub sga_bytes: u64,
    /// Size of a page.
    pub page_bytes: u64,
    /// Its placement.
    pub placement: &'a str,
    /// By node.
    pub nodes: &'a [PoolNeed],
    /// The command that sets the pools accordingly; `None` when they have enough.
    pub command: Option<String>,
}

/// Returns the document of pools.
pub fn pages_document<'a>(
    pools: &'a [PoolOfNode],
    reservations: &'a [PoolReservation],
    set: &'a [PoolChange],
    needs: Option<NeedsDocument<'a>>,
) -> PagesDocument<'a> {
    let format = PAGES_FORMAT;
    PagesDocument {
        format,
        pools,
        reservations,
        set,
        needs,
    }
}

/// Formats the table of all pools.
pub fn pools_text(pools: &[PoolOfNode], options: &TextOptions) -> String {
    if pools.is_empty() {
        return "this kernel has no pools of huge pages\n".to_owned();
    }
    let names = [
        "node",
        "page",
        "pool",
        "free",
        "reserved",
        "surplus",
        "memory free",
        "in blocks for a page",
    ];
    let columns = names.map(|name| (name, Side::Right));
    let mut table = Table::new(&columns);
    let count = |count: Option<u64>| count.map_or_else(|| "-".to_owned(), |it| it.to_string());
    let size =
        |bytes: Option<u64>| bytes.map_or_else(|| "-".to_owned(), |it| ByteSize(it).to_string());
    for pool in pools {
        let cells = [
            pool.node.to_string(),
            ByteSize(pool.page_bytes).to_string(),
            pool.total.to_string(),
            count(pool.free),
            count(pool.reserved),
            count(pool.surplus),
            size(pool.node_free_bytes),
            size(pool.free_bytes_in_blocks),
        ];
        table.row(cells);
    }
    options.heading("Huge pages by node") + &table.text(options)
}

/// Formats who has reserved pages; empty when none are.
pub fn reservations_text(
    pools: &[PoolOfNode],
    reservations: &[PoolReservation],
    options: &TextOptions,
) -> String {
    let pages: u64 = pools.iter().filter_map(|it| it.reserved).sum();
    if pages == 0 {
        return String::new();
    }
    let note = "reserved: free pages that are promised to memory which was not touched yet, and so \
                not available; the kernel does not say of which node, so they are counted as the \
                free ones are spread";
    let mut text = options.paragraph("", note, Style::Usual);
    let mut table = Table::of("segment|>page|>reserved|processes");
    for holder in reservations {
        let processes = holder.processes.iter().take(PROCESSES_SHOWN);
        let processes = processes.map(|it| format!("{} {}", it.pid, it.name));
        let mut processes: Vec<String> = processes.collect();
        let others = holder.processes.len().saturating_sub(PROCESSES_SHOWN);
        processes.extend((others > 0).then(|| format!("and {others} more")));
        let cells = [
            holder.name.clone(),
            ByteSize(holder.page_bytes).to_string(),
            holder.pages.to_string(),
            processes.join(", "),
        ];
        table.row(cells);
    }
    text.push_str(&options.heading("Reserved by"));
    match reservations.is_empty() {
        true => text.push_str("no process that this user may examine\n"),
        false => text.push_str(&table.text(options)),
    }
    text
}

/// Formats the changes, one sentence each, with the reason where the kernel stopped short.
pub fn pool_changes_text(
    changes: &[PoolChange],
    pools: &[PoolOfNode],
    options: &TextOptions,
) -> String {
    let mut text = String::new();
    for change in changes {
        let style = match change.reached == change.asked {
            true => Style::Usual,
            false => Style::Care,
        };
        text.push_str(&options.paragraph("", &pool_change_sentence(change, pools), style));
    }
    text
}

/// Describes a change: `node 1: 900 of 1000 pages of 2 MiB, before 0; …`.
pub fn pool_change_sentence(change: &PoolChange, pools: &[PoolOfNode]) -> String {
    let (node, size) = (change.node, ByteSize(change.page_bytes));
    let (before, asked, reached) = (change.before, change.asked, change.reached);
    if before == asked {
        return format!(
            "node {node}: {} of {size}, unchanged",
            counted(asked, "page")
        );
    }
    let mut text = format!(
        "node {node}: {reached} of {} of {size} (was {before})",
        counted(asked, "page")
    );
    if reached > asked {
        text.push_str("; the others are in use and go away when freed");
    }
    if reached < asked {
        if change.compacted {
            text.push_str("; no more even after compacting its memory");
        }
        let of_change = |it: &&PoolOfNode| (it.node, it.page_bytes) == (node, change.page_bytes);
        text.push_str(&shortage(pools.iter().find(of_change), asked - reached));
    }
    text
}

/// Explains why there are not more pages: too little memory, or too few large blocks.
fn shortage(pool: Option<&PoolOfNode>, missing: u64) -> String {
    let Some(pool) = pool else {
        return String::new();
    };
    let Some(free) = pool.node_free_bytes else {
        return String::new();
    };
    let wanted = missing.saturating_mul(pool.page_bytes);
    let (missing, free_text) = (ByteSize(wanted), ByteSize(free));
    if free < wanted {
        return format!("; {missing} missing, {free_text} free: the node is full");
    }
    match pool.free_bytes_in_blocks {
        Some(blocks) => format!(
            "; {free_text} free on the node, {} of it in blocks of the page size: its memory is \
             fragmented",
            ByteSize(blocks)
        ),
        None => format!("; {free_text} free on the node, in smaller blocks"),
    }
}

/// Formats the needs of an SGA, by node, and the command that provides them.
pub fn pool_needs_text(needs: &NeedsDocument<'_>, options: &TextOptions) -> String {
    let (sga, page) = (ByteSize(needs.sga_bytes), ByteSize(needs.page_bytes));
    let title = format!("{sga} in pages of {page}, placement {}", needs.placement);
    let names = [
        "node",
        "needed",
        "free in the pool",
        "of these reserved",
        "pool must have",
    ];
    let mut table = Table::new(&names.map(|name| (name, Side::Right)));
    for need in needs.nodes {
        let enough = is_enough(need);
        let style = if enough { Style::Usual } else { Style::Care };
        let numbers = [need.needed, need.free, need.reserved, need.total_then];
        let numbers = numbers.map(|it| (it.to_string(), style));
        let mut cells = vec![(need.node.to_string(), style)];
        cells.extend(numbers);
        table.push(cells);
    }
    let end = match &needs.command {
        Some(command) => format!("to set the pools: {command}\n"),
        None => "the pools are large enough\n".to_owned(),
    };
    format!("{}{}{end}", options.heading(&title), table.text(options))
}

fn is_enough(need: &PoolNeed) -> bool {
    need.needed <= need.free.saturating_sub(need.reserved)
}

/// Returns the command that sets the pools to what is needed; `None` when they have enough.
pub fn pool_needs_command(needs: &[PoolNeed], page_bytes: u64) -> Option<String> {
    let missing = |need: &&PoolNeed| !is_enough(need);
    let pairs: Vec<String> = needs
        .iter()
        .filter(missing)
        .map(|need| format!("{}={}", NodeId(need.node.0), need.total_then))
        .collect();
    let size = ByteSize(page_bytes).to_string().replace(" ", "");
    (!pairs.is_empty()).then(|| format!("numalab pages --size {size} --set {}", pairs.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(reached: u64, free: u64, blocks: Option<u64>, expected: &str) {
        let change = PoolChange {
            node: NodeId(1),
            page_bytes: 2 << 20,
            before: 0,
            asked: 100,
            reached,
            compacted: reached < 100,
        };
        let pool = PoolOfNode {
            node: NodeId(1),
            page_bytes: 2 << 20,
            node_free_bytes: Some(free),
            free_bytes_in_blocks: blocks,
            ..PoolOfNode::default()
        };
        assert_eq!(pool_change_sentence(&change, &[pool]), expected);
    }

    #[test]
    fn a_shortage_is_named() {
        check(100, 0, None, "node 1: 100 of 100 pages of 2 MiB (was 0)");
        check(
            90,
            10 << 20,
            Some(0),
            "node 1: 90 of 100 pages of 2 MiB (was 0); no more even after compacting its memory; \
             20 MiB missing, 10 MiB free: the node is full",
        );
        check(
            90,
            1 << 30,
            Some(4 << 20),
            "node 1: 90 of 100 pages of 2 MiB (was 0); no more even after compacting its memory; \
             1 GiB free on the node, 4 MiB of it in blocks of the page size: its memory is \
             fragmented",
        );
    }

    #[test]
    fn the_command_names_what_is_missing() {
        let need = |node, needed, free| PoolNeed {
            node: NodeId(node),
            needed,
            free,
            reserved: 0,
            total_then: 40 + needed - free.min(needed),
        };
        let needs = [need(0, 10, 20), need(1, 30, 20)];
        let command = pool_needs_command(&needs, 2 << 20);
        assert_eq!(
            command.as_deref(),
            Some("numalab pages --size 2MiB --set 1=50")
        );
        assert_eq!(pool_needs_command(&needs[..1], 2 << 20), None);
    }
}
