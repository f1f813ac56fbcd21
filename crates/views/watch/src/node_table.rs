//! The table of nodes: memory, CPUs, allocations and huge pages of each, with the last minute.

use live::{NodeMinute, Points};
use model::{ByteSize, NodeHugePages, NodeSnapshot};

use crate::columns::{Column, Layout};
use crate::figures;
use crate::meter::meter;
use crate::moment::Moment;

/// A meter stands before the figure that it is the last minute of.
const COLUMNS: [Column; 14] = [
    Column::number("NODE", 4, 0),
    Column::words("MEMORY", METER_MIN, 2),
    Column::number("USED", 5, 0),
    Column::number("FREE", 8, 0),
    Column::words("CPUs", METER_MIN, 4),
    Column::number("BUSY", 9, 1),
    Column::words("REMOTE", METER_MIN, 6),
    Column::number("SHARE", 5, 5),
    Column::words("HUGE FREE", 12, 3),
    Column::number("CACHE", 8, 7),
    Column::number("SIZE", 8, 8),
    Column::number("HIT/s", 6, 11),
    Column::number("MISS/s", 6, 10),
    Column::number("FOREIGN/s", 9, 9),
];
/// Columns of a minute: fewer show little, and more than one for two seconds nothing more.
const METER_MIN: usize = 8;
const METER_MAX: usize = 30;
/// Columns beyond which pools are not more readable.
const POOLS_MAX: usize = 36;
/// What is left over goes to meters, then to pools.
const FLEXIBLE: [(usize, usize); 4] = [
    (1, METER_MAX),
    (4, METER_MAX),
    (6, METER_MAX),
    (8, POOLS_MAX),
];

/// The table of nodes, laid out in a width.
pub(crate) struct NodeTable {
    layout: Layout,
}

impl NodeTable {
    /// Lays out the table in `width`.
    pub(crate) fn new(width: usize) -> Self {
        NodeTable {
            layout: Layout::new(&COLUMNS, width, &FLEXIBLE),
        }
    }

    /// Returns the headings.
    pub(crate) fn heading(&self) -> String {
        self.layout.heading()
    }

    /// Returns the row of a node.
    pub(crate) fn row(&self, moment: &Moment, node: &NodeSnapshot) -> String {
        let rates = moment.node(node.id);
        let minute = moment.minute.node(node.id);
        let meter = |of: fn(&NodeMinute) -> &Points, index: usize| {
            let points = minute.map_or(&[][..], |minute| of(minute));
            meter(points, self.layout.width(index))
        };
        self.layout.row(|index| match index {
            0 => node.id.to_string(),
            1 => meter(|it| &it.used, index),
            2 => figures::share(used(node)),
            3 => figures::bytes(node.free_bytes),
            4 => meter(|it| &it.busy, index),
            5 => busy(node, rates.cpus_busy),
            6 => meter(|it| &it.elsewhere, index),
            7 => figures::share(rates.share_elsewhere()),
            8 => pools(&node.huge_pages),
            9 => figures::bytes(node.page_cache_bytes),
            10 => figures::bytes(node.memory_bytes),
            11 => figures::rate(rates.hit_per_s),
            12 => figures::rate(rates.miss_per_s),
            _ => figures::rate(rates.foreign_per_s),
        })
    }
}

/// Returns the share of the memory of a node that is in use: neither free nor page cache.
fn used(node: &NodeSnapshot) -> Option<f64> {
    let all = node.memory_bytes.filter(|all| *all > 0)?;
    let used = all.checked_sub(live::available(node)?)?;
    Some(used as f64 / all as f64)
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
