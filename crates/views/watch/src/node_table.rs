//! The table of nodes: memory, huge pages, allocations and CPUs of each.

use model::{ByteSize, NodeHugePages, NodeSnapshot};

use crate::columns::{Column, Layout};
use crate::figures;
use crate::moment::Moment;

const FIXED: [Column; 9] = [
    Column::number("NODE", 4, 0),
    Column::number("MEMORY", 8, 4),
    Column::number("FREE", 8, 0),
    Column::number("USED", 8, 6),
    Column::number("CACHE", 8, 4),
    Column::words("HUGE FREE", 12, 1),
    Column::number("HIT/s", 6, 5),
    Column::number("MISS/s", 6, 2),
    Column::number("FOREIGN/s", 9, 3),
];
/// Index of the column of huge pages.
const HUGE_PAGES: usize = 5;
/// Used of all CPUs of the node.
const CPUS: Column = Column::number("CPUs BUSY", 9, 1);
/// Columns beyond which pools are not more readable.
const POOLS_MAX: usize = 36;

/// The table of nodes, laid out in a width.
pub(crate) struct NodeTable {
    layout: Layout,
}

impl NodeTable {
    /// Lays out the table in `width`.
    pub(crate) fn new(width: usize) -> Self {
        let mut columns = FIXED.to_vec();
        columns.push(CPUS);
        NodeTable {
            layout: Layout::new(&columns, width, &[(HUGE_PAGES, POOLS_MAX)]),
        }
    }

    /// Returns the headings.
    pub(crate) fn heading(&self) -> String {
        self.layout.heading()
    }

    /// Returns the row of a node.
    pub(crate) fn row(&self, moment: &Moment, node: &NodeSnapshot) -> String {
        let rates = moment.node(node.id);
        let used = node.memory_bytes.zip(node.free_bytes);
        self.layout.row(|index| match index {
            0 => node.id.to_string(),
            1 => figures::bytes(node.memory_bytes),
            2 => figures::bytes(node.free_bytes),
            3 => figures::bytes(used.map(|(all, free)| all.saturating_sub(free))),
            4 => figures::bytes(node.page_cache_bytes),
            5 => pools(&node.huge_pages),
            6 => figures::rate(rates.hit_per_s),
            7 => figures::rate(rates.miss_per_s),
            8 => figures::rate(rates.foreign_per_s),
            _ => busy(node, rates.cpus_busy),
        })
    }
}

/// Returns CPUs busy of all CPUs of the node.
fn busy(node: &NodeSnapshot, cpus: Option<f64>) -> String {
    match node.cpus.is_empty() {
        true => "no CPUs".to_owned(),
        false => {
            let busy = cpus.map_or(figures::UNKNOWN.to_owned(), |it| format!("{it:.1}"));
            format!("{busy}/{}", node.cpus.len())
        }
    }
}

/// Returns the pools of a node, such as `2M: 12/512`; pools without pages are left out.
fn pools(pools: &[NodeHugePages]) -> String {
    let filled = pools.iter().filter(|pool| pool.total > 0);
    let texts = filled.map(|pool| {
        let size = format!("{:.0}", ByteSize(pool.page_bytes));
        let size = size.replace("iB", "").replace(' ', "");
        let free = pool
            .free
            .map_or(figures::UNKNOWN.to_owned(), |it| it.to_string());
        format!("{size}: {free}/{}", pool.total)
    });
    let text = texts.collect::<Vec<_>>().join(" ");
    match (text.is_empty(), pools.is_empty()) {
        (true, true) => figures::UNKNOWN.to_owned(),
        (true, false) => "none".to_owned(),
        _ => text,
    }
}
