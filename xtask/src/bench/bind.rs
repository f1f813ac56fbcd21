//! `cargo xtask bench bind`: what stands between a program and its start, for `numalab bind` and
//! for `numactl` (Debian package numactl) with the same placement, in turns.

use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use super::release_binary;

/// Starts with each.
const ROUNDS: usize = 301;
/// What is asked of both.
const PLACEMENT: [&str; 2] = ["--cpunodebind=0", "--membind=0"];

/// Builds the release binary, and prints the medians, their ratio and their difference.
pub fn run() -> Result<()> {
    let binary = release_binary::build()?;
    let (mut bare, mut ours, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        bare.push(timed(&mut Command::new("/bin/true"))?);
        ours.push(timed(
            Command::new(&binary)
                .arg("bind")
                .args(PLACEMENT)
                .args(["--", "/bin/true"]),
        )?);
        theirs.push(timed(
            Command::new("numactl")
                .args(PLACEMENT)
                .args(["--", "/bin/true"]),
        )?);
    }
    println!("{}", summary(&mut bare, &mut ours, &mut theirs));
    Ok(())
}

/// What the benchmark found, in words; times in seconds.
fn summary(bare: &mut [f64], ours: &mut [f64], theirs: &mut [f64]) -> String {
    let median = |times: &mut [f64]| {
        times.sort_by(f64::total_cmp);
        1000.0 * times[times.len() / 2]
    };
    let (bare, ours, theirs) = (median(bare), median(ours), median(theirs));
    format!(
        "/bin/true, median of {ROUNDS} starts, taken in turn:\n\
         alone         {bare:.2} ms\n\
         numalab bind  {ours:.2} ms, {:.2} ms more than alone\n\
         numactl       {theirs:.2} ms, {:.2} ms more than alone\n\
         numalab against numactl: {:.2} times, {:+.2} ms",
        ours - bare,
        theirs - bare,
        ours / theirs,
        ours - theirs
    )
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
    use super::summary;

    #[test]
    fn differences_are_those_of_the_medians() {
        let text = summary(
            &mut [0.001, 0.9, 0.0],
            &mut [0.004, 0.9, 0.0],
            &mut [0.002, 0.9, 0.0],
        );
        assert!(
            text.contains("numalab bind  4.00 ms, 3.00 ms more than alone"),
            "{text}"
        );
        assert!(
            text.ends_with("numalab against numactl: 2.00 times, +2.00 ms"),
            "{text}"
        );
    }
}
