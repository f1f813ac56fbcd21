//! The flow from the nodes whose CPUs processes may use to the nodes where their memory lies.

use std::collections::BTreeMap;

use maud::{Markup, html};
use model::{ByteSize, NodeId, NodeSet, Residency, counted, node_words};
use report::{Table, figure_of_ns};

use super::colours::{Ramp, category};
use super::picture::{Anchor, Label, Picture, px, text_width};
use crate::documents::{or_unknown, table};

/// Maximum number of boxes on either side.
const BOXES_MAX: usize = 40;
/// Height of all boxes of a side together, without gaps.
const HEIGHT: f64 = 280.0;
/// The least distance from the middle of a box to the next: two lines of text.
const PITCH: f64 = 36.0;
const BOX_WIDTH: f64 = 10.0;
const SPAN: f64 = 560.0;
const FONT: f64 = 12.0;

/// Categories of colours: green, orange, grey.
const LOCAL: usize = 2;
const REMOTE: usize = 5;
const EITHER: usize = 7;

/// Who has memory: processes that may use the CPUs of these nodes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Owner {
    /// Private memory of the processes on these nodes.
    Private(NodeSet),
    /// Shared memory of all processes.
    Shared(NodeSet),
}

impl Owner {
    fn nodes(&self) -> &NodeSet {
        match self {
            Owner::Private(nodes) | Owner::Shared(nodes) => nodes,
        }
    }

    /// The category of memory on `node`, and the words for it.
    fn locality(&self, node: NodeId) -> (usize, &'static str) {
        let nodes = self.nodes();
        match (nodes.contains(node), nodes.len()) {
            (_, 0) => (EITHER, "CPUs unknown"),
            (true, 1) => (LOCAL, "local"),
            (true, _) => (EITHER, "local or remote"),
            (false, _) => (REMOTE, "remote"),
        }
    }

    fn lines(&self, processes: usize) -> [String; 2] {
        let nodes = match self.nodes() {
            nodes if nodes.is_empty() => "CPUs unknown".to_owned(),
            nodes => {
                let list: String = node_words(nodes).chars().take(26).collect();
                format!("CPUs of {list}")
            }
        };
        let what = match self {
            Owner::Private(_) => "private",
            Owner::Shared(_) => "shared",
        };
        [nodes, format!("{what}, {}", counted(processes, "process"))]
    }
}

/// Returns the flow; nothing where no bytes are known. `ns` gives the latency from a CPU node to a
/// memory node; where it is known, it is the colour.
pub fn flow(residency: &Residency, ns: &dyn Fn(NodeId, NodeId) -> Option<f64>) -> Markup {
    let flows = flows(residency);
    if flows.links.is_empty() {
        return html! {};
    }
    let has_ns = flows
        .links
        .keys()
        .any(|(owner, node)| latency(owner, *node, ns).is_some());
    let left_out = flows.left_out;
    html! {
        figure {
            figcaption {
                "From the nodes whose CPUs the processes may use to the nodes of their memory; the "
                "width is bytes resident"
            }
            div.scroll { (picture(&flows, ns).markup("Memory by CPU node and memory node", true)) }
            ul.key {
                @for (colour, words) in [(LOCAL, "local"), (REMOTE, "remote"),
                    (EITHER, "local or remote: the processes may run on several nodes")] {
                    li { i style=(format!("background:{}", category(colour))) {} (words) }
                }
                @if has_ns { li { "where the latency is known: bright is near, dark is far" } }
            }
            p {
                "Shared memory is counted once, for all processes together; caches of files and "
                "programs are not drawn."
            }
            (figures(&flows, ns, has_ns))
            @if left_out > 0 {
                p {
                    "Left out of the picture and of its table: "
                    (counted(left_out, "smaller flow")) "."
                }
            }
        }
    }
}

