//! How to spread shared memory that lies too much on one node: now, while the database runs, and
//! permanently with a restart.

use std::time::Duration;

use model::{ByteSize, NodeSet, SegmentKind, SegmentResidency};

use super::input::DoctorInput;
use super::shell_word::shell_word;

/// The commands; those that need no restart come first.
pub(crate) fn cure(input: &DoctorInput) -> Vec<String> {
    let nodes = nodes(input);
    let mut lines = online(input, &nodes);
    lines.extend(with_restart(input, &nodes));
    lines
}

/// The nodes over which to spread the target's memory: the database nodes that all its processes
/// may use, or all database nodes when that leaves fewer than two.
fn nodes(input: &DoctorInput) -> NodeSet {
    let all = input.database_nodes();
    let processes = input.residency.iter().flat_map(|it| &it.processes);
    let allowed = processes.map(|process| &process.memory_nodes_allowed);
    let known = allowed.filter(|allowed| !allowed.is_empty());
    let common = known.fold(all.clone(), |common, allowed| common.intersection(allowed));
    if common.len() > 1 { common } else { all }
}

/// Moves existing memory, without a restart.
fn online(input: &DoctorInput, nodes: &NodeSet) -> Vec<String> {
    let target = input.residency.as_ref().map_or("", |it| &it.target);
    let bytes: u64 = input.shared().map(|it| away(it, nodes)).sum();
    let time = match input.move_bytes_per_s {
        Some(rate) if rate > 0.0 => format!(
            "at least {} for {}, at {}/s, measured here on memory mapped by one process",
            rounded(Duration::from_secs_f64(bytes as f64 / rate)),
            ByteSize(bytes),
            ByteSize(rate as u64)
        ),
        _ => format!("for {}, see docs/move.md for the time", ByteSize(bytes)),
    };
    let mut lines = vec![
        format!("# without a restart (shared memory only; {time}):"),
        format!(
            "numalab move {} --to interleave={nodes} --shared",
            shell_word(target)
        ),
        "# and back:".to_owned(),
        "numalab undo".to_owned(),
        "# new sessions follow the server's own memory policy until it is restarted with another"
            .to_owned(),
    ];
    let has_huge_pages = input.shared().any(|it| {
        let page_bytes = it.page_bytes.unwrap_or(0);
        page_bytes > linux::process::page_bytes()
    });
    if has_huge_pages {
        lines.push(
            "# so do huge pages first touched later: a restart is needed for them".to_owned(),
        );
    }
    let left_out = input.topology.memory_nodes().difference(nodes);
    if !left_out.is_empty() {
        lines.push(format!(
            "# left out: nodes {left_out} (no CPUs, as CXL memory and GPUs, or forbidden by a \
             cpuset); name them to use them"
        ));
    }
    lines
}

/// Bytes of a segment that interleaving over these nodes would move.
fn away(segment: &SegmentResidency, nodes: &NodeSet) -> u64 {
    let even = segment.bytes() / nodes.len().max(1) as u64;
    let of_node = |(node, bytes): (&model::NodeId, &u64)| match nodes.contains(*node) {
        true => bytes.saturating_sub(even),
        false => *bytes,
    };
    segment.bytes_by_node.iter().map(of_node).sum()
}

/// An estimated time, in words.
fn rounded(time: Duration) -> String {
    match time.as_secs() {
        0..2 => "a second".to_owned(),
        seconds @ 2..100 => format!("{seconds} s"),
        seconds @ 100..6000 => format!("{} min", seconds.div_ceil(60)),
        seconds => format!("{} h", seconds.div_ceil(3600)),
    }
}

