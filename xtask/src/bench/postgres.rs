//! `cargo xtask bench postgres`: compares the logical reads per second of one session of the
//! embedded instance and of PostgreSQL, with the same sizes of data, blocks and pages. Each runs
//! twice, one around the other, so that a machine that slows down affects both.

use std::time::Duration;

use anyhow::Result;

use super::claims::Claims;
use super::experiment::{self, Rate};
use super::own_binary::OwnBinary;

/// The experiment, in the format that users write; the engine is filled in.
const EXPERIMENT: &str = include_str!("postgres.toml");
/// The engines, in the order of their runs.
const ENGINES: [&str; 4] = ["instance", "postgres", "postgres", "instance"];
/// Trials of each run.
const TRIALS: &str = "5";
/// Seconds of each window.
const SECONDS: &str = "1";

/// Minimum ratio of the rate of an instance session to that of a PostgreSQL session: enough for a
/// logical read of the instance to be mostly memory access. 5.7 was measured (docs/postgres.md).
const RATIO_MIN: f64 = 2.0;

/// Runs both, prints rates and ratio; fails if the ratio is below its minimum.
pub(super) fn run(limit: Duration) -> Result<()> {
    let numalab = OwnBinary::build(limit)?;
    let mut rates = Vec::new();
    for engine in ENGINES {
        let text = EXPERIMENT.replace("ENGINE", engine);
        let run = experiment::run(&numalab, &text, TRIALS, SECONDS)?;
        let rate = Rate::of(&run, "same-data")?;
        let work_unit = &run["calibration"]["work_unit"];
        println!("{engine}, work unit {work_unit}: {}", rate.text());
        rates.push((engine, rate.median));
    }
    let mut claims = Claims::default();
    judge(&rates, &mut claims);
    claims.conclude()
}

fn judge(rates: &[(&str, f64)], claims: &mut Claims) {
    let mean = |wanted: &str| {
        let of = rates.iter().filter(|(engine, _)| *engine == wanted);
        let of: Vec<f64> = of.map(|(_, rate)| *rate).collect();
        of.iter().sum::<f64>() / of.len() as f64
    };
    let ratio = mean("instance") / mean("postgres");
    let found = format!(
        "a session of the embedded instance does {ratio:.2} times what one of PostgreSQL does"
    );
    let claim = format!("at least {RATIO_MIN} times");
    claims.add(&found, &claim, ratio >= RATIO_MIN);
}

#[cfg(test)]
mod tests {
    use super::{Claims, EXPERIMENT, judge};

    #[test]
    fn the_ratio_is_that_of_the_means() {
        let check = |rates: [f64; 4], is_met: bool| {
            let engines = ["instance", "postgres", "postgres", "instance"];
            let rates: Vec<_> = engines.into_iter().zip(rates).collect();
            let mut claims = Claims::default();
            judge(&rates, &mut claims);
            assert_eq!(claims.conclude().is_ok(), is_met, "{rates:?}");
        };
        check([8.0, 2.0, 3.0, 7.0], true);
        check([4.0, 2.0, 3.0, 5.0], false);
        check([f64::NAN, 2.0, 3.0, 5.0], false);
    }

    #[test]
    fn the_engine_is_put_in() {
        assert_eq!(EXPERIMENT.matches("ENGINE").count(), 1);
    }
}
