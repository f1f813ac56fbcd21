//! `cargo xtask bench postgres`: the logical reads per second of one session of the embedded
//! instance and of PostgreSQL, with the same sizes of data, blocks and pages.

use anyhow::Result;

use super::harness::{Harness, case, number};

/// The experiment, in the format that users write; the engine is filled in.
const EXPERIMENT: &str = include_str!("postgres.toml");
const ENGINES: [&str; 2] = ["instance", "postgres"];

/// Fails where a logical read of the instance is not mostly memory access.
pub(super) fn run(harness: &mut Harness) -> Result<()> {
    let turns = harness.turns(2, &ENGINES, |engine| {
        let text = EXPERIMENT.replace("ENGINE", engine);
        let run = harness.experiment(&text, &["--trials", "5", "--seconds", "1"])?;
        number(case(&run, "same-data")?, "/median")
    })?;
    turns.print("logical reads of a session", 1e6, "M/s")?;
    // 5.7 was measured (docs/postgres.md).
    let (ratio, claims) = (turns.ratio("instance", "postgres")?, &mut harness.claims);
    claims.at_least("the embedded instance", ratio, 2.0, "times PostgreSQL");
    Ok(())
}
