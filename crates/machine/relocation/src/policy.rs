//! The policy of a segment of small pages: set along with a move, so that later pages follow;
//! journalled by area, and restored by area.

use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};

use journal::{Change, Error, Journal, Presence, ProcessIdentity, TakeBack, Thing};
use linux::SystemCallError;
use linux::map_files::{MappedObject, Window};
use linux::object_policy::{self, RawPolicy};
use linux::proc_maps::ObjectId;
use model::{ByteSize, NodeSet, counted};
use placement::Pattern;
use serde::{Deserialize, Serialize};

use super::memory::Part;
use super::object_words::ObjectWords;
use super::owner::Owner;
use super::whereabouts;

/// Pages of an object at which its policy is queried, at most; where two answers differ, the border
/// is found exactly. In larger objects, a shorter area between equal neighbours may be missed.
const PROBES_MAX: usize = 1 << 16;

/// A first look queries one page of this many (256 KiB), at random, so that no regular pattern
/// hides from it. Only where its answers differ, every page is queried: that takes as long as
/// moving them.
const FIRST_LOOK_PAGES: usize = 64;

/// Returns the policy that a part has and the one that later pages need; `None` where there is
/// nothing to set, as for private memory, huge pages and a dose of the pages.
///
/// # Errors
/// When the kernel refuses to report it.
pub fn of_part(part: &Part) -> Result<Option<(String, String)>, SystemCallError> {
    let Some((_, object)) = part.object_with_policy() else {
        return Ok(None);
    };
    let now = of_object(object)?;
    let then = of_pattern(&part.pattern).to_string();
    Ok((now != then).then_some((now, then)))
}

/// The policy by which later pages follow a pattern.
fn of_pattern(pattern: &Pattern) -> RawPolicy {
    match pattern.follows_weights() {
        true => RawPolicy::weighted_over(&pattern.nodes()),
        false => RawPolicy::over(&pattern.nodes()),
    }
}

/// Sets that policy, through the journal; returns the number of the change if there was anything to
/// set.
///
/// # Errors
/// When the journal cannot be written or the kernel refuses; what was changed until then is in the
/// journal ([`Error::Unfinished`]).
pub(super) fn set(journal: &Journal, part: &Part) -> Result<Option<u64>, Error> {
    let Some((id, object)) = part.object_with_policy() else {
        return Ok(None);
    };
    let policy = of_pattern(&part.pattern);
    let put = put(journal, id, object, &part.name, &policy)?;
    Ok(put.map(|(entry, _)| entry))
}

/// Sets the policy of a whole object, through the journal; returns the change and its number, or
/// `None` where it has that policy.
///
/// # Errors
/// As [`set`].
fn put(
    journal: &Journal,
    id: ObjectId,
    object: &MappedObject,
    name: &str,
    policy: &RawPolicy,
) -> Result<Option<(u64, SegmentPolicySet)>, Error> {
    let (window, pages) = whole(object)?;
    let (before, written) = (areas(&window, pages)?, words(policy));
    match before.iter().all(|area| area.policy == written) {
        true => Ok(None),
        false => record(journal, id, object, name, policy, before).map(Some),
    }
}

/// Sets the policy of a whole object, through the journal, whatever it has.
///
/// # Errors
/// As [`set`].
pub(super) fn write(
    journal: &Journal,
    id: ObjectId,
    object: &MappedObject,
    name: &str,
    policy: &RawPolicy,
) -> Result<(u64, SegmentPolicySet), Error> {
    let (window, pages) = whole(object)?;
    record(journal, id, object, name, policy, areas(&window, pages)?)
}

