//! What the kernel says about numalab while it measures: memory with a policy, and the CPUs that
//! its threads may use, polled, because the measuring processes are gone once numalab has ended.
//! numalab's own evidence is not used.
//!
//! Tests of kernels.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

use model::{CpuId, CpuSet, NodeId, NodeSet};

use super::measured_matrix::online_nodes;
use crate::finished::Finished;
use crate::laboratory::UnderWay;

/// Maximum number of pairs that are each seen for long enough; of more, some may be missed.
const PAIRS_MAX: usize = 16;
/// Looks for each pair of nodes, at least.
const LOOKS_OF_PAIR: usize = 8;

/// What the kernel said in all looks.
#[derive(Default)]
pub(crate) struct Account {
    node_of_cpu: BTreeMap<CpuId, NodeId>,
    looks: usize,
    /// Nodes with a CPU that was the only one of a thread while there was memory on the other.
    pairs: BTreeSet<(NodeId, NodeId)>,
    /// Memory on other nodes than its policy says.
    elsewhere: BTreeSet<(String, String)>,
}

impl Account {
    /// Returns an account without looks.
    pub(crate) fn of_this_machine() -> Self {
        let mut account = Account::default();
        for node in &online_nodes() {
            let list = fs::read_to_string(format!("/sys/devices/system/node/node{node}/cpulist"));
            let cpus: CpuSet = list.unwrap().trim().parse().unwrap();
            let cpus = cpus.iter().map(|cpu| (cpu, node));
            account.node_of_cpu.extend(cpus);
        }
        account
    }

    /// Looks at numalab until it has ended with success.
    pub(crate) fn look_at(&mut self, mut numalab: UnderWay<'_>) -> Finished {
        let folder = format!("/proc/{}", numalab.pid());
        while !numalab.has_ended() {
            let before = cpus_of_threads(&folder);
            let maps = fs::read_to_string(format!("{folder}/numa_maps")).unwrap_or_default();
            // Threads whose CPUs were the same before and after.
            let after = cpus_of_threads(&folder);
            self.add(&maps, before.intersection(&after).map(|(_, cpus)| &**cpus));
            std::thread::sleep(Duration::from_millis(1));
        }
        numalab.finish().with_code(0)
    }

    /// Adds a look: numa_maps, and the CPUs that each thread may use.
    fn add<'a>(&mut self, maps: &str, cpus: impl Iterator<Item = &'a str>) {
        let memory: Vec<_> = maps.lines().filter_map(policy_and_nodes).collect();
        self.looks += usize::from(!memory.is_empty());
        let alone = cpus.filter_map(|list| list.parse().ok());
        let from: Vec<_> = alone
            .filter_map(|cpu| self.node_of_cpu.get(&CpuId(cpu)))
            .collect();
        for (policy, nodes) in memory {
            // Memory that is being allocated may not be on all of its nodes yet.
            if nodes.is_subset(&nodes_of(policy)) {
                let pairs = from
                    .iter()
                    .flat_map(|from| nodes.iter().map(|to| (**from, to)));
                self.pairs.extend(pairs);
            } else {
                self.elsewhere
                    .insert((policy.to_owned(), nodes.to_string()));
            }
        }
    }

    /// Whether more looks could show what [`Self::agrees`] asserts.
    pub(crate) fn lacks_looks(&self, rows: &NodeSet, columns: &NodeSet) -> bool {
        let pairs = rows.len() * columns.len();
        self.looks < LOOKS_OF_PAIR * pairs.min(PAIRS_MAX) || !self.missed(rows, columns).is_empty()
    }

    /// Asserts that memory was where its policy says, and that every pair of a node with CPUs and a
    /// node with memory was seen together; if there are more than [`PAIRS_MAX`], that every node
    /// was seen.
    #[track_caller]
    pub(crate) fn agrees(&self, rows: &NodeSet, columns: &NodeSet) {
        assert_eq!(self.elsewhere, BTreeSet::new(), "policies and nodes");
        let missed = self.missed(rows, columns);
        let looks = self.looks;
        assert_eq!(missed, [], "pairs never seen together in {looks} looks");
    }

    fn missed(&self, rows: &NodeSet, columns: &NodeSet) -> Vec<(NodeId, NodeId)> {
        let pairs = rows
            .iter()
            .flat_map(|from| columns.iter().map(move |to| (from, to)));
        let has = |is: &dyn Fn(&(NodeId, NodeId)) -> bool| self.pairs.iter().any(is);
        let has_both = |(from, to)| has(&|seen| seen.0 == from) && has(&|seen| seen.1 == to);
        match rows.len() * columns.len() <= PAIRS_MAX {
            true => pairs.filter(|pair| !self.pairs.contains(pair)).collect(),
            false => pairs.filter(|pair| !has_both(*pair)).collect(),
        }
    }
}

