//! Finds the memory of a target that can be moved. Reads maps and extents; looks at no page.

use std::collections::{BTreeMap, BTreeSet};

use linux::map_files::MappedObject;
use linux::proc_maps::{self, Mapping, ObjectId};
use linux::{Root, proc_stat, proc_status};
use model::{NodeSet, Topology};

use super::error::MoveError;
use super::memory::{self, Part, PartKind, Source, Stretch, VIEWS_MAX, View, stretches};
use placement::{Destination, Dose, Pattern};
use residency::has_pages;
use residency::instances::{self, Member, Target};
use residency::kind_of;

/// Which memory of a target to move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Shared memory.
    pub shared: bool,
    /// Private memory.
    pub private: bool,
    /// Only shared segments with these names; empty: all.
    pub segments: Vec<String>,
}

/// The memory that was found.
#[derive(Debug, Default)]
pub struct Survey {
    /// The processes of the target that may be read.
    pub members: Vec<Member>,
    /// The parts, shared memory first.
    pub parts: Vec<Part>,
    /// What stays where it is, and why, one sentence each.
    pub notes: Vec<String>,
}

impl Survey {
    /// The ids of the processes.
    pub fn pids(&self) -> Vec<u32> {
        self.members.iter().map(|member| member.stat.pid).collect()
    }

    /// The same for a random part of the pages: of each segment others, of private memory the same
    /// of all processes, which share pages of it since a fork.
    #[must_use]
    pub fn dosed(mut self, dose: Dose) -> Self {
        for (number, part) in (1..).zip(&mut self.parts) {
            let seed = match part.kind {
                PartKind::Segment(_) => dose.seed.wrapping_add(number),
                PartKind::Private { .. } => dose.seed,
            };
            part.pattern = part.pattern.dosed(Dose { seed, ..dose });
        }
        self
    }
}

/// One process and what it has mapped.
struct Mapped {
    member: Member,
    nodes_of_cpus: NodeSet,
    allowed: NodeSet,
    mappings: Vec<Mapping>,
}

/// Finds the memory of a target that can be moved.
///
/// # Errors
/// When there is no such target or segment, none of it may be read, or the destination is
/// impossible.
pub fn survey(
    root: &Root,
    target: &Target,
    topology: &Topology,
    destination: &Destination,
    choice: &Choice,
) -> Result<Survey, MoveError> {
    let members = instances::find(root, target)?;
    let mut survey = Survey::default();
    let processes = mapped(root, members.clone(), topology, &mut survey.notes);
    if processes.is_empty() {
        let target = target.to_string();
        if !members
            .iter()
            .any(|it| proc_stat::still_runs(root, &it.stat))
        {
            return Err(MoveError::Ended { target });
        }
        return Err(MoveError::NotPermitted {
            target,
            reason: survey.notes.join("; "),
        });
    }
    survey.members = processes
        .iter()
        .map(|process| process.member.clone())
        .collect();
    let pattern = |nodes: &NodeSet| {
        let refused = |reason| MoveError::Destination {
            destination: destination.to_string(),
            reason,
        };
        destination.pattern(topology, nodes).map_err(refused)
    };
    if choice.shared {
        let closed = shared(root, &processes, choice, &pattern, &mut survey)?;
        // Only shared memory was requested, and none of it is accessible.
        if closed > 0 && survey.parts.is_empty() && !choice.private {
            return Err(MoveError::NotPermitted {
                target: target.to_string(),
                reason: survey.notes.join("; "),
            });
        }
        check_names(target, choice, &survey, &processes)?;
    }
    if choice.private {
        for process in &processes {
            let pattern = pattern(&process.nodes_of_cpus)?;
            allow(&process.member, &process.allowed, &pattern)?;
            private(root, process, &pattern, &mut survey);
        }
    }
    Ok(survey)
}

