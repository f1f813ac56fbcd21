//! A machine as text: overview, nodes, distances, caches, huge pages, devices, settings. Describes
//! without judging.

use std::collections::BTreeSet;

use model::{ByteSize, Device, DeviceKind, Node, Topology, counted};

use crate::form::plain::plain;
use crate::form::style::{Style, TextOptions};
use crate::form::table::{Side, Table};
use crate::topology::caches::{caches_text, memory_side_caches_text};
use crate::topology::distances::{distances_text, named};
use crate::topology::settings::settings_text;

/// What a software emulator means for the reader.
const EMULATED: &str = "emulated in software; speeds measured here say nothing about NUMA";

/// What any other hypervisor means for the reader.
const VIRTUAL: &str = "a virtual machine; its nodes may not match those of its host";

/// Formats a machine.
pub fn topology_text(topology: &Topology, options: &TextOptions) -> String {
    let sections = [
        machine_text(topology, options),
        nodes_text(topology, options),
        distances_text(topology, options),
        ratings_text(topology, options),
        memory_side_caches_text(topology, options),
        caches_text(topology, options),
        huge_pages_text(topology, options),
        devices_text(topology, options),
        settings_text(topology, options),
        gaps_text(topology, options),
    ];
    let shown: Vec<String> = sections
        .into_iter()
        .filter(|section| !section.is_empty())
        .collect();
    shown.join("\n")
}

