//! `cargo xtask bench move`: compares `numalab move` with `migratepages` (Debian package numactl)
//! on the same shared memory in a two-node guest, by page size and by the number of processes that
//! have it mapped: pages moved, system calls that move or query pages, and wall time, as ratios in
//! turns. A guest is emulated, so the time says nothing about NUMA, only what start, plan, journal
//! and verification cost beside the move itself, and what page sizes and processes cost.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::c_program;
use super::claims::Claims;
use super::own_binary;
use super::spread::{Median, Spread};
use crate::guest::{self, Options, Relay};
use crate::program::Interrupt;
use crate::repository;

const PROGRAM: &str = include_str!("../guest_checks/shared_memory.py");
const HOLDER: &str = include_str!("page_holder.c");
const SCRIPT: &str = include_str!("relocate.sh");

/// One kind of memory.
struct Case {
    /// Its word on the command line.
    name: &'static str,
    /// What it is.
    words: &'static str,
    /// Its size, by the time that migratepages takes in emulation.
    mib: u32,
    /// Processes that have it mapped.
    processes: u32,
    /// As `page_holder.c` names it.
    kind: &'static str,
    /// Rounds: more where times scatter more.
    rounds: u32,
    /// The maximum of the median ratio of numalab's wall time to that of migratepages, there and
    /// back (docs/move.md has what was measured).
    ratio_max: f64,
}

const CASES: [Case; 5] = [
    Case {
        name: "4KiB-in-2",
        words: "4 KiB pages in 2 processes",
        mib: 1024,
        processes: 2,
        kind: "memfd",
        rounds: 7,
        ratio_max: 1.0,
    },
    Case {
        name: "4KiB-in-20",
        words: "4 KiB pages in 20 processes",
        mib: 256,
        processes: 20,
        kind: "memfd",
        rounds: 7,
        ratio_max: 1.0,
    },
    Case {
        name: "4KiB-in-100",
        words: "4 KiB pages in 100 processes",
        mib: 96,
        processes: 100,
        kind: "memfd",
        rounds: 7,
        ratio_max: 1.0,
    },
    Case {
        name: "2MiB-in-2",
        words: "2 MiB pages in 2 processes",
        mib: 5120,
        processes: 2,
        kind: "memfd-huge",
        rounds: 15,
        ratio_max: 1.1,
    },
    Case {
        name: "2MiB-in-20",
        words: "2 MiB pages in 20 processes",
        mib: 5120,
        processes: 20,
        kind: "memfd-huge",
        rounds: 15,
        ratio_max: 1.1,
    },
];
/// What a node has beside the memory of a case, in MiB. With 650, nodes had so little left that now
/// and then a command first had the kernel reclaim memory, for up to 45 s.
const ROOM_MIB: u32 = 1200;

/// One move.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Move {
    /// Pages on the other node afterwards.
    pages: u64,
    /// System calls.
    calls: u64,
    seconds: f64,
    /// Pages on the first node after they went back.
    pages_back: u64,
    seconds_back: f64,
}

/// Builds the release binary, boots for each case, or only for one, and prints both and their
/// ratios; fails if numalab does not move as many pages as migratepages, or takes too long.
pub(super) fn run(only: Option<&str>, limit: Duration) -> Result<()> {
    let folder = repository::target().join("bench");
    std::fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
    let holder = c_program::build(&folder, "page_holder", HOLDER, "-O1")?;
    let mut options = Options {
        timeout: limit,
        binaries: vec![own_binary::release()?, holder],
        ..Options::of(guest::find("two-node")?)
    };
    let cases: Vec<&Case> = CASES
        .iter()
        .filter(|case| only.is_none_or(|only| only == case.name))
        .collect();
    if cases.is_empty() {
        let names = CASES.map(|case| case.name).join(", ");
        bail!("there is no such case; there are {names}");
    }
    println!("Emulated two-node guest: ratios only. Medians of the rounds (least to most)");
    let (mut claims, mut costs) = (Claims::default(), String::new());
    let mut unit = None;
    for case in cases {
        let Case {
            name,
            words,
            mib,
            processes,
            kind,
            rounds,
            ratio_max,
        } = case;
        options.memory_mib = Some(mib + ROOM_MIB);
        let script = format!("{SCRIPT}rounds {name} {mib} {processes} {kind} {rounds}\n");
        let text = in_guest(&options, &script, Relay::Keep)?;
        let (ours, theirs) = (
            moves(&text, "numalab", name)?,
            moves(&text, "migratepages", name)?,
        );
        print!("{}", summary(words, &ours, &theirs));
        judge(words, *ratio_max, &ours, &theirs, &mut claims);
        let per_mib = |moves: &[Move]| seconds(moves, |it| it.seconds).median / f64::from(*mib);
        let (mine, others) = (per_mib(&ours), per_mib(&theirs));
        let unit = *unit.get_or_insert(others);
        let (mine, others) = (mine / unit, others / unit);
        costs += &format!("  {words:<30} {mine:6.2} by numalab, {others:6.2} by migratepages\n");
    }
    print!("Time for each MiB, as a multiple of that of migratepages in the first case:\n{costs}");
    claims.conclude()
}

/// Runs a script in a guest, beside the program that makes shared memory; returns what it printed.
pub(super) fn in_guest(options: &Options, script: &str, relay: Relay) -> Result<String> {
    let program = format!("cat >/tmp/shared_memory.py <<'END'\n{PROGRAM}\nEND");
    let words = |script: &str| ["sh", "-c", script].map(str::to_string).to_vec();
    let commands = [words(&program), words(script)];
    let outcomes = guest::run(options, &commands, relay, &Interrupt::watch()?)?;
    let outcome = outcomes.last().context("the script did not run")?;
    let text = String::from_utf8_lossy(&outcome.stdout).into_owned();
    if outcome.status != 0 {
        bail!(
            "the script failed: {text}{}",
            String::from_utf8_lossy(&outcome.stderr)
        );
    }
    Ok(text)
}

