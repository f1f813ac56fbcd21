//! Compares what was requested with what the kernel reports. Pure.

use std::collections::BTreeMap;

use model::{
    Allocation, Evidence, LogicalReads, Mechanism, NodeId, NodeSet, OwnMemory, Placement,
    SessionEvidence, SgaEvidence, counted, cpu_words, node_words,
};

/// How far the share of a node may be from even under interleave, relative to the even share.
/// Interleaving is page by page, so only the ends of the mapping make it uneven.
const INTERLEAVE_TOLERANCE: f64 = 0.01;

/// Where the memory of a server was moved.
#[derive(Debug, Clone, Copy)]
pub struct MovedTo<'a> {
    /// As requested.
    pub allocation: &'a Allocation,
    /// The largest page that is moved whole: a transparent huge page of this machine
    /// ([`linux::sysfs_huge_pages::transparent_page_bytes`]).
    pub page_bytes_max: u64,
}

/// Every way in which the `evidence` of an instance contradicts the placement of its processes or
/// of its SGA, in words; empty when both hold. The pages lie where they were `moved_to`, whatever
/// the policy is under which they were allocated.
pub fn contradictions(
    placement: &Placement,
    work: &LogicalReads,
    moved_to: Option<MovedTo<'_>>,
    evidence: &Evidence,
) -> Vec<String> {
    let mut found = Vec::new();
    match &evidence.sga {
        Some(sga) => {
            let asked = Asked {
                what: "the SGA",
                allocation: moved_to.map_or(&work.sga.allocation, |it| it.allocation),
                moved_bytes: moved_to.map(|it| it.page_bytes_max),
                page_bytes: work.sga.page_bytes,
                otherwise: placement.memory_nodes.as_ref(),
            };
            asked.compare(sga, &mut found);
        }
        None => found.push("the pages of the SGA could not be read back".to_owned()),
    }
    if evidence.sessions.len() != work.load.sessions as usize {
        let (asked, seen) = (work.load.sessions, evidence.sessions.len());
        found.push(format!(
            "{} requested, evidence exists for {seen}",
            counted(asked, "session")
        ));
    }
    for (number, session) in evidence.sessions.iter().enumerate() {
        let name = format!("session {number}");
        process_contradictions(placement, work, &name, session, &mut found);
        if session.cpus_used.is_empty() {
            found.push(format!("{name} completed no statement in the window"));
        }
    }
    for (number, writer) in evidence.writers.iter().enumerate() {
        let name = format!("database writer {number}");
        process_contradictions(placement, work, &name, writer, &mut found);
    }
    group_contradictions(placement, evidence, &mut found);
    if let (Some(limit), Some(most)) = (work.load.cpu_count, evidence.running_sessions_max)
        && most > limit
    {
        found.push(format!(
            "instance caging to {limit} let {} run at once",
            counted(most, "session")
        ));
    }
    found
}

/// Every way in which the evidence of processes that have no SGA contradicts their placement, in
/// words; empty when it holds.
pub fn placement_contradictions(placement: &Placement, evidence: &Evidence) -> Vec<String> {
    let mut found = Vec::new();
    for (number, session) in evidence.sessions.iter().enumerate() {
        let name = format!("process {number}");
        cpu_contradictions(placement, false, &name, session, &mut found);
        memory_node_contradictions(placement, &name, session, &mut found);
    }
    group_contradictions(placement, evidence, &mut found);
    found
}

/// Every way in which the evidence of the sessions contradicts the placement of their own memory,
/// in words; empty when it holds.
pub fn own_memory_contradictions(
    own: &OwnMemory,
    page_bytes: u64,
    evidence: &Evidence,
) -> Vec<String> {
    let mut found = Vec::new();
    if !own.load.has_memory() {
        return found;
    }
    for (number, session) in evidence.sessions.iter().enumerate() {
        let what = format!("the own memory of session {number}");
        let Some(memory) = &session.own_memory else {
            found.push(format!("{what} could not be read back"));
            continue;
        };
        let asked = Asked {
            what: &what,
            allocation: &own.allocation,
            moved_bytes: None,
            page_bytes,
            otherwise: Some(&session.memory_nodes_allowed),
        };
        asked.compare(memory, &mut found);
    }
    found
}