fn machine_text(topology: &Topology, options: &TextOptions) -> String {
    let mut facts = Vec::new();
    let mut fact = |name, value: String| facts.push((name, value, Style::Usual));
    let processor = topology.cpu_model.as_deref();
    fact("processor", processor.map_or_else(unknown, plain));
    fact("CPUs", cpus_sentence(topology));
    let parts = [
        topology
            .packages
            .map(|packages| counted(packages as usize, "package")),
        topology.cores.map(|cores| counted(cores as usize, "core")),
        topology
            .threads_per_core
            .map(|threads| counted(threads as usize, "thread") + " per core"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if !parts.is_empty() {
        fact("made of", parts.join(", "));
    }
    let online = topology.node_ids();
    if let Some(possible) = topology
        .possible_nodes
        .as_ref()
        .filter(|nodes| **nodes != online)
    {
        let count = online.len();
        fact(
            "nodes",
            format!("{count} online: {online}; possible: {possible}"),
        );
    }
    fact(
        "memory",
        memory_sentence(topology) + &unusual_pages(topology),
    );
    if let Some(hypervisor) = &topology.hypervisor {
        let means = if topology.emulated == Some(true) {
            EMULATED
        } else {
            VIRTUAL
        };
        facts.push((
            "hypervisor",
            format!("{}: {means}", plain(hypervisor)),
            Style::Care,
        ));
    }
    options.facts("Machine", &facts)
}

/// Returns the size of a base page where it is not that of most machines.
fn unusual_pages(topology: &Topology) -> String {
    let pages = topology.page_bytes.filter(|bytes| *bytes != 4 << 10);
    pages.map_or(String::new(), |bytes| {
        format!(", in pages of {}", ByteSize(bytes))
    })
}

/// Returns the kernel's total, and the sum of the nodes where they differ by more than 1 %.
fn memory_sentence(topology: &Topology) -> String {
    let nodes = counted(topology.nodes.len(), "node");
    let of_nodes = topology.memory_bytes_of(&topology.node_ids());
    let Some(total) = topology.memory_bytes else {
        return match of_nodes {
            Some(of_nodes) => format!(
                "{} in {nodes}, by the nodes' own figures",
                ByteSize(of_nodes)
            ),
            None => format!("unknown, in {nodes}"),
        };
    };
    match of_nodes.filter(|of_nodes| of_nodes.abs_diff(total) > total / 100) {
        Some(of_nodes) => {
            let (total, of_nodes) = (ByteSize(total), ByteSize(of_nodes));
            format!("{total} in {nodes}, of which the nodes' own figures show {of_nodes}")
        }
        None => format!("{} in {nodes}", ByteSize(total)),
    }
}

fn cpus_sentence(topology: &Topology) -> String {
    let mut text = format!("{} online: {}", topology.cpus.len(), topology.cpus);
    if !topology.offline_cpus.is_empty() {
        let offline = &topology.offline_cpus;
        text.push_str(&format!("; {} offline: {offline}", offline.len()));
    }
    if let Some(isolated) = topology
        .isolated_cpus
        .as_ref()
        .filter(|cpus| !cpus.is_empty())
    {
        text.push_str(&format!("; isolated from the scheduler: {isolated}"));
    }
    text
}

fn nodes_text(topology: &Topology, options: &TextOptions) -> String {
    let sizes: BTreeSet<u64> = topology
        .nodes
        .iter()
        .flat_map(|node| &node.huge_pages)
        .filter(|pool| pool.total > 0)
        .map(|pool| pool.page_bytes)
        .collect();
    let titles: Vec<String> = sizes
        .iter()
        .map(|bytes| format!("{} pages", ByteSize(*bytes)))
        .collect();
    let mut columns = vec![
        ("node", Side::Right),
        ("package", Side::Right),
        ("memory", Side::Right),
        ("free", Side::Right),
    ];
    columns.extend(titles.iter().map(|title| (title.as_str(), Side::Right)));
    columns.extend([("CPUs", Side::Right), ("which", Side::Left)]);
    let mut table = Table::new(&columns);
    for node in &topology.nodes {
        let mut cells = vec![
            node.id.to_string(),
            packages_of(topology, node),
            memory(node.memory_bytes),
            memory(node.free_bytes),
        ];
        cells.extend(sizes.iter().map(|bytes| pool_of(node, *bytes)));
        cells.extend(match node.has_unknown_cpus {
            true => [unknown(), unknown()],
            false => [node.cpus.len().to_string(), node.cpus.to_string()],
        });
        table.row(cells);
    }
    options.heading("Nodes") + &table.text(options)
}

fn memory(bytes: Option<u64>) -> String {
    match bytes {
        None => unknown(),
        Some(0) => "none".to_owned(),
        Some(bytes) => format!("{:.1}", ByteSize(bytes)),
    }
}

fn unknown() -> String {
    "unknown".to_owned()
}

/// Returns `4`, `0,1`, or an empty text for a node without CPUs.
fn packages_of(topology: &Topology, node: &Node) -> String {
    let cores = topology
        .core_list
        .iter()
        .filter(|core| core.node == Some(node.id));
    let packages: BTreeSet<u32> = cores.filter_map(|core| core.package).collect();
    if packages.is_empty() && (node.has_unknown_cpus || !node.cpus.is_empty()) {
        return unknown();
    }
    packages
        .iter()
        .map(u32::to_string)
        .collect::<Vec<_>>()
        .join(",")
}

/// Returns `23589 of 39303 free`.
fn pool_of(node: &Node, page_bytes: u64) -> String {
    match node
        .huge_pages
        .iter()
        .find(|pool| pool.page_bytes == page_bytes)
    {
        None => "unknown".to_owned(),
        Some(pool) if pool.total == 0 => "none".to_owned(),
        Some(pool) => match pool.free {
            Some(free) => format!("{free} of {} free", pool.total),
            None => pool.total.to_string(),
        },
    }
}

/// Formats the firmware's ratings of the nodes' memory; empty where it has none.
fn ratings_text(topology: &Topology, options: &TextOptions) -> String {
    let mut table = Table::of(">node|seen from|>read|>write|>read/s|>write/s");
    let time = |ns: Option<u64>| ns.map_or_else(unknown, |ns| format!("{ns} ns"));
    let rate = |bytes: Option<u64>| bytes.map_or_else(unknown, |bytes| ByteSize(bytes).to_string());
    if topology.memory_ratings.is_empty() {
        return String::new();
    }
    for rating in &topology.memory_ratings {
        let cells = [
            rating.node.to_string(),
            named(&rating.from),
            time(rating.read_latency_ns),
            time(rating.write_latency_ns),
            rate(rating.read_bytes_per_s),
            rate(rating.write_bytes_per_s),
        ];
        table.row(cells);
    }
    options.heading("Memory ratings from the firmware (not measured)") + &table.text(options)
}

fn huge_pages_text(topology: &Topology, options: &TextOptions) -> String {
    let pools = &topology.huge_pages;
    let heading = options.heading("Huge pages");
    if pools.is_empty() {
        return heading + "This kernel has no huge-page pools.\n";
    }
    if pools
        .iter()
        .all(|pool| pool.total == 0 && pool.overcommit.unwrap_or(0) == 0)
    {
        let sizes: Vec<String> = pools
            .iter()
            .map(|pool| ByteSize(pool.page_bytes).to_string())
            .collect();
        return heading
            + &format!(
                "All pools are empty. Page sizes of this kernel: {}.\n",
                sizes.join(", ")
            );
    }
    let titles = [
        "page",
        "total",
        "free",
        "reserved",
        "surplus",
        "may be added",
    ];
    let mut table = Table::new(&titles.map(|title| (title, Side::Right)));
    let number = |count: Option<u64>| count.map_or("unknown".to_owned(), |count| count.to_string());
    for pool in pools {
        let default = if pool.is_default == Some(true) {
            "default "
        } else {
            ""
        };
        let cells = [
            format!("{default}{}", ByteSize(pool.page_bytes)),
            pool.total.to_string(),
            number(pool.free),
            number(pool.reserved),
            number(pool.surplus),
            number(pool.overcommit),
        ];
        table.row(cells);
    }
    heading + &table.text(options)
}

/// Lists missing or contradictory facts of the machine; usually empty.
fn gaps_text(topology: &Topology, options: &TextOptions) -> String {
    if topology.gaps.is_empty() {
        return String::new();
    }
    let sentences = topology.gaps.iter();
    let lines = sentences.map(|gap| options.paragraph("- ", &plain(gap), Style::Care));
    options.heading("Missing or contradictory") + &lines.collect::<String>()
}

fn devices_text(topology: &Topology, options: &TextOptions) -> String {
    let mut devices: Vec<&Device> = topology.devices.iter().flatten().collect();
    if devices.is_empty() {
        return String::new();
    }
    // Devices whose node is unknown come last.
    devices.sort_by_key(|device| (device.node.is_none(), device.node, device.kind));
    let columns = ["node", "device", "address", "name"];
    let mut table = Table::new(&columns.map(|title| (title, Side::Left)));
    for device in devices {
        let kind = match device.kind {
            DeviceKind::Network => "network",
            DeviceKind::Storage => "storage",
            DeviceKind::Gpu => "GPU",
        };
        let cells = [
            device
                .node
                .map_or("unknown".to_owned(), |node| node.to_string()),
            kind.to_owned(),
            plain(&device.address),
            plain(&device.names.join(" ")),
        ];
        table.row(cells);
    }
    options.heading("Devices by node") + &table.text(options)
}
