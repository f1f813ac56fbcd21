//! `cargo xtask bench watch`: what `numalab watch` costs with 1,000 processes at one snapshot per
//! second, beside top(1) at the same rate; and what a PostgreSQL loses with `watch` and `serve`
//! beside it, in turns of a second.

use std::path::PathBuf;

use anyhow::{Context, Result};

use super::harness::{Harness, number};
use super::turns::{Median, Turns};
use crate::guest::{packages, postgresql};

const COST: (&str, &str) = ("watch_cost.py", include_str!("watch_cost.py"));
const BESIDE: (&str, &str) = ("watch_beside.py", include_str!("watch_beside.py"));

/// Processes that sleep while they are watched.
const PROCESSES: &str = "1000";
/// Seconds over which the CPU time is taken, and of load on PostgreSQL, half of them with numalab
/// beside it.
const COST_S: &str = "60";
const BESIDE_S: &str = "480";

/// How much of the CPU time of top(1) `watch` may take.
const TOP_TIMES_MAX: f64 = 0.75;

const WITH: &str = "a PostgreSQL with watch and serve beside it";
const WITHOUT: &str = "what it does alone";

pub(super) fn run(harness: &mut Harness) -> Result<()> {
    packages::require_program("python3", "python3")?;
    packages::require_program("top", "procps")?;
    let programs = postgresql_programs()?.display().to_string();
    let binary = harness.binary.display().to_string();

    let cost = harness.python(COST, &[&binary, PROCESSES, COST_S])?;
    let (ours, top) = (number(&cost, "/watch")?, number(&cost, "/top")?);
    let [ours_percent, top_percent] = [ours, top].map(|share| 100.0 * share);
    println!("watch: {ours_percent:.2} % of a core; top beside it: {top_percent:.2} %");
    let what = format!("watch with {PROCESSES} processes");
    let ratio = Median::of(&[ours / top])?;
    harness
        .claims
        .at_most(&what, ratio, TOP_TIMES_MAX, "times top");

    let beside = harness.python(BESIDE, &[&binary, &programs, BESIDE_S])?;
    let ratio = Turns::of_pairs(&beside, [WITH, WITHOUT])?.ratio(WITH, WITHOUT)?;
    let unit = format!("times {WITHOUT}");
    harness.claims.at_least(WITH, ratio, 0.99, &unit);
    Ok(())
}

/// The newest of Debian's folders of programs.
pub(super) fn postgresql_programs() -> Result<PathBuf> {
    postgresql::require()?;
    let versions = std::fs::read_dir("/usr/lib/postgresql")?.flatten();
    let folders = versions.map(|version| version.path().join("bin"));
    let newest = folders.filter(|it| it.join("pgbench").is_file()).max();
    newest.context("there are no programs of PostgreSQL")
}
