//! `vm.zone_reclaim_mode` other than 0 on a machine of several nodes.

use model::Severity;

use super::row::{Check, Row};
use crate::doctor::{DoctorInput, sight};
use crate::found::{Found, commands, fact};

pub(super) const ROW: Row = Row {
    id: "zone-reclaim",
    severity: Severity::Warning,
    about: "the kernel reclaims a node's file cache before it uses free memory of other nodes",
    cost: "stalls and a small file cache while memory is free",
    cost_source: "kernel, admin-guide/sysctl/vm.rst (zone_reclaim_mode)",
    checks: &[Check::Doctor(sight::zone_reclaim, check)],
};

fn check(input: &DoctorInput) -> Option<Found> {
    let value = input
        .topology
        .settings
        .zone_reclaim_mode
        .filter(|value| *value != 0)?;
    (input.topology.memory_nodes().len() > 1).then(|| Found {
        message: format!("zone_reclaim_mode is {value}"),
        evidence: vec![fact("/proc/sys/vm/zone_reclaim_mode", value)],
        fix: commands(&[
            "sysctl -w vm.zone_reclaim_mode=0",
            "echo vm.zone_reclaim_mode=0 >/etc/sysctl.d/90-numa-reclaim.conf",
        ]),
        ..Found::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::samples::process_of;

    #[test]
    fn zone_reclaim_matters_with_several_nodes() {
        let mut it = process_of(false, "x");
        it.topology.settings.zone_reclaim_mode = Some(0);
        assert!(check(&it).is_none());
        it.topology.settings.zone_reclaim_mode = Some(1);
        assert!(check(&it).is_some());
        it.topology.nodes.truncate(1);
        assert!(check(&it).is_none());
    }
}