/// Memory as it was requested.
struct Asked<'p> {
    /// What it is, in words.
    what: &'p str,
    allocation: &'p Allocation,
    /// The largest page that was moved whole; `None` where it lies there by its policy.
    moved_bytes: Option<u64>,
    page_bytes: u64,
    /// The nodes it may lie on where the allocation names none.
    otherwise: Option<&'p NodeSet>,
}

impl Asked<'_> {
    fn compare(&self, seen: &SgaEvidence, found: &mut Vec<String>) {
        let what = self.what;
        if seen.page_bytes != self.page_bytes {
            let (asked, seen) = (self.page_bytes, seen.page_bytes);
            found.push(format!(
                "{what} has pages of {seen} bytes, requested {asked}"
            ));
        }
        if seen.bytes_without_node > 0 {
            let bytes = seen.bytes_without_node;
            found.push(format!(
                "the kernel names no node for {bytes} bytes of {what}"
            ));
        }
        if seen.bytes_by_node_before != seen.bytes_by_node_after {
            let (before, after) = (&seen.bytes_by_node_before, &seen.bytes_by_node_after);
            found.push(format!(
                "pages of {what} moved in the window: {before:?}, then {after:?}"
            ));
        }
        let allowed = self.allocation.nodes();
        if let Some(allowed) = allowed.as_ref().or(self.otherwise) {
            self.outside(seen, allowed, found);
        }
        let policy = policy_in_kernel_words(self.allocation).filter(|_| self.moved_bytes.is_none());
        if let Some(policy) = policy.filter(|policy| *policy != seen.policy) {
            let seen = &seen.policy;
            found.push(format!(
                "the policy of {what} is {seen:?}, requested {policy:?}"
            ));
        }
        match self.allocation {
            Allocation::Interleave(nodes) => {
                let even = nodes.iter().map(|node| (node, 1)).collect();
                uneven(seen, &even, self.unit_bytes(), found);
            }
            Allocation::WeightedInterleave(nodes) => {
                let weight = |node| (node, seen.weights.get(&node).copied().unwrap_or(1));
                let weights = nodes.iter().map(weight).collect();
                uneven(seen, &weights, self.unit_bytes(), found);
            }
            Allocation::PerNode(nodes) => pool_contradictions(seen, nodes, found),
            Allocation::OsDefault | Allocation::Bind(_) | Allocation::Prefer(_) => {}
        }
    }

    /// The most that goes to a node at once.
    fn unit_bytes(&self) -> u64 {
        self.page_bytes.max(self.moved_bytes.unwrap_or(0))
    }

    fn outside(&self, seen: &SgaEvidence, allowed: &NodeSet, found: &mut Vec<String>) {
        let what = self.what;
        for (node, bytes) in &seen.bytes_by_node_before {
            if !allowed.contains(*node) {
                found.push(format!(
                    "{bytes} bytes of {what} are on node {node}, not on {allowed}"
                ));
            }
        }
    }
}

/// How numa_maps shows the policy of the SGA, or of its fixed area where the SGA has pools
/// (mm/mempolicy.c, `mpol_to_str`).
fn policy_in_kernel_words(allocation: &Allocation) -> Option<String> {
    Some(match allocation {
        Allocation::OsDefault => return None,
        Allocation::Interleave(nodes) | Allocation::PerNode(nodes) => format!("interleave:{nodes}"),
        Allocation::WeightedInterleave(nodes) => format!("weighted interleave:{nodes}"),
        Allocation::Bind(nodes) => format!("bind:{nodes}"),
        Allocation::Prefer(node) => format!("prefer:{node}"),
    })
}

