//! A placement whose CPUs and memory are on different nodes.

use model::{Severity, cpu_words, node_words};

use super::row::{Check, Row};
use crate::found::Found;
use crate::inputs::BindInput;

pub(super) const ROW: Row = Row {
    id: "far-memory",
    severity: Severity::Warning,
    about: "none of the memory nodes is a node of the CPUs, and one of them has CPUs",
    cost: "every access to memory is remote",
    cost_source: "`numalab latency` measures what a remote access costs here",
    checks: &[Check::Bind(check)],
};

fn check(input: &BindInput<'_>) -> Option<Found> {
    let memory = input.kept_nodes()?;
    let near = input.near_nodes();
    if !memory.is_disjoint(&near) || memory.is_disjoint(&input.machine.cpu_nodes()) {
        // Memory without CPUs is remote to all of them, and was chosen for its size.
        return None;
    }
    let cpus = cpu_words(input.cpus);
    Some(Found::that(format!(
        "the program runs on {cpus} of {}, but memory comes from {}: all of it is \
         remote",
        node_words(near),
        node_words(memory)
    )))
}
