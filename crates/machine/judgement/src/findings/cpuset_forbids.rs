//! A placement that the cpuset cuts down.

use model::{Severity, cpu_words, node_words};

use super::row::{Check, Row};
use crate::found::Found;
use crate::inputs::BindInput;

pub(super) const ROW: Row = Row {
    id: "cpuset-forbids",
    severity: Severity::Warning,
    about: "the cpuset excludes some of the requested nodes or CPUs",
    cost: "the kernel drops them silently: fewer CPUs, or memory on fewer nodes",
    cost_source: "cpuset(7); kernel, admin-guide/mm/numa_memory_policy.rst",
    checks: &[Check::Bind(check)],
};

fn check(input: &BindInput<'_>) -> Option<Found> {
    let mut lost = Vec::new();
    let allowed = &input.machine.nodes_allowed;
    if let Some(nodes) = input.order.memory_nodes() {
        let nodes = nodes.difference(allowed);
        if !nodes.is_empty() {
            lost.push(format!(
                "memory of {} (it allows {allowed})",
                node_words(nodes)
            ));
        }
    }
    if let Some(asked) = &input.order.cpus {
        let cpus = asked.difference(input.cpus);
        if !cpus.is_empty() {
            lost.push(format!("{} (leaving {})", cpu_words(cpus), input.cpus));
        }
    }
    if lost.is_empty() {
        return None;
    }
    Some(Found::that(format!(
        "the cpuset forbids {}; the kernel drops them silently",
        lost.join(" and ")
    )))
}