/// Checks the pool of each node. The kernel takes pages of other nodes when the preferred one is
/// full, and the figures of such a trial would be those of another placement.
fn pool_contradictions(sga: &SgaEvidence, nodes: &NodeSet, found: &mut Vec<String>) {
    if sga.pools.len() != nodes.len() {
        let (asked, seen) = (nodes.len(), sga.pools.len());
        found.push(format!(
            "{} were asked for, {seen} were seen",
            counted(asked, "pool")
        ));
    }
    for (node, pool) in nodes.iter().zip(&sga.pools) {
        let (asked, seen) = (format!("prefer:{node}"), &pool.policy);
        if *seen != asked {
            found.push(format!(
                "the pool of node {node} has policy {seen:?}, requested {asked:?}"
            ));
        }
        for (other, bytes) in pool.bytes_by_node.iter().filter(|(id, _)| **id != node) {
            found.push(format!(
                "{bytes} bytes of the pool of node {node} are on node {other}"
            ));
        }
    }
}

/// Compares the bytes of each node with its weighted share.
fn uneven(
    sga: &SgaEvidence,
    weights: &BTreeMap<NodeId, u64>,
    unit_bytes: u64,
    found: &mut Vec<String>,
) {
    let total: u64 = sga.bytes_by_node_before.values().sum();
    let weights_sum = weights.values().sum::<u64>().max(1) as f64;
    for (node, weight) in weights {
        let share = total as f64 * *weight as f64 / weights_sum;
        // The last round over the nodes may end anywhere.
        let slack = (share * INTERLEAVE_TOLERANCE).max((weight * unit_bytes) as f64);
        let bytes = sga.bytes_by_node_before.get(node).copied().unwrap_or(0);
        if (bytes as f64 - share).abs() > slack {
            found.push(format!(
                "interleaving is uneven: node {node} has {bytes} of {total} bytes, its share is \
                 {share:.0}"
            ));
        }
    }
}

fn process_contradictions(
    placement: &Placement,
    work: &LogicalReads,
    name: &str,
    process: &SessionEvidence,
    found: &mut Vec<String>,
) {
    // A NUMA-aware instance binds its sessions to the CPUs of one node each.
    let narrower = matches!(work.sga.allocation, Allocation::PerNode(_));
    cpu_contradictions(placement, narrower, name, process, found);
    memory_node_contradictions(placement, name, process, found);
}

/// `narrower`: whether fewer CPUs than requested are acceptable.
fn cpu_contradictions(
    placement: &Placement,
    narrower: bool,
    name: &str,
    process: &SessionEvidence,
    found: &mut Vec<String>,
) {
    let Some(asked) = &placement.cpus else {
        return;
    };
    let honoured = match narrower {
        true => process.cpus_allowed.is_subset(asked) && !process.cpus_allowed.is_empty(),
        false => process.cpus_allowed == *asked,
    };
    if !honoured {
        let seen = &process.cpus_allowed;
        found.push(format!(
            "{name} may use {}, requested {asked}",
            cpu_words(seen)
        ));
    }
    if !process.cpus_used.is_subset(asked) {
        let seen = &process.cpus_used;
        found.push(format!(
            "{name} ran on {}, requested {asked}",
            cpu_words(seen)
        ));
    }
}

fn memory_node_contradictions(
    placement: &Placement,
    name: &str,
    process: &SessionEvidence,
    found: &mut Vec<String>,
) {
    let Some(asked) = &placement.memory_nodes else {
        return;
    };
    match placement.mechanism {
        Mechanism::Group if process.memory_nodes_allowed != *asked => {
            let seen = &process.memory_nodes_allowed;
            found.push(format!(
                "{name} may use {}, requested {asked}",
                node_words(seen)
            ));
        }
        Mechanism::Affinity if process.policy != format!("bind:{asked}") => {
            let seen = &process.policy;
            found.push(format!(
                "{name} has policy {seen:?}, requested bind:{asked}"
            ));
        }
        _ => {}
    }
}

