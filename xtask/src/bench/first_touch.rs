//! `cargo xtask bench first-touch`: what `numalab firsttouch` costs a program that does nothing but
//! touch pages, which is the worst there is, and a PostgreSQL that reads a table into its empty
//! shared buffers.

use anyhow::Result;

use super::harness::Harness;
use super::turns::Turns;
use super::watch::postgresql_programs;
use crate::guest::packages;

const TURNS: (&str, &str) = ("first_touch.py", include_str!("first_touch.py"));
/// Pairs of turns with and without the look.
const PAIRS: &str = "20";

/// The figures, what they are of, and the most times that it may take as long.
const CLAIMS: [(&str, &str, f64); 2] = [
    ("touching", "a program that only touches pages", 2.0),
    ("reading", "a PostgreSQL that reads a table", 1.5),
];

pub(super) fn run(harness: &mut Harness) -> Result<()> {
    packages::require_program("python3", "python3")?;
    let (binary, programs) = (harness.binary.display(), postgresql_programs()?);
    let words = format!("{binary} {PAIRS} {}", programs.display());
    let document = harness.python(TURNS, &words.split(' ').collect::<Vec<_>>())?;
    for (name, who, most) in CLAIMS {
        let turns = Turns::of_pairs(&document[name], ["with", "without"])?;
        let ratio = turns.ratio("with", "without")?;
        let found = format!("{who} takes {ratio} times as long with firsttouch");
        let claim = format!("the whole interval at most {most}");
        harness.claims.add(&found, &claim, ratio.high <= most);
    }
    Ok(())
}
