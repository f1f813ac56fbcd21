//! What is wrong with a PostgreSQL server: its huge pages, its private memory, its helpers.

use model::{NodeId, NodeSet, ProcessResidency, Residency};

use super::input::{DoctorInput, Found, PostgresSettings, WORTH_BYTES, fact};

/// The helpers that sessions wait for: those that read for them (18 and later), and the log writer.
const HELPERS: [&str; 2] = ["io worker", "walwriter"];
/// Shared memory lies on one node above the first share; a helper is remote below the second.
const SHARE_THERE: f64 = 0.9;
const SHARE_HERE: f64 = 0.1;

/// The postmaster of the target, if it is a PostgreSQL server.
fn postmaster(residency: &Residency) -> Option<&ProcessResidency> {
    let mut processes = residency.processes.iter();
    processes.find(|process| process.class == "postmaster")
}

/// Whether the main segment is in small pages; `None` when none is large enough for a finding.
fn is_in_small_pages(input: &DoctorInput, settings: &PostgresSettings) -> Option<bool> {
    let segments = &input.residency.as_ref()?.segments;
    // By mapped size: a server that has just started has touched next to nothing.
    let shared = segments.iter().filter(|it| it.kind.is_shared_memory());
    let segment = shared.max_by_key(|segment| segment.mapped_bytes)?;
    if segment.mapped_bytes < WORTH_BYTES {
        return None;
    }
    Some(segment.page_bytes? < settings.huge_page_bytes?)
}

/// `huge_pages = try`, and too few were free.
pub(super) fn huge_pages_fell_back(input: &DoctorInput) -> Option<Found> {
    let settings = input.postgres.as_ref()?;
    let fell_back = settings.huge_pages == "try" && is_in_small_pages(input, settings)?;
    fell_back.then(|| Found {
        message: format!(
            "huge_pages is try, and the shared memory is in small pages: the server {}",
            match settings.huge_pages_needed {
                Some(needed) => format!("found fewer than the {needed} huge pages that it needs"),
                None => "did not find enough huge pages".to_owned(),
            }
        ),
        evidence: vec![
            fact("SHOW huge_pages", &settings.huge_pages),
            fact("/proc/PID/smaps", "shared memory in small pages"),
        ],
        fix: huge_pages_fix(settings),
    })
}

fn huge_pages_fix(settings: &PostgresSettings) -> Vec<String> {
    let kib = settings.huge_page_bytes.unwrap_or(0) / 1024;
    let pool = format!("/sys/kernel/mm/hugepages/hugepages-{kib}kB/nr_hugepages");
    let enough = match settings.huge_pages_needed {
        Some(needed) => format!("echo {needed} >{pool}"),
        None => format!("# a page for each {kib} kB of shared memory in {pool}"),
    };
    let say =
        "# then huge_pages = on in postgresql.conf, so that a shortage is an error, and restart";
    vec![enough, say.to_owned()]
}

/// The pools of the nodes that the server may use have fewer huge pages than it needs.
pub(super) fn huge_pages_short(input: &DoctorInput) -> Option<Found> {
    let settings = input.postgres.as_ref()?;
    let needed = settings.huge_pages_needed.filter(|needed| *needed > 0)?;
    let wants_them = settings.huge_pages != "off";
    if !wants_them || is_in_small_pages(input, settings) == Some(false) {
        return None;
    }
    let allowed = &postmaster(input.residency.as_ref()?)?.memory_nodes_allowed;
    let bytes = settings.huge_page_bytes?;
    let free = |node: &NodeId| -> u64 {
        let nodes = input.topology.nodes.iter().filter(|it| it.id == *node);
        let pools = nodes.flat_map(|node| &node.huge_pages);
        let of_size = pools.filter(|pool| pool.page_bytes == bytes);
        of_size.map(|pool| pool.free.unwrap_or(0)).sum()
    };
    let there: u64 = allowed.iter().map(|node| free(&node)).sum();
    if allowed.is_empty() || there >= needed {
        return None;
    }
    let each = needed.div_ceil(allowed.len() as u64);
    let file = |node: NodeId, name: &str| {
        let kib = bytes / 1024;
        format!("/sys/devices/system/node/node{node}/hugepages/hugepages-{kib}kB/{name}")
    };
    let pools = allowed
        .iter()
        .map(|node| fact(file(node, "free_hugepages"), free(&node)));
    Some(Found {
        message: format!(
            "the server needs {needed} huge pages for its shared memory, and the nodes that it may \
             use, {allowed}, have {there} free"
        ),
        evidence: std::iter::once(fact("SHOW shared_memory_size_in_huge_pages", needed))
            .chain(pools)
            .collect(),
        fix: allowed
            .iter()
            .map(|node| format!("echo {each} >{}", file(node, "nr_hugepages")))
            .collect(),
    })
}