/// The commands that place such memory when the server is restarted.
fn with_restart(input: &DoctorInput, nodes: &NodeSet) -> Vec<String> {
    let has = |is_file: bool| {
        input
            .shared()
            .any(|segment| (segment.kind == SegmentKind::DevShm) == is_file)
    };
    let mut lines = Vec::new();
    if has(true) {
        lines.push("# permanently: interleave files created in /dev/shm from now on,".to_owned());
        lines.push(format!("mount -o remount,mpol=interleave:{nodes} /dev/shm"));
        lines.push("# then restart the instance, which makes its files again".to_owned());
    }
    if has(false) {
        lines.push(
            "# permanently: restart the instance interleaved (with its private memory):".to_owned(),
        );
        lines.push(format!("numactl --interleave={nodes} COMMAND"));
        lines.push("# under systemd, in its unit:".to_owned());
        lines.push("# [Service] NUMAPolicy=interleave".to_owned());
        lines.push(format!("# [Service] NUMAMask={nodes}"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use model::{Node, NodeId, ProcessResidency, Residency, Topology};

    use super::*;

    /// A Cyclops of this size on node 0 of a machine whose nodes 0 and 8 have CPUs and 250 to 252
    /// have none, as on POWER servers with GPUs.
    fn input(kind: SegmentKind, page_bytes: u64, bytes: u64) -> DoctorInput {
        let node = |id: u32, cpus: &str| Node {
            id: NodeId(id),
            cpus: cpus.parse().unwrap(),
            memory_bytes: Some(64 << 30),
            ..Node::default()
        };
        let nodes = vec![
            node(0, "0-3"),
            node(8, "4-7"),
            node(250, ""),
            node(251, ""),
            node(252, ""),
        ];
        let residency = Residency {
            target: "postgres:/var/lib/my data".to_owned(),
            segments: vec![SegmentResidency {
                kind,
                page_bytes: Some(page_bytes),
                bytes_by_node: [(NodeId(0), bytes)].into(),
                ..SegmentResidency::default()
            }],
            ..Residency::default()
        };
        DoctorInput {
            topology: Topology {
                nodes,
                ..Topology::default()
            },
            residency: Some(residency),
            move_bytes_per_s: Some(400.0 * f64::from(1 << 20)),
            ..DoctorInput::default()
        }
    }

    #[test]
    fn the_cure_that_needs_no_restart_comes_first_with_its_time_and_the_way_back() {
        let lines = cure(&input(SegmentKind::DevShm, 4096, 96 << 30));
        let expected = [
            "# without a restart (shared memory only; at least 3 min for 48 GiB, at 400 MiB/s, \
             measured here on memory mapped by one process):",
            "numalab move 'postgres:/var/lib/my data' --to interleave=0,8 --shared",
            "# and back:",
            "numalab undo",
            "# new sessions follow the server's own memory policy until it is restarted with \
             another",
            "# left out: nodes 250-252 (no CPUs, as CXL memory and GPUs, or forbidden by a \
             cpuset); name them to use them",
            "# permanently: interleave files created in /dev/shm from now on,",
            "mount -o remount,mpol=interleave:0,8 /dev/shm",
            "# then restart the instance, which makes its files again",
        ];
        assert_eq!(lines, expected);
        let unmeasured = DoctorInput {
            move_bytes_per_s: None,
            ..input(SegmentKind::DevShm, 4096, 96 << 30)
        };
        let first = &cure(&unmeasured)[0];
        assert!(first.contains("for 48 GiB, see docs/move.md"), "{first}");
    }

    #[test]
    fn where_a_restart_is_needed_it_is_said() {
        let text = |page_bytes| cure(&input(SegmentKind::Sysv, page_bytes, 1 << 30)).join("\n");
        let small = text(linux::process::page_bytes());
        assert!(!small.contains("a restart is needed for them"), "{small}");
        assert!(
            small.contains("# permanently: restart the instance"),
            "{small}"
        );
        assert!(
            small.contains("numactl --interleave=0,8 COMMAND"),
            "{small}"
        );
        assert!(text(2 << 20).contains("a restart is needed for them"));
    }

    #[test]
    fn nodes_that_the_target_may_not_use_are_left_out() {
        let allow = |lists: &[&str]| {
            let mut input = input(SegmentKind::Sysv, 4096, 1 << 30);
            let process = |list: &&str| ProcessResidency {
                memory_nodes_allowed: list.parse().unwrap(),
                ..ProcessResidency::default()
            };
            let residency = input.residency.as_mut().unwrap();
            residency.processes = lists.iter().map(process).collect();
            nodes(&input).to_string()
        };
        assert_eq!(allow(&["0-252", ""]), "0,8");
        assert_eq!(allow(&["0,8,250", "0-251"]), "0,8");
        // One node is not interleaving; its cpuset is a separate finding.
        assert_eq!(allow(&["0"]), "0,8");
    }

    #[test]
    fn what_lies_right_need_not_move() {
        let nodes: NodeSet = "0,8".parse().unwrap();
        let segment = |bytes: &[(u32, u64)]| SegmentResidency {
            bytes_by_node: bytes
                .iter()
                .map(|(node, it)| (NodeId(*node), *it))
                .collect(),
            ..SegmentResidency::default()
        };
        assert_eq!(away(&segment(&[(0, 80), (8, 20)]), &nodes), 30);
        assert_eq!(away(&segment(&[(0, 50), (8, 50)]), &nodes), 0);
        assert_eq!(away(&segment(&[(0, 50), (250, 50)]), &nodes), 50);
        assert_eq!(away(&segment(&[]), &NodeSet::default()), 0);
    }

    #[test]
    fn times_are_rounded() {
        let check = |seconds, expected: &str| {
            assert_eq!(rounded(Duration::from_secs(seconds)), expected);
        };
        check(0, "a second");
        check(99, "99 s");
        check(100, "2 min");
        check(7201, "3 h");
    }
}
