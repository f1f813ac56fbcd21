//! The live page: nodes, databases, processes, what runs out, and notices.

use std::cmp::Reverse;

use live::{Change, Minute, NodeChange};
use model::{InstanceSnapshot, MemorySnapshot, NodeSnapshot, ProcessSnapshot, Snapshot};

use super::amounts::{UNKNOWN, bytes, count, cpus, percent, rate, time};
use super::html::{escaped, page, table};
use crate::content::Look;

/// Processes shown: those with the most memory.
const PROCESSES_SHOWN: usize = 20;
/// Databases shown.
const INSTANCES_SHOWN: usize = 50;

/// Returns the page. Without script, the browser loads it again.
pub(crate) fn live_page(look: &Look) -> String {
    let head = "<script src=\"/live.js\" defer></script>\n\
                <noscript><meta http-equiv=\"refresh\" content=\"5\"></noscript>\n";
    let host = escaped(&look.host);
    let main = format!(
        "<h1>{host} now</h1>\n<p id=\"state\" role=\"status\"></p>\n<div id=\"live\">{}</div>\n",
        live_part(look)
    );
    page(&format!("{} now", look.host), head, &main)
}

/// Returns the part of the page that changes.
pub(crate) fn live_part(look: &Look) -> String {
    let snapshot = &look.snapshot;
    let unchanged = Change::default();
    let change = look.change.as_ref().unwrap_or(&unchanged);
    [
        format!("<p>As of <time>{}</time></p>\n", escaped(&look.taken)),
        notices(look),
        format!("<h2>Nodes</h2>\n{}", nodes(look, change)),
        since(change),
        huge_pages(&snapshot.nodes),
        pressure(snapshot),
        migrations(change),
        instances(snapshot, change),
        processes(snapshot, change),
    ]
    // Each has its place even if it is empty: an update changes what is in it, and not the rest.
    .map(|part| format!("<section>\n{part}</section>\n"))
    .concat()
}

fn notices(look: &Look) -> String {
    let said = look.notices.iter().chain(&look.snapshot.gaps);
    let items: String = said
        .map(|notice| format!("<li>{}</li>\n", escaped(notice)))
        .collect();
    match items.is_empty() {
        true => String::new(),
        false => format!("<ul class=\"notices\">\n{items}</ul>\n"),
    }
}

fn nodes(look: &Look, change: &Change) -> String {
    let rows: Vec<Vec<String>> = look
        .snapshot
        .nodes
        .iter()
        .map(|node| {
            let rate_of = |of: fn(&NodeChange) -> Option<f64>| change.node(node.id).and_then(of);
            vec![
                node.id.to_string(),
                escaped(&node.cpus.to_string()),
                cpus(rate_of(|it| it.cpus_busy)),
                curve(
                    "CPUs busy",
                    look.minute.node(node.id).map(|it| &it.busy[..]),
                ),
                bytes(node.memory_bytes),
                bytes(node.free_bytes),
                curve(
                    "memory used",
                    look.minute.node(node.id).map(|it| &it.used[..]),
                ),
                bytes(node.page_cache_bytes),
                bytes(node.anonymous_bytes),
                bytes(node.shared_bytes),
                rate(rate_of(|it| it.hit_per_s)),
                rate(rate_of(|it| it.miss_per_s)),
                rate(rate_of(|it| it.foreign_per_s)),
            ]
        })
        .collect();
    let heads = [
        "node",
        "CPUs",
        "CPUs busy",
        "CPUs, last minute",
        "memory",
        "free",
        "memory used, last minute",
        "page cache",
        "anonymous",
        "shared",
        "hit, pages/s",
        "miss, pages/s",
        "foreign, pages/s",
    ];
    table(&heads, &rows)
}

/// Says of which time the rates are.
fn since(change: &Change) -> String {
    match change.seconds {
        Some(seconds) => format!(
            "<p><small>Rates are means of the last {}.</small></p>\n",
            time(seconds)
        ),
        None => "<p><small>Rates need a second look: they come with the next update.</small></p>\n"
            .to_owned(),
    }
}

fn migrations(change: &Change) -> String {
    let (all, balanced) = (
        change.pages_migrated_per_s,
        change.numa_pages_migrated_per_s,
    );
    format!(
        "<p>Pages moved between nodes: {} pages/s, of these by NUMA balancing {} pages/s.</p>\n",
        rate(all),
        rate(balanced)
    )
}

/// Draws shares of the last minute: the right end is now, the top is all of it.
fn curve(of: &str, points: Option<&[(f64, f64)]>) -> String {
    let points = points.unwrap_or_default();
    let (Some((oldest, first)), Some((_, last))) = (points.first(), points.last()) else {
        return UNKNOWN.to_owned();
    };
    let x = |ago: f64| Minute::SECONDS - ago;
    let line: String = points
        .iter()
        .map(|(ago, share)| format!(" {:.1},{:.1}", x(*ago), 20.0 * (1.0 - share)))
        .collect();
    format!(
        "<svg class=\"curve\" viewBox=\"0 0 60 20\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-label=\"{of}: {}, {} ago {}\">\
         <polygon points=\"{:.1},20{line} 60,20\"/><polyline points=\"{}\"/></svg>",
        percent(Some(*last)),
        time(*oldest),
        percent(Some(*first)),
        x(*oldest),
        line.trim_start(),
    )
}

