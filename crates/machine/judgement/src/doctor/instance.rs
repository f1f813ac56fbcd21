//! Findings on the memory of the target: where it lies, and its masks and policies.

use model::{ByteSize, Layout, NodeId, NodeSet, Residency, ResidencyMethod, SegmentKind};

use super::cure::cure;
use super::input::{DoctorInput, Found, WORTH_BYTES, fact};
use residency::{self, Skew, judge_skew};

/// The largest files that a finding names.
const FILES_SHOWN: usize = 8;

/// The source of the nodes of pages.
pub(super) fn source(residency: &Residency) -> &'static str {
    match residency.method {
        ResidencyMethod::Pagemap | ResidencyMethod::PagemapSampled => {
            "/proc/PID/pagemap and the memory blocks of each node"
        }
        ResidencyMethod::NumaMaps => "/proc/PID/numa_maps",
    }
}

/// Nearly all shared memory on one node.
pub(super) fn cyclops(input: &DoctorInput) -> Option<Found> {
    match judge_skew(input.residency.as_ref()?) {
        Skew::Cyclops { node, share } => Some(lopsided(input, node, share)),
        _ => None,
    }
}

/// Far more than an even share on one node.
pub(super) fn skew(input: &DoctorInput) -> Option<Found> {
    match judge_skew(input.residency.as_ref()?) {
        Skew::Skewed { node, share } => Some(lopsided(input, node, share)),
        _ => None,
    }
}

fn lopsided(input: &DoctorInput, node: NodeId, share: f64) -> Found {
    let residency = input.residency.as_ref();
    let evidence = input.shared().map(|segment| {
        let bytes = segment
            .bytes_by_node
            .iter()
            .map(|(n, b)| format!("node {n}: {}", ByteSize(*b)));
        let bytes: Vec<String> = bytes.collect();
        let source = residency.map_or("", source);
        fact(source, format!("{}: {}", segment.name, bytes.join(", ")))
    });
    Found {
        message: format!(
            "{} of the shared memory lies on node {node}; processes may run on nodes {}",
            residency.map_or(String::new(), |it| residency::share_words(it, share)),
            input.nodes_used()
        ),
        evidence: evidence.collect(),
        fix: cure(input),
    }
}

/// No policy although several nodes use the memory.
pub(super) fn without_policy(input: &DoctorInput) -> Option<Found> {
    let residency = input.residency.as_ref()?;
    let bytes: u64 = input.shared().map(|segment| segment.bytes()).sum();
    let used = input.nodes_used();
    let is_open = residency.layout == Layout::Default && bytes >= WORTH_BYTES;
    (is_open && used.len() > 1 && residency.memory_nodes.len() > 1).then(|| Found {
        message: format!(
            "{} of shared memory have no policy and are used from nodes {used}",
            ByteSize(bytes)
        ),
        evidence: vec![fact("/proc/PID/numa_maps", "policy default")],
        fix: cure(input),
    })
}

/// CPUs on some nodes, memory only on others.
pub(super) fn masks_disagree(input: &DoctorInput) -> Option<Found> {
    let residency = input.residency.as_ref()?;
    let memory_nodes = input.topology.memory_nodes();
    let mut processes = residency.processes.iter();
    let process = processes.find(|process| {
        let (cpus, memory) = (&process.nodes_of_cpus, &process.memory_nodes_allowed);
        let near = cpus.intersection(&memory_nodes);
        !near.is_empty() && !memory.is_empty() && near.is_disjoint(memory)
    })?;
    let (cpus, memory) = (&process.nodes_of_cpus, &process.memory_nodes_allowed);
    Some(Found {
        message: format!(
            "{} ({}) may run on nodes {cpus} only and have memory on nodes {memory} only",
            process.name, process.pid
        ),
        evidence: vec![
            fact(
                format!("/proc/{}/status", process.pid),
                format!("Cpus_allowed_list {}", process.cpus),
            ),
            fact(
                format!("/proc/{}/status", process.pid),
                format!("Mems_allowed_list {memory}"),
            ),
        ],
        fix: {
            let mut fix = input.allow_memory(process.pid, cpus);
            fix.push(format!(
                "# cgroup v2 moves its memory there; under v1: migratepages {} {memory} {cpus}",
                process.pid
            ));
            fix
        },
    })
}

