//! Shared memory whose policy says interleave, and that is not spread.

use model::{ByteSize, BytesByNode, NodeSet, Residency, Severity};

use super::row::{Check, Row};
use crate::doctor::memory::{WORTH_BYTES, shared, source};
use crate::doctor::{DoctorInput, sight};
use crate::found::{Found, fact};

pub(super) const ROW: Row = Row {
    id: "interleave-not-honoured",
    severity: Severity::Warning,
    about: "the policy of shared memory is interleave, but its pages are not spread",
    cost: "a part of what a Cyclops costs; the policy hides it from whoever looks only there",
    cost_source: "Closson, \"Introducing Cyclops\", 2007; kernel, mm/mempolicy.c (a node without \
                  free pages is passed over without a word)",
    checks: &[
        Check::Doctor(sight::target, of_target),
        Check::Inspect(check),
    ],
};

/// A node of the policy with less than this part of its even share is no accident.
const SHARE_MIN: f64 = 0.5;

fn check(residency: &Residency) -> Option<Found> {
    let parts = shared(residency).flat_map(|segment| {
        let whole = segment
            .policy
            .as_deref()
            .map(|it| (it, &segment.bytes_by_node));
        let areas = segment.areas.iter();
        let areas = areas.map(|area| (area.policy.as_str(), &area.bytes_by_node));
        let parts = whole.into_iter().chain(areas);
        parts.map(move |(policy, bytes)| (segment.name.as_str(), policy, bytes))
    });
    parts
        .filter_map(|(name, policy, bytes)| found(residency, name, policy, bytes))
        .next()
}

fn found(residency: &Residency, name: &str, policy: &str, bytes: &BytesByNode) -> Option<Found> {
    let nodes = interleaved(policy)?;
    let all: u64 = bytes.values().sum();
    let even = all as f64 / nodes.len() as f64;
    let on = |node| bytes.get(&node).copied().unwrap_or(0);
    let least = nodes.iter().min_by_key(|node| on(*node))?;
    let beyond = bytes.iter().filter(|(node, _)| !nodes.contains(**node));
    let beyond: u64 = beyond.map(|(_, bytes)| bytes).sum();
    if all < WORTH_BYTES || on(least) as f64 >= SHARE_MIN * even {
        return None;
    }
    let message = match beyond > all / 2 {
        true => format!(
            "{name} has policy {policy}, but {} of its {} are on other nodes",
            ByteSize(beyond),
            ByteSize(all)
        ),
        false => format!(
            "{name} has policy {policy}, but node {least} holds {} of its {}",
            ByteSize(on(least)),
            ByteSize(all)
        ),
    };
    let by_node = bytes
        .iter()
        .map(|(node, bytes)| format!("N{node} {}", ByteSize(*bytes)));
    Some(Found {
        evidence: vec![
            fact("/proc/PID/numa_maps", policy),
            fact(source(residency), by_node.collect::<Vec<_>>().join(", ")),
        ],
        ..Found::that(message)
    })
}

/// The nodes of an interleaving policy of several nodes; weights need not be even.
fn interleaved(policy: &str) -> Option<NodeSet> {
    let (mode, nodes) = policy.rsplit_once(':')?;
    let mode = mode.split('=').next()?;
    let nodes: NodeSet = nodes.parse().ok()?;
    (mode == "interleave" && nodes.len() > 1).then_some(nodes)
}

fn of_target(input: &DoctorInput) -> Option<Found> {
    check(input.residency.as_ref()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::samples::target;

    #[test]
    fn interleaving_that_a_full_node_did_not_take_part_in_is_found() {
        let of = |bytes: &[(u32, u64)], policy: &str| target(bytes, policy, "0-2", "0-1");
        let found = of_target(&of(&[(0, 90), (1, 10)], "interleave:0-1")).unwrap();
        let expected = "/dev/shm/a has policy interleave:0-1, but node 1 holds 10 MiB of its \
                        100 MiB";
        assert_eq!(found.message, expected);
        assert!(of_target(&of(&[(0, 90)], "interleave=static:0-1")).is_some());
        let elsewhere = of_target(&of(&[(0, 20), (1, 20), (2, 60)], "interleave:0-1"));
        assert!(
            elsewhere
                .unwrap()
                .message
                .ends_with("60 MiB of its 100 MiB are on other nodes")
        );
    }

    #[test]
    fn memory_that_is_spread_or_was_never_asked_to_be_is_not() {
        let check = |bytes: &[(u32, u64)], policy: &str| {
            assert!(
                of_target(&target(bytes, policy, "0-2", "0-1")).is_none(),
                "{policy}"
            );
        };
        check(&[(0, 55), (1, 45)], "interleave:0-1");
        check(&[(0, 90), (1, 10)], "default");
        check(&[(0, 90), (1, 10)], "weighted interleave:0-1");
        check(&[(0, 90)], "interleave:0");
        check(&[(0, 90)], "bind:0-1");
        check(&[(0, 9)], "interleave:0-1");
    }
}
