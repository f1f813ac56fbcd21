//! NUMA switched off on the kernel's command line.

use model::Severity;

use super::row::{Check, Row};
use crate::doctor::DoctorInput;
use crate::found::{Found, commands, fact};

pub(super) const ROW: Row = Row {
    id: "numa-off",
    severity: Severity::Error,
    about: "NUMA is disabled on the kernel command line",
    cost: "the kernel cannot place anything: 24 instead of 8 seconds for a parallel scan",
    cost_source: "Hoogland, \"in-memory parallel execution and NUMA\", 2016 (in the database)",
    checks: &[Check::Doctor(check)],
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::samples::machine;

    #[test]
    fn the_setting_is_found() {
        let mut it = machine(&[&[10]]);
        assert!(check(&it).is_none());
        it.topology.settings.numa_off = Some(true);
        assert!(check(&it).is_some());
    }
}
