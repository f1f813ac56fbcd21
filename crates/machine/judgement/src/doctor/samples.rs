//! Described machines and targets, for tests of findings.

use model::{
    CpuId, CpuSet, FirstThread, Layout, MachineHugePages, Node, NodeHugePages, NodeId, NodeSet,
    ProcessResidency, Residency, SegmentKind, SegmentResidency, ServerKind, ServerSettings,
    ThreadMask, ThreadRole, Threads, Topology,
};

use super::input::{DoctorInput, PostgresSettings};

/// Bytes of a huge page.
pub(crate) const HUGE: u64 = 2 << 20;

/// A row in which 0 stands for unknown.
fn known(row: &&[u32]) -> Vec<Option<u32>> {
    let known = |distance: &u32| Some(*distance).filter(|distance| *distance > 0);
    row.iter().map(known).collect()
}

/// A machine with these distances; 0 stands for unknown. Each node has one CPU and half of its
/// memory free.
pub(crate) fn machine(distances: &[&[u32]]) -> DoctorInput {
    let node = |id: usize| Node {
        id: NodeId(id as u32),
        cpus: id.to_string().parse().unwrap(),
        memory_bytes: Some(100 << 30),
        free_bytes: Some(50 << 30),
        ..Node::default()
    };
    let topology = Topology {
        nodes: (0..distances.len()).map(node).collect(),
        distances: Some(distances.iter().map(known).collect()),
        ..Topology::default()
    };
    DoctorInput {
        topology,
        ..DoctorInput::default()
    }
}

/// Two nodes with CPUs and memory, one with memory alone; one process, one segment.
pub(crate) fn target(bytes: &[(u32, u64)], policy: &str, allowed: &str, cpus: &str) -> DoctorInput {
    let node = |id: u32, cpus: &str| Node {
        id: NodeId(id),
        cpus: cpus.parse().unwrap(),
        memory_bytes: Some(8 << 30),
        ..Node::default()
    };
    let topology = Topology {
        nodes: vec![node(0, "0"), node(1, "1"), node(2, "")],
        ..Topology::default()
    };
    let by_node: model::BytesByNode = bytes
        .iter()
        .map(|(node, mib)| (NodeId(*node), mib << 20))
        .collect();
    let nodes: NodeSet = cpus.parse().unwrap();
    let residency = Residency {
        memory_nodes: "0-2".parse().unwrap(),
        complete: true,
        layout: if policy == "default" {
            Layout::Default
        } else {
            Layout::Interleaved
        },
        segments: vec![SegmentResidency {
            name: "/dev/shm/a".to_owned(),
            kind: SegmentKind::DevShm,
            policy: Some(policy.to_owned()),
            bytes_by_node: by_node.clone(),
            ..SegmentResidency::default()
        }],
        bytes_by_node: by_node,
        processes: vec![ProcessResidency {
            cpus: cpus.parse().unwrap(),
            pinned_to_node: nodes.first().filter(|_| nodes.len() == 1),
            nodes_of_cpus: nodes,
            memory_nodes_allowed: allowed.parse().unwrap(),
            ..ProcessResidency::default()
        }],
        ..Residency::default()
    };
    DoctorInput {
        topology,
        residency: Some(residency),
        ..DoctorInput::default()
    }
}

/// A target with one process of this name, pinned to a node or not.
pub(crate) fn process_of(pinned: bool, name: &str) -> DoctorInput {
    let nodes = vec![Node::default(), Node::default()];
    let mut topology = Topology {
        nodes,
        ..Topology::default()
    };
    topology.nodes[1].id = NodeId(1);
    let process = ProcessResidency {
        name: name.to_owned(),
        pinned_to_node: pinned.then_some(NodeId(0)),
        ..ProcessResidency::default()
    };
    let residency = Residency {
        processes: vec![process],
        ..Residency::default()
    };
    DoctorInput {
        topology,
        residency: Some(residency),
        ..DoctorInput::default()
    }
}

/// Two nodes with (total, free) huge pages, and a target with small pages bound to `bound`.
pub(crate) fn pools_of(pools: [(u64, u64); 2], bound: &str) -> DoctorInput {
    let node = |id: u32| Node {
        id: NodeId(id),
        memory_bytes: Some(8 << 30),
        huge_pages: vec![NodeHugePages {
            page_bytes: HUGE,
            total: pools[id as usize].0,
            free: Some(pools[id as usize].1),
            surplus: None,
        }],
        ..Node::default()
    };
    let machine = MachineHugePages {
        page_bytes: HUGE,
        total: pools.iter().map(|pool| pool.0).sum(),
        free: Some(pools.iter().map(|pool| pool.1).sum()),
        ..MachineHugePages::default()
    };
    let topology = Topology {
        nodes: vec![node(0), node(1)],
        huge_pages: vec![machine],
        ..Topology::default()
    };
    let residency = Residency {
        segments: vec![SegmentResidency {
            kind: SegmentKind::Sysv,
            page_bytes: Some(4096),
            bytes_by_node: [(NodeId(0), 64 << 20)].into(),
            ..SegmentResidency::default()
        }],
        processes: vec![ProcessResidency {
            memory_nodes_allowed: bound.parse().unwrap(),
            ..ProcessResidency::default()
        }],
        ..Residency::default()
    };
    DoctorInput {
        topology,
        residency: Some(residency),
        ..DoctorInput::default()
    }
}

