//! `kernel.numa_balancing` on although processes or memory were placed.

use linux::proc_sched::Balanced;
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
    if pinned + placed == 0 || input.topology.nodes.len() < 2 {
        return None;
    }
    let role = Role::of(input.balanced.as_ref());
    let found = Found {
        message: format!(
            "numa_balancing is {value} beside {} pinned to a node and {} with a memory policy{}",
            counted(pinned, "process"),
            counted(placed, "segment"),
            role.words(input.balanced.as_ref())
        ),
        evidence: vec![
            fact("/proc/sys/kernel/numa_balancing", value),
            fact(
                "/proc/PID/status, /proc/PID/numa_maps",
                format!("{pinned} pinned, {placed} placed"),
            ),
        ],
        fix: match role {
            Role::Heals => commands(&[
                "# leave it on until the memory is placed for good; then nothing is left to move",
            ]),
            Role::Idle => commands(&["# nothing: it costs this target nothing"]),
            Role::Costs | Role::Unknown => commands(&[
                "sysctl -w kernel.numa_balancing=0",
                "echo kernel.numa_balancing=0 >/etc/sysctl.d/90-numa.conf",
            ]),
        },
        ..Found::default()
    };
    Some(match role {
        Role::Heals | Role::Idle => found.for_information(),
        Role::Costs | Role::Unknown => found,
    })
}

/// What balancing is to a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// It moved memory to the threads.
    Heals,
    /// It takes faults, and moves nothing to speak of.
    Costs,
    /// It does not look at the memory.
    Idle,
    /// The kernel does not say.
    Unknown,
}

impl Role {
    fn of(balanced: Option<&Balanced>) -> Self {
        match balanced {
            None => Role::Unknown,
            Some(it) if it.pages_moved >= WORTH_PAGES => Role::Heals,
            Some(it) if it.faults > 0 => Role::Costs,
            Some(_) => Role::Idle,
        }
    }

    fn words(self, balanced: Option<&Balanced>) -> String {
        let Balanced {
            faults,
            pages_moved,
            ..
        } = balanced.copied().unwrap_or_default();
        match self {
            Role::Unknown => String::new(),
            Role::Heals => format!(
                "; it heals: it moved {} to the threads of the target",
                counted(pages_moved, "page")
            ),
            Role::Costs => format!(
                "; it costs: {} of recent hinting faults, {} moved",
                counted(faults, "page"),
                counted(pages_moved, "page")
            ),
            Role::Idle => "; it does not look at the target's memory".to_owned(),
        }
    }
}

/// Moving fewer pages than this heals nothing: 4 MiB of small ones.
const WORTH_PAGES: u64 = 1024;

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
        let mut said = |faults, pages_moved| {
            it.balanced = Some(Balanced {
                faults,
                pages_moved,
                threads: 1,
            });
            let found = check(&it).unwrap();
            (found.severity, found.message)
        };
        let (severity, message) = said(5, 70_000);
        assert!(
            message.contains("it heals: it moved 70000 pages"),
            "{message}"
        );
        assert_eq!(severity, Some(Severity::Info));
        let (severity, message) = said(5, 0);
        assert!(message.contains("it costs: 5 pages of recent"), "{message}");
        assert_eq!(severity, None);
        let (severity, message) = said(0, 0);
        assert!(message.contains("does not look"), "{message}");
        assert_eq!(severity, Some(Severity::Info));
        it.residency = process_of(false, "postgres").residency;
        assert!(check(&it).is_none());
    }
}
