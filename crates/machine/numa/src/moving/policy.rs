//! The policy of a segment of small pages: set along with a move, so that later pages follow;
//! journalled by area, and restored by area.

use linux::map_files::{MappedObject, Window};
use linux::object_policy::{self, RawPolicy};
use linux::{Root, SystemCallError};
use model::ByteSize;

use super::memory::{Part, Source};
use super::whereabouts;
use crate::Error;
use crate::journal::{Change, Journal, PolicyArea, PolicyWords};

/// Pages of an object at which its policy is queried, at most; where two answers differ, the border
/// is found exactly. In larger objects, a shorter area between equal neighbours may be missed.
const PROBES_MAX: u64 = 1 << 16;

/// Returns the policy that a part has and the one that later pages need; `None` where there is
/// nothing to set, as for private memory and huge pages.
///
/// # Errors
/// When the kernel refuses to report it.
pub fn of_part(part: &Part) -> Result<Option<(String, String)>, SystemCallError> {
    let Source::Window(_, object) = &part.source else {
        return Ok(None);
    };
    let (window, pages) = whole(object)?;
    let areas = areas(&window, pages)?;
    let now = match &areas[..] {
        [only] => raw(&only.policy).to_string(),
        _ => format!("{} areas of their own", areas.len()),
    };
    let then = RawPolicy::over(&part.pattern.nodes()).to_string();
    Ok((now != then).then_some((now, then)))
}

/// Sets that policy, through the journal; returns whether there was anything to set.
///
/// # Errors
/// When the journal cannot be written or the kernel refuses; then nothing is changed.
pub(super) fn set(journal: &Journal, part: &Part) -> Result<bool, Error> {
    let Source::Window(id, object) = &part.source else {
        return Ok(false);
    };
    let (window, pages) = whole(object)?;
    let (before, policy) = (
        areas(&window, pages)?,
        RawPolicy::over(&part.pattern.nodes()),
    );
    let written = words(&policy);
    if before.iter().all(|area| area.policy == written) {
        return Ok(false);
    }
    let entry = journal.record(Change::SegmentPolicySet {
        object: (*id).into(),
        name: part.name.clone(),
        before,
        written,
        allocated_bytes: object.allocated_bytes_now().ok(),
    })?;
    if let Err(error) = object_policy::set(&window, 0, pages, &policy) {
        journal.mark_undone(entry)?;
        return Err(error.into());
    }
    Ok(true)
}

/// Restores the policies that an object had, unless it is gone; returns what cannot be undone, in
/// words.
///
/// # Errors
/// [`Error::Undo`] when it cannot be reached, or another process has set another policy since and
/// `force` is not set.
pub(crate) fn undo(root: &Root, change: &Change, force: bool) -> Result<Option<String>, Error> {
    let Change::SegmentPolicySet {
        object,
        name,
        before,
        written,
        allocated_bytes,
    } = change
    else {
        return Ok(None);
    };
    let Some(found) = whereabouts::object(root, object, name)? else {
        return Ok(None);
    };
    let (window, pages) = whole(&found)?;
    // Removing a policy sets the local one first; a kill may have come between.
    let between = words(&RawPolicy::local());
    let known = |now: &PolicyArea| {
        now.policy == *written
            || now.policy == between
            || before
                .iter()
                .any(|area| area.policy == now.policy && overlaps(area, now))
    };
    if let Some(other) = areas(&window, pages)?
        .iter()
        .find(|it| !force && !known(it))
    {
        return Err(Error::Undo {
            change: change.to_string(),
            reason: format!("another process has set {} since", raw(&other.policy)),
        });
    }
    for area in before {
        // An object that has shrunk has no policy beyond its end.
        let end = area.first.saturating_add(area.pages).min(pages as u64);
        let Some(count) = end.checked_sub(area.first).filter(|count| *count > 0) else {
            continue;
        };
        object_policy::set(
            &window,
            area.first as usize,
            count as usize,
            &raw(&area.policy),
        )?;
    }
    let since = allocated_bytes.map(|then| found.allocated_bytes.saturating_sub(then));
    let since = since.filter(|bytes| *bytes > 0);
    Ok(since.map(|bytes| format!("{} allocated since stay where they are", ByteSize(bytes))))
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
    let step = (pages as u64).div_ceil(PROBES_MAX).max(1) as usize;
    let mut areas: Vec<PolicyArea> = Vec::new();
    let mut at = 0;
    while at < pages {
        let policy = words(&object_policy::at(window, at)?);
        let begins_at = match areas.last() {
            Some(last) if last.policy == policy => None,
            Some(last) => Some(border(window, at.saturating_sub(step), at, &last.policy)?),
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
        at += step;
    }
    if let Some(last) = areas.last_mut() {
        last.pages = pages as u64 - last.first;
    }
    Ok(areas)
}

/// Finds the first page that differs: `low` has `policy`, `high` does not.
fn border(
    window: &Window,
    mut low: usize,
    mut high: usize,
    policy: &PolicyWords,
) -> Result<usize, SystemCallError> {
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if words(&object_policy::at(window, middle)?) == *policy {
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
    use super::*;

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
