//! Tables of targets and the plan for each; and every pair of causes, planned, applied to the
//! model, and looked at again.

use model::{
    BytesByNode, CurePlan, Diagnosis, FirstThread, MachineHugePages, MatrixCell, Node,
    NodeHugePages, NodeId, NodeMatrix, ProcessResidency, Residency, SegmentKind, SegmentResidency,
    ShellLine, ThreadMask, ThreadRole, Threads, Topology,
};

use super::applied;
use super::candidates::candidates;
use super::diagnosis::diagnose;
use super::patient::Patient;
use crate::doctor::DoctorInput;
use crate::findings::of_doctor;

pub(super) const GIB: u64 = 1 << 30;

pub(super) fn bytes(gib: &[(u32, u64)]) -> BytesByNode {
    gib.iter()
        .map(|(node, it)| (NodeId(*node), it * GIB))
        .collect()
}

/// A machine with nodes of two CPUs and 64 GiB, half of it free: four in a row, one hop 16, two
/// hops 22.
pub(super) fn machine() -> DoctorInput {
    let node = |id: u32| Node {
        id: NodeId(id),
        cpus: format!("{}-{}", 2 * id, 2 * id + 1).parse().unwrap(),
        memory_bytes: Some(64 * GIB),
        free_bytes: Some(32 * GIB),
        huge_pages: vec![NodeHugePages {
            page_bytes: 2 << 20,
            total: 8192,
            free: Some(4096),
            surplus: None,
        }],
        ..Node::default()
    };
    let distance = |from: u32, to: u32| match from.abs_diff(to) {
        0 => Some(10),
        1 => Some(16),
        _ => Some(22),
    };
    let row = |from| (0..4).map(|to| distance(from, to)).collect();
    DoctorInput {
        topology: Topology {
            nodes: (0..4).map(node).collect(),
            distances: Some((0..4).map(row).collect()),
            huge_pages: vec![MachineHugePages {
                page_bytes: 2 << 20,
                total: 4 * 8192,
                free: Some(4 * 4096),
                ..MachineHugePages::default()
            }],
            ..Topology::default()
        },
        room: (0..4).map(|id| (NodeId(id), 31 * GIB)).collect(),
        ..DoctorInput::default()
    }
}

/// One process with these CPUs, allowed nodes, and private memory.
pub(super) fn with_process(
    input: &mut DoctorInput,
    cpus: &str,
    allowed: &str,
    private: &[(u32, u64)],
) {
    let residency = input.residency.get_or_insert_with(|| Residency {
        target: "redis:6379".to_owned(),
        memory_nodes: "0-3".parse().unwrap(),
        complete: true,
        threads: Some(Threads::default()),
        ..Residency::default()
    });
    let pid = 100 + residency.processes.len() as u32;
    let cpus: model::CpuSet = cpus.parse().unwrap();
    let nodes = input.topology.nodes.iter();
    let nodes: model::NodeSet = nodes
        .filter(|node| !node.cpus.intersection(&cpus).is_empty())
        .map(|node| node.id)
        .collect();
    let threads = residency.threads.as_mut().unwrap();
    threads.roles.push(ThreadRole {
        role: "background job".to_owned(),
        does_io: true,
        threads: 3,
        cpus: cpus.clone(),
        nodes_of_cpus: nodes.clone(),
        masks: vec![ThreadMask {
            pid,
            tid: pid + 1,
            cpus: cpus.clone(),
            threads: 3,
        }],
        data_bytes_by_node: bytes(private),
        data_local_share: Some(
            nodes
                .iter()
                .map(|node| bytes(private).get(&node).copied().unwrap_or(0))
                .sum::<u64>() as f64
                / bytes(private).values().sum::<u64>().max(1) as f64,
        ),
        ..ThreadRole::default()
    });
    threads.first_threads.push(FirstThread {
        pid,
        cpus: cpus.clone(),
        policy: None,
    });
    residency.processes.push(ProcessResidency {
        pid,
        name: "redis-server".to_owned(),
        class: "redis-server".to_owned(),
        pinned_to_node: nodes.first().filter(|_| nodes.len() == 1),
        nodes_of_cpus: nodes,
        cpus,
        memory_nodes_allowed: allowed.parse().unwrap(),
        private_bytes_by_node: bytes(private),
        ..ProcessResidency::default()
    });
}