/// A policy of nodes that the cpuset forbids.
pub(super) fn cpuset_narrower(input: &DoctorInput) -> Option<Found> {
    let residency = input.residency.as_ref()?;
    for segment in input.shared() {
        let own = segment.policy.iter().map(String::as_str);
        for policy in own.chain(segment.areas.iter().map(|area| area.policy.as_str())) {
            let Some(nodes) = nodes_of(policy) else {
                continue;
            };
            let narrower = residency.processes.iter().find(|process| {
                let allowed = &process.memory_nodes_allowed;
                !allowed.is_empty() && !nodes.is_subset(allowed)
            });
            let Some(process) = narrower else {
                continue;
            };
            let allowed = &process.memory_nodes_allowed;
            return Some(Found {
                message: format!(
                    "{} has the policy {policy}, but {} ({}) may have memory on nodes \
                     {allowed} only",
                    segment.name, process.name, process.pid
                ),
                evidence: vec![
                    fact("/proc/PID/numa_maps", policy),
                    fact(
                        format!("/proc/{}/status", process.pid),
                        format!("Mems_allowed_list {allowed}"),
                    ),
                ],
                fix: input.allow_memory(process.pid, &nodes),
            });
        }
    }
    None
}

/// The nodes of a policy; `None` for one that names none.
fn nodes_of(policy: &str) -> Option<NodeSet> {
    policy
        .rsplit_once(':')
        .and_then(|(_, nodes)| nodes.parse().ok())
}

/// Program text on nodes where no process runs.
pub(super) fn far_text(input: &DoctorInput) -> Option<Found> {
    let far = residency::far_text(input.residency.as_ref()?)?;
    Some(far_cache(
        input,
        SegmentKind::ProgramText,
        "program text",
        far,
    ))
}

/// Data files on nodes where no process runs; known if they were requested.
pub(super) fn far_files(input: &DoctorInput) -> Option<Found> {
    let far = residency::far_files(input.residency.as_ref()?)?;
    Some(far_cache(
        input,
        SegmentKind::File,
        "cached data files",
        far,
    ))
}

fn far_cache(input: &DoctorInput, kind: SegmentKind, what: &str, (far, all): (u64, u64)) -> Found {
    let used = input.nodes_used();
    let segments = input
        .residency
        .iter()
        .flat_map(|residency| &residency.segments);
    let mut files: Vec<_> = segments.filter(|of| of.kind == kind).collect();
    files.sort_by_key(|of| std::cmp::Reverse(of.bytes()));
    let names: Vec<&str> = files
        .iter()
        .map(|of| of.name.as_str())
        .take(FILES_SHOWN)
        .collect();
    let source = input.residency.as_ref().map_or("", source);
    let mut fix = vec![
        "# stop it, have the kernel drop the files from its cache, and read them near:".into(),
    ];
    fix.extend(
        names
            .iter()
            .map(|name| format!("dd if={name} iflag=nocache count=0")),
    );
    fix.push(format!(
        "numactl --cpunodebind={used} --membind={used} COMMAND"
    ));
    Found {
        message: format!(
            "{} of {} of {what} lie on other nodes than {used}, where the processes run",
            ByteSize(far),
            ByteSize(all)
        ),
        evidence: vec![fact(source, names.join(", "))],
        fix,
    }
}