/// As [`write`], with the areas that the object has now.
fn record(
    journal: &Journal,
    id: ObjectId,
    object: &MappedObject,
    name: &str,
    policy: &RawPolicy,
    before: Vec<PolicyArea>,
) -> Result<(u64, SegmentPolicySet), Error> {
    let change = SegmentPolicySet {
        object: id.into(),
        name: name.to_owned(),
        before,
        written: words(policy),
        allocated_bytes: object.allocated_bytes_now().ok(),
    };
    let entry = change.record(journal)?;
    if let Err(error) = switch(object, policy) {
        let now = whole(object).and_then(|(window, pages)| areas(&window, pages));
        let is_as_before = now.is_ok_and(|now| now == change.before);
        return Err(journal.failed(entry, is_as_before, error.into()));
    }
    Ok((entry, change))
}

/// The policy of the first and of the last page of an object.
///
/// # Errors
/// When the kernel refuses to report it.
pub(super) fn ends(object: &MappedObject) -> Result<[RawPolicy; 2], SystemCallError> {
    let (window, pages) = whole(object)?;
    Ok([
        object_policy::at(&window, 0)?,
        object_policy::at(&window, pages.saturating_sub(1))?,
    ])
}

/// Stops NUMA balancing of an object where its policy lets the kernel at it; returns whether it has
/// such a policy, or one that is left when the kernel was stopped.
///
/// # Errors
/// When the kernel refuses.
pub(super) fn stop_balancing(object: &MappedObject) -> Result<bool, SystemCallError> {
    let (window, pages) = whole(object)?;
    let mut may_have_balanced = false;
    for area in areas(&window, pages)? {
        let policy = raw(&area.policy);
        let stopped = policy.without_balancing();
        may_have_balanced |= stopped == RawPolicy::bind(&policy.nodes);
        if stopped != policy {
            let (first, pages) = (area.first as usize, area.pages as usize);
            object_policy::set(&window, first, pages, &stopped)?;
        }
    }
    Ok(may_have_balanced)
}

/// Sets the policy of a whole object to one that a change in the journal knows.
///
/// # Errors
/// When the kernel refuses.
pub(super) fn switch(object: &MappedObject, policy: &RawPolicy) -> Result<(), SystemCallError> {
    let (window, pages) = whole(object)?;
    object_policy::set(&window, 0, pages, policy)
}

/// The policy that an object has, in words.
///
/// # Errors
/// When the kernel refuses to report it.
pub(super) fn of_object(object: &MappedObject) -> Result<String, SystemCallError> {
    let (window, pages) = whole(object)?;
    let areas = areas(&window, pages)?;
    Ok(match &areas[..] {
        [only] => raw(&only.policy).to_string(),
        _ => format!("{} of their own", counted(areas.len(), "area")),
    })
}

/// The memory policy of a shared object was set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SegmentPolicySet {
    /// The object.
    object: ObjectWords,
    /// Its name in /proc/PID/maps.
    name: String,
    /// The policies it had, by page range.
    before: Vec<PolicyArea>,
    /// The policy of the whole object since.
    written: PolicyWords,
    /// Bytes of it that existed then; later pages were allocated under the new policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    allocated_bytes: Option<u64>,
}

/// A memory policy in the kernel's numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct PolicyWords {
    /// `MPOL_…` with its flags.
    mode: i32,
    /// Its nodes.
    nodes: NodeSet,
}

/// The policy of some pages of an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct PolicyArea {
    /// Number of the first page in the object.
    first: u64,
    /// How many pages.
    pages: u64,
    /// Their policy.
    policy: PolicyWords,
}

impl Display for SegmentPolicySet {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let written = raw(&self.written);
        write!(f, "memory policy of {} set to {written}", self.name)
    }
}

impl Change for SegmentPolicySet {
    const KIND: &'static str = "segment-policy-set";

    fn things(&self, _: &Journal, _: u64) -> Result<BTreeSet<Thing>, Error> {
        let owner = Owner::Object {
            id: self.object,
            name: self.name.clone(),
        };
        Ok([owner.thing("policy")].into())
    }

    /// It names no file to write: memory is identified by its object.
    fn presence(&self, _: &ProcessIdentity) -> Result<Presence, Error> {
        Ok(Presence::There)
    }