pub(super) fn with_segment(input: &mut DoctorInput, gib: &[(u32, u64)], page_bytes: u64) {
    let residency = input.residency.as_mut().unwrap();
    residency.layout = model::Layout::Default;
    residency.segments.push(SegmentResidency {
        name: "/SYSV00000001".to_owned(),
        kind: SegmentKind::Sysv,
        page_bytes: Some(page_bytes),
        policy: Some("default".to_owned()),
        bytes_by_node: bytes(gib),
        ..SegmentResidency::default()
    });
}

fn ids(diagnosis: &Diagnosis) -> Vec<&str> {
    diagnosis.findings.iter().map(|it| it.id.as_str()).collect()
}

/// What the plan does: the cure, whether private memory goes, and the remote share before and after
/// in percent.
fn planned(input: &DoctorInput) -> Option<(String, bool, f64, f64)> {
    let plan = diagnose(input).plan?;
    let percent = |share: f64| (share * 100.0).round();
    let (before, after) = (plan.before.remote_share, plan.after.remote_share);
    Some((
        plan.cure,
        plan.moves_private_memory,
        percent(before),
        percent(after),
    ))
}

#[test]
fn private_memory_on_another_node_goes_to_its_cpus() {
    let mut input = machine();
    with_process(&mut input, "0-1", "0-3", &[(3, 2)]);
    let expected = ("near-cpus".to_owned(), true, 100.0, 0.0);
    assert_eq!(planned(&input), Some(expected));
    let diagnosis = diagnose(&input);
    // Its background threads are far from it for the same reason.
    assert_eq!(ids(&diagnosis), ["memory-far"]);
    let evidence = &diagnosis.findings[0].evidence;
    assert!(
        evidence.iter().any(|it| it.source == "io-threads-far"),
        "{evidence:?}"
    );
    let plan = diagnosis.plan.unwrap();
    assert_eq!(plan.now[0], "numalab move redis:6379 --to near-cpus");
    // Of those that leave the memory where it is, nobody knows whether the CPUs are enough.
    let other = plan.runner_up.unwrap();
    assert_eq!((&*other.cure, other.cpus.unwrap().used), ("nodes:3", None));
    assert!((plan.before.relative_access - 2.2).abs() < 1e-9);
}

#[test]
fn a_bound_server_gets_its_shared_memory_near_and_not_over_all_nodes() {
    let mut input = machine();
    with_process(&mut input, "2-3", "0-3", &[]);
    with_process(&mut input, "2-3", "0-3", &[]);
    with_segment(&mut input, &[(0, 4)], 4096);
    input.policies = [(100, "bind:0".to_owned())].into();
    input.units = [(100, "postgresql@15-main.service".to_owned())].into();
    let line = "ExecStart=/usr/bin/numactl --membind=0 pg_ctlcluster";
    input.placed_by = vec![crate::found::fact("/lib/x.service", line)];
    let expected = ("near-cpus".to_owned(), false, 100.0, 0.0);
    assert_eq!(planned(&input), Some(expected));
    let plan = diagnose(&input).plan.unwrap();
    assert_eq!(
        plan.now[0],
        "numalab move redis:6379 --to near-cpus --shared"
    );
    let for_good = plan.for_good.join("\n");
    let expected = "printf '[Service]\\nNUMAPolicy=local\\n' \
                    >/etc/systemd/system/postgresql@15-main.service.d/zz-numa.conf";
    assert!(for_good.contains(expected), "{for_good}");
    let wins = format!("take the placement out of '{line}' in /lib/x.service");
    for text in ["the server has policy bind:0", &wins] {
        assert!(for_good.contains(text), "{for_good}");
    }
    let file = &plan.files[0];
    let path = "/etc/systemd/system/postgresql@15-main.service.d/zz-numa.conf";
    assert_eq!(
        (&*file.path, &*file.text),
        (path, "[Service]\nNUMAPolicy=local\n")
    );
    // Two servers of one name have two units.
    input
        .units
        .insert(101, "postgresql@16-main.service".to_owned());
    let for_good = diagnose(&input).plan.unwrap().for_good.join("\n");
    for unit in ["postgresql@15-main", "postgresql@16-main"] {
        assert!(
            for_good.contains(&format!("restart {unit}.service")),
            "{for_good}"
        );
    }
}