/// The same figures as a table, with latencies where one is known.
fn figures(flows: &Flows, ns: &dyn Fn(NodeId, NodeId) -> Option<f64>, has_ns: bool) -> Markup {
    let rows = flows.links.iter().map(|((owner, node), bytes)| {
        let [cpus, what] = flows.lines(owner);
        let (node_cell, size) = (node.to_string(), ByteSize(*bytes).to_string());
        let locality = owner.locality(*node).1.to_owned();
        let mut row = vec![cpus, what, node_cell, size, locality];
        if has_ns {
            row.push(or_unknown(latency(owner, *node, ns).map(figure_of_ns)));
        }
        row
    });
    let titles = match has_ns {
        true => "from|memory|>on node|>bytes|which is|>latency, ns",
        false => "from|memory|>on node|>bytes|which is",
    };
    table("From CPUs to memory", &Table::of(titles).with(rows))
}

/// Bytes from owners to nodes.
struct Flows {
    links: BTreeMap<(Owner, NodeId), u64>,
    processes: BTreeMap<Owner, usize>,
    left_out: usize,
}

impl Flows {
    fn lines(&self, owner: &Owner) -> [String; 2] {
        owner.lines(self.processes.get(owner).copied().unwrap_or_default())
    }
}

fn flows(residency: &Residency) -> Flows {
    let mut links: BTreeMap<(Owner, NodeId), u64> = BTreeMap::new();
    let mut processes: BTreeMap<Owner, usize> = BTreeMap::new();
    let mut add = |owner: &Owner, node: NodeId, bytes: u64| {
        if bytes > 0 {
            let sum = links.entry((owner.clone(), node)).or_default();
            *sum = sum.saturating_add(bytes);
        }
    };
    let mut everywhere = NodeSet::new();
    for process in &residency.processes {
        everywhere = everywhere.union(&process.nodes_of_cpus);
        let owner = Owner::Private(process.nodes_of_cpus.clone());
        *processes.entry(owner.clone()).or_default() += 1;
        for (node, bytes) in &process.private_bytes_by_node {
            add(&owner, *node, *bytes);
        }
    }
    let shared = Owner::Shared(everywhere);
    processes.insert(shared.clone(), residency.processes.len());
    let segments = residency.segments.iter();
    for segment in segments.filter(|segment| segment.kind.is_shared_memory()) {
        for (node, bytes) in &segment.bytes_by_node {
            add(&shared, *node, *bytes);
        }
    }
    let all = links.len();
    let links = largest(links);
    Flows {
        left_out: all - links.len(),
        links,
        processes,
    }
}

/// The links between the owners and the nodes with the most bytes.
fn largest(links: BTreeMap<(Owner, NodeId), u64>) -> BTreeMap<(Owner, NodeId), u64> {
    let mut owners: BTreeMap<Owner, u64> = BTreeMap::new();
    let mut nodes: BTreeMap<NodeId, u64> = BTreeMap::new();
    for ((owner, node), bytes) in &links {
        let of_owner = owners.entry(owner.clone()).or_default();
        *of_owner = of_owner.saturating_add(*bytes);
        let of_node = nodes.entry(*node).or_default();
        *of_node = of_node.saturating_add(*bytes);
    }
    let (owners, nodes) = (most(owners), most(nodes));
    let is_shown = |owner: &Owner, node: &NodeId| owners.contains(owner) && nodes.contains(node);
    let links = links.into_iter();
    links
        .filter(|((owner, node), _)| is_shown(owner, node))
        .collect()
}

fn most<K: Ord>(bytes: BTreeMap<K, u64>) -> Vec<K> {
    let mut all: Vec<(K, u64)> = bytes.into_iter().collect();
    all.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    all.truncate(BOXES_MAX);
    all.into_iter().map(|(key, _)| key).collect()
}

/// The latency from the one node of an owner.
fn latency(owner: &Owner, node: NodeId, ns: &dyn Fn(NodeId, NodeId) -> Option<f64>) -> Option<f64> {
    let nodes = owner.nodes();
    let from = nodes.first().filter(|_| nodes.len() == 1)?;
    ns(from, node).filter(|ns| ns.is_finite() && *ns > 0.0)
}

