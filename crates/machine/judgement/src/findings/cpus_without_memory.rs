//! CPUs without memory near them: in a placement, or on the whole machine.

use model::{NodeSet, Severity, cpu_words, node_words};

use super::row::{Check, Row};
use crate::doctor::{DoctorInput, sight};
use crate::found::{Found, commands, fact};
use crate::hops::figures;
use crate::inputs::BindInput;

pub(super) const ROW: Row = Row {
    id: "cpus-without-memory",
    severity: Severity::Warning,
    about: "some CPUs have no memory near them, on this machine or of the nodes asked for",
    cost: "every access to memory from those CPUs is remote",
    cost_source: "`numalab latency` measures what a remote access costs here",
    checks: &[
        Check::Doctor(sight::node_memory, of_machine),
        Check::Bind(check),
    ],
};

fn check(input: &BindInput<'_>) -> Option<Found> {
    let memory = input.kept_nodes()?;
    let near = input.near_nodes();
    let without = near.difference(&memory);
    if without.is_empty() || memory.is_disjoint(&near) {
        return None;
    }
    let cpus = input.machine.cpus_of(&without).intersection(input.cpus);
    Some(Found::that(format!(
        "memory comes from {}, but the program may also run on {} of {}, for which it is remote \
         (--cpunodebind={memory} keeps both together)",
        node_words(&memory),
        cpu_words(cpus),
        node_words(without)
    )))
}

/// Nodes that have CPUs and no memory.
fn of_machine(input: &DoctorInput) -> Option<Found> {
    let nodes = input.topology.nodes.iter();
    let without = nodes.filter(|node| !node.cpus.is_empty() && node.memory_bytes == Some(0));
    let without: NodeSet = without.map(|node| node.id).collect();
    if without.is_empty() {
        return None;
    }
    let evidence = without.iter().map(|node| {
        let files = format!("/sys/devices/system/node/node{node}");
        fact(
            format!("{files}/cpulist, {files}/meminfo"),
            "CPUs, MemTotal 0 kB",
        )
    });
    let (has, its) = match without.len() {
        1 => ("has", "its"),
        _ => ("have", "their"),
    };
    let fix = match input.topology.hypervisor.is_some() {
        true => {
            "# in the hypervisor, give each node of the virtual machine memory (libvirt: <numa> \
             with the memory of each cell)"
        }
        false => {
            "# look at the memory that the firmware sees (dmidecode -t memory): are modules \
             missing or disabled in the slots of that socket?"
        }
    };
    Some(Found {
        evidence: evidence.collect(),
        fix: commands(&[fix]),
        ..Found::that(format!(
            "{} {has} CPUs and no memory: every access from {its} CPUs to memory is remote",
            figures::nodes(&without)
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::samples::machine;

    #[test]
    fn a_node_of_cpus_alone_is_found() {
        let mut it = machine(&[&[10, 21], &[21, 10]]);
        assert!(of_machine(&it).is_none());
        it.topology.nodes[1].memory_bytes = None;
        assert!(of_machine(&it).is_none());
        it.topology.nodes[1].memory_bytes = Some(0);
        let found = of_machine(&it).unwrap();
        assert!(
            found.message.starts_with("node 1 has CPUs and no memory"),
            "{found:?}"
        );
        it.topology.nodes[1].cpus = model::CpuSet::new();
        assert!(of_machine(&it).is_none());
    }
}