#[test]
fn measured_latencies_go_before_what_firmware_says() {
    let mut input = machine();
    with_process(&mut input, "0-1", "0-3", &[(3, 4)]);
    let before = |input: &DoctorInput| {
        let plan = diagnose(input).plan.unwrap();
        (plan.before.relative_access, plan.distances_by)
    };
    assert_eq!(before(&input), (2.2, None));
    let cell = |ns: u32| MatrixCell::of(f64::from(ns));
    let row = |ns: [u32; 4]| vec![ns.map(cell).to_vec()];
    let to = || (0..4).map(NodeId).collect();
    input.latencies = NodeMatrix::new(vec![NodeId(0)], to(), row([80, 200, 200, 320])).unwrap();
    input.latencies_by = "run 7".to_owned();
    assert_eq!(before(&input), (4.0, Some("run 7".to_owned())));
    let plan = diagnose(&input).plan.unwrap();
    assert!((plan.gain_at_most() - 0.75).abs() < 1e-9);
    // With one missing, the firmware's stand for all: the two are not mixed.
    *input.latencies.cell_mut(0, 1) = MatrixCell::absent("not measured");
    assert_eq!(before(&input), (2.2, None));
}

#[test]
fn memory_that_all_nodes_use_is_spread() {
    let mut input = machine();
    with_process(&mut input, "0-7", "0-3", &[]);
    with_segment(&mut input, &[(0, 4)], 4096);
    let expected = ("interleave=0-3".to_owned(), false, 75.0, 75.0);
    assert_eq!(planned(&input), Some(expected));
    let diagnosis = diagnose(&input);
    assert_eq!(ids(&diagnosis), ["cyclops"]);
    let plan = diagnosis.plan.unwrap();
    assert!(
        plan.for_good
            .contains(&ShellLine::of("numactl --interleave=0-3 COMMAND"))
    );
    assert_eq!(
        (plan.before.fullest_share, plan.after.fullest_share),
        (1.0, 0.25)
    );
}

#[test]
fn no_cure_names_a_node_that_a_cpuset_forbids() {
    let mut input = machine();
    with_process(&mut input, "2-3", "0", &[(0, 4)]);
    let diagnosis = diagnose(&input);
    assert_eq!(diagnosis.plan, None);
    assert!(
        ids(&diagnosis).contains(&"masks-disagree"),
        "{:?}",
        ids(&diagnosis)
    );
    let mut input = machine();
    with_process(&mut input, "0-7", "0-1", &[]);
    with_segment(&mut input, &[(0, 4)], 4096);
    let plan = diagnose(&input).plan.unwrap();
    assert_eq!(plan.cure, "interleave=0-1");
    assert!(
        plan.for_good
            .last()
            .unwrap()
            .contains("left out: nodes 2-3")
    );
}

#[test]
fn a_cure_without_room_is_none_and_is_named() {
    let mut input = machine();
    with_process(&mut input, "0-1", "0-3", &[(3, 40)]);
    let plan = diagnose(&input).plan.unwrap();
    assert_eq!(plan.cure, "interleave=0-3");
    let expected = "near-cpus would need 40 GiB on node 0, which has room for 31 GiB";
    assert_eq!(plan.no_room, [expected]);
    // Huge pages need room in the pool of the node: 8 GiB.
    let mut input = machine();
    with_process(&mut input, "0-1", "0-3", &[]);
    with_segment(&mut input, &[(3, 9)], 2 << 20);
    let plan = diagnose(&input).plan.unwrap();
    let expected = "near-cpus would need 9 GiB in huge pages of 2 MiB on node 0, which has room \
                    for 8 GiB";
    assert_eq!(plan.no_room, [expected]);
    // Neither cure has room: it must be made first.
    for node in &mut input.topology.nodes {
        node.huge_pages[0].free = Some(0);
    }
    let plan = diagnose(&input).plan.unwrap();
    assert_eq!((plan.cure.as_str(), plan.no_room.len()), ("near-cpus", 2));
    let first = "# make room first: near-cpus would need 9 GiB in huge pages of 2 MiB on node 0, \
                 which has room for 0 B";
    assert_eq!(plan.now[0], first);
}

#[test]
fn for_information_alone_nobody_moves_memory() {
    // A process that may run on two nodes, its I/O threads last on the other one than its memory.
    let mut input = machine();
    with_process(&mut input, "0-3", "0-3", &[(1, 2)]);
    let threads = input.residency.as_mut().unwrap().threads.as_mut().unwrap();
    threads.roles[0].data_local_share_last = Some(0.0);
    threads.roles[0].last_seen_by_node = [(NodeId(0), 3)].into();
    let diagnosis = diagnose(&input);
    assert_eq!(
        (ids(&diagnosis), &diagnosis.plan),
        (vec!["io-threads-far"], &None)
    );
    assert!(diagnosis.findings[0].fix[0].starts_with("taskset "));
}

