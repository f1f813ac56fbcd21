//! `cargo xtask bench postgres`: logical reads per second of one session of the embedded instance
//! and of PostgreSQL, on the same size of data, blocks and pages. Each runs twice, the one around
//! the other, so that a machine that slows down slows both.

use anyhow::Result;

use super::experiment::{self, Rate};
use super::own_binary::OwnBinary;

/// The experiment, in the format that users write; the engine is put in.
const EXPERIMENT: &str = include_str!("postgres.toml");
/// The engines, in the order of their runs.
const ENGINES: [&str; 4] = ["instance", "postgres", "postgres", "instance"];
/// Trials of each run.
const TRIALS: &str = "5";
/// Seconds of each window.
const SECONDS: &str = "1";

/// Runs both and prints rates and ratio.
pub fn run() -> Result<()> {
    let numalab = OwnBinary::build()?;
    let mut rates = Vec::new();
    for engine in ENGINES {
        let text = EXPERIMENT.replace("ENGINE", engine);
        let run = experiment::run(&numalab, &text, TRIALS, SECONDS)?;
        let rate = Rate::of(&run, "same-data")?;
        let work_unit = &run["calibration"]["work_unit"];
        println!("{engine}, work unit {work_unit}: {}", rate.text());
        rates.push((engine, rate.median));
    }
    println!("{}", summary(&rates));
    Ok(())
}

fn summary(rates: &[(&str, f64)]) -> String {
    let mean = |wanted: &str| {
        let of = rates.iter().filter(|(engine, _)| *engine == wanted);
        let of: Vec<f64> = of.map(|(_, rate)| *rate).collect();
        of.iter().sum::<f64>() / of.len() as f64
    };
    let ratio = mean("instance") / mean("postgres");
    format!("a session of the embedded instance does {ratio:.2} times what one of PostgreSQL does")
}

#[cfg(test)]
mod tests {
    use super::{EXPERIMENT, summary};

    #[test]
    fn the_ratio_is_that_of_the_means() {
        let rates = [
            ("instance", 8.0),
            ("postgres", 2.0),
            ("postgres", 3.0),
            ("instance", 7.0),
        ];
        assert!(
            summary(&rates).contains("does 3.00 times"),
            "{}",
            summary(&rates)
        );
    }

    #[test]
    fn the_engine_is_put_in() {
        assert_eq!(EXPERIMENT.matches("ENGINE").count(), 1);
    }
}
