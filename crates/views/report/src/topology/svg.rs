//! A machine as a picture (SVG 1.1): nodes as boxes, near ones in a common frame, and the table of
//! distances as a heat map. The same machine always yields the same bytes.

use std::collections::BTreeSet;

use model::{ByteSize, LatencyResult, Node, NodeSet, Topology, counted};

use crate::form::plain::plain_within;
use crate::topology::distances::{choice, cpu_count};
use crate::topology::groups::{Group, groups};
use crate::topology::map::DistanceMap;
use crate::topology::map::push_text;

const MARGIN: usize = 24;
const LINE: usize = 18;
const PADDING: usize = 12;
/// Room for a line of [`NODE_COLUMNS`] in the widest usual sans-serif font.
const NODE_WIDTH: usize = 180;
const NODE_HEIGHT: usize = 6 * LINE + 10;

/// Maximum number of columns of a line in a node's box.
const NODE_COLUMNS: usize = 20;

/// Draws a machine, with the latencies that were measured on it instead of the firmware's
/// distances, if there are any.
pub fn topology_svg(topology: &Topology, latencies: Option<&LatencyResult>) -> String {
    let map = DistanceMap::of(topology, latencies);
    let whole = groups(topology).unwrap_or_else(|| flat(topology));
    let (boxes_width, boxes_height) = size(&whole);
    let map_side = map.as_ref().map_or(0, DistanceMap::side);
    let top = MARGIN + 2 * LINE;
    let map_top = top + boxes_height + MARGIN;
    let width = 2 * MARGIN + boxes_width.max(map_side).max(420);
    let height = if map_side > 0 {
        map_top + LINE + map_side
    } else {
        top + boxes_height
    };
    let height = height + MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    push_text(
        &mut svg,
        MARGIN,
        MARGIN + 4,
        "font-size=\"16\" font-weight=\"bold\"",
        &title(topology),
    );
    push_group(&mut svg, topology, &whole, MARGIN, top);
    if let Some(map) = map {
        map.push(&mut svg, MARGIN, map_top);
    }
    svg.push_str("</svg>\n");
    svg
}

fn title(topology: &Topology) -> String {
    let counts = format!(
        "{}, {}",
        counted(topology.nodes.len(), "node"),
        counted(topology.cpus.len(), "CPU")
    );
    match &topology.cpu_model {
        Some(model) => format!("{counts} ({})", plain_within(model, 60)),
        None => counts,
    }
}

/// Returns all nodes in one frame, for a machine whose distances are unknown.
fn flat(topology: &Topology) -> Group {
    let single = |node: &Node| Group {
        nodes: NodeSet::of(node.id),
        apart: Vec::new(),
        parts: Vec::new(),
    };
    let parts = topology.nodes.iter().map(single).collect();
    Group {
        nodes: topology.node_ids(),
        apart: Vec::new(),
        parts,
    }
}

/// Returns the number of columns for a nearly square grid of parts.
fn columns(group: &Group) -> usize {
    let count = group.parts.len();
    (1..=count)
        .find(|columns| columns * columns >= count)
        .unwrap_or(1)
}

/// Returns the width of each column and the height of each row of a group's parts.
fn grid(group: &Group) -> (Vec<usize>, Vec<usize>) {
    let columns = columns(group);
    let mut widths = vec![0; columns];
    let mut heights = vec![0; group.parts.len().div_ceil(columns)];
    for (index, part) in group.parts.iter().enumerate() {
        let (width, height) = size(part);
        widths[index % columns] = width.max(widths[index % columns]);
        heights[index / columns] = height.max(heights[index / columns]);
    }
    (widths, heights)
}

fn size(group: &Group) -> (usize, usize) {
    if group.parts.is_empty() {
        return (NODE_WIDTH, NODE_HEIGHT);
    }
    let (widths, heights) = grid(group);
    let spaced = |lengths: &[usize]| lengths.iter().map(|length| length + PADDING).sum::<usize>();
    (PADDING + spaced(&widths), PADDING + LINE + spaced(&heights))
}

fn push_group(svg: &mut String, topology: &Topology, group: &Group, left: usize, top: usize) {
    if group.parts.is_empty() {
        if let Some(node) = group.nodes.first().and_then(|id| topology.node(id)) {
            push_node(svg, topology, node, left, top);
        }
        return;
    }
    let (width, height) = size(group);
    svg.push_str(&format!(
        "<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" rx=\"8\" \
         fill=\"#08306b\" fill-opacity=\"0.05\" stroke=\"#7a8ca3\"/>\n"
    ));
    let label = match group.apart.as_slice() {
        [] if topology.nodes.len() == 1 => "one node".to_owned(),
        [] => "distances unknown".to_owned(),
        distances => format!("{} apart", choice(distances)),
    };
    push_text(svg, left + PADDING, top + LINE, "fill=\"#44546a\"", &label);
    let (widths, heights) = grid(group);
    let columns = widths.len();
    for (index, part) in group.parts.iter().enumerate() {
        let spaced =
            |lengths: &[usize]| lengths.iter().map(|length| length + PADDING).sum::<usize>();
        let part_left = left + PADDING + spaced(&widths[..index % columns]);
        let part_top = top + PADDING + LINE + spaced(&heights[..index / columns]);
        push_group(svg, topology, part, part_left, part_top);
    }
}

