//! The policies of shared memory. Objects of small pages have their own, which are queried from the
//! object. Those of huge-page objects, and the task policies that apply where an object has none,
//! are in /proc/PID/numa_maps. As little of that as possible is read, because the kernel walks all
//! pages of a mapping to write its line.

use std::collections::{BTreeMap, BTreeSet};

use linux::map_files::MappedObject;
use linux::proc_maps::ObjectId;
use linux::{Root, SystemCallError};

use super::kind::kind_of;
use super::objects::{self, Objects};
use super::process_maps::ProcessMaps;
use super::tally::{Area, Span};
use super::task_policy;
use crate::numa_maps;

/// The areas of each object of shared memory, ascending.
pub(super) fn of_objects(
    root: &Root,
    processes: &[ProcessMaps],
    objects: &Objects,
) -> BTreeMap<ObjectId, Vec<Area>> {
    let mut areas = BTreeMap::new();
    let mut rest = BTreeSet::new();
    let mut of_tasks = TaskPolicies::new(root);
    for (id, mapped) in shared_memory(processes, objects) {
        let object = objects.get(id).filter(|of| of.huge_page_bytes.is_none());
        let found = object.and_then(|object| of_object(object, &mapped, &mut of_tasks).ok());
        match found {
            Some(found) => {
                areas.insert(id, found);
            }
            None => {
                rest.insert(id);
            }
        }
    }
    areas.extend(by_numa_maps(root, processes, rest));
    areas
}

/// Who has an object mapped, and which parts of it.
#[derive(Default)]
struct Mapped {
    /// The first of the processes.
    pid: u32,
    spans: BTreeSet<Span>,
}

fn shared_memory(processes: &[ProcessMaps], objects: &Objects) -> BTreeMap<ObjectId, Mapped> {
    let mut found: BTreeMap<ObjectId, Mapped> = BTreeMap::new();
    for process in processes {
        for mapping in objects::shared(process) {
            let object = objects.get(mapping.object);
            let is_huge = object.is_some_and(|object| object.huge_page_bytes.is_some());
            if !kind_of(&mapping.name, mapping.is_executable, is_huge).is_shared_memory() {
                continue;
            }
            let pid = process.pid;
            let mapped = found.entry(mapping.object).or_insert(Mapped {
                pid,
                ..Mapped::default()
            });
            let end = mapping.offset.saturating_add(mapping.bytes());
            mapped.spans.insert(Span {
                start: mapping.offset,
                end,
            });
        }
    }
    found
}

/// Queries the object. mbind(2) has split its caller's mapping where the policy changes, so
/// querying at the borders of all mappings is enough.
fn of_object(
    object: &MappedObject,
    mapped: &Mapped,
    of_tasks: &mut TaskPolicies<'_>,
) -> Result<Vec<Area>, SystemCallError> {
    let borders = mapped.spans.iter().flat_map(|span| [span.start, span.end]);
    let borders: BTreeSet<u64> = borders.collect();
    let borders: Vec<u64> = borders.into_iter().collect();
    let mut areas: Vec<Area> = Vec::new();
    for pair in borders.windows(2) {
        let span = Span {
            start: pair[0],
            end: pair[1],
        };
        if !mapped
            .spans
            .iter()
            .any(|of| of.start <= span.start && span.end <= of.end)
        {
            continue;
        }
        let own = object.policy_at(span.start)?;
        let policy = own.unwrap_or_else(|| of_tasks.of(mapped.pid));
        match areas.last_mut() {
            Some(last) if last.span.end == span.start && last.policy == policy => {
                last.span.end = span.end;
            }
            _ => areas.push(Area { span, policy }),
        }
    }
    Ok(areas)
}

/// The policies of tasks.
struct TaskPolicies<'a> {
    root: &'a Root,
    known: BTreeMap<u32, String>,
}

impl<'a> TaskPolicies<'a> {
    fn new(root: &'a Root) -> Self {
        let known = BTreeMap::new();
        TaskPolicies { root, known }
    }

    fn of(&mut self, pid: u32) -> String {
        let root = self.root;
        let read = || task_policy::of_task(root, &format!("proc/{pid}"));
        let policy = self.known.entry(pid);
        policy
            .or_insert_with(|| read().unwrap_or_else(|| "default".to_owned()))
            .clone()
    }
}

/// The same from complete numa_maps files, of as few processes as needed, the smallest first.
fn by_numa_maps(
    root: &Root,
    processes: &[ProcessMaps],
    mut wanted: BTreeSet<ObjectId>,
) -> BTreeMap<ObjectId, Vec<Area>> {
    let mut areas = BTreeMap::new();
    if wanted.is_empty() {
        return areas;
    }
    let mut by_size: Vec<&ProcessMaps> = processes.iter().collect();
    by_size.sort_by_key(|process| (process.resident_pages, process.pid));
    for process in by_size {
        let mut of_it = objects::shared(process).map(|mapping| mapping.object);
        if of_it.any(|object| wanted.contains(&object)) {
            let mut found = of_process(root, process);
            found.retain(|object, _| wanted.remove(object));
            areas.extend(found);
        }
    }
    areas
}

/// The areas that this process sees; none when its numa_maps cannot be read.
fn of_process(root: &Root, process: &ProcessMaps) -> BTreeMap<ObjectId, Vec<Area>> {
    let Ok(file) = root.read_lossy(&format!("proc/{}/numa_maps", process.pid)) else {
        return BTreeMap::new();
    };
    let lines = file
        .lines()
        .filter_map(|(_, line)| numa_maps::parse_line(line).ok());
    let policies: BTreeMap<u64, String> = lines.map(|line| (line.address, line.policy)).collect();
    let mut areas: BTreeMap<ObjectId, Vec<Area>> = BTreeMap::new();
    for mapping in objects::shared(process) {
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

/// Removes overlaps: an object may be mapped twice, and then the earlier area wins.
fn without_overlap(areas: &mut Vec<Area>) {
    let mut reached = 0;
    areas.retain_mut(|area| {
        area.span.start = area.span.start.max(reached);
        reached = reached.max(area.span.end);
        area.span.start < area.span.end
    });
}