/// Two nodes with 100 free huge pages each; 64 MiB of shared memory of this page size on node
/// 0; a server whose processes may have memory on `allowed`.
pub(crate) fn server(huge_pages: &str, page_bytes: u64, allowed: &str) -> DoctorInput {
    let node = |id: u32| Node {
        id: NodeId(id),
        cpus: CpuSet::from_iter([CpuId(id)]),
        memory_bytes: Some(8 << 30),
        huge_pages: vec![NodeHugePages {
            page_bytes: HUGE,
            total: 100,
            free: Some(100),
            surplus: None,
        }],
        ..Node::default()
    };
    let process = |pid: u32, class: &str| ProcessResidency {
        pid,
        class: class.to_owned(),
        memory_nodes_allowed: allowed.parse().unwrap(),
        last_node: Some(NodeId(0)),
        ..ProcessResidency::default()
    };
    let residency = Residency {
        segments: vec![SegmentResidency {
            kind: SegmentKind::SharedAnonymous,
            page_bytes: Some(page_bytes),
            mapped_bytes: 64 << 20,
            bytes_by_node: [(NodeId(0), 64 << 20)].into(),
            ..SegmentResidency::default()
        }],
        processes: vec![process(1, "postmaster"), process(2, "io worker")],
        ..Residency::default()
    };
    DoctorInput {
        topology: Topology {
            nodes: vec![node(0), node(1)],
            ..Topology::default()
        },
        residency: Some(residency),
        postgres: Some(PostgresSettings {
            huge_pages: huge_pages.to_owned(),
            huge_pages_needed: Some(150),
            huge_page_bytes: Some(HUGE),
        }),
        ..DoctorInput::default()
    }
}

/// A machine of two nodes with four CPUs each, and a server whose first thread may use these CPUs
/// and whose other threads have these names, CPUs and counts.
pub(crate) fn threads(first: &str, masks: &[(&str, &str, u32)]) -> DoctorInput {
    let role = |name: &str| ThreadRole {
        role: "other".to_owned(),
        names: [name.to_owned()].into(),
        ..ThreadRole::default()
    };
    let mut main = role("server");
    main.threads = 1;
    main.masks.push(ThreadMask {
        pid: 7,
        tid: 7,
        cpus: first.parse().unwrap(),
        threads: 1,
    });
    let mut roles = vec![main];
    for (at, (name, cpus, count)) in (8..).zip(masks) {
        let known = |role: &ThreadRole| role.names.contains(*name);
        let index = roles.iter().position(known).unwrap_or_else(|| {
            roles.push(role(name));
            roles.len() - 1
        });
        roles[index].threads += count;
        roles[index].masks.push(ThreadMask {
            pid: 7,
            tid: at,
            cpus: cpus.parse().unwrap(),
            threads: *count,
        });
    }
    let node = |id: u32, cpus: &str| Node {
        id: NodeId(id),
        cpus: cpus.parse().unwrap(),
        memory_bytes: Some(8 << 30),
        ..Node::default()
    };
    DoctorInput {
        topology: Topology {
            nodes: vec![node(0, "0-3"), node(1, "4-7")],
            ..Topology::default()
        },
        residency: Some(Residency {
            processes: vec![ProcessResidency {
                pid: 7,
                name: "server".to_owned(),
                ..ProcessResidency::default()
            }],
            threads: Some(Threads {
                roles,
                first_threads: vec![FirstThread {
                    pid: 7,
                    cpus: first.parse().unwrap(),
                    policy: None,
                }],
                ..Threads::default()
            }),
            ..Residency::default()
        }),
        ..DoctorInput::default()
    }
}

/// A Redis with these settings, and one thread of each role with these CPUs.
pub(crate) fn valkey(settings: &[(&str, &str)], roles: &[(&str, &str)]) -> DoctorInput {
    let role = |(role, cpus): &(&str, &str)| ThreadRole {
        role: (*role).to_owned(),
        threads: 1,
        masks: vec![ThreadMask {
            pid: 7,
            tid: 7,
            cpus: cpus.parse().unwrap(),
            threads: 1,
        }],
        ..ThreadRole::default()
    };
    let values = settings.iter();
    let values = values.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    DoctorInput {
        residency: Some(Residency {
            threads: Some(Threads {
                roles: roles.iter().map(role).collect(),
                ..Threads::default()
            }),
            processes: vec![ProcessResidency {
                pid: 7,
                ..ProcessResidency::default()
            }],
            ..Residency::default()
        }),
        server: Some(ServerSettings {
            server: ServerKind::named("redis"),
            pid: 7,
            source: "CONFIG GET",
            values: values.collect(),
        }),
        ..DoctorInput::default()
    }
}

/// Two nodes of 8 GiB with CPUs, and a MariaDB on both with these settings and so many MiB of
/// private memory by node.
pub(crate) fn mariadb(settings: &[(&str, &str)], private_mib: &[(u32, u64)]) -> DoctorInput {
    let mut input = valkey(settings, &[]);
    let mut nodes = threads("0", &[]).topology.nodes;
    nodes.truncate(2);
    input.topology.nodes = nodes;
    let residency = input.residency.as_mut().unwrap();
    residency.target = "mysql:/data".to_owned();
    let process = &mut residency.processes[0];
    process.name = "mariadbd".to_owned();
    process.nodes_of_cpus = "0-1".parse().unwrap();
    process.memory_nodes_allowed = "0-1".parse().unwrap();
    let private = private_mib.iter();
    process.private_bytes_by_node = private
        .map(|(node, mib)| (NodeId(*node), mib << 20))
        .collect();
    input
}
