//! `cargo xtask bench move-stall`: what sessions wait for a page while it moves. Two sessions read
//! random pages of a segment in a two-node guest while nothing moves, and while `numalab move`,
//! `migratepages` and the kernel's NUMA balancing (`numalab balance`) bring it to their node, in
//! turns. A guest is emulated: only ratios to the times with nothing moving count.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use super::c_program;
use super::claims::Claims;
use super::own_binary;
use super::relocate::in_guest;
use super::spread::Spread;
use crate::guest::{self, Options, Relay};
use crate::repository;

const READER: &str = include_str!("page_reader.c");
const SCRIPT: &str = include_str!("relocate_stall.sh");
/// Size of the segment in MiB: the script has it as `MIB`. Beside two sessions that read, an
/// emulated guest moves little more than 1 MiB in a second.
const MIB: u64 = 16;
/// How the memory is moved, and what that is.
const MOVERS: [(&str, &str); 3] = [
    ("numalab", "numalab move"),
    ("migratepages", "migratepages"),
    ("balancing", "numalab balance"),
];
/// The median of the p99 while numalab moves, as a multiple of that while migratepages does, at
/// most (docs/move.md has what was measured). The 99.9th percentile says more about the few CPUs of
/// the host, which the emulated ones share, and is only printed.
const P99_MAX: f64 = 1.5;

/// A spell of reading: pages on the other node afterwards, how long it took, reads of both
/// sessions, and of the session that waited longer, two percentiles and the longest of its reads.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Spell {
    pages: f64,
    seconds: f64,
    reads: f64,
    p99_ns: f64,
    p999_ns: f64,
    longest_ns: f64,
}

/// Builds, boots, and prints what sessions wait for; fails if not every page moved, or if sessions
/// wait longer for numalab than for migratepages.
pub(super) fn run(limit: Duration) -> Result<()> {
    let folder = repository::target().join("bench");
    std::fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
    let reader = c_program::build(&folder, "page_reader", READER, "-O1")?;
    let options = Options {
        timeout: limit,
        binaries: vec![own_binary::release()?, reader],
        ..Options::of(guest::find("two-node")?)
    };
    println!("NAME PAGES-MOVED MS, and of both sessions READS P99-NS P999-NS LONGEST-NS:");
    let text = in_guest(
        &options,
        &SCRIPT.replace("MIB", &MIB.to_string()),
        Relay::Pass,
    )?;
    println!("Emulated two-node guest: ratios only. Medians of the rounds (least to most)");
    let mut claims = Claims::default();
    let idle = spells(&text, "nothing")?;
    for (name, words) in MOVERS {
        let moving = spells(&text, name)?;
        print!("{}", summary(words, &moving, &idle)?);
    }
    judge(&text, &mut claims)?;
    claims.conclude()
}

fn judge(text: &str, claims: &mut Claims) -> Result<()> {
    let (ours, theirs) = (spells(text, "numalab")?, spells(text, "migratepages")?);
    let all = (MIB << 20 >> 12) as f64;
    let pages = spread(&ours, |it| it.pages)?;
    let is_all = pages.least >= all;
    claims.add(
        &format!("numalab moved {pages} pages"),
        "all of them",
        is_all,
    );
    let ratio = ratios(&ours, &theirs, |it| it.p99_ns)?;
    claims.add(
        &format!("p99 of a read while numalab moves, by that while migratepages does: {ratio}"),
        &format!("at most {P99_MAX} times"),
        ratio.median <= P99_MAX,
    );
    Ok(())
}

fn summary(words: &str, moving: &[Spell], idle: &[Spell]) -> Result<String> {
    Ok(format!(
        "{words}: {} pages moved in {} s\n  by what it is with nothing moving:\n  \
         reads in a second {}\n  p99 of a read {}\n  p99.9 of a read {}\n  longest read {}\n",
        spread(moving, |it| it.pages)?,
        spread(moving, |it| it.seconds)?,
        ratios(moving, idle, |it| it.reads / it.seconds)?,
        ratios(moving, idle, |it| it.p99_ns)?,
        ratios(moving, idle, |it| it.p999_ns)?,
        ratios(moving, idle, |it| it.longest_ns)?,
    ))
}

fn spread(spells: &[Spell], of: impl Fn(&Spell) -> f64) -> Result<Spread> {
    let values: Vec<f64> = spells.iter().map(of).collect();
    Spread::of(&values).context("there are no rounds")
}

/// The ratios of what `of` says, round by round.
fn ratios(ours: &[Spell], theirs: &[Spell], of: impl Fn(&Spell) -> f64) -> Result<Spread> {
    ensure!(ours.len() == theirs.len(), "not as many rounds of each");
    let ratio = |(one, other): (&Spell, &Spell)| of(one) / of(other);
    let ratios: Vec<f64> = ours.iter().zip(theirs).map(ratio).collect();
    Spread::of(&ratios).context("there are no rounds")
}

/// The spells with this name, in the order of the rounds.
fn spells(text: &str, name: &str) -> Result<Vec<Spell>> {
    let prefix = format!("{name} ");
    let lines = text.lines().filter_map(|line| line.strip_prefix(&prefix));
    let spells = lines.map(|line| {
        let numbers: Vec<f64> = line.split(' ').flat_map(str::parse).collect();
        let [pages, ms, ref sessions @ ..] = numbers[..] else {
            bail!("expected pages and time, found {line:?}");
        };
        let &[
            reads,
            p99,
            p999,
            longest,
            reads_too,
            p99_too,
            p999_too,
            longest_too,
        ] = sessions
        else {
            bail!("expected four numbers of each of two sessions, found {line:?}");
        };
        ensure!(
            reads > 0.0 && reads_too > 0.0,
            "a session did not read: {line:?}"
        );
        Ok(Spell {
            pages,
            seconds: ms / 1e3,
            reads: reads + reads_too,
            p99_ns: p99.max(p99_too),
            p999_ns: p999.max(p999_too),
            longest_ns: longest.max(longest_too),
        })
    });
    let spells = spells.collect::<Result<Vec<_>>>()?;
    ensure!(!spells.is_empty(), "nothing was said of {name}: {text}");
    Ok(spells)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_session_that_waits_longer_counts() {
        let text = "nothing 0 3000 9 100 200 4000 9 200 300 2000\n\
                    numalab 4096 1500 9 300 400 8000 9 100 900 9000\n\
                    migratepages 4096 1500 9 200 700 900 9 250 600 800\n";
        let (idle, ours) = (
            spells(text, "nothing").unwrap(),
            spells(text, "numalab").unwrap(),
        );
        let said = summary("it", &ours, &idle).unwrap();
        for expected in [
            "reads in a second 2.00 (2.00 to 2.00)",
            "p99 of a read 1.50 (1.50 to 1.50)",
            "p99.9 of a read 3.00 (3.00 to 3.00)",
            "longest read 2.25 (2.25 to 2.25)",
        ] {
            assert!(said.contains(expected), "{said}");
        }
        let is_met = |text: &str| {
            let mut claims = Claims::default();
            judge(text, &mut claims).unwrap();
            claims.conclude().is_ok()
        };
        assert!(is_met(text));
        assert!(!is_met(&text.replace("9 300 400", "9 400 400")));
        assert!(!is_met(&text.replace("numalab 4096", "numalab 4095")));
        assert!(spells("numalab 1 2 3\n", "numalab").is_err());
        assert!(spells("", "numalab").is_err());
    }
}
