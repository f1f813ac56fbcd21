//! A policy of nodes that the cpuset forbids.

use model::{NodeSet, Severity};

use super::row::{Check, Row};
use crate::doctor::{DoctorInput, sight};
use crate::found::{Found, fact};

pub(super) const ROW: Row = Row {
    id: "cpuset-narrower-than-policy",
    severity: Severity::Warning,
    about: "a memory policy names nodes that the cpuset of a process forbids",
    cost: "the kernel drops those nodes silently: memory is on fewer nodes",
    cost_source: "kernel, admin-guide/mm/numa_memory_policy.rst",
    checks: &[Check::Doctor(sight::target, check)],
};

fn check(input: &DoctorInput) -> Option<Found> {
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
                    "{} has policy {policy}, but {} ({}) may allocate memory only on nodes \
                     {allowed}",
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
                ..Found::default()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::samples::target;

    #[test]
    fn a_policy_beyond_the_cpuset_is_found() {
        assert!(check(&target(&[(0, 50)], "interleave:0-1", "0", "0-1")).is_some());
        assert!(check(&target(&[(0, 50)], "interleave:0-1", "0-2", "0-1")).is_none());
        assert!(check(&target(&[(0, 50)], "default", "0", "0-1")).is_none());
    }
}
