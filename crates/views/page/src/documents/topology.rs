//! The page of `numalab.topology/1`.

use maud::{Markup, PreEscaped, html};
use model::{ByteSize, CacheKind, DeviceKind, LatencyResult, Topology, counted};
use report::{Fields, Table, TextOptions, topology_svg, topology_text};

use super::error::Error;
use super::frame::{Content, as_text};
use super::guard::fields;
use super::table::{UNKNOWN, cut, or_unknown, table};
use super::top::Top;

/// Maximum number of nodes that are drawn: a cell of the table of distances for each pair of them.
const NODES_MAX: usize = 128;

/// Reads a document.
pub(crate) fn read_topology(text: &str) -> Result<Topology, Error> {
    fields(text, Topology::FORMAT)
}

/// Returns the page's content.
pub(crate) fn topology_content(topology: &Topology, latencies: Option<&LatencyResult>) -> Content {
    let is_drawn = topology.nodes.len() <= NODES_MAX && has_square_distances(topology);
    let top = Top {
        answer: answer(topology),
        machine: topology.cpu_model.clone(),
        ..Top::default()
    };
    let body = html! {
        section {
            @if is_drawn {
                figure {
                    figcaption {
                        "Nodes that the firmware calls near share a frame; dashed: without CPUs or "
                        "without memory"
                    }
                    // The picture escapes what it shows.
                    div.scroll.sheet tabindex="0" role="region" aria-label="Nodes" {
                        (PreEscaped(topology_svg(topology, latencies)))
                    }
                }
            } @else if topology.nodes.len() > NODES_MAX {
                p { "Left out: the picture of more than " (NODES_MAX) " nodes." }
            } @else {
                p { "Left out: the picture, because the distances do not match the nodes." }
            }
        }
        section {
            h2 { "Figures" }
            (nodes(topology))
            (caches(topology))
            (devices(topology))
            @if is_drawn { (as_text(&topology_text(topology, &TextOptions::default()))) }
            @if !topology.gaps.is_empty() {
                h3 { "Gaps" }
                ul { @for gap in topology.gaps.iter().take(100) { li { (cut(gap)) } } }
            }
        }
    };
    Content { top, body }
}

fn answer(topology: &Topology) -> String {
    let mut words = vec![
        counted(topology.nodes.len(), "node"),
        counted(topology.cpus.len(), "CPU"),
    ];
    let packages = topology.packages;
    words.extend(packages.map(|it| counted(it as usize, "package")));
    let memory = topology.memory_bytes;
    words.extend(memory.map(|bytes| format!("{} of memory", ByteSize(bytes))));
    words.join(", ") + "."
}

/// Whether there is a distance for each pair of nodes, if there are any.
fn has_square_distances(topology: &Topology) -> bool {
    let count = topology.nodes.len();
    topology
        .distances
        .as_ref()
        .is_none_or(|rows| rows.len() == count && rows.iter().all(|row| row.len() == count))
}

fn nodes(topology: &Topology) -> Markup {
    let rows = topology.nodes.iter().map(|node| {
        let cpus = match node.has_unknown_cpus {
            true => UNKNOWN.to_owned(),
            false if node.cpus.is_empty() => "none".to_owned(),
            false => node.cpus.to_string(),
        };
        vec![
            node.id.to_string(),
            cpus,
            or_unknown(node.memory_bytes.map(ByteSize)),
            or_unknown(node.free_bytes.map(ByteSize)),
        ]
    });
    let titles = ">node|>CPUs|>memory|>free";
    table("Nodes", &Table::of(titles).with(rows))
}

fn caches(topology: &Topology) -> Markup {
    let rows = topology.caches.iter().map(|cache| {
        let kind = match cache.kind {
            CacheKind::Data => "data",
            CacheKind::Instruction => "instructions",
            CacheKind::Unified => "both",
        };
        vec![
            format!("L{}", cache.level),
            kind.to_owned(),
            or_unknown(cache.size_bytes.map(ByteSize)),
            or_unknown(cache.shared_by.as_ref().map(Vec::len)),
        ]
    });
    let titles = "cache|holds|>size of each|>number";
    table("Caches", &Table::of(titles).with(rows))
}

fn devices(topology: &Topology) -> Markup {
    let Some(devices) = &topology.devices else {
        return html! { p { "Devices: " (UNKNOWN) ", the kernel lists none." } };
    };
    let rows = devices.iter().map(|device| {
        let kind = match device.kind {
            DeviceKind::Network => "network",
            DeviceKind::Storage => "storage",
            DeviceKind::Gpu => "GPU",
        };
        vec![
            kind.to_owned(),
            cut(&device.names.join(", ")),
            cut(&device.address),
            or_unknown(device.node),
        ]
    });
    let titles = "device|names|PCI address|>node";
    table("Devices", &Table::of(titles).with(rows))
}
