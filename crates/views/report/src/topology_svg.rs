//! A machine as a picture (SVG 1.1): nodes as boxes, near ones in a common frame, and the table of
//! distances as a heat map. The same machine always yields the same bytes.

use std::collections::BTreeSet;

use model::{ByteSize, Node, NodeSet, Topology};

use crate::run_plain::plain_within;
use crate::topology_distances::{choice, counted, shown};
use crate::topology_groups::{Group, groups};

const MARGIN: usize = 24;
const LINE: usize = 18;
const PADDING: usize = 12;
const NODE_WIDTH: usize = 150;
const NODE_HEIGHT: usize = 6 * LINE + 10;

/// Maximum number of columns of a line in a node's box.
const NODE_COLUMNS: usize = 20;

/// Maximum number of nodes for which the cells of the heat map hold numbers.
const NUMBERED_NODES_MAX: usize = 32;

/// Colour of the farthest distance. Light to dark is readable with red-green colour blindness.
const FAR: [u32; 3] = [8, 48, 107];

/// Colour of an unknown distance: grey.
const UNKNOWN: [u32; 3] = [204, 204, 204];

/// Draws a machine.
pub fn topology_svg(topology: &Topology) -> String {
    let whole = groups(topology).unwrap_or_else(|| flat(topology));
    let (boxes_width, boxes_height) = size(&whole);
    let map_side = map_side(topology);
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
    if map_side > 0 {
        push_map(&mut svg, topology, MARGIN, map_top);
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
            false if node.cpus.is_empty() => counted(0, "CPU"),
            false => {
                let count = counted(node.cpus.len(), "CPU");
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

fn cell_side(topology: &Topology) -> usize {
    if topology.nodes.len() <= NUMBERED_NODES_MAX {
        34
    } else {
        8
    }
}

/// Returns the side of the heat map with its headings; 0 when there is nothing to show.
fn map_side(topology: &Topology) -> usize {
    let count = topology.nodes.len();
    if count < 2 || topology.distances.is_none() {
        0
    } else {
        (count + 1) * cell_side(topology)
    }
}

fn push_map(svg: &mut String, topology: &Topology, left: usize, top: usize) {
    let rows = topology.distances.as_deref().unwrap_or_default();
    let classes: BTreeSet<u32> = rows.iter().flatten().flatten().copied().collect();
    let classes: Vec<u32> = classes.into_iter().collect();
    let side = cell_side(topology);
    let has_numbers = topology.nodes.len() <= NUMBERED_NODES_MAX;
    let caption = "the firmware's distances, from row to column; 10 is local";
    push_text(svg, left, top + 4, "fill=\"#44546a\"", caption);
    let top = top + LINE;
    for (index, node) in topology.nodes.iter().enumerate().filter(|_| has_numbers) {
        let (along, across) = (side * (index + 1) + side / 2, side / 2 + 5);
        push_centred(
            svg,
            left + along,
            top + across,
            "#000000",
            &node.id.to_string(),
        );
        push_centred(
            svg,
            left + side / 2,
            top + along + 5,
            "#000000",
            &node.id.to_string(),
        );
    }
    for (row, distances) in rows.iter().enumerate() {
        for (column, distance) in distances.iter().enumerate() {
            let (x, y) = (left + side * (column + 1), top + side * (row + 1));
            let rank = distance.and_then(|distance| classes.binary_search(&distance).ok());
            let [red, green, blue] = rank.map_or(UNKNOWN, |rank| shade(rank, classes.len()));
            svg.push_str(&format!(
                "<rect x=\"{x}\" y=\"{y}\" width=\"{side}\" height=\"{side}\" \
                 fill=\"#{red:02x}{green:02x}{blue:02x}\" stroke=\"#ffffff\"/>\n"
            ));
            if has_numbers {
                let ink = if rank.is_some_and(|rank| 2 * rank >= classes.len()) {
                    "#ffffff"
                } else {
                    "#000000"
                };
                push_centred(
                    svg,
                    x + side / 2,
                    y + side / 2 + 5,
                    ink,
                    &shown(*distance, "?"),
                );
            }
        }
    }
}

/// Returns the colour of the `rank`-th nearest of `classes` distances.
fn shade(rank: usize, classes: usize) -> [u32; 3] {
    let last = classes.saturating_sub(1).max(1) as u32;
    let rank = rank as u32;
    FAR.map(|dark| (235 * (last - rank) + dark * rank) / last)
}

fn push_text(svg: &mut String, x: usize, y: usize, style: &str, text: &str) {
    let space = if style.is_empty() { "" } else { " " };
    let text = escaped(text);
    svg.push_str(&format!(
        "<text x=\"{x}\" y=\"{y}\"{space}{style}>{text}</text>\n"
    ));
}

fn push_centred(svg: &mut String, x: usize, y: usize, ink: &str, text: &str) {
    let style = format!("text-anchor=\"middle\" fill=\"{ink}\"");
    push_text(svg, x, y, &style, text);
}

/// Escapes text between tags (XML 1.0, 2.4).
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
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
