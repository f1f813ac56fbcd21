//! `cargo xtask bench logical-reads`: one session at the plateau, and the same code on a cache so
//! small that memory plays no part. The difference is memory latency, because instructions, latches
//! and pins are the same.

use anyhow::Result;

use super::harness::{Harness, case, number};

/// The experiment, in the format that users write.
const EXPERIMENT: &str = include_str!("logical_reads.toml");
/// Minimum share of the time that is memory latency, in per cent: with less, placements would
/// differ less under this load than memory itself does. 87 was measured (docs/instance.md).
const SHARE_MIN: f64 = 70.0;

pub(super) fn run(harness: &mut Harness) -> Result<()> {
    let run = harness.experiment(EXPERIMENT, &["--trials", "5", "--seconds", "1"])?;
    let rates = |name: &str| -> Result<[f64; 3]> {
        let case = case(&run, name)?;
        let [median, low, high] =
            ["/median", "/low", "/high"].map(|figure| number(case, figure).map(|it| it / 1e6));
        let (median, low, high) = (median?, low?, high?);
        let each_ns = 1000.0 / median;
        println!("{name}: {median:.2} M/s ({low:.2} to {high:.2}), {each_ns:.1} ns each");
        Ok([median, low, high])
    };
    let (memory, cache) = (rates("memory")?, rates("processor-cache")?);
    let share = |memory: f64, cache: f64| 100.0 * (1.0 - memory / cache);
    let median = share(memory[0], cache[0]);
    let found = format!(
        "{median:.0} % of the time is memory latency ({:.0} to {:.0} %, by the ends of the \
         intervals)",
        share(memory[2], cache[1]),
        share(memory[1], cache[2]),
    );
    let claim = format!("at least {SHARE_MIN} %");
    harness.claims.add(&found, &claim, median >= SHARE_MIN);
    Ok(())
}
