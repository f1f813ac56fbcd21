//! The machines that a guest can emulate: one table, from which help, documents and checks are
//! made.

use anyhow::{Result, bail};

/// What one node of a shape has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Node {
    /// A socket with CPUs and memory.
    Full {
        /// Memory in MiB.
        memory_mib: u32,
    },
    /// Memory without CPUs, as a CXL expander has.
    MemoryOnly {
        /// Memory in MiB.
        memory_mib: u32,
    },
    /// CPUs without memory: a socket without memory modules.
    CpuOnly,
    /// An empty socket: firmware declares it, nothing is in it, and the kernel keeps it offline.
    Absent,
}

impl Node {
    /// Returns memory in MiB; `None` for a node without memory.
    pub(crate) fn memory_mib(self) -> Option<u32> {
        match self {
            Self::Full { memory_mib } | Self::MemoryOnly { memory_mib } => Some(memory_mib),
            Self::CpuOnly | Self::Absent => None,
        }
    }

    /// Whether the node is a socket, with or without CPUs in it.
    pub(crate) fn is_socket(self) -> bool {
        !matches!(self, Self::MemoryOnly { .. })
    }

    /// Whether the kernel sees the node.
    pub(crate) fn is_online(self) -> bool {
        self != Self::Absent
    }
}

/// One machine that a guest can emulate.
#[derive(Debug)]
pub(crate) struct Shape {
    /// The name on the command line.
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// Where its figures come from.
    pub origin: &'static str,
    /// The nodes in the order of their ids. Memory-only nodes come last, because the kernel numbers
    /// nodes in the order in which firmware mentions them, and firmware lists CPUs before memory.
    pub nodes: &'static [Node],
    /// Cores of each socket.
    pub cores: u32,
    /// Threads of each core.
    pub threads: u32,
    /// The firmware's distance from one node to another; 10 is local.
    pub distance: fn(usize, usize) -> u32,
    /// Whether firmware also states latency and bandwidth (the HMAT table).
    pub heterogeneous_memory_table: bool,
    /// CPUs that are switched off before the command runs.
    pub offline_cpus: &'static [u32],
    /// Whether its clocks count the instructions of its only CPU instead of time.
    pub counts_instructions: bool,
}

impl Shape {
    /// Returns the number of CPUs of one socket.
    pub(crate) fn cpus_per_socket(&self) -> u32 {
        self.cores * self.threads
    }

    /// Returns the number of CPUs of all sockets that are not empty.
    pub(crate) fn cpus(&self) -> u32 {
        let is_filled = |node: &&Node| node.is_socket() && node.is_online();
        let sockets = self.nodes.iter().filter(is_filled).count();
        u32::try_from(sockets)
            .unwrap_or(u32::MAX)
            .saturating_mul(self.cpus_per_socket())
    }

    /// Returns the ids of the nodes that the kernel will show.
    pub(crate) fn online_nodes(&self) -> Vec<usize> {
        (0..self.nodes.len())
            .filter(|&node| self.nodes[node].is_online())
            .collect()
    }
}

/// What most shapes are.
const PLAIN: Shape = Shape {
    name: "",
    summary: "",
    origin: "our choice",
    nodes: &[],
    cores: 2,
    threads: 1,
    distance: local_or_21,
    heterogeneous_memory_table: false,
    offline_cpus: &[],
    counts_instructions: false,
};