fn mapped(
    root: &Root,
    members: Vec<Member>,
    topology: &Topology,
    notes: &mut Vec<String>,
) -> Vec<Mapped> {
    let mut processes = Vec::new();
    for member in members {
        let pid = member.stat.pid;
        let read = proc_maps::read(root, pid).and_then(|maps| {
            let allowed = proc_status::allowed(root, pid)?;
            Ok((maps, allowed))
        });
        let (maps, allowed) = match read {
            Ok(read) => read,
            Err(error) => {
                notes.push(format!("process {pid}: {error}"));
                continue;
            }
        };
        let nodes = topology.nodes.iter();
        let near = nodes.filter(|node| !node.cpus.is_disjoint(&allowed.cpus));
        processes.push(Mapped {
            member,
            nodes_of_cpus: near.map(|node| node.id).collect(),
            allowed: allowed.memory_nodes,
            mappings: maps.list.into_iter().filter(has_pages).collect(),
        });
    }
    processes
}

/// Refuses a pattern with a node that the cpuset forbids, before anything is moved.
fn allow(member: &Member, allowed: &NodeSet, pattern: &Pattern) -> Result<(), MoveError> {
    match pattern.nodes().iter().find(|node| !allowed.contains(*node)) {
        None => Ok(()),
        Some(node) => Err(MoveError::Forbidden {
            who: format!("process {} ({})", member.stat.pid, member.stat.name),
            allowed: allowed.clone(),
            node,
        }),
    }
}

/// The mappings of each object of shared memory, by process.
type ByObject<'a> = BTreeMap<ObjectId, Vec<(&'a Mapped, &'a Mapping)>>;

fn objects(processes: &[Mapped]) -> ByObject<'_> {
    let mut objects = ByObject::new();
    for process in processes {
        let shared = process
            .mappings
            .iter()
            .filter(|it| it.is_shared && it.has_object());
        for mapping in shared {
            objects
                .entry(mapping.object)
                .or_default()
                .push((process, mapping));
        }
    }
    objects.retain(|_, mappings| {
        let (_, mapping) = mappings[0];
        kind_of(&mapping.name, mapping.is_executable, false).is_shared_memory()
    });
    objects
}

/// Adds the parts of shared memory; returns how many objects could not be opened.
fn shared(
    root: &Root,
    processes: &[Mapped],
    choice: &Choice,
    pattern: &dyn Fn(&NodeSet) -> Result<Pattern, MoveError>,
    survey: &mut Survey,
) -> Result<usize, MoveError> {
    let mut closed = 0;
    let own = proc_status::allowed(root, std::process::id())?.memory_nodes;
    for (id, mappings) in objects(processes) {
        let name = plain(&mappings[0].1.name).to_owned();
        if !choice.segments.is_empty() && !choice.segments.contains(&name) {
            continue;
        }
        let mut open = mappings
            .iter()
            .map(|(process, mapping)| MappedObject::open(root, process.member.stat.pid, mapping));
        let object = match open.find_map(Result::ok) {
            Some(object) => object,
            None => {
                survey.notes.push(format!(
                    "cannot open shared memory {name} through /proc/PID/map_files, which needs \
                     CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE: left in place"
                ));
                closed += 1;
                continue;
            }
        };
        let near = mappings
            .iter()
            .flat_map(|(process, _)| process.nodes_of_cpus.iter());
        let pattern = pattern(&near.collect())?;
        let kind = kind_of(&name, false, object.huge_page_bytes.is_some());
        let page_bytes = object
            .huge_page_bytes
            .unwrap_or(linux::process::page_bytes());
        let forbidden = pattern.nodes().iter().find(|node| !own.contains(*node));
        let (source, stretches) = if object.huge_page_bytes.is_some() {
            for (process, _) in &mappings {
                allow(&process.member, &process.allowed, &pattern)?;
            }
            let stretches = match forbidden.is_none() && memory::shows_huge_pages(root, &object, 0)
            {
                true => stretches(0, 0, object.bytes / page_bytes, 0, page_bytes).collect(),
                false => of_huge_object(&mappings, page_bytes),
            };
            (Source::HugeObject(id, object), stretches)
        } else {
            if let Some(node) = forbidden {
                let (who, allowed) = ("numalab itself".to_owned(), own);
                return Err(MoveError::Forbidden { who, allowed, node });
            }
            let stretches = extents(&object, page_bytes)?;
            (Source::Window(id, object), stretches)
        };
        survey.parts.push(Part {
            name,
            kind: PartKind::Segment(kind),
            page_bytes,
            views: match &source {
                Source::Window(..) => views(&mappings, &pattern, page_bytes),
                _ => Vec::new(),
            },
            pattern,
            source,
            stretches,
        });
    }
    Ok(closed)
}

