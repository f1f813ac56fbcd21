//! `kernel.numa_balancing` on although processes or memory were placed.

use model::{Severity, counted};

use super::row::{Check, Row};
use crate::doctor::{DoctorInput, sight};
use crate::found::{Found, commands, fact};

pub(super) const ROW: Row = Row {
    id: "numa-balancing",
    severity: Severity::Warning,
    about: "numa_balancing is on although processes or memory were placed on purpose",
    cost: "hinting page faults, and page migrations that undo the placement",
    cost_source: "kernel, admin-guide/sysctl/kernel.rst (numa_balancing)",
    checks: &[Check::Doctor(sight::numa_balancing, check)],
};

fn check(input: &DoctorInput) -> Option<Found> {
    let value = input
        .topology
        .settings
        .numa_balancing
        .filter(|value| *value != 0)?;
    let residency = input.residency.as_ref()?;
    let pinned = residency
        .processes
        .iter()
        .filter(|process| process.pinned_to_node.is_some());
    let pinned = pinned.count();
    let placed = input
        .shared()
        .filter(|of| of.policy.as_deref().is_some_and(|it| it != "default"));
    let placed = placed.count();
    (pinned + placed > 0 && input.topology.nodes.len() > 1).then(|| Found {
        message: format!(
            "numa_balancing is {value} beside {} pinned to a node and {} with a memory policy",
            counted(pinned, "process"),
            counted(placed, "segment")
        ),
        evidence: vec![
            fact("/proc/sys/kernel/numa_balancing", value),
            fact(
                "/proc/PID/status, /proc/PID/numa_maps",
                format!("{pinned} pinned, {placed} placed"),
            ),
        ],
        fix: commands(&[
            "sysctl -w kernel.numa_balancing=0",
            "echo kernel.numa_balancing=0 >/etc/sysctl.d/90-numa.conf",
        ]),
        ..Found::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::samples::process_of;

    #[test]
    fn balancing_matters_to_a_database_that_was_placed() {
        let mut it = process_of(true, "postgres");
        assert!(check(&it).is_none());
        it.topology.settings.numa_balancing = Some(1);
        assert!(check(&it).is_some());
        it.residency = process_of(false, "postgres").residency;
        assert!(check(&it).is_none());
    }
}
