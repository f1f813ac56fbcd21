//! Whether all cases of a round can be up at once, so that their windows alternate.

use model::{Backing, ByteSize, CasePlan, NodeSet, OwnMemoryWork, Work};

use super::host::Host;
use super::memory::sga_demand;

/// Of memory that can be had, the share that cases may take together: what is measured is not to
/// push the files of others out of memory.
const SHARE_PERCENT: u64 = 70;

/// Why trials of these cases are made one after another; `None` when all can be up at once, and all
/// but one of them sleep.
pub fn alternation_obstacle(cases: &[CasePlan], host: &Host<'_>) -> Option<String> {
    // One case has nobody to take turns with.
    if cases.len() < 2 {
        return None;
    }
    cases
        .iter()
        .find_map(|case| of_case(case, host))
        .or_else(|| of_memory(cases, host))
}

/// What keeps a case from being up beside others.
fn of_case(case: &CasePlan, host: &Host<'_>) -> Option<String> {
    let name = &case.name;
    let work = match &case.work {
        Work::LogicalReads(work) => work,
        Work::OwnMemory(work) => &work.instance,
        Work::ParallelScan(_) => {
            return Some(format!("{name} is measured by whole scans"));
        }
        _ => {
            return Some(format!("{name} is no work of the embedded instance"));
        }
    };
    if work.load.update_pct > 0 {
        return Some(format!(
            "database writers of {name} write while it is parked"
        ));
    }
    if work.sga.page_bytes != host.base_page_bytes {
        let size = ByteSize(work.sga.page_bytes);
        return Some(format!("{name} takes {size} pages from a pool"));
    }
    None
}

/// Memory that cases need together and that is not there.
fn of_memory(cases: &[CasePlan], host: &Host<'_>) -> Option<String> {
    let demands: Vec<(NodeSet, u64, Backing)> = cases
        .iter()
        .flat_map(|case| demands_of(case, host))
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
    // What may lie on some nodes is looked for there; sets of nodes that overlap are judged by the
    // larger of them, too.
    let sets = demands.iter().map(|(nodes, _, _)| nodes);
    sets.clone().find_map(|nodes| {
        let within = demands.iter().filter(|(it, _, _)| it.is_subset(nodes));
        let needed = within.map(|(_, bytes, _)| bytes).sum();
        let there = nodes.iter().map(|node| host.obtainable_bytes(node));
        let there = there.sum::<Option<u64>>()?;
        missing(needed, there, &format!("on nodes {nodes}"))
    })
}

/// Where memory of a case may lie, and how much of it there is.
fn demands_of(case: &CasePlan, host: &Host<'_>) -> Vec<(NodeSet, u64, Backing)> {
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
