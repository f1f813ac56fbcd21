//! `cargo xtask bench move`: compares `numalab move` with `migratepages` (Debian package numactl)
//! on the same shared memory of 128 MiB in a two-node guest: pages moved, system calls that move or
//! query pages, and wall time, as ratios. A guest is emulated, so the time says nothing about NUMA,
//! only what the plan, the journal and the verification cost beside the move itself.

use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::claims::Claims;
use super::own_binary;
use crate::guest::{self, Options, Relay};
use crate::program::Interrupt;

const PROGRAM: &str = include_str!("../guest_checks/shared_memory.py");
const SCRIPT: &str = include_str!("relocate.sh");
/// Maximum ratio of numalab's wall time, with plan, journal and verification, to that of
/// migratepages; 3.4 was measured (docs/move.md).
const WALL_RATIO_MAX: f64 = 8.0;

/// Pages moved, system calls, seconds: medians over the rounds.
type Figures = (f64, f64, f64);

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
    let (ours, theirs) = (figures(&text, "numalab")?, figures(&text, "migratepages")?);
    print!("{}", summary(ours, theirs));
    let mut claims = Claims::default();
    judge(ours, theirs, &mut claims);
    claims.conclude()
}

/// Judges the pages that the kernel counts on the other node, and the wall time.
fn judge(ours: Figures, theirs: Figures, claims: &mut Claims) {
    let found = format!(
        "pages moved: {} by numalab, {} by migratepages",
        ours.0, theirs.0
    );
    claims.add(
        &found,
        "as many, and some",
        ours.0 == theirs.0 && ours.0 > 0.0,
    );
    let ratio = ours.2 / theirs.2;
    let claim = format!("at most {WALL_RATIO_MAX} times");
    claims.add(
        &format!("{ratio:.1} times the wall time"),
        &claim,
        ratio <= WALL_RATIO_MAX,
    );
}

fn figures(text: &str, name: &str) -> Result<Figures> {
    let lines = text
        .lines()
        .filter_map(|line| line.strip_prefix(&format!("{name} ")));
    let mut columns = [Vec::new(), Vec::new(), Vec::new()];
    for line in lines {
        let numbers: Vec<f64> = line
            .split(' ')
            .filter_map(|word| word.parse().ok())
            .collect();
        if numbers.len() != columns.len() {
            bail!("expected pages, calls and nanoseconds, found {line:?}");
        }
        for (column, number) in columns.iter_mut().zip(numbers) {
            column.push(number);
        }
    }
    let mut median = |index: usize| -> Result<f64> {
        let column: &mut Vec<f64> = &mut columns[index];
        column.sort_by(f64::total_cmp);
        let middle = column.get(column.len() / 2);
        middle
            .copied()
            .with_context(|| format!("{name} said nothing: {text}"))
    };
    Ok((median(0)?, median(1)?, median(2)? / 1e9))
}

fn summary(ours: Figures, theirs: Figures) -> String {
    let line = |name: &str, (pages, calls, seconds): Figures| {
        format!("{name:<14} {pages:>7} pages  {calls:>5} system calls  {seconds:>6.2} s\n")
    };
    let ratio = |one: f64, other: f64| one / other.max(f64::MIN_POSITIVE);
    format!(
        "emulated two-node guest, 128 MiB of shared memory, medians of the rounds; not a speed\n\
         {}{}ratio: {:.2} of the pages, {:.0} times the system calls, {:.1} times the wall time\n",
        line("numalab move", ours),
        line("migratepages", theirs),
        ratio(ours.0, theirs.0),
        ratio(ours.1, theirs.1),
        ratio(ours.2, theirs.2),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_compared() {
        let text = "numalab 100 6 3000000000\nmigratepages 100 1 1000000000\n\
                    numalab 100 8 2000000000\nnumalab 100 6 9000000000\n";
        let (ours, theirs) = (figures(text, "numalab"), figures(text, "migratepages"));
        let summary = summary(ours.unwrap(), theirs.unwrap());
        let expected = "ratio: 1.00 of the pages, 6 times the system calls, 3.0 times the wall";
        assert!(summary.contains(expected), "{summary}");
        for (ours, is_met) in [
            ((100.0, 6.0, 3.0), true),
            ((99.0, 6.0, 3.0), false),
            ((100.0, 6.0, 9.0), false),
        ] {
            let mut claims = Claims::default();
            judge(ours, (100.0, 1.0, 1.0), &mut claims);
            assert_eq!(claims.conclude().is_ok(), is_met, "{ours:?}");
        }
        assert!(figures("numalab 1 2\n", "numalab").is_err());
        assert!(figures("", "numalab").is_err());
    }
}
