//! The policies of shared objects: /proc/PID/numa_maps of as few processes as needed, the smallest
//! first, because the kernel walks all pages of a process to write that file.

use std::collections::{BTreeMap, BTreeSet};

use linux::proc_maps::ObjectId;
use linux::{Root, proc_stat};

use super::process_maps::ProcessMaps;
use super::tally::{Area, Span};
use crate::numa_maps;

/// The areas of each shared object, ascending.
pub(super) fn of_objects(root: &Root, processes: &[ProcessMaps]) -> BTreeMap<ObjectId, Vec<Area>> {
    let mut wanted: BTreeSet<ObjectId> = processes.iter().flat_map(shared_objects).collect();
    let mut areas = BTreeMap::new();
    let mut by_size: Vec<(u64, &ProcessMaps)> = processes
        .iter()
        .map(|process| {
            (
                proc_stat::resident_pages(root, process.pid).unwrap_or(0),
                process,
            )
        })
        .collect();
    by_size.sort_by_key(|(pages, process)| (*pages, process.pid));
    for (_, process) in by_size {
        if wanted.is_empty() {
            break;
        }
        let useful = shared_objects(process).any(|object| wanted.contains(&object));
        if useful {
            let found = of_process(root, process);
            wanted.retain(|object| !found.contains_key(object));
            for (object, found) in found {
                areas.entry(object).or_insert(found);
            }
        }
    }
    areas
}

fn shared_objects(process: &ProcessMaps) -> impl Iterator<Item = ObjectId> {
    let shared = process.mappings.iter().filter(|mapping| mapping.is_shared);
    shared
        .filter(|mapping| mapping.has_object())
        .map(|mapping| mapping.object)
}

/// What this process sees; nothing when its numa_maps cannot be read.
fn of_process(root: &Root, process: &ProcessMaps) -> BTreeMap<ObjectId, Vec<Area>> {
    let Ok(file) = root.read_lossy(&format!("proc/{}/numa_maps", process.pid)) else {
        return BTreeMap::new();
    };
    let lines = file
        .lines()
        .filter_map(|(_, line)| numa_maps::parse_line(line).ok());
    let policies: BTreeMap<u64, String> = lines.map(|line| (line.address, line.policy)).collect();
    let mut areas: BTreeMap<ObjectId, Vec<Area>> = BTreeMap::new();
    let shared = process.mappings.iter().filter(|mapping| mapping.is_shared);
    for mapping in shared.filter(|mapping| mapping.has_object()) {
        let Some(policy) = policies.get(&mapping.start) else {
            continue;
        };
        let end = mapping.offset.saturating_add(mapping.bytes());
        let area = Area {
            span: Span {
                start: mapping.offset,
                end,
            },
            policy: policy.clone(),
        };
        areas.entry(mapping.object).or_default().push(area);
    }
    for areas in areas.values_mut() {
        areas.sort_by_key(|area| area.span);
        without_overlap(areas);
    }
    areas
}

/// An object may be mapped twice; what a later area has of an earlier one is cut off.
fn without_overlap(areas: &mut Vec<Area>) {
    let mut reached = 0;
    areas.retain_mut(|area| {
        area.span.start = area.span.start.max(reached);
        reached = reached.max(area.span.end);
        area.span.start < area.span.end
    });
}