/// `/SYSV00000000` of `/SYSV00000000 (deleted)`.
fn plain(name: &str) -> &str {
    name.strip_suffix(" (deleted)").unwrap_or(name)
}

/// The pages of an object that are not holes.
pub(super) fn extents(object: &MappedObject, page_bytes: u64) -> Result<Vec<Stretch>, MoveError> {
    let mut all = Vec::new();
    let mut from = 0;
    while let Some((start, end)) = object.next_data(from)? {
        let (first, last) = (start / page_bytes, end.div_ceil(page_bytes));
        all.extend(stretches(0, first, last - first, 0, page_bytes));
        from = end;
    }
    Ok(all)
}

/// Where the first processes have an object of small pages mapped that may use all nodes of the
/// pattern.
fn views(mappings: &[(&Mapped, &Mapping)], pattern: &Pattern, page_bytes: u64) -> Vec<View> {
    let nodes = pattern.nodes();
    let may_use = |process: &Mapped| nodes.iter().all(|node| process.allowed.contains(node));
    let of_processes = mappings.iter().filter(|(process, _)| may_use(process));
    let view = |(process, mapping): &(&Mapped, &Mapping)| {
        View::of(process.member.stat.pid, mapping, page_bytes)
    };
    of_processes.take(VIEWS_MAX).map(view).collect()
}

/// The pages of an object of huge pages, through every process that maps it: for kernels that do
/// not show them to us.
fn of_huge_object(mappings: &[(&Mapped, &Mapping)], page_bytes: u64) -> Vec<Stretch> {
    let of_mapping = |(process, mapping): &(&Mapped, &Mapping)| {
        let (first, pages) = (mapping.offset / page_bytes, mapping.bytes() / page_bytes);
        stretches(
            process.member.stat.pid,
            first,
            pages,
            mapping.start,
            page_bytes,
        )
    };
    mappings.iter().flat_map(of_mapping).collect()
}

/// The private memory of one process: base pages in one part, each size of huge pages in another.
fn private(root: &Root, process: &Mapped, pattern: &Pattern, survey: &mut Survey) {
    let stat = &process.member.stat;
    let pid = stat.pid;
    let mut by_page_bytes: BTreeMap<u64, Vec<Stretch>> = BTreeMap::new();
    for mapping in process.mappings.iter().filter(|mapping| !mapping.is_shared) {
        let of_pool = plain(&mapping.name) == "/anon_hugepage";
        let object = of_pool.then(|| MappedObject::open(root, pid, mapping));
        let page_bytes = match object {
            None => linux::process::page_bytes(),
            Some(Ok(object)) => object
                .huge_page_bytes
                .unwrap_or(linux::process::page_bytes()),
            Some(Err(error)) => {
                survey
                    .notes
                    .push(format!("huge pages of process {pid}: {error}"));
                continue;
            }
        };
        let (first, pages) = (mapping.start / page_bytes, mapping.bytes() / page_bytes);
        let stretches = stretches(pid, first, pages, mapping.start, page_bytes);
        by_page_bytes
            .entry(page_bytes)
            .or_default()
            .extend(stretches);
    }
    for (page_bytes, stretches) in by_page_bytes {
        survey.parts.push(Part {
            name: process.member.class.clone(),
            kind: PartKind::Private {
                pid,
                start_ticks: stat.start_ticks,
            },
            page_bytes,
            pattern: pattern.clone(),
            source: Source::Process,
            views: Vec::new(),
            stretches,
        });
    }
}

fn check_names(
    target: &Target,
    choice: &Choice,
    survey: &Survey,
    processes: &[Mapped],
) -> Result<(), MoveError> {
    let found: BTreeSet<&str> = survey.parts.iter().map(|part| part.name.as_str()).collect();
    let is_missing = |name: &&String| !found.contains(name.as_str());
    let Some(name) = choice.segments.iter().find(is_missing) else {
        return Ok(());
    };
    let objects = objects(processes);
    let known: BTreeSet<&str> = objects.values().map(|it| plain(&it[0].1.name)).collect();
    let known: Vec<&str> = known.into_iter().collect();
    Err(MoveError::NoSegment {
        target: target.to_string(),
        name: name.clone(),
        known: if known.is_empty() {
            "none".to_owned()
        } else {
            known.join(", ")
        },
    })
}