    /// Restores the policies that the object had, unless it is gone.
    fn take_back(&self, how: &TakeBack<'_>) -> Result<Option<String>, Error> {
        let Some(found) = whereabouts::object(how.root, &self.object, &self.name)? else {
            return Ok(None);
        };
        let (window, pages) = whole(&found)?;
        let areas = areas(&window, pages)?;
        if let Some(other) = areas.iter().find(|it| !how.force && !self.knows(it)) {
            return Err(Error::Undo {
                change: self.to_string(),
                reason: format!("another process has set {} since", raw(&other.policy)),
            });
        }
        for area in &self.before {
            // An object that has shrunk has no policy beyond its end.
            let end = area.first.saturating_add(area.pages).min(pages as u64);
            let Some(count) = end.checked_sub(area.first).filter(|count| *count > 0) else {
                continue;
            };
            let (first, count) = (area.first as usize, count as usize);
            object_policy::set(&window, first, count, &raw(&area.policy))?;
        }
        let since = self
            .allocated_bytes
            .map(|then| found.allocated_bytes.saturating_sub(then))
            .filter(|bytes| *bytes > 0);
        Ok(since.map(|bytes| format!("{} allocated since stay where they are", ByteSize(bytes))))
    }
}

impl SegmentPolicySet {
    /// Whether an area has a policy that it had before, or got from us.
    fn knows(&self, now: &PolicyArea) -> bool {
        // Removing a policy sets the local one first; a kill may have come between.
        // The kernel may be balancing under the policy that we wrote.
        words(&raw(&now.policy).without_balancing()) == self.written
            || now.policy == words(&RawPolicy::local())
            || self
                .before
                .iter()
                .any(|area| area.policy == now.policy && overlaps(area, now))
    }
}

fn overlaps(one: &PolicyArea, other: &PolicyArea) -> bool {
    let end = |area: &PolicyArea| area.first.saturating_add(area.pages);
    one.first < end(other) && other.first < end(one)
}

fn whole(object: &MappedObject) -> Result<(Window, usize), SystemCallError> {
    let pages = object.bytes.div_ceil(linux::process::page_bytes()) as usize;
    Ok((object.window(0, pages)?, pages))
}

/// The policies of an object, by page range.
fn areas(window: &Window, pages: usize) -> Result<Vec<PolicyArea>, SystemCallError> {
    areas_by(pages, |page| Ok(words(&object_policy::at(window, page)?)))
}

/// The areas of as many pages, by their policies.
fn areas_by<E>(
    pages: usize,
    at: impl Fn(usize) -> Result<PolicyWords, E>,
) -> Result<Vec<PolicyArea>, E> {
    let Some(last_page) = pages.checked_sub(1) else {
        return Ok(Vec::new());
    };
    let policy = at(0)?;
    let mut is_one = at(last_page)? == policy;
    let step = FIRST_LOOK_PAGES.max(pages.div_ceil(PROBES_MAX));
    let mut probes = (0..pages)
        .step_by(step)
        .map(|first| (first + scattered(first) % step).min(last_page));
    while let Some(page) = probes.next().filter(|_| is_one) {
        is_one = at(page)? == policy;
    }
    if !is_one {
        return every_area(pages, at);
    }
    Ok(vec![PolicyArea {
        first: 0,
        pages: pages as u64,
        policy,
    }])
}

/// A number that looks random (the finalizer of SplitMix64: Steele, Lea, Flood 2014), the same in
/// every look.
fn scattered(number: usize) -> usize {
    let mixed = (number as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ mixed >> 31) as usize
}