/// Interleaving for the buffers that also applies to the private memory of each session.
pub(super) fn private_memory_interleaved(input: &DoctorInput) -> Option<Found> {
    let postmaster = postmaster(input.residency.as_ref()?)?;
    let policy = input.policies.get(&postmaster.pid)?;
    let is_interleaved = policy.contains("interleave");
    let pid = postmaster.pid;
    (is_interleaved && input.topology.memory_nodes().len() > 1).then(|| Found {
        message: format!(
            "the server was started with the memory policy {policy}, which its sessions have \
             inherited: their sorts and hash tables are interleaved, too"
        ),
        evidence: vec![fact(format!("/proc/{pid}/numa_maps"), policy)],
        fix: vec![
            "# start it without that policy, and spread the shared memory alone:".to_owned(),
            format!(
                "numalab move {pid} --to interleave={} --shared",
                input.database_nodes()
            ),
        ],
    })
}

/// Helpers that run far from where nearly all shared memory lies.
pub(super) fn helpers_far(input: &DoctorInput) -> Option<Found> {
    let residency = input.residency.as_ref()?;
    postmaster(residency)?;
    let mut by_node = model::BytesByNode::new();
    for (node, bytes) in input.shared().flat_map(|segment| &segment.bytes_by_node) {
        *by_node.entry(*node).or_default() += bytes;
    }
    let all: u64 = by_node.values().sum();
    let share = |nodes: &NodeSet| -> f64 {
        let there = by_node.iter().filter(|(node, _)| nodes.contains(**node));
        there.map(|(_, bytes)| bytes).sum::<u64>() as f64 / all as f64
    };
    let (home, _) = by_node.iter().max_by_key(|(_, bytes)| **bytes)?;
    if share(&[*home].into_iter().collect()) < SHARE_THERE {
        return None;
    }
    let far: Vec<(&ProcessResidency, NodeSet)> = residency
        .processes
        .iter()
        .filter(|process| HELPERS.contains(&process.class.as_str()))
        .map(|process| (process, node_of(process)))
        .filter(|(_, nodes)| !nodes.is_empty() && share(nodes) < SHARE_HERE)
        .collect();
    let (first, nodes) = far.first()?;
    let (class, pid) = (&first.class, first.pid);
    let others = match far.len() {
        1 => String::new(),
        count => format!(
            ", and {} more of the server's helpers do so, too",
            count - 1
        ),
    };
    let evidence = far.iter().map(|(process, nodes)| {
        let pid = process.pid;
        fact(
            format!("/proc/{pid}/stat, /proc/{pid}/status"),
            format!("node {nodes}"),
        )
    });
    Some(Found {
        message: format!(
            "the shared memory lies on node {home}, and the {class} ({pid}) runs on node {nodes}\
             {others}"
        ),
        evidence: evidence.collect(),
        fix: far
            .iter()
            .map(|(process, _)| {
                let cpus = input.topology.nodes.iter().find(|node| node.id == *home);
                let cpus = cpus.map(|node| node.cpus.to_string()).unwrap_or_default();
                format!("taskset -cp {cpus} {}", process.pid)
            })
            .collect(),
    })
}

