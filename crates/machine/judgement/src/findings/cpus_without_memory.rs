//! A placement in which some CPUs have no memory near them.

use model::Severity;

use super::row::{Check, Row};
use crate::found::Found;
use crate::inputs::BindInput;

pub(super) const ROW: Row = Row {
    id: "cpus-without-memory",
    severity: Severity::Warning,
    about: "some of the CPUs have none of the memory nodes near them",
    cost: "every access to memory from those CPUs is remote",
    cost_source: "`numalab latency` measures what a remote access costs here",
    checks: &[Check::Bind(check)],
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
        "memory comes from nodes {memory}, but the program may also run on CPUs {cpus} of nodes \
         {without}, for which it is remote (--cpunodebind={memory} keeps both together)"
    )))
}
