//! Decides whether all cases of a round can be up at once, so that their windows can alternate.

use model::{
    Allocation, Backing, ByteSize, CasePlan, LoadPlan, LogicalReads, NodeSet, OwnMemoryWork, Work,
    node_words,
};

use super::host::Host;
use super::memory::sga_demand;

/// Share of the available memory that all cases may use together, in percent: a measurement must
/// not evict the file cache of other processes.
const SHARE_PERCENT: u64 = 70;

/// Returns why trials of these cases must run one after another; `None` when all can be up at once,
/// with all but one asleep.
pub fn alternation_obstacle(cases: &[CasePlan], host: &Host) -> Option<String> {
    // A single case has no other to alternate with.
    if cases.len() < 2 {
        return None;
    }
    cases
        .iter()
        .find_map(|case| of_case(case, host))
        .or_else(|| of_memory(cases, host))
}

/// Returns whether what limits a case takes effect only in long windows: turns in a cage and
/// periods of a quota last 0.1 s.
pub(crate) fn needs_long_windows(work: &LogicalReads) -> bool {
    work.load.cpu_count.is_some() || work.load.cpu_quota.is_some()
}

/// Returns whether two cases request the same memory, so that the sessions of both can use one SGA:
/// the same segment, data and nodes, and no writes. Where nothing says which nodes, the memory of
/// both is the same only if the `nodes` that they may use are one.
pub(crate) fn share_memory(one: &CasePlan, other: &CasePlan, nodes: &NodeSet) -> bool {
    let (Work::LogicalReads(of_one), Work::LogicalReads(of_other)) = (&one.work, &other.work)
    else {
        return false;
    };
    let memory_nodes = &one.placement.memory_nodes;
    let is_read_only = |load: &LoadPlan| load.update_pct == 0 && load.data_bytes.is_none();
    let is_one_node = memory_nodes.as_ref().unwrap_or(nodes).iter().count() == 1;
    of_one.sga == of_other.sga
        && of_one.load.sessions == of_other.load.sessions
        && is_read_only(&of_one.load)
        && is_read_only(&of_other.load)
        && *memory_nodes == other.placement.memory_nodes
        && (of_one.sga.allocation != Allocation::OsDefault || is_one_node)
}

/// Says which of the cases that alternate have long windows, if only some have.
pub fn long_windows(cases: &[CasePlan]) -> Option<String> {
    let is_long = |case: &&CasePlan| case.instance().is_some_and(needs_long_windows);
    let names: Vec<&str> = cases.iter().filter(is_long).map(|it| &*it.name).collect();
    (!names.is_empty() && names.len() < cases.len()).then(|| {
        format!(
            "{}: one window of 0.1 s or more in a block, because turns of a cage and periods of a \
             quota last 0.1 s; the other cases alternate in short windows",
            names.join(", ")
        )
    })
}

/// Returns what prevents a case from being up beside others.
fn of_case(case: &CasePlan, host: &Host) -> Option<String> {
    let name = &case.name;
    let work = match &case.work {
        Work::LogicalReads(work) => work,
        Work::OwnMemory(work) => &work.instance,
        Work::ParallelScan(_) => {
            return Some(format!("{name} is measured by whole scans"));
        }
        _ => {
            return Some(format!("{name} does not run on the embedded instance"));
        }
    };
    if work.load.update_pct > 0 {
        return Some(format!(
            "database writers of {name} write while it is parked"
        ));
    }
    if work.sga.page_bytes != host.topology.base_page_bytes() {
        let size = ByteSize(work.sga.page_bytes);
        return Some(format!("{name} takes {size} pages from a pool"));
    }
    None
}

/// Returns a shortage of memory for all cases together.
fn of_memory(cases: &[CasePlan], host: &Host) -> Option<String> {
    let nodes = host.memory_nodes();
    let is_first = |(index, case): &(usize, &CasePlan)| {
        let mut before = cases[..*index].iter();
        !before.any(|other| share_memory(other, case, &nodes))
    };
    let demands: Vec<(NodeSet, u64, Backing)> = cases
        .iter()
        .enumerate()
        .filter(is_first)
        .flat_map(|(_, case)| demands_of(case, host))
        .collect();
    let of_shm = demands.iter().filter(|(_, _, it)| *it == Backing::Shm);
    let in_shm: u64 = of_shm.map(|(_, bytes, _)| bytes).sum();
    let missing = |needed: u64, there: u64, place: &str| {
        (needed > there / 100 * SHARE_PERCENT).then(|| {
            let (needed, there) = (ByteSize(needed), ByteSize(there));
            format!("all cases at once need {needed} {place} ({there} free)")
        })
    };
    if let Some(reason) = host
        .shm_free_bytes
        .and_then(|free| missing(in_shm, free, "in /dev/shm"))
    {
        return Some(reason);
    }
    // Pages of /dev/shm are charged to the control group like other pages.
    let all = demands.iter().map(|(_, bytes, _)| bytes).sum();
    if let Some(reason) = host
        .group_left_bytes
        .and_then(|left| missing(all, left, "in this control group"))
    {
        return Some(reason);
    }
    // Memory restricted to a set of nodes must fit there. A set is also checked with the demands of
    // all its subsets.
    let sets = demands.iter().map(|(nodes, _, _)| nodes);
    sets.clone().find_map(|nodes| {
        let within = demands.iter().filter(|(it, _, _)| it.is_subset(nodes));
        let needed = within.map(|(_, bytes, _)| bytes).sum();
        let there = nodes.iter().map(|node| host.obtainable_bytes(node));
        let there = there.sum::<Option<u64>>()?;
        missing(needed, there, &format!("on {}", node_words(nodes)))
    })
}

