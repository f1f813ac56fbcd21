//! `cargo xtask bench move`: `numalab move` with `migratepages` (Debian package numactl) on the
//! same shared memory in a two-node guest, by page size and by the number of processes that have it
//! mapped. A guest is emulated, so the time says nothing about NUMA, only what start, plan, journal
//! and verification cost beside the move itself, and what page sizes and processes cost.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};

use super::claims::Claims;
use super::harness::Harness;
use super::holder::PAGE_HOLDER;
use super::turns::Turns;
use crate::guest::{self, Options, Relay};
use crate::program::Interrupt;

const SCRIPT: &str = include_str!("relocate.sh");

/// A case: its word on the command line, what it is, MiB (by the time that migratepages takes in
/// emulation), processes, kind and rounds as the script has them (more where times scatter more),
/// and the maximum of the median ratio of the wall times, there and back (docs/move.md has what was
/// measured).
type Case = (&'static str, &'static str, u32, u32, &'static str, u32, f64);

#[rustfmt::skip]
const CASES: [Case; 5] = [
    ("4KiB-in-2", "4 KiB pages in 2 processes", 1024, 2, "memfd", 7, 1.0),
    ("4KiB-in-20", "4 KiB pages in 20 processes", 256, 20, "memfd", 7, 1.0),
    ("4KiB-in-100", "4 KiB pages in 100 processes", 96, 100, "memfd", 7, 1.0),
    ("2MiB-in-2", "2 MiB pages in 2 processes", 5120, 2, "memfd-huge", 15, 1.1),
    ("2MiB-in-20", "2 MiB pages in 20 processes", 5120, 20, "memfd-huge", 15, 1.1),
];
/// What a node has beside the memory of a case, in MiB. With 650, nodes had so little left that now
/// and then a command first had the kernel reclaim memory, for up to 45 s.
const ROOM_MIB: u32 = 1200;

const MOVE: &str = "numalab move";
const UNDO: &str = "numalab undo";
const PEER: &str = "migratepages";
const PEER_BACK: &str = "migratepages back";

/// Boots for each case, or only for one; fails if numalab does not move as many pages as
/// migratepages, or takes too long.
pub(super) fn run(harness: &mut Harness, only: Option<&str>) -> Result<()> {
    let holder = harness.c_program(PAGE_HOLDER.0, PAGE_HOLDER.1)?;
    let is_asked = |case: &&Case| only.is_none_or(|only| only == case.0);
    let cases: Vec<&Case> = CASES.iter().filter(is_asked).collect();
    let names = CASES.map(|case| case.0).join(", ");
    ensure!(
        !cases.is_empty(),
        "there is no such case; there are {names}"
    );
    println!("Emulated two-node guest: ratios only");
    for (name, what, mib, processes, kind, rounds, ratio_max) in cases {
        let options = Options {
            timeout: harness.supervisor.time_left(),
            binaries: vec![harness.binary.clone(), holder.clone()],
            memory_mib: Some(mib + ROOM_MIB),
            ..Options::of(guest::find("two-node")?)
        };
        let script = format!("{SCRIPT}rounds {name} {mib} {processes} {kind} {rounds}\n");
        let text = in_guest(&options, &script, Relay::Keep)?;
        judge(&text, name, what, *ratio_max, &mut harness.claims)?;
        let ms_per_mib = f64::from(*mib) / 1000.0;
        moves(&text, name)?
            .0
            .print(what, ms_per_mib, "ms for each MiB")?;
    }
    Ok(())
}

/// Runs a script in a guest; returns what it printed.
pub(super) fn in_guest(options: &Options, script: &str, relay: Relay) -> Result<String> {
    let command = ["sh", "-c", script].map(str::to_owned).to_vec();
    let outcomes = guest::run(options, &[command], relay, &Interrupt::watch()?)?;
    let outcome = outcomes.first().context("the script did not run")?;
    let text = String::from_utf8_lossy(&outcome.stdout).into_owned();
    let said = String::from_utf8_lossy(&outcome.stderr);
    ensure!(outcome.status == 0, "the script failed: {text}{said}");
    Ok(text)
}

/// Returns the numbers of the lines that begin with these words.
pub(super) fn lines<const N: usize>(text: &str, words: &str) -> Result<Vec<[f64; N]>> {
    let rest = |line: &'_ str| {
        line.strip_prefix(words)?
            .strip_prefix(' ')
            .map(str::to_owned)
    };
    let numbers = text.lines().filter_map(rest).map(|line| {
        let numbers: Vec<f64> = line.split(' ').flat_map(str::parse).collect();
        let numbers: Option<[f64; N]> = numbers.try_into().ok();
        numbers.with_context(|| format!("{words}: expected {N} numbers, found {line:?}"))
    });
    let numbers = numbers.collect::<Result<Vec<_>>>()?;
    ensure!(!numbers.is_empty(), "{words} said nothing: {text}");
    Ok(numbers)
}