fn huge_pages(nodes: &[NodeSnapshot]) -> String {
    let rows: Vec<Vec<String>> = nodes
        .iter()
        .flat_map(|node| node.huge_pages.iter().map(move |pool| (node, pool)))
        .filter(|(_, pool)| pool.total > 0)
        .map(|(node, pool)| {
            vec![
                node.id.to_string(),
                bytes(Some(pool.page_bytes)),
                pool.total.to_string(),
                count(pool.free),
            ]
        })
        .collect();
    match rows.is_empty() {
        true => String::new(),
        false => format!(
            "<h2>Huge pages</h2>\n{}",
            table(&["node", "page size", "pages", "free"], &rows)
        ),
    }
}

fn pressure(snapshot: &Snapshot) -> String {
    let it = &snapshot.pressure;
    format!(
        "<h2>Pressure</h2>\n<p>Share of the last ten seconds in which tasks waited: some for a CPU \
         {}, some for memory {}, all for memory {}.</p>\n",
        percent(it.cpu_some),
        percent(it.memory_some),
        percent(it.memory_full)
    )
}

fn instances(snapshot: &Snapshot, change: &Change) -> String {
    if snapshot.instances.is_empty() {
        return "<h2>Databases</h2>\n<p>No database was found.</p>\n".to_owned();
    }
    let row = |it: &InstanceSnapshot| {
        vec![
            escaped(&it.name),
            it.pids.len().to_string(),
            cpus(cpus_of(it, change)),
            memory(it.memory.as_ref(), snapshot.uptime_s),
        ]
    };
    let rows: Vec<_> = snapshot
        .instances
        .iter()
        .take(INSTANCES_SHOWN)
        .map(row)
        .collect();
    let left_out = left_out(snapshot.instances.len(), INSTANCES_SHOWN, "databases");
    let heads = ["database", "processes", "CPUs used", "memory by node"];
    format!("<h2>Databases</h2>\n{}{left_out}", table(&heads, &rows))
}

/// Adds up the CPUs that the processes of an instance used; unknown where that of one is.
fn cpus_of(instance: &InstanceSnapshot, change: &Change) -> Option<f64> {
    let used = instance
        .pids
        .iter()
        .map(|pid| change.process(*pid)?.cpus_used);
    used.sum()
}

fn processes(snapshot: &Snapshot, change: &Change) -> String {
    let mut processes: Vec<&ProcessSnapshot> = snapshot.processes.iter().collect();
    processes.sort_by_key(|it| (Reverse(it.resident_bytes), it.pid));
    let row = |it: &&ProcessSnapshot| {
        vec![
            it.pid.to_string(),
            escaped(&it.name),
            it.threads.to_string(),
            cpus(change.process(it.pid).and_then(|it| it.cpus_used)),
            place(snapshot, it),
            bytes(it.resident_bytes),
            memory(it.memory.as_ref(), snapshot.uptime_s),
        ]
    };
    let rows: Vec<_> = processes.iter().take(PROCESSES_SHOWN).map(row).collect();
    let left_out = left_out(processes.len(), PROCESSES_SHOWN, "processes");
    let heads = [
        "process",
        "name",
        "threads",
        "CPUs used",
        "last CPU",
        "resident",
        "memory by node",
    ];
    let table = table(&heads, &rows);
    format!("<h2>Processes with the most memory</h2>\n{table}{left_out}")
}

/// Says on which CPU, of which node, a process last ran.
fn place(snapshot: &Snapshot, process: &ProcessSnapshot) -> String {
    let Some(cpu) = process.last_cpu else {
        return UNKNOWN.to_owned();
    };
    let mut nodes = snapshot.nodes.iter();
    match nodes.find(|node| node.cpus.contains(cpu)) {
        Some(node) => format!("{cpu} (node {})", node.id),
        None => cpu.to_string(),
    }
}

/// Says where memory lies, and how old that figure is.
fn memory(memory: Option<&MemorySnapshot>, uptime_s: f64) -> String {
    let Some(memory) = memory else {
        return UNKNOWN.to_owned();
    };
    let nodes = memory.bytes_by_node.iter();
    let nodes = nodes.map(|(node, amount)| format!("node {node}: {}", bytes(Some(*amount))));
    let nodes = nodes.collect::<Vec<_>>().join(", ");
    let age = (uptime_s - memory.looked_at_s).max(0.0);
    let bound = if memory.complete { "" } else { "at least " };
    format!("{bound}{nodes} <small>({} ago)</small>", time(age))
}

fn left_out(there: usize, shown: usize, what: &str) -> String {
    match there.checked_sub(shown) {
        None | Some(0) => String::new(),
        Some(more) => format!("<p>{more} {what} more.</p>\n"),
    }
}
