//! The answer of `numalab inspect`: from a target to the fields of numalab.residency/1.

use std::collections::BTreeMap;

use linux::{Root, pagemap};
use model::{
    ClassResidency, Residency, ResidencyMethod, SegmentKind, SegmentResidency, Topology, counted,
};

use super::data_files::{self, DataFiles};
use super::frames::Frames;
use super::gaps::Gaps;
use super::looked::Looked;
use super::objects::Objects;
use super::own_memory::shared_memory;
use super::pagemap_method::Scan;
use super::processes::{self, PerProcess};
use super::sampling::Sample;
use super::sysv_table::SysvTable;
use super::tally::{Tally, add_bytes};
use super::threads::{self, ProcessThreads, Roles};
use super::{layout, numa_maps_method, policies, pool_bound, process_maps};
use crate::instances::{self, InstanceError, Member, Target};

/// How to inspect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Use numa_maps even where frame numbers are available.
    pub only_numa_maps: bool,
    /// Sample large segments: inspect only pages that this seed chooses.
    pub sample_seed: Option<u64>,
    /// Inspect only shared memory, where frame numbers are available.
    pub only_shared: bool,
    /// Also inspect the cached pages of data files, where frame numbers are available.
    pub data_files: bool,
    /// Leave out the policies and the threads: they take the numa_maps of every task. Where the
    /// memory is does not depend on them.
    pub only_bytes: bool,
}

/// Why an inspection failed.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// The processes could not be found.
    #[error(transparent)]
    Instance(#[from] InstanceError),
    /// The machine could not be read.
    #[error(transparent)]
    Read(#[from] linux::Error),
    /// None of the processes may be read.
    #[error(
        "no permission to read any of the {} of {target}",
        counted(processes, "process")
    )]
    NotPermitted {
        /// The target.
        target: String,
        /// How many there are.
        processes: usize,
    },
    /// All processes ended during the inspection.
    #[error(
        "{target} ended during the inspection ({})",
        counted(processes, "process")
    )]
    Ended {
        /// The target.
        target: String,
        /// How many there were.
        processes: usize,
    },
    /// None of the processes could be read, for another reason.
    #[error("cannot read anything of {target}: {reason}")]
    Nothing {
        /// The target.
        target: String,
        /// The first reason.
        reason: String,
    },
}

/// Finds where the memory of a target lies. What is wrong with that is judged elsewhere: `findings`
/// stays empty.
///
/// # Errors
/// When there is no such target, none of it may be read, or the machine cannot be read.
pub fn inspect(
    root: &Root,
    target: &Target,
    topology: &Topology,
    options: &Options,
) -> Result<Residency, InspectError> {
    let members = instances::find(root, target)?;
    inspect_members(root, target, members, topology, options)
}

/// The same of processes that [`instances::find`] has found before; those that have ended since are
/// left out.
///
/// # Errors
/// When all have ended, none may be read, or the machine cannot be read.
pub fn inspect_members(
    root: &Root,
    target: &Target,
    mut members: Vec<Member>,
    topology: &Topology,
    options: &Options,
) -> Result<Residency, InspectError> {
    let mut gaps = Gaps::of(root);
    let exact = root.is_live() && !options.only_numa_maps && pagemap::frames_are_shown();
    let mut looked = match exact {
        true => by_pagemap(root, &members, target, topology, options, &mut gaps)?,
        false => by_numa_maps(root, &members, topology, &mut gaps),
    };
    let mut threads = match options.only_bytes {
        true => threads::read_none(root, &members),
        false => threads::read_all(root, &members),
    };
    looked.forget_ended(&mut members, &mut threads, &mut gaps);
    if members.is_empty() {
        let target = target.to_string();
        let processes = gaps.noticed_ends().len();
        return Err(InspectError::Ended { target, processes });
    }
    if looked.counted.private.is_empty() {
        let target = target.to_string();
        if gaps.refused() > 0 {
            let processes = members.len();
            return Err(InspectError::NotPermitted { target, processes });
        }
        let reason = gaps.into_sentences().into_iter().next().unwrap_or_default();
        return Err(InspectError::Nothing { target, reason });
    }
    let all_seen = gaps.is_empty();
    let mut segments = segments(
        root,
        std::mem::take(&mut looked.segments),
        all_seen && exact,
    );
    let method = method(exact, &segments, &mut gaps);
    note_missing_stat(&members, &mut gaps);
    pool_bound::set(&mut segments, method, topology);
    if options.data_files && !exact {
        gaps.add(match root.is_live() {
            true => "the page cache of data files is visible only with frame numbers, as root",
            false => "the page cache of data files is in no capture",
        });
    }
    let only_shared = options.only_shared && exact;
    if only_shared {
        gaps.add(
            "only shared memory was requested: programs, files and private memory are missing",
        );
    }
    let residency = Residency {
        target: target.to_string(),
        method,
        memory_nodes: topology.memory_nodes(),
        layout: layout::layout(&segments),
        private: match only_shared {
            true => Vec::new(),
            false => classes(&members, &looked.counted),
        },
        segments,
        ..Residency::default()
    };
    let members = (&members[..], &threads[..]);
    let mut finished = finished(residency, members, topology, &looked, gaps);
    if options.only_bytes {
        finished.threads = None;
    }
    Ok(finished)
}