/// Every shape.
pub(crate) const SHAPES: &[Shape] = &[
    Shape {
        name: "one-node",
        summary: "1 node, 4 CPUs: most developers' machines, and what must be refused politely",
        nodes: &[Node::Full { memory_mib: 1536 }],
        threads: 2,
        distance: |_, _| 10,
        ..PLAIN
    },
    Shape {
        name: "two-node",
        summary: "2 nodes of 2 CPUs, 10 and 21: the ordinary two-socket server",
        nodes: &[Node::Full { memory_mib: 1024 }; 2],
        ..PLAIN
    },
    Shape {
        name: "four-node-ring",
        summary: "4 nodes of 2 CPUs; firmware says 21 between all, though a ring has two hops",
        origin: "the distance table of article 002",
        nodes: &[Node::Full { memory_mib: 768 }; 4],
        ..PLAIN
    },
    Shape {
        name: "eight-node",
        summary: "8 nodes of 1 core with 2 threads; distances 10, 12, 13 and 22",
        origin: "the distance table of article 000",
        nodes: &[Node::Full { memory_mib: 512 }; 8],
        cores: 1,
        threads: 2,
        distance: eight_sockets_in_two_halves,
        ..PLAIN
    },
    Shape {
        name: "thirty-two-node",
        summary: "32 nodes of 1 CPU in 8 enclosures of 4; 16 inside an enclosure, 28 between",
        origin: "the node count of article 003; the distances are our invention",
        nodes: &[Node::Full { memory_mib: 160 }; 32],
        cores: 1,
        distance: enclosures_of_four,
        ..PLAIN
    },
    Shape {
        name: "memory-only-node",
        summary: "2 nodes of 2 CPUs, and node 2 with memory but no CPUs, as CXL memory appears",
        origin: "our choice; so are the latencies and bandwidths that its firmware states",
        nodes: &[
            Node::Full { memory_mib: 768 },
            Node::Full { memory_mib: 768 },
            Node::MemoryOnly { memory_mib: 768 },
        ],
        distance: expander_behind_node_0,
        heterogeneous_memory_table: true,
        ..PLAIN
    },
    counted(
        "counted-two-node",
        "2 nodes, the only CPU on node 0; its clocks count instructions",
        &[COUNTED_NEAR, COUNTED_FAR],
    ),
    counted(
        "counted-four-node",
        "4 nodes, the only CPU on node 0; its clocks count instructions",
        &[COUNTED_NEAR, COUNTED_FAR, COUNTED_FAR, COUNTED_FAR],
    ),
    counted(
        "counted-eight-node",
        "8 nodes, the only CPU on node 0; its clocks count instructions",
        &[
            COUNTED_NEAR,
            COUNTED_FAR,
            COUNTED_FAR,
            COUNTED_FAR,
            COUNTED_FAR,
            COUNTED_FAR,
            COUNTED_FAR,
            COUNTED_FAR,
        ],
    ),
    Shape {
        name: "cpu-only-node",
        summary: "2 nodes of 2 CPUs; node 1 has no memory",
        nodes: &[Node::Full { memory_mib: 1024 }, Node::CpuOnly],
        ..PLAIN
    },
    Shape {
        name: "large-memory",
        summary: "2 nodes of 1 CPU and 7 GiB: room for pages of 1 GiB",
        nodes: &[Node::Full { memory_mib: 7168 }; 2],
        cores: 1,
        ..PLAIN
    },
    Shape {
        name: "sparse",
        summary: "nodes 0, 2 and 5 of 6 (the other sockets are empty), CPUs 0 and 2-5 (1 is off)",
        nodes: &[
            Node::Full { memory_mib: 512 },
            Node::Absent,
            Node::Full { memory_mib: 512 },
            Node::Absent,
            Node::Absent,
            Node::Full { memory_mib: 512 },
        ],
        distance: one_more_per_socket_passed,
        offline_cpus: &[1],
        ..PLAIN
    },
];

/// Finds the shape with this name.
pub(crate) fn find(name: &str) -> Result<&'static Shape> {
    let Some(shape) = SHAPES.iter().find(|shape| shape.name == name) else {
        let names: Vec<_> = SHAPES.iter().map(|shape| shape.name).collect();
        bail!(
            "there is no shape '{name}'; the shapes are {}",
            names.join(", ")
        );
    };
    Ok(shape)
}

const COUNTED_NEAR: Node = Node::Full { memory_mib: 384 };
const COUNTED_FAR: Node = Node::MemoryOnly { memory_mib: 192 };

/// A machine of one CPU, so that no CPU waits for another one whose turn has not come.
const fn counted(name: &'static str, summary: &'static str, nodes: &'static [Node]) -> Shape {
    Shape {
        name,
        summary,
        nodes,
        cores: 1,
        distance: further_by_4,
        counts_instructions: true,
        ..PLAIN
    }
}

