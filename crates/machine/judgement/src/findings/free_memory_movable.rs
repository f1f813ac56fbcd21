//! Free memory of a node that only movable pages can use.

use linux::proc_zoneinfo::{Zone, ZoneKind};
use model::{ByteSize, Node, Severity};

use super::row::{Check, Row};
use crate::doctor::{DoctorInput, sight};
use crate::found::{Found, commands, fact};

pub(super) const ROW: Row = Row {
    id: "free-memory-movable",
    severity: Severity::Info,
    about: "what is free on a node is in zone Movable, which not all memory can use",
    cost: "gigantic pages, pinned memory and the kernel's own come from other nodes, or fail",
    cost_source: "kernel, admin-guide/mm/memory-hotplug.rst, ZONE_MOVABLE",
    checks: &[Check::Doctor(sight::zones, check)],
};

/// Below this share of the node, nothing else is free.
const NONE_SHARE: f64 = 0.02;
/// Above this share, much is free there.
const MUCH_SHARE: f64 = 0.2;

fn check(input: &DoctorInput) -> Option<Found> {
    let usable = input.database_nodes();
    let nodes = input.topology.nodes.iter();
    let nodes = nodes.filter(|node| usable.contains(node.id));
    let parts: Vec<_> = nodes.filter_map(|node| free_by_zone(input, node)).collect();
    let words = parts.iter().map(|(node, movable, others)| {
        let others = match others {
            0 => "nothing".to_owned(),
            bytes => format!("{}", ByteSize(*bytes)),
        };
        format!(
            "node {} has {} free in zone Movable and {others} elsewhere",
            node.id,
            ByteSize(*movable)
        )
    });
    let words: Vec<String> = words.collect();
    (!parts.is_empty()).then(|| Found {
        message: format!(
            "{}: huge pages of 1 GiB, memory that is pinned for devices and the kernel's own \
             cannot come from there",
            words.join("; ")
        ),
        evidence: parts
            .iter()
            .map(|(node, movable, _)| {
                let zone = format!(
                    "Node {}, zone Movable: {} free",
                    node.id,
                    ByteSize(*movable)
                );
                fact("/proc/zoneinfo", zone)
            })
            .collect(),
        fix: commands(&[
            "# which memory is movable is decided by the kernel command line (kernelcore=, \
             movablecore=, movable_node) or when it is added:",
            "# /sys/devices/system/memory/auto_online_blocks: online_kernel instead of \
             online_movable",
        ]),
        ..Found::default()
    })
}

/// A node with what is free in zone Movable and elsewhere, in bytes, if only the former is much.
fn free_by_zone<'a>(input: &DoctorInput, node: &'a Node) -> Option<(&'a Node, u64, u64)> {
    let all = node.memory_bytes.filter(|bytes| *bytes > 0)? as f64;
    let zones = || input.zones.iter().filter(|zone| zone.node == node.id);
    let is_movable = |zone: &&Zone| zone.kind == ZoneKind::Movable;
    let pages = |is: bool| {
        let of_kind = zones().filter(|zone| is_movable(zone) == is);
        let pages = of_kind.map(Zone::usable).fold(0, u64::saturating_add);
        pages.saturating_mul(input.topology.base_page_bytes())
    };
    let (movable, others) = (pages(true), pages(false));
    let is_found = movable as f64 >= MUCH_SHARE * all && (others as f64) < NONE_SHARE * all;
    is_found.then_some((node, movable, others))
}

#[cfg(test)]
mod tests {
    use model::NodeId;

    use super::*;
    use crate::doctor::samples::machine;

    #[test]
    fn what_is_free_in_zone_movable_alone_is_told_apart() {
        let mut it = machine(&[&[10, 21], &[21, 10]]);
        let zone = |node: u32, kind, gib: u64| Zone {
            node: NodeId(node),
            kind,
            free: (gib << 30) / linux::process::page_bytes(),
            ..Zone::default()
        };
        it.zones = vec![
            zone(0, ZoneKind::Normal, 40),
            zone(1, ZoneKind::Normal, 0),
            zone(1, ZoneKind::Movable, 40),
        ];
        let expected = "node 1 has 40 GiB free in zone Movable and nothing elsewhere: huge pages \
                        of 1 GiB, memory that is pinned for devices and the kernel's own cannot \
                        come from there";
        assert_eq!(check(&it).unwrap().message, expected);
        it.zones[1].free = it.zones[0].free;
        assert!(check(&it).is_none());
        it.zones.clear();
        assert!(check(&it).is_none());
    }
}
