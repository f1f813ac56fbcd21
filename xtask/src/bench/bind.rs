//! `cargo xtask bench bind`: compares the time to start a program under `numalab bind`, as it is
//! packaged (`cargo xtask package`), with that under `numactl` (Debian package numactl) for the
//! same placement, in turns.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::claims::Claims;
use super::own_binary;
use super::spread::Median;
use super::supervisor::Supervisor;
use crate::guest::packages;
use crate::package;

/// Number of starts with each.
const ROUNDS: usize = 301;
/// The placement that all are given.
const PLACEMENT: [&str; 4] = ["--cpunodebind=0", "--membind=0", "--", "/bin/true"];

/// The most milliseconds that a start under the packaged program takes more than one under numactl.
/// docs/placing.md has what was measured.
const MORE_MS_MAX: f64 = 0.3;
/// The most times as long as a start under numactl, of the program as `cargo build` makes it.
const RATIO_MAX: f64 = 2.0;

/// What is started, in the order of a turn.
const NAMES: [&str; 4] = [
    "alone",
    "numactl",
    "numalab bind, packaged",
    "numalab bind, as built",
];

/// Builds the program both ways, and prints the medians and what they differ by; fails if numalab
/// takes too long.
pub(super) fn run(limit: Duration) -> Result<()> {
    packages::require_program("numactl", "numactl")?;
    let packaged = package::build()?;
    let binary = own_binary::release()?;
    let supervisor = Supervisor::start(limit)?;
    let mut times = [const { Vec::new() }; 4];
    for _ in 0..ROUNDS {
        supervisor.check()?;
        let bind = |binary| timed(Command::new(binary).arg("bind").args(PLACEMENT));
        let round = [
            timed(&mut Command::new("/bin/true"))?,
            timed(Command::new("numactl").args(PLACEMENT))?,
            bind(&packaged)?,
            bind(&binary)?,
        ];
        for (times, time) in times.iter_mut().zip(round) {
            times.push(1000.0 * time);
        }
    }
    let mut claims = Claims::default();
    judge(&times, &mut claims)?;
    claims.conclude()
}

/// Judges the times, in milliseconds, in the order of [`NAMES`].
fn judge(times: &[Vec<f64>; 4], claims: &mut Claims) -> Result<()> {
    let median = |values: &[f64]| Median::of(values).context("too few starts");
    println!("/bin/true, medians of {} starts in turns:", times[0].len());
    for (name, times) in NAMES.iter().zip(times) {
        println!("{name:23} {} ms", median(times)?);
    }
    let [_, numactl, packaged, built] = times;
    let pairs = |ours: &[f64], of: fn(f64, f64) -> f64| -> Result<Median> {
        let values = ours
            .iter()
            .zip(numactl)
            .map(|(one, other)| of(*one, *other));
        median(&values.collect::<Vec<_>>())
    };
    let more = pairs(packaged, |one, other| one - other)?;
    claims.add(
        &format!("packaged: {more} ms more than numactl"),
        &format!("at most {MORE_MS_MAX} ms"),
        more.median <= MORE_MS_MAX,
    );
    let ratio = pairs(built, |one, other| one / other)?;
    claims.add(
        &format!("as built: {ratio} times numactl"),
        &format!("at most {RATIO_MAX} times"),
        ratio.median <= RATIO_MAX,
    );
    Ok(())
}

fn timed(command: &mut Command) -> Result<f64> {
    let start = Instant::now();
    let status = command
        .stdout(Stdio::null())
        .status()
        .with_context(|| format!("run {:?}", command.get_program()))?;
    if !status.success() {
        bail!("{:?} ended with {status}", command.get_program());
    }
    Ok(start.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::{Claims, judge};

    #[test]
    fn a_slow_start_of_either_program_is_told_by_the_medians() {
        let check = |packaged: f64, built: f64, is_met: bool| {
            let times = [0.5, 1.0, packaged, built];
            let times = times.map(|median| vec![median, median, median, 90.0, 0.1]);
            let mut claims = Claims::default();
            judge(&times, &mut claims).unwrap();
            assert_eq!(claims.conclude().is_ok(), is_met, "{packaged} {built}");
        };
        check(1.25, 2.0, true);
        check(1.35, 2.0, false);
        check(1.25, 2.1, false);
    }
}