/// As [`areas_by`], from the policy of every page, as far as [`PROBES_MAX`] allows.
fn every_area<E>(
    pages: usize,
    at: impl Fn(usize) -> Result<PolicyWords, E>,
) -> Result<Vec<PolicyArea>, E> {
    let step = pages.div_ceil(PROBES_MAX).max(1);
    let mut areas: Vec<PolicyArea> = Vec::new();
    for page in (0..pages).step_by(step) {
        let policy = at(page)?;
        let begins_at = match areas.last() {
            Some(last) if last.policy == policy => None,
            Some(last) => Some(border(&at, page.saturating_sub(step), page, &last.policy)?),
            None => Some(0),
        };
        if let Some(first) = begins_at {
            if let Some(last) = areas.last_mut() {
                last.pages = first as u64 - last.first;
            }
            areas.push(PolicyArea {
                first: first as u64,
                pages: 0,
                policy,
            });
        }
    }
    if let Some(last) = areas.last_mut() {
        last.pages = pages as u64 - last.first;
    }
    Ok(areas)
}

/// Finds the first page that differs: `low` has `policy`, `high` does not.
fn border<E>(
    at: &impl Fn(usize) -> Result<PolicyWords, E>,
    mut low: usize,
    mut high: usize,
    policy: &PolicyWords,
) -> Result<usize, E> {
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if at(middle)? == *policy {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(high)
}

fn words(policy: &RawPolicy) -> PolicyWords {
    PolicyWords {
        mode: policy.mode,
        nodes: policy.nodes.clone(),
    }
}

fn raw(policy: &PolicyWords) -> RawPolicy {
    RawPolicy {
        mode: policy.mode,
        nodes: policy.nodes.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::convert::Infallible;

    use super::*;

    /// The areas of pages, and at how many of them the policy was queried.
    fn look(pages: usize, is_local: impl Fn(usize) -> bool) -> (Vec<(u64, u64, bool)>, usize) {
        let queries = Cell::new(0);
        let at = |page: usize| -> Result<PolicyWords, Infallible> {
            assert!(page < pages);
            queries.set(queries.get() + 1);
            Ok(words(&match is_local(page) {
                true => RawPolicy::local(),
                false => RawPolicy::default(),
            }))
        };
        let Ok(areas) = areas_by(pages, at);
        let local = words(&RawPolicy::local());
        let areas = areas.iter();
        let areas = areas.map(|it| (it.first, it.pages, it.policy == local));
        (areas.collect(), queries.get())
    }

    #[test]
    fn a_uniform_object_costs_few_queries() {
        let (areas, queries) = look(32_768, |_| false);
        assert_eq!((areas, queries), (vec![(0, 32_768, false)], 2 + 512));
        let (areas, queries) = look(1 << 26, |_| true);
        assert_eq!((areas, queries), (vec![(0, 1 << 26, true)], 2 + 65_536));
        assert_eq!(look(0, |_| true).0, []);
        assert_eq!(look(1, |_| true).0, [(0, 1, true)]);
    }

    #[test]
    fn areas_that_differ_are_found_to_the_page() {
        let (areas, _) = look(32_768, |page| (999..9_999).contains(&page));
        let expected = [(0, 999, false), (999, 9_000, true), (9_999, 22_769, false)];
        assert_eq!(areas, expected);
        // A regular pattern whose period divides the step of the first look.
        let (areas, _) = look(32_768, |page| page % 64 == 7);
        assert_eq!(areas.len(), 1 + 2 * 512);
        // The last page.
        let (areas, _) = look(32_768, |page| page == 32_767);
        assert_eq!(areas, [(0, 32_767, false), (32_767, 1, true)]);
        // Beyond a page of this many, a border within a step is still found exactly.
        let (areas, _) = look(1 << 20, |page| page > 1000);
        assert_eq!(areas, [(0, 1001, false), (1001, (1 << 20) - 1001, true)]);
    }

    #[test]
    fn areas_of_any_numbers_overlap_or_not() {
        let area = |first, pages| PolicyArea {
            first,
            pages,
            policy: words(&RawPolicy::local()),
        };
        assert!(overlaps(&area(0, 2), &area(1, 2)));
        assert!(!overlaps(&area(0, 1), &area(1, 1)));
        assert!(overlaps(&area(5, u64::MAX), &area(9, 1)));
        assert!(!overlaps(&area(u64::MAX, u64::MAX), &area(9, 1)));
    }
}
