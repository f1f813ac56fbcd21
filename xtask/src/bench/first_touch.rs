//! `cargo xtask bench first-touch`: what `numalab firsttouch` costs a program that does nothing but
//! touch pages, which is the worst there is, and a PostgreSQL that reads a table into its empty
//! shared buffers; in turns with and without it.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use super::claims::Claims;
use super::own_binary;
use super::supervisor::Supervisor;
use super::watch::{postgresql_programs, python};
use crate::guest::{packages, postgresql};
use crate::repository;

const TURNS: &str = include_str!("first_touch.py");

/// Pairs of turns with and without the look.
const PAIRS: &str = "20";
/// Confidence of the interval of the ratio of their times.
const CONFIDENCE: f64 = 0.95;
/// Most times that a program that only touches pages may take as long.
const TOUCHING_MAX: f64 = 2.0;
/// The same for a server that reads a table.
const READING_MAX: f64 = 1.5;

/// Builds the release binary, and prints both; fails if a claim is not met.
pub(super) fn run(limit: Duration) -> Result<()> {
    packages::require_program("python3", "python3")?;
    postgresql::require()?;
    let binary = own_binary::release()?;
    let folder = repository::target().join("bench");
    std::fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
    let programs = postgresql_programs().context("there are no programs of PostgreSQL")?;
    let supervisor = Supervisor::start(limit)?;
    let turns = python(&supervisor, &folder, ("first_touch.py", TURNS), |command| {
        command.arg(&binary).arg(PAIRS).arg(&programs);
    })?;
    let mut claims = Claims::default();
    judge(&turns, &mut claims)?;
    claims.conclude()
}

fn judge(turns: &Value, claims: &mut Claims) -> Result<()> {
    let who = "a program that only touches pages";
    judge_one(&turns["touching"], who, TOUCHING_MAX, claims)?;
    let who = "a PostgreSQL that reads a table into its buffers";
    judge_one(&turns["reading"], who, READING_MAX, claims)
}

/// Judges turns in the order A B B A: neighbours with and without the look are a pair. The whole
/// interval has to be below the limit.
fn judge_one(turns: &Value, who: &str, max: f64, claims: &mut Claims) -> Result<()> {
    let turns = turns.as_array().context("no turns")?;
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for turn in turns {
        match turn[0].as_bool().context("no state")? {
            true => with.push(turn[1].as_f64()),
            false => without.push(turn[1].as_f64()),
        }
    }
    let ratio = stats::ratio_of_pairs(&with, &without, CONFIDENCE).context("too few turns")?;
    let found = format!(
        "{who} takes {:.2} times as long with firsttouch ({:.2} to {:.2}, {} pairs)",
        ratio.ratio,
        ratio.interval.low,
        ratio.interval.high,
        with.len()
    );
    let is_met = ratio.interval.high <= max;
    claims.add(&found, &format!("at most {max}"), is_met);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Claims, judge_one};
    use serde_json::json;

    #[test]
    fn what_takes_longer_than_claimed_is_told() {
        let check = |factor: f64, is_met: bool| {
            let turn = |at: u32| {
                let is_on = matches!(at % 4, 1 | 2);
                let drift = 1.0 + f64::from(at) / 1000.0;
                json!([is_on, if is_on { drift * factor } else { drift }])
            };
            let turns: Vec<_> = (0..40).map(turn).collect();
            let mut claims = Claims::default();
            judge_one(&json!(turns), "it", 1.5, &mut claims).unwrap();
            assert_eq!(claims.conclude().is_ok(), is_met, "{factor}");
        };
        check(1.4, true);
        check(1.6, false);
        let mut claims = Claims::default();
        assert!(judge_one(&json!([]), "it", 1.5, &mut claims).is_err());
    }
}
