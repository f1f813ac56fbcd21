//! Interrupts of the target's devices on nodes on which none of its processes may run.

use model::{CpuSet, NodeSet, Severity, ShellLine, node_words};

use super::row::{Check, Row};
use crate::doctor::memory::nodes_used;
use crate::doctor::{DoctorInput, UsedDevice, sight};
use crate::found::{Found, fact};

pub(super) const ROW: Row = Row {
    id: "interrupts-far",
    severity: Severity::Info,
    about: "nearly all interrupts of a disk or a network go to nodes where the target may not run",
    cost: "not known: what waits for the device is woken from another node",
    cost_source: "`numalab try` with the CPUs of that node measures it",
    checks: &[Check::Doctor(sight::target, check)],
};

/// Interrupts of all programs count, so that those of this target may be among the few elsewhere.
const FAR_SHARE: f64 = 0.9;
/// Fewer since boot say nothing.
const COUNT_MIN: u64 = 10_000;
/// The devices in the evidence, and the interrupts in a command.
const LISTED_MAX: usize = 8;
const IRQS_MAX: usize = 64;

fn check(input: &DoctorInput) -> Option<Found> {
    let residency = input.residency.as_ref()?;
    let used = nodes_used(residency);
    let knows_all = residency.processes.iter().all(|it| !it.cpus.is_empty());
    if used.is_empty() || !knows_all {
        return None;
    }
    let devices = input.devices.iter();
    let far = devices.filter_map(|(name, device)| {
        let (nodes, share) = elsewhere(device, &used)?;
        Some((name, device, nodes, share))
    });
    let far: Vec<_> = far.take(LISTED_MAX).collect();
    let words = far.iter().map(|(name, _, nodes, share)| {
        let share = (share * 100.0).floor();
        format!(
            "{share:.0} % of the interrupts of {name} go to {}",
            node_words(nodes)
        )
    });
    let words: Vec<String> = words.collect();
    let cpus_of = |nodes: &NodeSet| -> CpuSet {
        let all = input.topology.nodes.iter();
        all.filter(|node| nodes.contains(node.id))
            .flat_map(|node| node.cpus.iter())
            .collect()
    };
    let evidence = far.iter().map(|(name, device, ..)| {
        let counts = device.interrupts.iter();
        let counts: Vec<_> = counts
            .map(|(node, count)| format!("node {node}: {count}"))
            .collect();
        let counts = format!("{name}: {} since boot", counts.join(", "));
        fact(
            "/proc/interrupts, /proc/irq/N/effective_affinity_list",
            counts,
        )
    });
    let fix = far.iter().map(|(_, device, ..)| {
        let irqs = device.irqs.iter().take(IRQS_MAX).map(u32::to_string);
        ShellLine::remark(format!(
            "for irq in {}; do echo {} >/proc/irq/$irq/smp_affinity_list; done",
            irqs.collect::<Vec<_>>().join(" "),
            cpus_of(&used)
        ))
    });
    let why = "# if it waits for these more than for memory (irqbalance may undo it, and queues of \
               NVMe refuse it, since each belongs to its CPUs):";
    (!far.is_empty()).then(|| Found {
        message: format!(
            "{}, and the processes may run on {} only; what that costs is not known",
            words.join("; "),
            node_words(&used)
        ),
        evidence: evidence.collect(),
        fix: [ShellLine::of(why)].into_iter().chain(fix).collect(),
        ..Found::default()
    })
}

/// The nodes to which interrupts go that are none of these, with their share of all, if that is
/// nearly all.
fn elsewhere(device: &UsedDevice, used: &NodeSet) -> Option<(NodeSet, f64)> {
    let sum = |counts: &mut dyn Iterator<Item = u64>| counts.fold(0, u64::saturating_add);
    let all = sum(&mut device.interrupts.values().copied());
    let far = device.interrupts.iter();
    let far = far.filter(|(node, count)| !used.contains(**node) && **count > 0);
    let count = sum(&mut far.clone().map(|(_, count)| *count));
    let share = count as f64 / all.max(1) as f64;
    let nodes = far.map(|(node, _)| *node).collect();
    (all >= COUNT_MIN && share >= FAR_SHARE).then_some((nodes, share))
}

#[cfg(test)]
mod tests {
    use model::NodeId;

    use super::*;
    use crate::doctor::samples::target;

    #[test]
    fn interrupts_that_go_where_nobody_may_run_are_far() {
        let found = |cpus: &str, counts: [u64; 2]| {
            let mut input = target(&[(0, 100)], "default", "0-1", cpus);
            let device = UsedDevice {
                node: None,
                interrupts: (0..).map(NodeId).zip(counts).collect(),
                irqs: [36, 38].into(),
            };
            input.devices = [("network eth0".to_owned(), device)].into();
            check(&input)
        };
        let far = found("1", [99_000, 1_000]).unwrap();
        assert_eq!(
            far.message,
            "99 % of the interrupts of network eth0 go to node 0, and the processes may run on \
             node 1 only; what that costs is not known"
        );
        let line = "# for irq in 36 38; do echo 1 >/proc/irq/$irq/smp_affinity_list; done";
        assert_eq!(far.fix[1], line);
        assert_eq!(
            far.evidence[0].value,
            "network eth0: node 0: 99000, node 1: 1000 since boot"
        );
        assert!(found("0-1", [99_000, 1_000]).is_none());
        // Those of the target may be among them.
        assert!(found("1", [70_000, 30_000]).is_none());
        assert!(found("1", [9_000, 0]).is_none());
        assert!(found("0", [99_000, 1_000]).is_none());
    }
}