/// A box: its top and the bytes of its flows so far.
struct Side<K> {
    boxes: BTreeMap<K, (f64, f64)>,
    used: BTreeMap<K, f64>,
    bottom: f64,
}

impl<K: Ord + Clone> Side<K> {
    fn of(bytes: &BTreeMap<K, f64>, scale: f64) -> Self {
        let mut boxes = BTreeMap::new();
        let mut top = 4.0;
        let mut bottom = top;
        for (key, bytes) in bytes {
            let height = (bytes * scale).max(1.0);
            let room = height.max(PITCH);
            boxes.insert(key.clone(), (top + (room - height) / 2.0, height));
            bottom = top + room;
            top = bottom + 8.0;
        }
        Side {
            boxes,
            used: BTreeMap::new(),
            bottom,
        }
    }

    /// The middle of the next flow of this width.
    fn next(&mut self, key: &K, width: f64) -> f64 {
        let top = self.boxes.get(key).map_or(0.0, |(top, _)| *top);
        let used = self.used.entry(key.clone()).or_default();
        let middle = top + *used + width / 2.0;
        *used += width;
        middle
    }
}

fn picture(flows: &Flows, ns: &dyn Fn(NodeId, NodeId) -> Option<f64>) -> Picture {
    let mut owners: BTreeMap<Owner, f64> = BTreeMap::new();
    let mut nodes: BTreeMap<NodeId, f64> = BTreeMap::new();
    for ((owner, node), bytes) in &flows.links {
        *owners.entry(owner.clone()).or_default() += *bytes as f64;
        *nodes.entry(*node).or_default() += *bytes as f64;
    }
    let total: f64 = owners.values().sum();
    let scale = HEIGHT / total.max(1.0);
    let (mut left, mut right) = (Side::of(&owners, scale), Side::of(&nodes, scale));
    let lines = |owner: &Owner| flows.lines(owner);
    let texts = owners.keys().flat_map(&lines);
    let widest = texts
        .map(|text| text_width(&text, FONT))
        .fold(0.0, f64::max);
    let from = widest + 8.0 + BOX_WIDTH;
    let to = from + SPAN;
    let known = flows.links.keys();
    let known = known.filter_map(|(owner, node)| latency(owner, *node, ns));
    let (low, high) = known.fold((f64::INFINITY, 0.0_f64), |(low, high), ns| {
        (low.min(ns), high.max(ns))
    });
    let mut picture = Picture::default();
    picture.reach(to + BOX_WIDTH, left.bottom.max(right.bottom));
    for ((owner, node), bytes) in &flows.links {
        let width = (*bytes as f64 * scale).max(0.5);
        let (start, end) = (left.next(owner, width), right.next(node, width));
        let known = latency(owner, *node, ns);
        let (locality, words) = owner.locality(*node);
        let (fill, stroke) = match known {
            Some(ns) if high > low => {
                let colour = Ramp::Sequential.at((high - ns) / (high - low));
                (colour.hex(), "var(--muted)".to_owned())
            }
            _ => (category(locality), category(locality)),
        };
        let latency = known.map(|ns| format!(", {} ns", figure_of_ns(ns)));
        let title = format!(
            "{} to node {node}: {}, {words}{}",
            lines(owner).join(", "),
            ByteSize(*bytes),
            latency.unwrap_or_default()
        );
        let path = area([(from, start), (to, end)], width);
        picture.shape(&html! {
            path d=(path) fill=(fill) fill-opacity="0.55" stroke=(stroke) { title { (title) } }
        });
    }
    draw_boxes(&mut picture, &left.boxes, from - BOX_WIDTH, |owner| {
        (Anchor::End, lines(owner))
    });
    draw_boxes(&mut picture, &right.boxes, to, |node| {
        let bytes = nodes.get(node).copied().unwrap_or_default();
        // `as` saturates, so that no sum is too large.
        let words = [format!("node {node}"), ByteSize(bytes as u64).to_string()];
        (Anchor::Start, words)
    });
    picture
}

