//! A kernel that does not know nodes: switched off on its command line, or built without them.

use std::collections::BTreeSet;

use model::Severity;

use super::row::{Check, Row};
use crate::doctor::{DoctorInput, sight};
use crate::found::{Found, commands, fact};

pub(super) const ROW: Row = Row {
    id: "numa-off",
    severity: Severity::Error,
    about: "NUMA is disabled on the kernel command line, or the kernel was built without it",
    cost: "the kernel cannot place anything: 24 instead of 8 seconds for a parallel scan",
    cost_source: "Hoogland, \"in-memory parallel execution and NUMA\", 2016 (in the database)",
    checks: &[
        Check::Doctor(sight::command_line, check),
        Check::Doctor(sight::packages, of_build),
    ],
};

fn check(input: &DoctorInput) -> Option<Found> {
    let settings = &input.topology.settings;
    (settings.numa_off == Some(true)).then(|| Found {
        message: "the kernel was booted with numa=off and sees one node".to_owned(),
        evidence: vec![fact("/proc/cmdline", "numa=off")],
        fix: commands(&[
            "# remove numa=off from GRUB_CMDLINE_LINUX, then reboot:",
            "sed -i 's/ *numa=off//' /etc/default/grub",
            "grub2-mkconfig -o /boot/grub2/grub.cfg || update-grub",
            "reboot",
        ]),
        ..Found::default()
    })
}

/// Without CONFIG_NUMA there is no directory of nodes (kernel, `drivers/base/node.c`). A machine of
/// one package has little to lose.
fn of_build(input: &DoctorInput) -> Option<Found> {
    let topology = &input.topology;
    let packages: BTreeSet<u32> = topology
        .core_list
        .iter()
        .filter_map(|core| core.package)
        .collect();
    let is_meant =
        topology.node_is_implied && topology.settings.numa_off != Some(true) && packages.len() > 1;
    is_meant.then(|| Found {
        severity: Some(Severity::Warning),
        message: format!(
            "this kernel has no NUMA support: it sees {} packages as one node and places nothing",
            packages.len()
        ),
        evidence: vec![fact("/sys/devices/system/node", "does not exist")],
        fix: commands(&[
            "# boot a kernel with NUMA support; this shows y where it has it:",
            "grep CONFIG_NUMA= /boot/config-*",
        ]),
    })
}

#[cfg(test)]
mod tests {
    use model::Core;

    use super::*;
    use crate::doctor::samples::machine;

    #[test]
    fn the_setting_is_found() {
        let mut it = machine(&[&[10]]);
        assert!(check(&it).is_none());
        it.topology.settings.numa_off = Some(true);
        assert!(check(&it).is_some());
    }

    #[test]
    fn a_kernel_without_nodes_is_told_from_one_node() {
        let on = |package: u32| Core {
            package: Some(package),
            ..Core::default()
        };
        let mut it = machine(&[&[10]]);
        it.topology.core_list = vec![on(0), on(1)];
        assert!(of_build(&it).is_none());
        it.topology.node_is_implied = true;
        let found = of_build(&it).unwrap();
        assert!(found.message.contains("no NUMA support"), "{found:?}");
        it.topology.settings.numa_off = Some(true);
        assert!(of_build(&it).is_none());
        it.topology.settings.numa_off = None;
        it.topology.core_list.pop();
        assert!(of_build(&it).is_none());
    }
}
