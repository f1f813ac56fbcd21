//! `cargo xtask bench watch`: what `numalab watch` costs with 1,000 processes at one snapshot per
//! second, beside top(1) at the same rate; and what a PostgreSQL loses with `watch` and `serve`
//! beside it, in turns of a second.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::claims::Claims;
use super::own_binary;
use super::supervisor::Supervisor;
use crate::guest::{packages, postgresql};
use crate::repository;

const COST: &str = include_str!("watch_cost.py");
const BESIDE: &str = include_str!("watch_beside.py");

/// Processes that sleep while they are watched.
const PROCESSES: &str = "1000";
/// Seconds over which the CPU time is taken.
const COST_SECONDS: &str = "60";
/// Maximum share of a core.
const COST_MAX: f64 = 0.01;

/// Seconds of load on PostgreSQL, half of them with numalab beside it.
const BESIDE_SECONDS: &str = "480";
/// Minimum ratio of its throughput with numalab beside it.
const RATIO_MIN: f64 = 0.99;
/// Confidence of its interval.
const CONFIDENCE: f64 = 0.95;

/// Builds the release binary, and prints both; fails if a claim is not met.
pub(super) fn run(limit: Duration) -> Result<()> {
    packages::require_program("python3", "python3")?;
    packages::require_program("top", "procps")?;
    postgresql::require()?;
    let binary = own_binary::release()?;
    let folder = repository::target().join("bench");
    std::fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
    let supervisor = Supervisor::start(limit)?;
    let mut claims = Claims::default();

    let cost = python(&supervisor, &folder, ("watch_cost.py", COST), |command| {
        command.arg(&binary).args([PROCESSES, COST_SECONDS]);
    })?;
    judge_cost(&cost, &mut claims)?;

    let programs = postgresql_programs().context("there are no programs of PostgreSQL")?;
    let beside = ("watch_beside.py", BESIDE);
    let beside = python(&supervisor, &folder, beside, |command| {
        command.args([&binary, &programs]).arg(BESIDE_SECONDS);
    })?;
    judge_beside(&beside, &mut claims)?;
    claims.conclude()
}

/// Runs a program in Python, and reads the document that it prints.
pub(super) fn python(
    supervisor: &Supervisor,
    folder: &Path,
    (name, text): (&str, &str),
    with: impl FnOnce(&mut Command),
) -> Result<Value> {
    let path = folder.join(name);
    std::fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
    let mut command = Command::new("python3");
    command.arg(&path);
    with(&mut command);
    let output = supervisor.output(&command)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{name} ended with {}: {said}", output.status);
    }
    serde_json::from_slice(&output.stdout).with_context(|| format!("{name} wrote no JSON"))
}

/// The newest of Debian's folders of programs.
pub(super) fn postgresql_programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?.flatten();
    let folders = versions.map(|version| version.path().join("bin"));
    folders.filter(|it| it.join("pgbench").is_file()).max()
}

fn judge_cost(shares: &Value, claims: &mut Claims) -> Result<()> {
    let share = |name: &str| shares[name].as_f64().with_context(|| format!("no {name}"));
    let (ours, top) = (share("watch")?, share("top")?);
    let found = format!(
        "watch takes {:.2} % of a core with {PROCESSES} processes (top beside it {:.2} %)",
        ours * 100.0,
        top * 100.0
    );
    let claim = format!("at most {:.0} %", COST_MAX * 100.0);
    claims.add(&found, &claim, ours <= COST_MAX);
    Ok(())
}

/// Judges seconds in the order A B B A: neighbours with and without numalab are a pair.
fn judge_beside(seconds: &Value, claims: &mut Claims) -> Result<()> {
    let seconds = seconds.as_array().context("no seconds")?;
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for pair in seconds.chunks_exact(2) {
        for second in pair {
            let (is_on, rate) = (second[0].as_bool(), second[1].as_f64());
            match is_on.context("no state")? {
                true => with.push(rate),
                false => without.push(rate),
            }
        }
    }
    let ratio = stats::ratio_of_pairs(&with, &without, CONFIDENCE).context("too few seconds")?;
    let found = format!(
        "a PostgreSQL with watch and serve beside it does {:.4} times what it does alone \
         ({:.4} to {:.4}, {} pairs of seconds)",
        ratio.ratio,
        ratio.interval.low,
        ratio.interval.high,
        with.len()
    );
    let claim = format!("at least {RATIO_MIN}");
    claims.add(&found, &claim, ratio.ratio >= RATIO_MIN);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Claims, judge_beside, judge_cost};
    use serde_json::json;

    #[test]
    fn more_than_a_hundredth_of_a_core_is_told() {
        let check = |watch: f64, is_met: bool| {
            let mut claims = Claims::default();
            judge_cost(&json!({"watch": watch, "top": 0.02}), &mut claims).unwrap();
            assert_eq!(claims.conclude().is_ok(), is_met, "{watch}");
        };
        check(0.009, true);
        check(0.011, false);
    }

    #[test]
    fn what_postgresql_loses_is_judged_by_pairs() {
        let check = |beside: f64, is_met: bool| {
            let second = |at: u32| {
                let is_on = matches!(at % 4, 1 | 2);
                let drift = 1000.0 + f64::from(at);
                json!([is_on, if is_on { drift * beside } else { drift }])
            };
            let seconds: Vec<_> = (0..80).map(second).collect();
            let mut claims = Claims::default();
            judge_beside(&json!(seconds), &mut claims).unwrap();
            assert_eq!(claims.conclude().is_ok(), is_met, "{beside}");
        };
        check(0.995, true);
        check(0.97, false);
        assert!(judge_beside(&json!([]), &mut Claims::default()).is_err());
    }
}