#[test]
fn what_lies_right_has_no_plan() {
    let mut near = machine();
    with_process(&mut near, "0-1", "0-3", &[(0, 4)]);
    let mut even = machine();
    with_process(&mut even, "0-7", "0-3", &[]);
    with_segment(&mut even, &[(0, 1), (1, 1), (2, 1), (3, 1)], 4096);
    for input in [&near, &even, &machine()] {
        assert_eq!(planned(input), None);
    }
}

type Cause = (&'static str, fn(&mut DoctorInput));

/// What can be wrong with a target, one after the other.
const CAUSES: [Cause; 12] = [
    ("private memory far", |it| {
        with_process(it, "0-1", "0-3", &[(3, 2)])
    }),
    ("private memory on one of its nodes", |it| {
        with_process(it, "0-3", "0-3", &[(1, 2)])
    }),
    ("on all CPUs", |it| {
        with_process(it, "0-7", "0-3", &[(0, 1), (1, 1)])
    }),
    ("shared memory on node 0", |it| {
        with_segment(it, &[(0, 4)], 4096)
    }),
    ("huge pages on node 3", |it| {
        with_segment(it, &[(3, 4)], 2 << 20)
    }),
    ("skewed", |it| with_segment(it, &[(0, 3), (1, 1)], 4096)),
    ("balancing on", |it| {
        it.topology.settings.numa_balancing = Some(1)
    }),
    ("more CPUs of one node", |it| {
        with_process(it, "0-3", "0-3", &[(1, 2)]);
        with_process(it, "4-6", "0-3", &[]);
    }),
    ("nodes of different bandwidth", |it| {
        it.bandwidth_weights = (0..4)
            .map(|id| (NodeId(id), 1 + u64::from(id == 0)))
            .collect();
    }),
    ("weights of the kernel", |it| {
        let weights = (0..4).map(|id| (NodeId(id), 1 + u64::from(id < 2)));
        it.topology.settings.interleave_weights = Some(weights.collect());
    }),
    ("no room near the CPUs", |it| {
        it.room.extend([(NodeId(0), GIB / 2), (NodeId(2), GIB / 2)]);
    }),
    ("hardly a CPU used", |it| it.cpus_used = Some(0.1)),
];

/// The findings on where memory lies: of these, a plan leaves none or says so.
const OF_PLACE: [&str; 5] = [
    "memory-far",
    "cyclops",
    "memory-skew",
    "interleave-not-honoured",
    "mariadb-pool-on-one-node",
];

#[test]
fn every_pair_of_causes_is_clean_after_its_plan_or_what_is_left_is_said() {
    for (first, add_first) in CAUSES {
        for (second, add_second) in CAUSES {
            let mut input = machine();
            with_process(&mut input, "4-5", "0-3", &[(2, 1)]);
            add_first(&mut input);
            add_second(&mut input);
            let diagnosis = diagnose(&input);
            let Some(plan) = &diagnosis.plan else {
                let found = ids(&diagnosis);
                let is_clear = !found.iter().any(|id| OF_PLACE.contains(id));
                assert!(is_clear, "{first}, {second}: no plan for {found:?}");
                continue;
            };
            let patient = Patient::of(&input).unwrap();
            let best = candidates(&input, &patient, None).best.unwrap();
            let then = applied::applied(&input, &patient, &best);
            // The figures of the plan are those of the target as it would be.
            let after = Patient::of(&then).unwrap();
            assert_eq!(
                after.figures(&after.layout()),
                plan.after,
                "{first}, {second}"
            );
            for left in of_doctor(&then) {
                let was_there = ids(&diagnosis).contains(&left.id.as_str());
                let line = format!("{}: {}", left.id, left.message);
                let is_said = was_there || plan.leaves.contains(&line);
                assert!(is_said, "{first}, {second}: {line}");
                // What would cure it has no room, and the plan says so.
                let is_of_place = plan.no_room.is_empty() && OF_PLACE.contains(&left.id.as_str());
                assert!(!is_of_place, "{first}, {second}: the plan leaves {line}");
            }
            // Whoever followed the plan gets no other one, but for what has no room now.
            let again = diagnose(&then).plan;
            let lacks_room = |it: CurePlan| it.now[0].starts_with("# make room first: ");
            let is_done = again.is_none_or(lacks_room);
            assert!(is_done, "{first}, {second}: {:?}", diagnose(&then).plan);
        }
    }
}