fn push_node(svg: &mut String, topology: &Topology, node: &Node, left: usize, top: usize) {
    // A dashed frame marks a node without CPUs or without memory.
    let has_no_cpus = node.cpus.is_empty() && !node.has_unknown_cpus;
    let is_partial = has_no_cpus || node.memory_bytes == Some(0);
    let dashes = if is_partial {
        " stroke-dasharray=\"5 3\""
    } else {
        ""
    };
    svg.push_str(&format!(
        "<rect x=\"{left}\" y=\"{top}\" width=\"{NODE_WIDTH}\" height=\"{NODE_HEIGHT}\" rx=\"4\" \
         fill=\"#ffffff\" stroke=\"#08306b\"{dashes}/>\n"
    ));
    let memory = match node.memory_bytes {
        None => "memory unknown".to_owned(),
        Some(0) => "no memory".to_owned(),
        Some(bytes) => format!("{:.1}", ByteSize(bytes)),
    };
    let lines = [
        format!("node {}", node.id),
        packages(topology, node),
        match node.has_unknown_cpus {
            true => "CPUs unknown".to_owned(),
            false if node.cpus.is_empty() => cpu_count(0),
            false => {
                let count = cpu_count(node.cpus.len());
                plain_within(&format!("{count}: {}", node.cpus), NODE_COLUMNS)
            }
        },
        caches(topology, node),
        memory,
        devices(topology, node),
    ];
    for (index, line) in lines.iter().enumerate() {
        let style = if index == 0 {
            "font-weight=\"bold\""
        } else {
            ""
        };
        push_text(svg, left + 10, top + LINE * (index + 1), style, line);
    }
}

/// Names the last-level caches of a node's CPUs.
fn caches(topology: &Topology, node: &Node) -> String {
    let data = topology.caches.iter().filter(|cache| cache.holds_data());
    let Some(last) = data.max_by_key(|cache| cache.level) else {
        return "caches unknown".to_owned();
    };
    let size = last.size_bytes;
    let size = size.map_or("size unknown".to_owned(), |bytes| {
        ByteSize(bytes).to_string()
    });
    match last.count_of(&node.cpus) {
        0 if node.cpus.is_empty() && !node.has_unknown_cpus => "no cache of CPUs".to_owned(),
        0 => plain_within(&format!("L{}: {size}", last.level), NODE_COLUMNS),
        count => plain_within(&format!("L{}: {count} × {size}", last.level), NODE_COLUMNS),
    }
}

/// Names the devices of a node; those without a name by their address. Where one may be at any
/// node, a node without devices is not known to have none.
fn devices(topology: &Topology, node: &Node) -> String {
    let Some(devices) = &topology.devices else {
        return "devices unknown".to_owned();
    };
    let here = devices.iter().filter(|it| it.node == Some(node.id));
    let names: Vec<String> = here
        .map(|device| match device.names.is_empty() {
            true => device.address.clone(),
            false => device.names.join(", "),
        })
        .collect();
    match names.is_empty() {
        true if devices.iter().any(|it| it.node.is_none()) => "devices unknown".to_owned(),
        true => "no devices".to_owned(),
        false => plain_within(&names.join(", "), NODE_COLUMNS),
    }
}

fn packages(topology: &Topology, node: &Node) -> String {
    let cores = topology
        .core_list
        .iter()
        .filter(|core| core.node == Some(node.id));
    let packages: BTreeSet<u32> = cores.filter_map(|core| core.package).collect();
    let list = packages
        .iter()
        .map(u32::to_string)
        .collect::<Vec<_>>()
        .join(",");
    match packages.len() {
        0 if node.has_unknown_cpus || !node.cpus.is_empty() => "package unknown".to_owned(),
        0 => "no package".to_owned(),
        1 => format!("package {list}"),
        _ => plain_within(&format!("packages {list}"), NODE_COLUMNS),
    }
}

#[cfg(test)]
mod tests {
    use model::{Device, DeviceKind, Node, NodeId, Topology};

    use super::devices;

    #[test]
    fn a_node_has_no_devices_only_where_the_node_of_each_is_known() {
        let device = |node, names: &[&str]| Device {
            address: "0000:3b:00.0".to_owned(),
            kind: DeviceKind::Storage,
            names: names.iter().map(|it| (*it).to_owned()).collect(),
            node,
        };
        let (near, far) = (Some(NodeId(0)), Some(NodeId(1)));
        let node = Node {
            id: NodeId(0),
            ..Node::default()
        };
        let check = |found: Option<Vec<Device>>, expected: &str| {
            let topology = Topology {
                devices: found,
                ..Topology::default()
            };
            assert_eq!(devices(&topology, &node), expected);
        };
        check(None, "devices unknown");
        check(Some(vec![]), "no devices");
        check(Some(vec![device(far, &["sda"])]), "no devices");
        check(Some(vec![device(None, &["sda"])]), "devices unknown");
        let here = vec![device(near, &["nvme0"]), device(near, &[])];
        check(Some(here), "nvme0, 0000:3b:00.0");
        check(Some(vec![device(near, &["a\u{1b}b"])]), "a\\u{1b}b");
    }
}
