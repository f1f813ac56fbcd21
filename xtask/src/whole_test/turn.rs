//! Long tests take turns: each day of work, those of one part of the list run, so that all of them
//! ran after as many days as there are parts.

use anyhow::{Context, Result};

use super::table::Long;
use crate::{program, repository};

/// What the whole test spends on long tests, in seconds of guests: two of them run at once, so that
/// it takes four minutes. In three, they would need more than ten days.
pub(super) const SECONDS: u64 = 2 * 245;

/// Splits the list into parts that take no longer than [`SECONDS`] each: the longest first, each
/// into the first part with room for it.
pub(super) fn parts(list: &'static [Long]) -> Vec<Vec<&'static Long>> {
    let mut sorted: Vec<&Long> = list.iter().collect();
    sorted.sort_by_key(|one| std::cmp::Reverse(one.seconds));
    let mut parts: Vec<Vec<&Long>> = Vec::new();
    for one in sorted {
        let taken = |part: &Vec<&Long>| part.iter().map(|it| it.seconds).sum::<u64>();
        let has_room = |part: &&mut Vec<&Long>| taken(part) + one.seconds <= SECONDS;
        match parts.iter_mut().find(has_room) {
            Some(part) => part.push(one),
            None => parts.push(vec![one]),
        }
    }
    parts
}

/// Returns the part whose turn it is.
pub(super) fn todays(list: &'static [Long]) -> Result<Vec<&'static Long>> {
    let mut parts = parts(list);
    let day = day_of_work()? % parts.len().max(1);
    Ok(if parts.is_empty() {
        Vec::new()
    } else {
        parts.swap_remove(day)
    })
}

/// Counts the days on which something was committed: days without work are no turn, so none is
/// skipped over a weekend.
fn day_of_work() -> Result<usize> {
    let words = ["log", "--format=%cd", "--date=short"];
    let days = program::output("git", &words, &repository::root());
    let days = days.context("cannot ask git for the days of work")?;
    let mut days: Vec<_> = days.lines().collect();
    days.sort_unstable();
    days.dedup();
    Ok(days.len())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::table::LONG;
    use super::*;

    #[test]
    fn every_long_test_runs_within_ten_days_and_a_turn_takes_four_minutes() {
        let parts = parts(LONG);
        assert!(parts.len() <= 10, "{} parts", parts.len());
        assert!(LONG.iter().all(|one| one.seconds <= SECONDS / 2));
        for part in &parts {
            let seconds: u64 = part.iter().map(|one| one.seconds).sum();
            assert!(seconds <= SECONDS, "{seconds} s: {part:?}");
        }
        let names: BTreeSet<_> = parts
            .iter()
            .flatten()
            .map(|it| (it.place, it.test))
            .collect();
        assert_eq!(names.len(), LONG.len());
    }

    #[test]
    fn the_days_of_work_are_counted() {
        assert!(day_of_work().unwrap() > 0);
    }
}
