//! Demotion on although a cpuset binds the memory of the target.

use model::{Severity, node_words};

use super::row::{Check, Row};
use crate::doctor::{DoctorInput, sight};
use crate::found::{Found, commands, fact};

pub(super) const ROW: Row = Row {
    id: "demotion-leaves-cpuset",
    severity: Severity::Warning,
    about: "demotion is on and may move memory to nodes that the cpuset of a process forbids",
    cost: "under memory pressure, cold pages of the database go to slower nodes outside its cpuset",
    cost_source: "kernel, ABI/testing/sysfs-kernel-mm-numa (demotion_enabled)",
    checks: &[Check::Doctor(sight::target, check)],
};

fn check(input: &DoctorInput) -> Option<Found> {
    let is_on = input.topology.settings.demotion == Some(true);
    let memory = input.topology.memory_nodes();
    // The kernel demotes to nodes of a slower tier: those without CPUs.
    let is_slower = |node: &&model::Node| node.cpus.is_empty() && !node.has_unknown_cpus;
    let slower = input.topology.nodes.iter().filter(is_slower);
    let slower: model::NodeSet = slower.map(|node| node.id).collect();
    let slower = slower.intersection(&memory);
    let processes = &input.residency.as_ref()?.processes;
    let bound = processes.iter().find(|process| {
        let allowed = &process.memory_nodes_allowed;
        !allowed.is_empty() && !slower.is_subset(allowed)
    });
    let process = bound.filter(|_| is_on && !slower.is_empty())?;
    let allowed = &process.memory_nodes_allowed;
    Some(Found {
        message: format!(
            "demotion is on: memory of {} ({}), which may be on {}, can go to {}",
            process.name,
            process.pid,
            node_words(allowed),
            node_words(slower.difference(allowed))
        ),
        evidence: vec![
            fact("/sys/kernel/mm/numa/demotion_enabled", true),
            fact(
                format!("/proc/{}/status", process.pid),
                format!("Mems_allowed_list {allowed}"),
            ),
        ],
        fix: commands(&["echo false >/sys/kernel/mm/numa/demotion_enabled"]),
        ..Found::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::samples::target;

    #[test]
    fn demotion_beyond_the_nodes_of_a_cpuset_is_found() {
        let found = |allowed: &str, demotion: Option<bool>| {
            let mut input = target(&[(0, 50)], "default", allowed, "0-1");
            input.topology.settings.demotion = demotion;
            check(&input).map(|found| found.message)
        };
        let text = found("0-1", Some(true)).unwrap();
        assert!(
            text.ends_with("may be on nodes 0-1, can go to node 2"),
            "{text}"
        );
        assert_eq!(found("0-1", Some(false)), None);
        assert_eq!(found("0-1", None), None);
        assert_eq!(found("0-2", Some(true)), None);
    }
}
