//! The part of `cargo xtask bench inspect` with many processes: 10,000 of them have 1 GiB of shared
//! memory mapped, a quarter of which exists; the last has touched all of it, each other a little.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::claims::Claims;
use super::looks::{family, reading_maps, timed};
use super::sharers::Sharers;
use super::spread::Spread;
use super::supervisor::Supervisor;

/// Processes.
const PROCESSES: &str = "10000";
/// Length of the memory, and how much of it exists.
const BYTES: &str = "1073741824";
const TOUCHED: &str = "268435456";
const STEP: &str = "4096";
/// Inspections in turns.
const ROUNDS: usize = 5;
/// Most seconds for an inspection.
const SECONDS_MAX: f64 = 2.0;
/// How often all maps could be read in the time of an inspection, at most. A look reads of each
/// process its identity (twice, to notice an end), title, maps (twice, to notice a change), page
/// map, status and policy.
const MAPS_MAX: f64 = 8.0;

/// Times inspections against numastat and against reading all maps once, in turns.
pub(super) fn run(
    binary: &Path,
    folder: &Path,
    supervisor: &Supervisor,
    claims: &mut Claims,
) -> Result<()> {
    let sharers = Sharers::start(folder, supervisor, &[BYTES, TOUCHED, STEP, PROCESSES])?;
    let (first, family) = (&sharers.first, family(&sharers.first)?);
    ensure!(
        family.len().to_string() == PROCESSES,
        "{} processes run, {PROCESSES} were started",
        family.len()
    );
    let mut rows = [const { Vec::new() }; 4];
    for _ in 0..ROUNDS {
        supervisor.check()?;
        let inspect = |option: &[&str]| {
            let mut command = Command::new(binary);
            timed(command.args(["inspect", first, "--json"]).args(option))
        };
        let round = [
            timed(Command::new("numastat").arg("-p").args(&family))?,
            inspect(&[])?,
            inspect(&["--only-shared"])?,
            reading_maps(&family)?,
        ];
        for (row, time) in rows.iter_mut().zip(round) {
            row.push(time);
        }
    }
    println!(
        "{PROCESSES} processes that have 1 GiB of shared memory mapped, 256 MiB of which exist, \
         medians of {ROUNDS} looks (range), s:"
    );
    let names = [
        "numastat -p",
        "numalab inspect",
        "numalab inspect --only-shared",
        "reading maps of each process once",
    ];
    for (name, row) in names.iter().zip(&rows) {
        println!("{name:39} {}", Spread::of(row).context("there are rounds")?);
    }
    judge(&rows[1], &rows[3], claims);
    Ok(())
}

/// Judges inspections by the maps that could be read in the same round.
fn judge(ours: &[f64], maps: &[f64], claims: &mut Claims) {
    let ratios: Vec<f64> = ours
        .iter()
        .zip(maps)
        .map(|(one, maps)| one / maps)
        .collect();
    let (Some(ratio), Some(seconds)) = (Spread::of(&ratios), Spread::of(ours)) else {
        return claims.not_compared("reading maps", "there is no time of both");
    };
    claims.add(
        &format!("{PROCESSES} processes: {seconds} s"),
        &format!("at most {SECONDS_MAX} s"),
        seconds.median <= SECONDS_MAX,
    );
    claims.add(
        &format!("{PROCESSES} processes: {ratio} times as long as reading their maps once"),
        &format!("at most {MAPS_MAX}"),
        ratio.median <= MAPS_MAX,
    );
}

#[cfg(test)]
mod tests {
    use super::{Claims, MAPS_MAX, SECONDS_MAX, judge};

    #[test]
    fn a_look_that_takes_long_or_as_long_as_many_readings_of_maps_is_told() {
        let is_met = |ours: &[f64], maps: &[f64]| {
            let mut claims = Claims::default();
            judge(ours, maps, &mut claims);
            claims.conclude().is_ok()
        };
        let longest = [SECONDS_MAX, 100.0, 1.0];
        assert!(is_met(&longest, &[SECONDS_MAX / MAPS_MAX; 3]));
        assert!(!is_met(&longest, &[SECONDS_MAX / MAPS_MAX - 0.01; 3]));
        assert!(!is_met(&[SECONDS_MAX + 0.1, 100.0, 1.0], &[1.0; 3]));
        assert!(!is_met(&[], &[]));
    }
}