/// Returns the memory demands of a case: allowed nodes, bytes and backing.
fn demands_of(case: &CasePlan, host: &Host) -> Vec<(NodeSet, u64, Backing)> {
    let Some(work) = case.instance() else {
        return Vec::new();
    };
    let allowed = case.placement.memory_nodes.clone();
    let allowed = allowed.unwrap_or_else(|| host.memory_nodes());
    let mut demands = Vec::new();
    if let Some((nodes, bytes)) = sga_demand(&work.sga, &work.load, allowed.clone()) {
        demands.push((nodes, bytes, work.sga.backing));
    }
    if let Work::OwnMemory(OwnMemoryWork { own, .. }) = &case.work {
        let bytes = own.bytes.saturating_mul(u64::from(work.load.sessions));
        let nodes = own.allocation.nodes().unwrap_or(allowed);
        demands.push((nodes, bytes, Backing::Memfd));
    }
    demands
}

#[cfg(test)]
mod tests {
    use model::NodeId;

    use super::super::planner::plan;
    use super::super::test_hosts::{article_000, one_node, second};
    use super::*;

    /// Returns why three cases, the second as given, cannot be up at once on the machine as changed
    /// by `change`.
    fn obstacle(case: &str, change: impl FnOnce(&mut Host)) -> Option<String> {
        let mut machine = article_000();
        for node in &mut machine.nodes {
            node.free_bytes = Some(1 << 30);
        }
        let mut host = Host::new(&machine);
        change(&mut host);
        let planned = plan(&second(case), &host).unwrap();
        assert_eq!(planned.skipped, []);
        alternation_obstacle(&planned.cases, &host)
    }

    #[track_caller]
    fn says(found: Option<String>, words: &str) {
        let found = found.expect("an obstacle");
        assert!(found.contains(words), "{found}");
    }

    #[test]
    fn small_cases_of_reads_can_be_up_at_once() {
        assert_eq!(obstacle("", |_| {}), None);
    }

    #[test]
    fn only_cases_with_a_cage_or_a_quota_have_long_windows() {
        let machine = article_000();
        let host = Host::new(&machine);
        let of = |case: &str| long_windows(&plan(&second(case), &host).unwrap().cases);
        assert_eq!(of(""), None);
        for limit in ["cpu-count = 2", "cpu-quota = 2"] {
            says(of(limit), "b: one window of 0.1 s or more");
        }
    }

    #[test]
    fn writers_and_scans_cannot_be_parked() {
        says(obstacle("update-pct = 10", |_| {}), "database writers of b");
    }

    #[test]
    fn all_cases_together_must_have_memory() {
        // Three caches of 96 to 128 MiB. There is enough for each alone.
        let mebibytes = |count: u64| count << 20;
        says(
            obstacle("backing = \"shm\"", |host| {
                host.shm_free_bytes = Some(mebibytes(120));
            }),
            "in /dev/shm",
        );
        says(
            obstacle("", |host| host.group_left_bytes = Some(mebibytes(300))),
            "in this control group (300 MiB free)",
        );
        let on_node_0 = "allocation = \"bind:0\"";
        let reserve = |host: &mut Host| {
            host.reserved_bytes.insert(NodeId(0), mebibytes(1024 - 110));
        };
        says(obstacle(on_node_0, reserve), "on node 0 (110 MiB free)");
    }

    #[test]
    fn cases_share_memory_that_all_of_them_request() {
        let machine = article_000();
        let host = Host::new(&machine);
        let check = |keys: &str, nodes: &str, expected: bool| {
            let cases = plan(&second(keys), &host).unwrap().cases;
            let nodes = nodes.parse().unwrap();
            let found = share_memory(&cases[0], &cases[1], &nodes);
            assert_eq!(found, expected, "{keys:?} with nodes {nodes}");
            assert_eq!(share_memory(&cases[1], &cases[0], &nodes), expected);
        };
        check("", "0", true);
        // The memory lies where it is loaded.
        check("", "0-7", false);
        for keys in ["cpu-count = 2", "cpu-quota = 2", "handicap = \"3 %\""] {
            check(keys, "0", true);
        }
        for keys in [
            "allocation = \"interleave:all\"",
            "memory-nodes = \"0\"",
            "cache = \"48MiB\"",
            "backing = \"shm\"",
            "sessions = 3",
            "update-pct = 10",
        ] {
            check(keys, "0", false);
        }
    }

    #[test]
    fn memory_that_cases_share_is_needed_once() {
        let mut machine = one_node(4);
        machine.nodes[0].free_bytes = Some(1 << 30);
        let mut host = Host::new(&machine);
        let cases = plan(&second(""), &host).unwrap().cases;
        // Enough for one of them, and not for two.
        let (_, bytes, _) = demands_of(&cases[0], &host)[0].clone();
        host.group_left_bytes = Some(2 * bytes);
        assert_eq!(alternation_obstacle(&cases[..2], &host), None);
        let others = plan(&second("backing = \"shm\""), &host).unwrap().cases;
        says(
            alternation_obstacle(&others[..2], &host),
            "in this control group",
        );
    }

    #[test]
    fn nobody_has_to_take_turns_with_itself() {
        let machine = article_000();
        let host = Host::new(&machine);
        let planned = plan(&second("update-pct = 10"), &host).unwrap();
        assert_eq!(alternation_obstacle(&planned.cases[1..2], &host), None);
    }
}
