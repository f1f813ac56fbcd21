//! `cargo xtask bench move`: compares `numalab move` with `migratepages` (Debian package numactl)
//! on the same shared memory in a two-node guest, by page size and by the number of processes that
//! have it mapped: pages moved, system calls that move or query pages, and wall time, as ratios in
//! turns. A guest is emulated, so the time says nothing about NUMA, only what start, plan, journal
//! and verification cost beside the move itself.

use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::claims::Claims;
use super::own_binary;
use super::spread::Spread;
use crate::guest::{self, Options, Relay};
use crate::program::Interrupt;

const PROGRAM: &str = include_str!("../guest_checks/shared_memory.py");
const SCRIPT: &str = include_str!("relocate.sh");
/// The kinds of memory: the word of the script, what it is, and the maximum of the median ratio of
/// numalab's wall time to that of migratepages (docs/move.md has what was measured).
const CASES: [(&str, &str, f64); 3] = [
    ("4KiB-in-2", "4 KiB pages in 2 processes", 2.0),
    ("4KiB-in-20", "4 KiB pages in 20 processes", 2.0),
    ("2MiB-in-2", "2 MiB pages in 2 processes", 4.0),
];

/// One move: pages on the other node afterwards, system calls, seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Move {
    pages: u64,
    calls: u64,
    seconds: f64,
}

/// Builds the release binary, boots, and prints both and their ratios; fails if numalab does not
/// move as many pages as migratepages, or takes too long.
pub(super) fn run(limit: Duration) -> Result<()> {
    let binary = own_binary::release()?;
    let options = Options {
        timeout: limit,
        binaries: vec![binary],
        ..Options::of(guest::find("two-node")?)
    };
    let program = format!("cat >/tmp/shared_memory.py <<'END'\n{PROGRAM}\nEND");
    let words = |script: &str| ["sh", "-c", script].map(str::to_string).to_vec();
    let commands = [words(&program), words(SCRIPT)];
    let outcomes = guest::run(&options, &commands, Relay::Keep, &Interrupt::watch()?)?;
    let outcome = outcomes.last().context("the script did not run")?;
    let text = String::from_utf8_lossy(&outcome.stdout).into_owned();
    if outcome.status != 0 {
        bail!(
            "the script failed: {text}{}",
            String::from_utf8_lossy(&outcome.stderr)
        );
    }
    let mut claims = Claims::default();
    println!("Emulated two-node guest: ratios only. Medians of the rounds (least to most)");
    for (case, words, ratio_max) in CASES {
        let (ours, theirs) = (
            moves(&text, "numalab", case)?,
            moves(&text, "migratepages", case)?,
        );
        print!("{}", summary(words, &ours, &theirs));
        judge(words, ratio_max, &ours, &theirs, &mut claims);
    }
    claims.conclude()
}

/// Judges the pages that the kernel counts on the other node, and the wall time.
fn judge(words: &str, ratio_max: f64, ours: &[Move], theirs: &[Move], claims: &mut Claims) {
    let pages = |moves: &[Move]| moves.iter().map(|it| it.pages).collect::<Vec<_>>();
    let (mine, others) = (pages(ours), pages(theirs));
    let found = format!("{words}: pages moved {mine:?} by numalab, {others:?} by migratepages");
    let is_same = mine == others && mine.iter().all(|pages| *pages == mine[0] && *pages > 0);
    claims.add(&found, "as many in every round, and some", is_same);
    let ratio = ratios(ours, theirs).median;
    claims.add(
        &format!("{words}: {ratio:.2} times the wall time"),
        &format!("at most {ratio_max} times"),
        ratio <= ratio_max,
    );
}

/// The ratios of the wall times, round by round.
fn ratios(ours: &[Move], theirs: &[Move]) -> Spread {
    let ratio = |(one, other): (&Move, &Move)| one.seconds / other.seconds;
    let ratios: Vec<f64> = ours.iter().zip(theirs).map(ratio).collect();
    Spread::of(&ratios).expect("every case has rounds")
}

/// The moves of a case by a program, in the order of the rounds.
fn moves(text: &str, name: &str, case: &str) -> Result<Vec<Move>> {
    let prefix = format!("{name} {case} ");
    let lines = text.lines().filter_map(|line| line.strip_prefix(&prefix));
    let parsed = lines.map(|line| {
        let numbers: Vec<u64> = line.split(' ').flat_map(str::parse).collect();
        let [pages, calls, nanoseconds] = numbers[..] else {
            bail!("expected pages, calls and nanoseconds, found {line:?}");
        };
        let seconds = nanoseconds as f64 / 1e9;
        Ok(Move {
            pages,
            calls,
            seconds,
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
        let seconds: Vec<f64> = moves.iter().map(|it| it.seconds).collect();
        let seconds = Spread::of(&seconds).expect("every case has rounds");
        let (pages, calls) = (moves[0].pages, moves[0].calls);
        format!("  {name:<14} {pages:>7} pages  {calls:>3} system calls  {seconds} s\n")
    };
    format!(
        "{words}:\n{}{}  ratio of the wall times, round by round: {}\n",
        line("numalab move", ours),
        line("migratepages", theirs),
        ratios(ours, theirs),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_compared_one_by_one() {
        let text = "numalab a 100 6 3000000000\nmigratepages a 100 1 1000000000\n\
                    migratepages a 100 1 4000000000\nnumalab a 100 8 2000000000\n\
                    numalab a 100 6 9000000000\nmigratepages a 100 1 9000000000\n\
                    numalab b 7 7 7\n";
        let read = |name| moves(text, name, "a").unwrap();
        let (ours, theirs) = (read("numalab"), read("migratepages"));
        let text = summary("words", &ours, &theirs);
        let expected = "ratio of the wall times, round by round: 1.00 (0.50 to 3.00)";
        assert!(text.contains(expected), "{text}");
        let is_met = |ratio_max: f64, ours: &[Move]| {
            let mut claims = Claims::default();
            judge("words", ratio_max, ours, &theirs, &mut claims);
            claims.conclude().is_ok()
        };
        assert!(is_met(1.0, &ours));
        assert!(!is_met(0.9, &ours));
        let mut fewer = ours.clone();
        fewer[1].pages = 99;
        assert!(!is_met(1.0, &fewer));
        assert!(moves("numalab a 1 2\n", "numalab", "a").is_err());
        assert!(moves("", "numalab", "a").is_err());
    }
}