/// The outline of a flow from one middle to another: its ends are as high as the parts of the boxes
/// that they touch.
fn area([(from, start), (to, end)]: [(f64, f64); 2], width: f64) -> String {
    let middle = px((from + to) / 2.0);
    let (from, to, half) = (px(from), px(to), width / 2.0);
    let curve = |from: f64, to: f64, x: &str| {
        format!("C{middle} {} {middle} {} {x} {}", px(from), px(to), px(to))
    };
    let above = curve(start - half, end - half, &to);
    let below = curve(end + half, start + half, &from);
    let (left, right) = (px(start - half), px(end + half));
    format!("M{from} {left}{above}V{right}{below}Z")
}

fn draw_boxes<K>(
    picture: &mut Picture,
    boxes: &BTreeMap<K, (f64, f64)>,
    x: f64,
    words: impl Fn(&K) -> (Anchor, [String; 2]),
) {
    for (key, (top, height)) in boxes {
        picture.shape(&html! {
            rect class="ink" x=(px(x)) y=(px(*top)) width=(px(BOX_WIDTH)) height=(px(*height)) {}
        });
        let (anchor, lines) = words(key);
        let text_x = if anchor == Anchor::End {
            x - 6.0
        } else {
            x + BOX_WIDTH + 6.0
        };
        let middle = top + height / 2.0;
        let [first, second] = lines;
        picture.label(Label::new(text_x, middle - 3.0, FONT, first).anchored(anchor));
        let second = Label::new(text_x, middle + 11.0, FONT, second).anchored(anchor);
        picture.label(second.muted());
    }
}

#[cfg(test)]
mod tests {
    use super::super::picture::tests::check_labels;
    use super::{flow, flows, picture};
    use model::{BytesByNode, NodeId, ProcessResidency, Residency, SegmentKind, SegmentResidency};

    fn residency(processes: u32) -> Residency {
        let bytes = |node: u32, bytes: u64| BytesByNode::from([(NodeId(node), bytes)]);
        let process = |index: u32| ProcessResidency {
            pid: index,
            nodes_of_cpus: [NodeId(index % 40)].into_iter().collect(),
            private_bytes_by_node: bytes(index % 3, 1 << (20 + index % 8)),
            ..ProcessResidency::default()
        };
        Residency {
            processes: (0..processes).map(process).collect(),
            segments: vec![SegmentResidency {
                kind: SegmentKind::DevShm,
                bytes_by_node: [(NodeId(0), 3 << 30), (NodeId(9), u64::MAX)].into(),
                ..SegmentResidency::default()
            }],
            ..Residency::default()
        }
    }

    #[test]
    fn labels_never_overlap() {
        for count in [0, 1, 2, 5, 200] {
            check_labels(&picture(&flows(&residency(count)), &|_, _| None));
        }
    }

    #[test]
    fn a_flow_says_its_bytes_and_whether_it_is_local() {
        let text = flow(&residency(2), &|_, _| None).0;
        assert!(text.contains("CPUs of node 0, private, 1 process to node 0: 1 MiB, local<"));
        assert!(
            text.contains("shared, 2 processes to node 0: 3 GiB, local or remote"),
            "{text}"
        );
        let with_ns = flow(&residency(2), &|from, to| {
            Some(f64::from(80 + from.0 * 9 + to.0))
        });
        assert!(with_ns.0.contains("local, 80.0 ns"), "{}", with_ns.0);
    }

    #[test]
    fn what_is_left_out_is_counted() {
        let text = flow(&residency(200), &|_, _| None).0;
        assert!(text.contains("Left out of the picture"));
        assert_eq!(flow(&Residency::default(), &|_, _| None).0, "");
    }
}