/// Returns the seconds of the moves of a case, and the pages that each program had moved, there or
/// back.
fn moves(text: &str, case: &str) -> Result<(Turns, [BTreeSet<u64>; 2])> {
    let mut turns = Turns::default();
    let programs = [("numalab", MOVE, UNDO), (PEER, PEER, PEER_BACK)];
    let mut all_pages = [BTreeSet::new(), BTreeSet::new()];
    for ((program, there, back), all) in programs.into_iter().zip(&mut all_pages) {
        for [pages, _calls, ns, pages_back, ns_back] in lines(text, &format!("{program} {case}"))? {
            turns.note(there, ns / 1e9);
            turns.note(back, ns_back / 1e9);
            all.extend([pages as u64, pages_back as u64]);
        }
    }
    Ok((turns, all_pages))
}

/// Judges the pages that the kernel counts on the other node and, afterwards, on the first, and the
/// wall times of both ways.
fn judge(text: &str, case: &str, what: &str, ratio_max: f64, claims: &mut Claims) -> Result<()> {
    let (turns, [mine, others]) = moves(text, case)?;
    let found = format!("{what}: pages moved {mine:?} by numalab, {others:?} by migratepages");
    let is_same = mine == others && mine.len() == 1 && !mine.contains(&0);
    claims.add(&found, "as many in every round, there and back", is_same);
    for (ours, theirs) in [(MOVE, PEER), (UNDO, PEER_BACK)] {
        let ratio = turns.ratio(ours, theirs)?;
        let found = format!("{what}: `{ours}` takes {ratio} times the wall time");
        let claim = format!("not shown to be above 1, and at most {ratio_max}");
        let is_met = ratio.low <= 1.0 && ratio.median <= ratio_max;
        claims.add(&found, &claim, is_met);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_compared_one_by_one() {
        // Of both programs: pages, seconds, pages back, seconds back.
        let is_met = |ratio_max: f64, ours: [[u64; 4]; 3]| {
            let theirs = [[100, 1, 100, 4], [100, 4, 100, 4], [100, 9, 100, 4]];
            let line = |name, [pages, s, back, s_back]: [u64; 4]| {
                format!("{name} a {pages} 6 {s}000000000 {back} {s_back}000000000\n")
            };
            let ours = ours.map(|it| line("numalab", it)).concat();
            let text = ours + &theirs.map(|it| line("migratepages", it)).concat() + "numalab b 7\n";
            let mut claims = Claims::default();
            judge(&text.repeat(2), "a", "words", ratio_max, &mut claims).unwrap();
            claims.conclude().is_ok()
        };
        // Ratios of 3, 0.5 and 1.
        let equal = [[100, 3, 100, 4], [100, 2, 100, 4], [100, 9, 100, 4]];
        assert!(is_met(1.0, equal));
        assert!(!is_met(0.9, equal));
        let late = equal.map(|[pages, s, back, s_back]| [pages, s + 10, back, s_back]);
        assert!(!is_met(50.0, late), "shown to be above 1");
        let late_back = equal.map(|[pages, s, back, s_back]| [pages, s, back, s_back + 2]);
        assert!(!is_met(50.0, late_back), "shown to be above 1");
        let (mut fewer, mut fewer_back) = (equal, equal);
        (fewer[1][0], fewer_back[1][2]) = (99, 99);
        assert!(!is_met(1.0, fewer) && !is_met(1.0, fewer_back));
        assert!(lines::<5>("numalab a 1 2\n", "numalab a").is_err());
        assert!(lines::<5>("", "numalab a").is_err());
    }
}
