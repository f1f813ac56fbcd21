//! What was seen, in the words of `numalab.firsttouch/1`.

use std::collections::{BTreeMap, BTreeSet};

use linux::Root;
use model::{BytesByNode, PrivateFaults, TouchedSegment, Toucher, TouchingProcess};

use crate::picture;
use crate::tracker::Tracker;
use crate::whereabouts::{self, Whereabouts};

const MS_PER_S: f64 = 1000.0;

/// The processes that had page faults, ascending by id.
pub(crate) fn processes(tracker: &Tracker) -> Vec<TouchingProcess> {
    let in_segments = tracker.touches.iter().map(|touches| touches.id.process);
    let elsewhere = tracker.private.keys().map(|(process, _)| *process);
    let seen: BTreeSet<usize> = in_segments.chain(elsewhere).collect();
    let mut processes: Vec<TouchingProcess> = seen
        .into_iter()
        .map(|index| {
            let process = &tracker.processes.list[index];
            TouchingProcess {
                pid: process.pid,
                name: process.name.clone(),
                class: process.class.clone(),
                has_ended: process.has_ended,
            }
        })
        .collect();
    processes.sort_by_key(|process| process.pid);
    processes
}

/// The segments, the largest first.
pub(crate) fn segments(root: &Root, tracker: &Tracker) -> Vec<TouchedSegment> {
    let all = 0..tracker.segments.list.len();
    let mut segments: Vec<TouchedSegment> = all.map(|index| one(root, tracker, index)).collect();
    segments.retain(|segment| {
        let now = segment.bytes_by_node.as_ref();
        !segment.touchers.is_empty() || now.is_none_or(|now| !now.is_empty())
    });
    segments.sort_by(|one, other| {
        let now = |it: &TouchedSegment| -> u64 {
            it.bytes_by_node.iter().flat_map(BytesByNode::values).sum()
        };
        let bytes = |it: &TouchedSegment| -> u64 { now(it).max(it.touched_bytes) };
        let by_bytes = bytes(other).cmp(&bytes(one));
        by_bytes.then_with(|| one.name.cmp(&other.name))
    });
    segments
}

fn one(root: &Root, tracker: &Tracker, index: usize) -> TouchedSegment {
    let segment = &tracker.segments.list[index];
    let found = whereabouts::find(root, tracker, index);
    let touchers = touchers(tracker, index, found.as_ref());
    TouchedSegment {
        name: segment.name.clone(),
        kind: segment.kind,
        page_bytes: segment.page_bytes,
        mapped_bytes: segment.mapped_bytes,
        processes: segment.processes.len() as u32,
        touched_bytes: touchers.iter().map(|toucher| toucher.bytes).sum(),
        before_bytes: found.as_ref().map(|found| found.before_bytes),
        unseen_bytes: found.as_ref().map(|found| found.unseen_bytes),
        bytes_by_node: found.map(|found| found.by_node),
        touchers,
        picture: picture::of(tracker, index, segment),
    }
}

/// First touches of one toucher.
#[derive(Clone, Copy, Default)]
struct Firsts {
    pages: u64,
    first_ms: u32,
    last_ms: u32,
}

fn touchers(tracker: &Tracker, index: usize, found: Option<&Whereabouts>) -> Vec<Toucher> {
    let mut firsts: BTreeMap<u32, Firsts> = BTreeMap::new();
    for (_, record) in tracker.pages.of_segment(index) {
        let time = record.time_ms;
        let firsts = firsts.entry(record.toucher).or_insert(Firsts {
            pages: 0,
            first_ms: time,
            last_ms: time,
        });
        firsts.pages += 1;
        firsts.first_ms = firsts.first_ms.min(time);
        firsts.last_ms = firsts.last_ms.max(time);
    }
    let page_bytes = tracker.segments.list[index].page_bytes;
    let of_it = tracker.touches.iter().enumerate();
    let mut touchers: Vec<Toucher> = of_it
        .filter(|(_, touches)| touches.id.segment == index)
        .map(|(number, touches)| {
            let number = number as u32;
            let process = &tracker.processes.list[touches.id.process];
            let first = firsts.get(&number);
            let seconds = |ms: u32| f64::from(ms) / MS_PER_S;
            let places = found.map(|found| found.of_toucher.get(&number));
            Toucher {
                pid: process.pid,
                class: process.class.clone(),
                cpu_node: touches.id.node,
                bytes: first.map_or(0, |first| first.pages * page_bytes),
                later_faults: touches.later_faults,
                first_s: first.map(|first| seconds(first.first_ms)),
                last_s: first.map(|first| seconds(first.last_ms)),
                bytes_by_node: places.map(|places| places.cloned().unwrap_or_default()),
            }
        })
        .collect();
    touchers.sort_by_key(|toucher| {
        let most = std::cmp::Reverse((toucher.bytes, toucher.later_faults));
        (most, toucher.pid, toucher.cpu_node)
    });
    touchers
}

/// Faults outside of shared memory, by class, the most first.
pub(crate) fn private(tracker: &Tracker) -> Vec<PrivateFaults> {
    let mut classes: BTreeMap<&str, (BTreeSet<usize>, PrivateFaults)> = BTreeMap::new();
    for ((process, node), faults) in &tracker.private {
        let class = tracker.processes.list[*process].class.as_str();
        let (processes, found) = classes.entry(class).or_default();
        processes.insert(*process);
        *found.faults_by_cpu_node.entry(*node).or_default() += faults;
    }
    let classes = classes.into_iter();
    let mut classes: Vec<PrivateFaults> = classes
        .map(|(class, (processes, found))| PrivateFaults {
            class: class.to_owned(),
            processes: processes.len() as u32,
            ..found
        })
        .collect();
    classes.sort_by_key(|class| std::cmp::Reverse(class.faults_by_cpu_node.values().sum::<u64>()));
    classes
}