/// Where a process runs: the only node it may run on, else the one where it last ran.
fn node_of(process: &ProcessResidency) -> NodeSet {
    process
        .pinned_to_node
        .or(process.last_node)
        .into_iter()
        .collect()
}

#[cfg(test)]
mod tests {
    use model::{CpuSet, Node, NodeHugePages, SegmentKind, SegmentResidency, Topology};

    use super::*;

    const HUGE: u64 = 2 << 20;

    /// Two nodes with 100 free huge pages each; 64 MiB of shared memory of this page size on node
    /// 0; a server whose processes may have memory on `allowed`.
    fn input(huge_pages: &str, page_bytes: u64, allowed: &str) -> DoctorInput {
        let node = |id: u32| Node {
            id: NodeId(id),
            cpus: CpuSet::from_iter([model::CpuId(id)]),
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

    #[test]
    fn a_try_that_fell_back_is_found() {
        let found = huge_pages_fell_back(&input("try", 4096, "0-1")).unwrap();
        assert!(found.fix[0].starts_with("echo 150 >"), "{found:?}");
        assert!(huge_pages_fell_back(&input("try", HUGE, "0-1")).is_none());
        assert!(huge_pages_fell_back(&input("off", 4096, "0-1")).is_none());
        let unasked = DoctorInput {
            postgres: None,
            ..input("try", 4096, "0-1")
        };
        assert!(huge_pages_fell_back(&unasked).is_none());
    }

    #[test]
    fn the_pools_of_the_allowed_nodes_count() {
        let found = huge_pages_short(&input("try", 4096, "0")).unwrap();
        assert!(found.message.contains("needs 150") && found.message.contains("have 100 free"));
        assert!(found.fix[0].starts_with("echo 150 >/sys/devices/system/node/node0/"));
        assert!(huge_pages_short(&input("try", 4096, "0-1")).is_none());
        assert!(huge_pages_short(&input("try", HUGE, "0")).is_none());
        assert!(huge_pages_short(&input("off", 4096, "0")).is_none());
    }

    #[test]
    fn a_policy_of_the_whole_server_is_found() {
        let with = |policy: &str| DoctorInput {
            policies: [(1, policy.to_owned())].into(),
            ..input("off", 4096, "0-1")
        };
        let found = private_memory_interleaved(&with("interleave:0-1")).unwrap();
        assert!(found.fix[1].contains("numalab move 1 --to interleave=0-1 --shared"));
        assert!(private_memory_interleaved(&with("weighted interleave:0-1")).is_some());
        assert!(private_memory_interleaved(&with("default")).is_none());
        assert!(private_memory_interleaved(&with("bind:0")).is_none());
    }

    #[test]
    fn helpers_on_the_other_node_are_found() {
        let with = |change: fn(&mut Residency)| {
            let mut input = input("off", 4096, "0-1");
            change(input.residency.as_mut().unwrap());
            helpers_far(&input)
        };
        assert!(with(|_| {}).is_none());
        let found = with(|it| it.processes[1].last_node = Some(NodeId(1))).unwrap();
        assert!(
            found.message.contains("the io worker (2) runs on node 1"),
            "{found:?}"
        );
        assert_eq!(found.fix, ["taskset -cp 0 2"]);
        let spread = with(|it| {
            it.processes[1].last_node = Some(NodeId(1));
            it.segments[0].bytes_by_node = [(NodeId(0), 32 << 20), (NodeId(1), 32 << 20)].into();
        });
        assert!(spread.is_none());
        let session = with(|it| {
            it.processes[1].last_node = Some(NodeId(1));
            it.processes[1].class = "session".to_owned();
        });
        assert!(session.is_none());
    }
}