/// Returns the CPUs that each thread may use, with its file; a thread may be gone.
fn cpus_of_threads(folder: &str) -> BTreeSet<(String, String)> {
    let threads = fs::read_dir(format!("{folder}/task")).into_iter().flatten();
    let cpus = threads.flatten().filter_map(|thread| {
        let path = thread.path().join("status");
        let status = fs::read_to_string(&path).ok()?;
        let mut lines = status.lines();
        let cpus = lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
        Some((path.display().to_string(), cpus.trim().to_owned()))
    });
    cpus.collect()
}

/// Reads the policy and the nodes of memory that has a policy of its own:
///
/// ```text
/// 7f2c10000000 bind:0 anon=3 dirty=3 active=0 N0=2 N3=1 kernelpagesize_kB=4
/// ```
fn policy_and_nodes(line: &str) -> Option<(&str, NodeSet)> {
    let mut words = line.split(' ').skip(1);
    let policy = words.next()?;
    let kinds = ["bind", "interleave", "prefer"];
    let has_policy = kinds.iter().any(|kind| policy.starts_with(kind));
    let homes = words.filter_map(|word| word.strip_prefix('N')?.split_once('='));
    let nodes = homes.map(|(node, _)| NodeId(node.parse().unwrap()));
    has_policy.then(|| (policy, nodes.collect()))
}

/// Returns the nodes that memory of a policy may be on.
fn nodes_of(policy: &str) -> NodeSet {
    match policy.split_once(':') {
        Some(("bind" | "interleave", list)) => list.parse().unwrap(),
        _ => NodeSet::new(),
    }
}

#[test]
fn memory_elsewhere_and_pairs_never_together_are_found() {
    let nodes: NodeSet = "0-1".parse().unwrap();
    let mut account = Account {
        node_of_cpu: (0..4).map(|cpu| (CpuId(cpu), NodeId(cpu / 2))).collect(),
        ..Account::default()
    };
    let mut look = |policy: &str, node: u32, cpu: &str| {
        let maps = format!("7f {policy} anon=9 N{node}=9 kernelpagesize_kB=4\n80 default N1=1\n");
        account.add(&maps, ["0-3", cpu].into_iter());
        (
            account.missed(&nodes, &nodes).len(),
            account.elsewhere.len(),
        )
    };
    assert_eq!(look("bind:0", 0, "0"), (3, 0));
    assert_eq!(look("bind:0", 0, "2"), (2, 0));
    assert_eq!(look("bind:1", 1, "1"), (1, 0));
    assert_eq!(look("bind:0", 1, "3"), (1, 1));
    assert_eq!(look("prefer:1", 1, "3"), (1, 2));
    assert_eq!(look("interleave:0-1", 1, "3"), (0, 2));
    // Of more pairs than can all be seen, every node.
    let many: NodeSet = "0-4".parse().unwrap();
    assert_eq!(account.missed(&many, &nodes).len(), 6);
    account.pairs = (0..4).map(|node| (NodeId(node), NodeId(node))).collect();
    assert_eq!(account.missed(&many, &many).len(), 9);
    account.pairs.insert((NodeId(4), NodeId(4)));
    assert_eq!(account.missed(&many, &many), []);
}