/// Describes the objects that were found, the largest first.
fn segments(root: &Root, tallies: Vec<Tally>, all_seen: bool) -> Vec<SegmentResidency> {
    let mut sysv = SysvTable::new(root);
    let mut segments: Vec<SegmentResidency> = tallies
        .into_iter()
        .map(|tally| {
            let (object, holder) = (tally.object, tally.pids.first().copied());
            let segment = tally.into_segment(all_seen);
            let is_sysv = segment.kind == SegmentKind::Sysv;
            let object = object.zip(holder).filter(|_| is_sysv);
            SegmentResidency {
                sysv: object.and_then(|(id, pid)| sysv.identity(&segment, id, pid)),
                ..segment
            }
        })
        .collect();
    // Omits a private mapping of a file of which nothing is in memory.
    segments.retain(|segment| {
        segment.kind.is_shared_memory() || segment.bytes() > 0 || segment.bytes_without_node > 0
    });
    segments.sort_by(|one, other| {
        other
            .bytes()
            .cmp(&one.bytes())
            .then_with(|| one.name.cmp(&other.name))
    });
    segments
}

/// Adds a gap for captured processes without stat, once for all of them.
fn note_missing_stat(members: &[Member], gaps: &mut Gaps) {
    let without = members.iter().filter(|member| member.stat.lacks_stat);
    match without.count() {
        0 => {}
        count => gaps.add(format!(
            "the capture lacks /proc/PID/stat of {count} of {}: the CPU on which each last ran is \
             unknown",
            counted(members.len(), "process")
        )),
    }
}

/// How the pages were found; adds a gap for what that leaves uncertain.
fn method(exact: bool, segments: &[SegmentResidency], gaps: &mut Gaps) -> ResidencyMethod {
    if !exact {
        gaps.add(
            "frame numbers were not read, so the figures are lower bounds: numa_maps shows only \
             what each process has mapped itself",
        );
        return ResidencyMethod::NumaMaps;
    }
    let sampled = segments.iter().filter(|segment| segment.sampled.is_some());
    match sampled.count() {
        0 => ResidencyMethod::Pagemap,
        count => {
            gaps.add(format!(
                "segments that were sampled: {count}; their figures are estimates, with an \
                 interval for the share of each node"
            ));
            ResidencyMethod::PagemapSampled
        }
    }
}

fn by_pagemap(
    root: &Root,
    members: &[Member],
    target: &Target,
    topology: &Topology,
    options: &Options,
    gaps: &mut Gaps,
) -> Result<Looked, InspectError> {
    let sample = options.sample_seed.map(|seed| Sample {
        seed,
        memory_nodes: topology.memory_nodes(),
    });
    let files = match options.data_files {
        true => data_files::of_target(root, target, members, gaps),
        false => DataFiles::new(),
    };
    let page_bytes = linux::process::page_bytes();
    let frames = Frames::read(root, page_bytes)?;
    let processes = process_maps::read_all(root, members, options.only_shared, gaps);
    let objects = Objects::open(root, &processes);
    let areas = match options.only_bytes {
        true => BTreeMap::new(),
        false => policies::of_objects(root, &processes, &objects),
    };
    let scan = Scan::new(root, &frames, page_bytes, &objects, areas, sample);
    let found = scan.run(&processes, files, gaps);
    Ok(Looked {
        segments: found.segments.into_values().collect(),
        counted: PerProcess {
            private: found.private,
            without_node: found.private_without_node,
            ..PerProcess::default()
        },
    })
}