fn group_contradictions(placement: &Placement, evidence: &Evidence, found: &mut Vec<String>) {
    if placement.mechanism != Mechanism::Group || !placement.asks_for_something() {
        return;
    }
    let Some(group) = &evidence.group else {
        found.push("the processor group could not be read back".to_owned());
        return;
    };
    if let Some(asked) = placement
        .cpus
        .as_ref()
        .filter(|asked| **asked != group.cpus)
    {
        let (path, seen) = (&group.path, &group.cpus);
        found.push(format!(
            "group {path} has {}, requested {asked}",
            cpu_words(seen)
        ));
    }
    let asked = placement.memory_nodes.as_ref();
    if let Some(asked) = asked.filter(|asked| **asked != group.memory_nodes) {
        let (path, seen) = (&group.path, &group.memory_nodes);
        found.push(format!(
            "group {path} has memory {}, requested {asked}",
            node_words(seen)
        ));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use model::{
        Allocation, Backing, Evidence, GroupEvidence, LoadPlan, LogicalReads, Mechanism, NodeId,
        OwnMemory, Placement, PoolEvidence, SessionEvidence, SessionLoad, SgaEvidence, SgaPlan,
    };

    use super::{MovedTo, contradictions, own_memory_contradictions, placement_contradictions};

    fn placement() -> Placement {
        Placement {
            cpus: Some("1-2".parse().unwrap()),
            memory_nodes: Some("7".parse().unwrap()),
            mechanism: Mechanism::Group,
        }
    }

    fn work() -> LogicalReads {
        LogicalReads {
            sga: SgaPlan {
                cache_bytes: 8 << 20,
                backing: Backing::Memfd,
                page_bytes: 4096,
                allocation: Allocation::Bind("7".parse().unwrap()),
            },
            load: LoadPlan {
                sessions: 1,
                cpu_count: Some(1),
                ..LoadPlan::default()
            },
        }
    }

    fn evidence() -> Evidence {
        let bytes = BTreeMap::from([(NodeId(7), 8 << 20)]);
        Evidence {
            sga: Some(SgaEvidence {
                name: "/memfd:numalab-sga (deleted)".to_owned(),
                page_bytes: 4096,
                policy: "bind:7".to_owned(),
                bytes_by_node_before: bytes.clone(),
                bytes_by_node_after: bytes,
                bytes_without_node: 0,
                pools: Vec::new(),
                weights: BTreeMap::new(),
            }),
            sessions: vec![SessionEvidence {
                pid: 1,
                cpus_allowed: "1-2".parse().unwrap(),
                memory_nodes_allowed: "7".parse().unwrap(),
                cpus_used: "1".parse().unwrap(),
                policy: "default".to_owned(),
                bytes_read_by_node: Default::default(),
                own_memory: None,
            }],
            group: Some(GroupEvidence {
                path: "/g".to_owned(),
                cgroup_version: 1,
                cpus: "1-2".parse().unwrap(),
                memory_nodes: "7".parse().unwrap(),
            }),
            running_sessions_max: Some(1),
            ..Evidence::default()
        }
    }

    #[test]
    fn a_placement_that_holds_has_no_contradiction() {
        let found = contradictions(&placement(), &work(), None, &evidence());
        assert_eq!(found, Vec::<String>::new());
    }

    fn check(change: impl FnOnce(&mut Placement, &mut Evidence), expected: &str) {
        let (mut placement, mut evidence) = (placement(), evidence());
        change(&mut placement, &mut evidence);
        let found = contradictions(&placement, &work(), None, &evidence);
        assert!(
            found.iter().any(|text| text.contains(expected)),
            "{expected}: {found:?}"
        );
    }

    #[test]
    fn every_contradiction_is_found_and_named() {
        let sga = |evidence: &mut Evidence, change: fn(&mut SgaEvidence)| {
            change(evidence.sga.as_mut().unwrap());
        };
        check(|_, e| e.sga = None, "could not be read back");
        check(
            |_, e| sga(e, |s| s.page_bytes = 2 << 20),
            "pages of 2097152 bytes",
        );
        check(
            |_, e| sga(e, |s| s.bytes_without_node = 4096),
            "no node for 4096 bytes",
        );
        check(
            |_, e| sga(e, |s| s.policy = "default".to_owned()),
            "policy of the SGA is \"default\"",
        );
        check(
            |_, e| {
                sga(e, |s| {
                    s.bytes_by_node_after = BTreeMap::from([(NodeId(6), 8 << 20)]);
                });
            },
            "moved in the window",
        );
        check(
            |_, e| {
                sga(e, |s| {
                    s.bytes_by_node_before.insert(NodeId(3), 4096);
                });
            },
            "4096 bytes of the SGA are on node 3",
        );
        check(|_, e| e.sessions.clear(), "evidence exists for 0");
        check(
            |_, e| e.sessions[0].cpus_used = "1,9".parse().unwrap(),
            "ran on CPUs 1,9",
        );
        check(
            |_, e| e.sessions[0].cpus_used = "".parse().unwrap(),
            "no statement",
        );
        check(
            |_, e| e.sessions[0].cpus_allowed = "0-2".parse().unwrap(),
            "may use CPUs 0-2",
        );
        check(
            |_, e| e.sessions[0].memory_nodes_allowed = "0-7".parse().unwrap(),
            "may use nodes 0-7",
        );
        check(|_, e| e.group = None, "group could not be read back");
        check(
            |_, e| e.group.as_mut().unwrap().cpus = "1".parse().unwrap(),
            "has CPU 1, requested 1-2",
        );
        check(
            |_, e| e.running_sessions_max = Some(2),
            "let 2 sessions run at once",
        );
        check(
            |placement, _| placement.mechanism = Mechanism::Affinity,
            "session 0 has policy \"default\", requested bind:7",
        );
    }

    #[test]
    fn interleave_must_be_even() {
        let found = |bytes: [u64; 2]| {
            let mut work = work();
            work.sga.allocation = Allocation::Interleave("0-1".parse().unwrap());
            let mut evidence = evidence();
            let sga = evidence.sga.as_mut().unwrap();
            sga.policy = "interleave:0-1".to_owned();
            let by_node = BTreeMap::from([(NodeId(0), bytes[0]), (NodeId(1), bytes[1])]);
            sga.bytes_by_node_before = by_node.clone();
            sga.bytes_by_node_after = by_node;
            contradictions(&Placement::inherited(), &work, None, &evidence)
        };
        let uneven = found([6 << 20, 2 << 20]);
        assert!(uneven[0].contains("interleaving is uneven"), "{uneven:?}");
        let even = found([(4 << 20) + 4096, (4 << 20) - 4096]);
        assert_eq!(even, Vec::<String>::new());
    }

    #[test]
    fn memory_that_was_moved_lies_where_it_was_moved_to() {
        let to = Allocation::Interleave("0-1".parse().unwrap());
        let found = |page_bytes_max, bytes| {
            let (work, evidence) = spread(Allocation::OsDefault, "default", bytes);
            let moved_to = Some(MovedTo {
                allocation: &to,
                page_bytes_max,
            });
            contradictions(&Placement::inherited(), &work, moved_to, &evidence).join("; ")
        };
        assert_eq!(found(2 << 20, [1 << 20, 1 << 20]), "");
        assert_eq!(found(2 << 20, [5 << 20, 1 << 20]), "");
        // Without transparent huge pages, and with those of 32 MiB (base pages of 16 KiB).
        for (page_bytes_max, bytes) in [(2, [7, 1]), (0, [5, 1]), (32, [99, 1])] {
            let uneven = found(page_bytes_max << 20, bytes.map(|it| it << 20));
            assert!(uneven.contains("interleaving is uneven"), "{uneven}");
        }
        assert_eq!(found(32 << 20, [60 << 20, 1 << 20]), "");
        let (work, evidence) = spread(Allocation::OsDefault, "default", [1 << 20, 1 << 20]);
        let to = Allocation::Prefer(NodeId(1));
        let moved_to = Some(MovedTo {
            allocation: &to,
            page_bytes_max: 2 << 20,
        });
        let found = contradictions(&Placement::inherited(), &work, moved_to, &evidence);
        assert!(found[0].contains("on node 0, not on 1"), "{found:?}");
    }

    /// Work and evidence of `allocation` over nodes 0 and 1, with `bytes` on each.
    fn spread(allocation: Allocation, policy: &str, bytes: [u64; 2]) -> (LogicalReads, Evidence) {
        let (mut work, mut evidence) = (work(), evidence());
        work.sga.allocation = allocation;
        let sga = evidence.sga.as_mut().unwrap();
        sga.policy = policy.to_owned();
        let by_node = BTreeMap::from([(NodeId(0), bytes[0]), (NodeId(1), bytes[1])]);
        sga.bytes_by_node_before = by_node.clone();
        sga.bytes_by_node_after = by_node;
        (work, evidence)
    }

    #[test]
    fn weighted_interleave_follows_the_kernels_weights() {
        let nodes = || "0-1".parse().unwrap();
        let of = |bytes| {
            let allocation = Allocation::WeightedInterleave(nodes());
            let (work, mut evidence) = spread(allocation, "weighted interleave:0-1", bytes);
            let weights = BTreeMap::from([(NodeId(0), 3), (NodeId(1), 1)]);
            evidence.sga.as_mut().unwrap().weights = weights;
            contradictions(&Placement::inherited(), &work, None, &evidence)
        };
        assert_eq!(of([6 << 20, 2 << 20]), Vec::<String>::new());
        assert!(of([4 << 20, 4 << 20])[0].contains("interleaving is uneven: node 0"));
    }

    #[test]
    fn a_preferred_node_that_was_full_is_named() {
        let (work, evidence) = spread(Allocation::Prefer(NodeId(1)), "prefer:1", [4096, 8 << 20]);
        let found = contradictions(&Placement::inherited(), &work, None, &evidence);
        assert_eq!(found, ["4096 bytes of the SGA are on node 0, not on 1"]);
    }

    #[test]
    fn the_own_memory_of_a_session_lies_where_it_was_asked_for() {
        let own = |allocation| OwnMemory {
            load: SessionLoad::MemoryHammer,
            bytes: 8 << 20,
            allocation,
        };
        let found = |allocation: Allocation, memory: Option<SgaEvidence>| {
            let mut evidence = evidence();
            evidence.sessions[0].own_memory = memory;
            own_memory_contradictions(&own(allocation), 4096, &evidence)
        };
        let bound = || Allocation::Bind("7".parse().unwrap());
        let there = || evidence().sga;
        assert_eq!(found(bound(), there()), Vec::<String>::new());
        assert_eq!(found(Allocation::OsDefault, there()), Vec::<String>::new());
        assert_eq!(
            found(bound(), None),
            ["the own memory of session 0 could not be read back"]
        );
        let on_6 = found(Allocation::Bind("6".parse().unwrap()), there());
        assert_eq!(
            on_6,
            [
                "8388608 bytes of the own memory of session 0 are on node 7, not on 6",
                "the policy of the own memory of session 0 is \"bind:7\", requested \"bind:6\""
            ]
        );
        let spin = OwnMemory {
            load: SessionLoad::Spin,
            ..own(Allocation::OsDefault)
        };
        assert!(own_memory_contradictions(&spin, 4096, &evidence()).is_empty());
    }

    #[test]
    fn each_pool_lies_on_its_node() {
        let nodes = "0-1".parse().unwrap();
        let (work, mut evidence) =
            spread(Allocation::PerNode(nodes), "interleave:0-1", [4 << 20; 2]);
        assert_eq!(
            contradictions(&Placement::inherited(), &work, None, &evidence),
            ["2 pools were asked for, 0 were seen"]
        );
        let pool = |node: u32, lies_on: u32| PoolEvidence {
            policy: format!("prefer:{node}"),
            bytes_by_node: BTreeMap::from([(NodeId(lies_on), 2 << 20)]),
        };
        evidence.sga.as_mut().unwrap().pools = vec![pool(0, 0), pool(1, 1)];
        assert_eq!(
            contradictions(&Placement::inherited(), &work, None, &evidence),
            Vec::<String>::new()
        );
        evidence.sga.as_mut().unwrap().pools = vec![pool(0, 1), pool(3, 1)];
        let found = contradictions(&Placement::inherited(), &work, None, &evidence).join("; ");
        assert!(found.contains("2097152 bytes of the pool of node 0 are on node 1"));
        assert!(found.contains("the pool of node 1 has policy \"prefer:3\""));
    }

    #[test]
    fn interleaved_memory_may_end_within_a_round_of_pages() {
        let of = |pages: [u64; 2]| {
            let allocation = Allocation::WeightedInterleave("0-1".parse().unwrap());
            let bytes = pages.map(|pages| pages * 4096);
            let (work, mut evidence) = spread(allocation, "weighted interleave:0-1", bytes);
            let weights = BTreeMap::from([(NodeId(0), 8), (NodeId(1), 8)]);
            evidence.sga.as_mut().unwrap().weights = weights;
            contradictions(&Placement::inherited(), &work, None, &evidence)
        };
        // Eight pages for each node and round, of which the last may have none for node 1.
        assert_eq!(of([13, 3]), Vec::<String>::new());
        assert_eq!(of([16, 0]), Vec::<String>::new());
        assert!(of([25, 7])[0].contains("interleaving is uneven: node 0"));
    }

    #[test]
    fn sessions_of_pools_may_have_fewer_cpus_than_the_case() {
        let of = |cpus: &str| {
            let allocation = Allocation::PerNode("7".parse().unwrap());
            let (mut work, mut evidence) = (work(), evidence());
            work.sga.allocation = allocation;
            evidence.sessions[0].cpus_allowed = cpus.parse().unwrap();
            let found = contradictions(&placement(), &work, None, &evidence);
            found.iter().any(|text| text.contains("may use CPUs"))
        };
        assert!(!of("1"));
        assert!(!of("1-2"));
        assert!(of("0-1"));
        assert!(of(""));
    }

    #[test]
    fn without_a_group_the_policy_of_a_process_decides() {
        let placement = Placement {
            mechanism: Mechanism::Affinity,
            ..placement()
        };
        let mut evidence = evidence();
        evidence.group = None;
        evidence.sessions[0].policy = "bind:7".to_owned();
        evidence.sessions[0].memory_nodes_allowed = "0-7".parse().unwrap();
        assert_eq!(
            contradictions(&placement, &work(), None, &evidence),
            [""; 0]
        );
        // And a group that asks for nothing need not be read back.
        let nothing = Placement {
            mechanism: Mechanism::Group,
            ..Placement::inherited()
        };
        assert_eq!(contradictions(&nothing, &work(), None, &evidence), [""; 0]);
    }

    #[test]
    fn processes_without_an_sga_are_compared_with_their_placement() {
        assert_eq!(placement_contradictions(&placement(), &evidence()), [""; 0]);
        let mut evidence = evidence();
        evidence.sga = None;
        evidence.sessions[0].cpus_used = "1,9".parse().unwrap();
        evidence.sessions[0].memory_nodes_allowed = "0-7".parse().unwrap();
        evidence.group = None;
        assert_eq!(
            placement_contradictions(&placement(), &evidence),
            [
                "process 0 ran on CPUs 1,9, requested 1-2",
                "process 0 may use nodes 0-7, requested 7",
                "the processor group could not be read back"
            ]
        );
    }
}