/// Each node is a little further from the others than the one before.
fn further_by_4(from: usize, to: usize) -> u32 {
    let steps = u32::try_from(from.abs_diff(to)).unwrap_or(u32::MAX);
    if steps == 0 { 10 } else { 12 + 4 * steps }
}

fn local_or_21(from: usize, to: usize) -> u32 {
    if from == to { 10 } else { 21 }
}

/// Article 000: two halves of four sockets. Inside a half each socket has one partner at 13, while
/// the other two are at 12; the other half is at 22.
fn eight_sockets_in_two_halves(from: usize, to: usize) -> u32 {
    if from == to {
        10
    } else if from / 4 != to / 4 {
        22
    } else if from / 2 == to / 2 {
        13
    } else {
        12
    }
}

fn enclosures_of_four(from: usize, to: usize) -> u32 {
    if from == to {
        10
    } else if from / 4 == to / 4 {
        16
    } else {
        28
    }
}

/// The expander, node 2, is attached to node 0; node 1 reaches it through node 0.
fn expander_behind_node_0(from: usize, to: usize) -> u32 {
    match (from.min(to), from.max(to)) {
        (low, high) if low == high => 10,
        (0, 1) => 21,
        (0, 2) => 24,
        _ => 34,
    }
}

/// Different for every pair of online nodes, so that a row read in the wrong order is noticed.
fn one_more_per_socket_passed(from: usize, to: usize) -> u32 {
    if from == to {
        10
    } else {
        20 + u32::try_from(from.abs_diff(to)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_eight_node_table_is_that_of_article_000() {
        let shape = find("eight-node").unwrap();
        let row = |from| {
            (0..8)
                .map(|to| (shape.distance)(from, to))
                .collect::<Vec<_>>()
        };
        assert_eq!(row(0), [10, 13, 12, 12, 22, 22, 22, 22]);
        assert_eq!(row(2), [12, 12, 10, 13, 22, 22, 22, 22]);
        assert_eq!(row(7), [22, 22, 22, 22, 12, 12, 13, 10]);
    }

    #[test]
    fn every_shape_keeps_the_rules_of_firmware() {
        for shape in SHAPES {
            let count = shape.nodes.len();
            for from in 0..count {
                assert_eq!((shape.distance)(from, from), 10, "{}", shape.name);
                for to in (0..count).filter(|&to| to != from) {
                    assert!(
                        (11..255).contains(&(shape.distance)(from, to)),
                        "{}",
                        shape.name
                    );
                }
            }
            let first_without_socket = shape.nodes.iter().position(|node| !node.is_socket());
            let sockets_after = shape.nodes[first_without_socket.unwrap_or(count)..]
                .iter()
                .any(|node| node.is_socket());
            assert!(
                !sockets_after,
                "{}: memory-only nodes must come last",
                shape.name
            );
            assert!(
                matches!(shape.nodes[0], Node::Full { .. }),
                "{}: node 0 boots",
                shape.name
            );
        }
    }

    #[test]
    fn the_shapes_in_the_documents_are_these() {
        let path = crate::repository::root().join("docs/guests.md");
        let document = std::fs::read_to_string(path).unwrap();
        let written = document
            .lines()
            .skip_while(|line| !line.starts_with("| shape |"))
            .skip(2);
        let written: Vec<_> = written.take_while(|line| line.starts_with('|')).collect();
        let row = |shape: &Shape| {
            format!(
                "| `{}` | {} | {} |",
                shape.name, shape.summary, shape.origin
            )
        };
        let rows: Vec<_> = SHAPES.iter().map(row).collect();
        assert_eq!(
            written,
            rows,
            "docs/guests.md must list:\n{}",
            rows.join("\n")
        );
    }

    #[test]
    fn an_unknown_shape_is_refused_with_the_known_ones() {
        let error = find("nine-node").unwrap_err().to_string();
        assert!(
            error.contains("'nine-node'") && error.contains("eight-node"),
            "{error}"
        );
    }
}