/// Memory on a node without CPUs.
pub(super) fn memory_only_used(input: &DoctorInput) -> Option<Found> {
    let residency = input.residency.as_ref()?;
    let with_cpus = input.topology.cpu_nodes();
    let mut far = residency.bytes_by_node.iter();
    let (node, bytes) =
        far.find(|(node, bytes)| !with_cpus.contains(**node) && **bytes >= WORTH_BYTES)?;
    Some(Found {
        message: format!("{} lie on node {node}, which has no CPUs", ByteSize(*bytes)),
        evidence: vec![
            fact(
                format!("/sys/devices/system/node/node{node}/cpulist"),
                "empty",
            ),
            fact(source(residency), format!("{bytes} bytes on node {node}")),
        ],
        fix: vec![
            "# keep it off that node:".to_owned(),
            format!("numactl --membind={} COMMAND", input.database_nodes()),
        ],
    })
}

#[cfg(test)]
mod tests {
    use model::{Node, ProcessResidency, SegmentResidency, Topology};

    use super::*;

    /// Two nodes with CPUs and memory, one with memory alone; one process, one segment.
    fn input(bytes: &[(u32, u64)], policy: &str, allowed: &str, cpus: &str) -> DoctorInput {
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

    #[test]
    fn a_cyclops_in_dev_shm_is_mended_by_its_mount() {
        let found = cyclops(&input(&[(0, 100)], "default", "0-2", "0-1")).unwrap();
        assert!(
            found
                .message
                .starts_with("100 % of the shared memory lies on node 0")
        );
        assert!(
            found.fix[1].ends_with("--to interleave=0-1 --shared"),
            "{found:?}"
        );
        let remount = "mount -o remount,mpol=interleave:0-1 /dev/shm";
        assert!(found.fix.iter().any(|line| line == remount), "{found:?}");
        let even = input(&[(0, 50), (1, 50), (2, 50)], "default", "0-2", "0-1");
        assert!(cyclops(&even).is_none() && skew(&even).is_none());
        assert!(skew(&input(&[(0, 70), (1, 30)], "default", "0-2", "0-1")).is_some());
    }

    #[test]
    fn shared_memory_without_policy_is_found_where_several_nodes_use_it() {
        assert!(without_policy(&input(&[(0, 50), (1, 50)], "default", "0-2", "0-1")).is_some());
        assert!(without_policy(&input(&[(0, 50)], "default", "0-2", "0")).is_none());
        assert!(without_policy(&input(&[(0, 50)], "interleave:0-1", "0-2", "0-1")).is_none());
    }

    #[test]
    fn masks_that_disagree_are_found() {
        assert!(masks_disagree(&input(&[(1, 50)], "default", "1", "0")).is_some());
        assert!(masks_disagree(&input(&[(1, 50)], "default", "0-1", "0")).is_none());
    }

    #[test]
    fn a_policy_beyond_the_cpuset_is_found() {
        assert!(cpuset_narrower(&input(&[(0, 50)], "interleave:0-1", "0", "0-1")).is_some());
        assert!(cpuset_narrower(&input(&[(0, 50)], "interleave:0-1", "0-2", "0-1")).is_none());
        assert!(cpuset_narrower(&input(&[(0, 50)], "default", "0", "0-1")).is_none());
    }

    #[test]
    fn memory_on_a_node_without_cpus_is_found() {
        assert!(memory_only_used(&input(&[(2, 50)], "default", "0-2", "0-1")).is_some());
        assert!(memory_only_used(&input(&[(1, 50)], "default", "0-2", "0-1")).is_none());
    }

    #[test]
    fn programs_and_files_far_away_are_found() {
        let of_kind = |kind| {
            let mut it = input(&[(1, 50)], "default", "0-2", "0");
            let residency = it.residency.iter_mut();
            let segments = residency.flat_map(|residency| &mut residency.segments);
            segments.for_each(|segment| segment.kind = kind);
            (far_text(&it).is_some(), far_files(&it).is_some())
        };
        assert_eq!(of_kind(SegmentKind::DevShm), (false, false));
        assert_eq!(of_kind(SegmentKind::ProgramText), (true, false));
        assert_eq!(of_kind(SegmentKind::File), (false, true));
    }
}