/// Judges the pages that the kernel counts on the other node and, afterwards, on the first, and the
/// wall times of both ways.
fn judge(words: &str, ratio_max: f64, ours: &[Move], theirs: &[Move], claims: &mut Claims) {
    let pages = |moves: &[Move]| {
        let pages = moves.iter().flat_map(|it| [it.pages, it.pages_back]);
        pages.collect::<BTreeSet<_>>()
    };
    let (mine, others) = (pages(ours), pages(theirs));
    let found = format!("{words}: pages moved {mine:?} by numalab, {others:?} by migratepages");
    let is_same = mine == others && mine.len() == 1 && !mine.contains(&0);
    claims.add(&found, "as many in every round, there and back", is_same);
    let ways = [
        ("`numalab move`", ratios(ours, theirs, |it| it.seconds)),
        ("`numalab undo`", ratios(ours, theirs, |it| it.seconds_back)),
    ];
    for (command, ratios) in ways {
        let ratio = Median::of(&ratios).expect("every case has enough rounds");
        claims.add(
            &format!("{words}: {command} takes {ratio} times the wall time"),
            &format!("not shown to be above 1, and at most {ratio_max}"),
            ratio.low <= 1.0 && ratio.median <= ratio_max,
        );
    }
}

/// The ratios of times, round by round.
fn ratios(ours: &[Move], theirs: &[Move], of: impl Fn(&Move) -> f64) -> Vec<f64> {
    let ratio = |(one, other): (&Move, &Move)| of(one) / of(other);
    ours.iter().zip(theirs).map(ratio).collect()
}

fn spread(figures: &[f64]) -> Spread {
    Spread::of(figures).expect("every case has rounds")
}

fn seconds(moves: &[Move], of: impl Fn(&Move) -> f64) -> Spread {
    spread(&moves.iter().map(of).collect::<Vec<f64>>())
}

/// The moves of a case by a program, in the order of the rounds.
fn moves(text: &str, name: &str, case: &str) -> Result<Vec<Move>> {
    let prefix = format!("{name} {case} ");
    let lines = text.lines().filter_map(|line| line.strip_prefix(&prefix));
    let parsed = lines.map(|line| {
        let numbers: Vec<u64> = line.split(' ').flat_map(str::parse).collect();
        let [pages, calls, there_ns, pages_back, back_ns] = numbers[..] else {
            bail!("expected pages, calls, nanoseconds, and pages and nanoseconds back: {line:?}");
        };
        Ok(Move {
            pages,
            calls,
            seconds: there_ns as f64 / 1e9,
            pages_back,
            seconds_back: back_ns as f64 / 1e9,
        })
    });
    let moves = parsed.collect::<Result<Vec<_>>>()?;
    if moves.is_empty() {
        bail!("{name} said nothing of {case}: {text}");
    }
    Ok(moves)
}

fn summary(words: &str, ours: &[Move], theirs: &[Move]) -> String {
    let line = |name: &str, moves: &[Move]| {
        let (there, back) = (
            seconds(moves, |it| it.seconds),
            seconds(moves, |it| it.seconds_back),
        );
        let (pages, calls) = (moves[0].pages, moves[0].calls);
        format!(
            "  {name:<14} {pages:>7} pages  {calls:>3} system calls  {there} s, back {back} s\n"
        )
    };
    format!(
        "{words}:\n{}{}  ratio of the wall times, round by round: {}; of `numalab undo`: {}\n",
        line("numalab move", ours),
        line("migratepages", theirs),
        spread(&ratios(ours, theirs, |it| it.seconds)),
        spread(&ratios(ours, theirs, |it| it.seconds_back)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_compared_one_by_one() {
        let text = "numalab a 100 6 3000000000 100 4\nmigratepages a 100 1 1000000000 100 4\n\
                    migratepages a 100 1 4000000000 100 4\nnumalab a 100 8 2000000000 100 4\n\
                    numalab a 100 6 9000000000 100 4\nmigratepages a 100 1 9000000000 100 4\n\
                    numalab b 7 7 7 7 7\n"
            .repeat(2);
        let read = |name| moves(&text, name, "a").unwrap();
        let (ours, theirs) = (read("numalab"), read("migratepages"));
        let text = summary("words", &ours, &theirs);
        let expected = "ratio of the wall times, round by round: 1.00 (0.50 to 3.00); of \
                        `numalab undo`: 1.00 (1.00 to 1.00)";
        assert!(text.contains(expected), "{text}");
        let is_met = |ratio_max: f64, ours: &[Move]| {
            let mut claims = Claims::default();
            judge("words", ratio_max, ours, &theirs, &mut claims);
            claims.conclude().is_ok()
        };
        assert!(is_met(1.0, &ours));
        assert!(!is_met(0.9, &ours));
        let mut late = ours.clone();
        late.iter_mut().for_each(|it| it.seconds += 10.0);
        assert!(!is_met(50.0, &late), "shown to be above 1");
        let mut late_back = ours.clone();
        late_back.iter_mut().for_each(|it| it.seconds_back *= 1.5);
        assert!(!is_met(50.0, &late_back), "shown to be above 1");
        let (mut fewer, mut fewer_back) = (ours.clone(), ours.clone());
        fewer[1].pages = 99;
        fewer_back[1].pages_back = 99;
        assert!(!is_met(1.0, &fewer) && !is_met(1.0, &fewer_back));
        assert!(moves("numalab a 1 2\n", "numalab", "a").is_err());
        assert!(moves("", "numalab", "a").is_err());
    }
}
