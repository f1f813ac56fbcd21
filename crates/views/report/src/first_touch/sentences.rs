//! What a DBA needs to know of a look at first touches, in sentences. Each says only what was seen.

use std::collections::BTreeSet;

use model::{ByteSize, BytesByNode, FirstTouch, NodeId, TouchedSegment, counted, shell_line};

use crate::first_touch::groups::{TouchGroup, groups};
use crate::form::advice::Advice;
use crate::residency::figures::by_node_text;

/// From this share on one node, memory lies on that node alone as far as its users notice.
const MOST: f64 = 0.75;

/// Returns the sentences about a segment.
pub(crate) fn sentences(touch: &FirstTouch, segment: &TouchedSegment) -> Vec<String> {
    let groups = groups(segment);
    let mut sentences = Vec::new();
    match groups.first().filter(|group| group.bytes > 0) {
        Some(most) => {
            sentences.push(who_was_first(touch, segment, most, &groups));
            sentences.extend(largest_beside(segment, most, &groups));
        }
        None => sentences.push(format!("no first touch of {} was seen", segment.name)),
    }
    if let Some(now) = &segment.bytes_by_node {
        sentences.push(match now.is_empty() {
            true => "none of its pages is in memory now".to_owned(),
            false => format!("its pages are now on node {}", by_node_text(now)),
        });
    }
    if let Some(before) = segment.before_bytes.filter(|before| *before > 0) {
        let before = ByteSize(before);
        sentences.push(format!("{before:.1} of them were there before the look"));
    }
    if let Some(unseen) = segment.unseen_bytes.filter(|unseen| *unseen > 0) {
        sentences.push(format!(
            "{:.1} of them came without a touch that was seen: the kernel populated them (mlock, \
             MAP_POPULATE, direct I/O), or events were lost",
            ByteSize(unseen)
        ));
    }
    sentences
}

fn who_was_first(
    touch: &FirstTouch,
    segment: &TouchedSegment,
    most: &TouchGroup,
    groups: &[TouchGroup],
) -> String {
    let at_least = match touch.complete {
        true => "",
        false => "at least ",
    };
    let share = percent_of(most, segment);
    let when = match (most.between_s, touch.from_start) {
        (Some((_, last)), true) => format!(" within {last:.1} s of the start"),
        (Some((first, last)), false) => format!(", {first:.1} to {last:.1} s into the look"),
        (None, _) => String::new(),
    };
    let users = match users_elsewhere(most.cpu_node, groups).len() {
        0 => String::new(),
        1 => format!(
            "; 1 process uses it from another node ({})",
            classes(most, groups)
        ),
        count => format!(
            "; used from other nodes by {} ({})",
            counted(count, "process"),
            classes(most, groups)
        ),
    };
    format!(
        "{at_least}{share:.0} % of {} was touched first by {}{}{when}{users}",
        segment.name,
        most.who(),
        on_node(most.cpu_node)
    )
}

/// Returns which single process touched most, where the first sentence is about several.
fn largest_beside(
    segment: &TouchedSegment,
    most: &TouchGroup,
    groups: &[TouchGroup],
) -> Option<String> {
    let largest = groups.iter().find(|group| group.is_largest)?;
    (most.pids.len() > 1).then(|| {
        format!(
            "the one process that touched most is {}{}: {:.0} %",
            largest.who(),
            on_node(largest.cpu_node),
            percent_of(largest, segment)
        )
    })
}

fn percent_of(group: &TouchGroup, segment: &TouchedSegment) -> f64 {
    100.0 * group.bytes as f64 / all_bytes(segment).max(1) as f64
}

fn on_node(node: Option<NodeId>) -> String {
    node.map_or(String::new(), |node| format!(" on node {node}"))
}

/// Returns the pages that were touched, and those that are there now without a touch that was seen.
pub(crate) fn all_bytes(segment: &TouchedSegment) -> u64 {
    let others = [segment.before_bytes, segment.unseen_bytes];
    let others = others.into_iter().flatten();
    others.fold(segment.touched_bytes, u64::saturating_add)
}

/// Returns the processes that had page faults in the segment on another node.
fn users_elsewhere(node: Option<NodeId>, groups: &[TouchGroup]) -> BTreeSet<u32> {
    let elsewhere = groups.iter().filter(|group| is_elsewhere(node, group));
    elsewhere.flat_map(|group| &group.pids).copied().collect()
}

fn is_elsewhere(node: Option<NodeId>, group: &TouchGroup) -> bool {
    matches!((node, group.cpu_node), (Some(one), Some(other)) if one != other)
}

/// Returns the classes of these processes.
fn classes(most: &TouchGroup, groups: &[TouchGroup]) -> String {
    let elsewhere = groups.iter();
    let elsewhere = elsewhere.filter(|group| is_elsewhere(most.cpu_node, group));
    let classes: BTreeSet<&str> = elsewhere.map(|group| group.class.as_str()).collect();
    classes.into_iter().collect::<Vec<_>>().join(", ")
}

/// Returns what to do about a segment that lies on one node although processes on others use it;
/// `None` when nothing that was seen asks for it.
pub(crate) fn fix(touch: &FirstTouch, segment: &TouchedSegment) -> Option<Advice> {
    if touch.memory_nodes.len() < 2 {
        return None;
    }
    let (node, share, is_now) = fullest(segment)?;
    let is_used_elsewhere = !users_elsewhere(Some(node), &groups(segment)).is_empty();
    if share < MOST || !is_used_elsewhere {
        return None;
    }
    let start = "`numalab bind --interleave all -- COMMAND`";
    let fix = match (touch.from_start, is_now) {
        (true, _) => Advice::words(format!(
            "start it with {start}, so that no first touch decides"
        )),
        (false, true) => Advice::paste(
            format!("{start} spreads it from the start, and this does so now:"),
            shell_line!("numalab move {} --to interleave --shared", touch.target),
        ),
        (false, false) => Advice::words(format!("{start} spreads it from the start")),
    };
    Some(fix)
}

/// Returns the node with most of the segment, its share, and whether that is where pages are now
/// rather than where they were touched.
fn fullest(segment: &TouchedSegment) -> Option<(NodeId, f64, bool)> {
    let touched = || {
        let mut by_node = BytesByNode::new();
        for toucher in &segment.touchers {
            let node = toucher.cpu_node?;
            *by_node.entry(node).or_default() += toucher.bytes;
        }
        Some(by_node)
    };
    let now = segment.bytes_by_node.clone().filter(|now| !now.is_empty());
    let is_now = now.is_some();
    let by_node = now.or_else(touched)?;
    let all: u64 = by_node.values().sum();
    let (node, most) = by_node.into_iter().max_by_key(|(_, bytes)| *bytes)?;
    (all > 0).then(|| (node, most as f64 / all as f64, is_now))
}
