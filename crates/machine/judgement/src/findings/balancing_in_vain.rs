//! `kernel.numa_balancing` on for shared memory that it does not move.

use model::{ByteSize, Layout, Severity, ShellLine, node_words, shell_line};

use super::row::{Check, Row};
use crate::doctor::cure::spread_at_restart;
use crate::doctor::memory::{WORTH_BYTES, nodes_used};
use crate::doctor::{DoctorInput, sight};
use crate::found::{Found, fact};

/// The bit of kernel.numa_balancing without which pages do not follow CPUs (2 alone only promotes
/// from slower memory).
const BALANCING_NORMAL: u32 = 1;

pub(super) const ROW: Row = Row {
    id: "balancing-in-vain",
    severity: Severity::Info,
    about: "numa_balancing is on, but it does not move shared memory without a policy",
    cost: "remote shared memory stays remote; only private memory follows its CPUs",
    cost_source: "kernel, mm/mempolicy.c (vma_policy_mof); measured: of 10,240 remote shared pages \
                  none moved in 20 s, of as many private ones all",
    checks: &[Check::Doctor(sight::target, check)],
};

fn check(input: &DoctorInput) -> Option<Found> {
    let value = input
        .topology
        .settings
        .numa_balancing
        .filter(|value| *value != 0)?;
    let residency = input.residency.as_ref()?;
    let bytes: u64 = input.shared().map(|segment| segment.bytes()).sum();
    let used = nodes_used(residency);
    let is_left = residency.layout == Layout::Default && bytes >= WORTH_BYTES;
    (is_left && used.len() > 1 && input.allowed_database_nodes().len() > 1).then(|| Found {
        evidence: vec![
            fact("/proc/sys/kernel/numa_balancing", value),
            fact("/proc/PID/numa_maps", "policy default"),
        ],
        fix: fix(input, &residency.target, value),
        ..Found::that(format!(
            "numa_balancing is {value}, but leaves {} of shared memory where it is; {} \
             use it",
            ByteSize(bytes),
            node_words(used)
        ))
    })
}

/// How to spread the memory, or to let the kernel at it.
fn fix(input: &DoctorInput, target: &str, value: u32) -> Vec<ShellLine> {
    let mut lines = spread_at_restart(input, &input.allowed_database_nodes(), false);
    if value & BALANCING_NORMAL != 0 {
        lines.push(ShellLine::of(
            "# or, if each process has pages of its own, let the kernel move them:",
        ));
        lines.push(shell_line!("numalab balance {}", target));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::samples::target;

    #[test]
    fn balancing_that_cannot_help_a_shared_buffer_pool_is_found() {
        let found = |policy: &str, cpus: &str, balancing: Option<u32>| {
            let mut input = target(&[(0, 50), (1, 10)], policy, "0-2", cpus);
            input.topology.settings.numa_balancing = balancing;
            check(&input).map(|found| found.message)
        };
        let expected = "numa_balancing is 1, but leaves 60 MiB of shared memory where it is; \
                        nodes 0-1 use it";
        assert_eq!(found("default", "0-1", Some(1)).as_deref(), Some(expected));
        assert_eq!(found("default", "0-1", Some(0)), None);
        assert_eq!(found("default", "0-1", None), None);
        assert_eq!(found("default", "0", Some(1)), None);
        assert_eq!(found("interleave:0-1", "0-1", Some(1)), None);
    }
}
