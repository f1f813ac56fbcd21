//! Something that changes the machine, killed at random moments: one `numalab undo` must then leave
//! the machine as it was. A test does a few kills; `cargo xtask kills` does any number of them.

use std::collections::BTreeSet;

use fastrand::Rng;

use crate::finished::Finished;
use crate::laboratory::Laboratory;
use crate::patience::until;

/// The variables with the number of kills, and with the seed of the first; the next one's is higher
/// by one, so that each can be repeated alone.
const COUNT: &str = "NUMALAB_KILLS_COUNT";
const SEED: &str = "NUMALAB_KILLS_SEED";

fn asked(variable: &str) -> Option<u64> {
    std::env::var(variable)
        .ok()
        .map(|text| text.parse().unwrap())
}

/// The seeds of a few attempts, or of those that were asked for.
pub(super) fn seeds(few: u64) -> std::ops::Range<u64> {
    let (count, first) = (asked(COUNT).unwrap_or(few), asked(SEED).unwrap_or(1));
    first..first + count
}

/// Undoes everything, by one undo; or by more, if the kernel uses a page at that moment, which undo
/// says. Returns the last of them, and how many changes were undone.
pub(super) fn undo(laboratory: &Laboratory) -> (Finished, usize) {
    let mut undone = 0;
    let last = until("no page is in use", || {
        let undo = laboratory.run(&["undo"]);
        let lines = undo.stdout.lines();
        undone += lines.filter(|line| line.starts_with("undone")).count();
        (!undo.stderr.contains("(EBUSY)")).then_some(undo)
    });
    (last, undone)
}

/// Asserts that one undo makes up for whatever `once` leaves behind: as often as was asked for,
/// otherwise `few` times, of which at least `leave` leave something. `once` returns in a few words
/// what it did, or what went wrong.
pub(super) fn are_made_up_for(
    (few, leave): (u64, u64),
    laboratory: &Laboratory,
    state: impl Fn() -> Vec<String>,
    mut once: impl FnMut(&mut Rng) -> Result<String, String>,
) {
    let seeds = seeds(few);
    let (count, first) = (seeds.end - seeds.start, seeds.start);
    let (mut before, mut failures, mut undone_something) = (state(), Vec::new(), 0);
    for seed in seeds {
        let done = once(&mut Rng::with_seed(seed));
        let (undo, undone) = undo(laboratory);
        let after = state();
        undone_something += u64::from(undone > 0);
        let is_as_before = after == before && undo.status.success() && done.is_ok();
        let verdict = if is_as_before {
            "as before"
        } else {
            "different"
        };
        let line = format!("kill {seed}: {done:?}, {undone} undone, {verdict}");
        eprintln!("{line}");
        if !is_as_before {
            let differences = differences(&before, &after);
            // What follows may never end.
            eprintln!("{differences}undo: {undo:?}");
            failures.push(format!("{line}\n{differences}undo: {undo:?}"));
            // The next one starts from the current state.
            until("what is left is undone", || {
                let undo = laboratory.run(&["undo", "--force"]);
                undo.status.success().then_some(())
            });
            before = state();
        }
    }
    let failed = failures.len();
    assert!(
        failures.is_empty(),
        "{failed} of {count} ({SEED}={first}):\n{}",
        failures.join("\n")
    );
    // Kills before the first change, or after the end, would show little. Other moments than the
    // usual ones may be such by chance.
    let is_enough = asked(COUNT).is_some() || undone_something >= leave;
    assert!(is_enough, "{undone_something} of {count} had to be undone");
}

fn differences(before: &[String], after: &[String]) -> String {
    let before: BTreeSet<_> = before.iter().collect();
    let after: BTreeSet<_> = after.iter().collect();
    let gone = before.difference(&after).map(|line| format!("< {line}\n"));
    let new = after.difference(&before).map(|line| format!("> {line}\n"));
    gone.chain(new).collect()
}