fn by_numa_maps(root: &Root, members: &[Member], topology: &Topology, gaps: &mut Gaps) -> Looked {
    let default_pool = topology
        .huge_pages
        .iter()
        .find(|pool| pool.is_default == Some(true));
    let meminfo = root.read_optional("proc/meminfo").ok().flatten();
    let meminfo = meminfo.and_then(|file| linux::proc_meminfo::Meminfo::parse(&file).ok());
    let huge_page_bytes = default_pool
        .map(|pool| pool.page_bytes)
        .or_else(|| meminfo.and_then(|meminfo| meminfo.huge_page_bytes));
    let page_bytes = topology.base_page_bytes();
    let found = numa_maps_method::read(root, members, huge_page_bytes, page_bytes, gaps);
    Looked {
        segments: found.segments,
        counted: PerProcess {
            private: found.private,
            without_node: found.swapped_bytes,
            touched: Some(found.touched),
            touched_pools: Some(found.touched_pools),
            transparent_huge: found.transparent_huge,
        },
    }
}

/// Adds totals, processes and gaps.
fn finished(
    mut residency: Residency,
    (members, threads): (&[Member], &[ProcessThreads]),
    topology: &Topology,
    looked: &Looked,
    mut gaps: Gaps,
) -> Residency {
    let shared = shared_memory(&residency);
    let mut roles = Roles::new(topology);
    for (member, threads) in members.iter().zip(threads) {
        roles.add(member, threads);
        let counted = &looked.counted;
        let process = processes::describe(member, topology, counted, &shared, threads);
        residency.processes.push(process);
    }
    residency.threads = Some(roles.finish(&residency));
    for segment in &residency.segments {
        add_bytes(&mut residency.bytes_by_node, &segment.bytes_by_node);
        add_to(
            &mut residency.bytes_without_node,
            segment.bytes_without_node,
        );
        if segment.kind.is_shared_memory() {
            gaps.unseen(segment, residency.method);
        }
    }
    for class in &residency.private {
        add_bytes(&mut residency.bytes_by_node, &class.bytes_by_node);
    }
    for bytes in looked.counted.without_node.values() {
        add_to(&mut residency.bytes_without_node, *bytes);
    }
    residency.complete = residency.method == ResidencyMethod::Pagemap
        && gaps.is_empty()
        && residency.bytes_without_node == 0;
    residency.gaps = gaps.into_sentences();
    residency
}

/// Saturates: a captured file may contain any value.
fn add_to(sum: &mut u64, bytes: u64) {
    *sum = sum.saturating_add(bytes);
}

fn classes(members: &[Member], counted: &PerProcess) -> Vec<ClassResidency> {
    let mut classes: BTreeMap<&str, ClassResidency> = BTreeMap::new();
    for member in members {
        let Some(bytes) = counted.private.get(&member.stat.pid) else {
            continue;
        };
        let class = classes.entry(&member.class).or_default();
        class.class.clone_from(&member.class);
        class.processes += 1;
        add_bytes(&mut class.bytes_by_node, bytes);
    }
    let mut classes: Vec<ClassResidency> = classes.into_values().collect();
    classes.sort_by_key(|class| std::cmp::Reverse(class.bytes_by_node.values().sum::<u64>()));
    classes
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn where_memory_is_does_not_depend_on_policies_and_threads() {
        // Once it has given back what it was given, its memory stays as it is.
        let mut process = Command::new("cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        process.stdin.as_mut().unwrap().write_all(b"x").unwrap();
        let mut back = [0];
        process
            .stdout
            .as_mut()
            .unwrap()
            .read_exact(&mut back)
            .unwrap();
        let target = Target::Process(process.id());
        let look = |only_bytes| {
            let options = Options {
                only_bytes,
                ..Options::default()
            };
            inspect(&Root::live(), &target, &Topology::default(), &options).unwrap()
        };
        let (whole, bytes) = (look(false), look(true));
        process.kill().unwrap();
        process.wait().unwrap();
        assert!(!whole.private.is_empty());
        assert_eq!(bytes.private, whole.private);
        let of = |it: &Residency| it.segments.iter().map(SegmentResidency::bytes).sum::<u64>();
        assert_eq!(of(&bytes), of(&whole));
        assert!(whole.threads.is_some() && bytes.threads.is_none());
    }
}
