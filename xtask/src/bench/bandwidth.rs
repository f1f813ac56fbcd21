//! `cargo xtask bench bandwidth`: `numalab bandwidth` against `likwid-bench`, `mbw` and
//! `stress-ng --stream`: the same CPUs, the same number of bytes in all arrays, transparent huge
//! pages, bytes counted alike, in rounds that take turns.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde_json::Value;

use super::bandwidth_peers::{self, Does, Load, PEERS, Peer};
use super::claims::Claims;
use super::own_binary::OwnBinary;
use super::spread::Spread;

/// Rounds.
const ROUNDS: usize = 5;
/// The least ratio that is not "below": medians of so few rounds differ by as much by chance.
const RATIO_MIN: f64 = 0.98;
/// Our kernels that have a peer.
const KERNELS: [&str; 5] = ["read", "copy", "nt-copy", "triad", "nt-triad"];

/// Bytes per second of each round, by number of threads.
type Rates<K> = BTreeMap<(usize, K), Vec<f64>>;

/// Builds, measures, prints medians and ratios; fails when numalab is below a peer.
pub fn run() -> Result<()> {
    bandwidth_peers::require()?;
    let numalab = OwnBinary::build()?;
    let (mut ours, mut theirs) = (Rates::new(), Rates::new());
    let mut missing = BTreeMap::new();
    for _ in 0..ROUNDS {
        let mut loads = BTreeMap::new();
        for kernel in KERNELS {
            for (load, rate) in own_rates(&numalab, kernel)? {
                let rates: &mut Vec<f64> = ours.entry((load.cpus.len(), kernel)).or_default();
                rates.push(rate);
                loads.insert(load.cpus.len(), load);
            }
        }
        for (threads, load) in &loads {
            for peer in PEERS.iter().filter(|peer| peer.runs_with(*threads)) {
                match peer.measure(load) {
                    Ok(rate) => theirs.entry((*threads, *peer)).or_default().push(rate),
                    Err(error) => drop(missing.insert(*peer, format!("{error:#}"))),
                }
            }
        }
    }
    for (peer, error) in missing {
        println!("{} {}: not compared: {error}", peer.program, peer.test);
    }
    let mut claims = Claims::default();
    for ((threads, peer), rates) in &theirs {
        compare(*threads, peer, rates, &ours, &mut claims);
    }
    claims.conclude()
}

/// What numalab measures with one thread and with all of the first node, with the CPUs and the
/// bytes.
fn own_rates(numalab: &OwnBinary, kernel: &str) -> Result<Vec<(Load, f64)>> {
    let arguments = ["bandwidth", "--kernel", kernel, "--anyway"];
    numalab.json(&[&arguments[..], &["--rounds", "1", "--json"]].concat())?;
    let run = numalab.last_run()?;
    let cases = run["cases"].as_array().context("a run has cases")?;
    let first = cases.first().context("a run has a case")?;
    let one = cases.iter().find(|case| {
        let name = case["name"].as_str().unwrap_or_default();
        name.starts_with("threads-1-on-")
    });
    let cases = [Some(first), one].into_iter().flatten();
    cases.map(own_rate).collect()
}

fn own_rate(case: &Value) -> Result<(Load, f64)> {
    let trial = &case["trials"][0];
    let cpus = case["placement"]["cpus"].as_str().context("CPUs")?;
    let load = Load {
        cpus: cpus_of(cpus)?,
        bytes: trial["kernel"]["working_set_bytes"]
            .as_u64()
            .context("a case has a working set")?,
    };
    let rate = trial["value"].as_f64();
    Ok((load, rate.with_context(|| format!("{trial} has no value"))?))
}

/// The numbers of a list in the kernel's form, such as `0-3,8`.
fn cpus_of(list: &str) -> Result<Vec<u64>> {
    let mut cpus = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.parse::<u64>().with_context(|| format!("CPUs {list}"));
        cpus.extend(number(first)?..=number(last)?);
    }
    Ok(cpus)
}

fn compare(
    threads: usize,
    peer: &Peer,
    theirs: &[f64],
    ours: &Rates<&'static str>,
    claims: &mut Claims,
) {
    let of = |kernel: &'static str| Spread::of(ours.get(&(threads, kernel))?);
    let (what, mine) = match peer.does {
        Does::Kernel(kernel) => (kernel, of(kernel).map(|spread| spread.median)),
        Does::StreamMix => (
            "copy and triad",
            of("copy")
                .zip(of("triad"))
                .map(|(copy, triad)| mixed(copy.median, triad.median)),
        ),
    };
    if let Some((mine, theirs)) = mine.zip(Spread::of(theirs)) {
        let ratio = mine / theirs.median;
        let found = format!(
            "{threads} threads, {} {} against {what}: {:.2} and {:.2} GB/s, ratio {ratio:.3}",
            peer.program,
            peer.test,
            theirs.median / 1e9,
            mine / 1e9
        );
        claims.add(&found, "not below", ratio >= RATIO_MIN);
    }
}

/// The rate of copy, scale, add and triad in turn: two pairs of kernels that move 16 and 24 bytes
/// an element.
fn mixed(copy: f64, triad: f64) -> f64 {
    (32.0 + 48.0) / (32.0 / copy + 48.0 / triad)
}

#[cfg(test)]
mod tests {
    use super::{BTreeMap, Claims, PEERS, compare, cpus_of, mixed};

    #[test]
    fn a_mix_lies_between_its_kernels() {
        assert_eq!(mixed(10.0, 10.0), 10.0);
        assert!((mixed(10.0, 20.0) - 80.0 / 5.6).abs() < 1e-12);
    }

    #[test]
    fn lists_of_cpus_are_read() {
        assert_eq!(cpus_of("0-2,8").unwrap(), [0, 1, 2, 8]);
        assert!(cpus_of("").is_err());
        assert!(cpus_of("a-b").is_err());
    }

    #[test]
    fn a_peer_that_moves_more_is_told() {
        let ours = BTreeMap::from([((1, "read"), vec![30e9, 31e9, 29e9])]);
        let check = |theirs: f64, is_met: bool| {
            let mut claims = Claims::default();
            compare(1, &PEERS[0], &[theirs], &ours, &mut claims);
            assert_eq!(claims.conclude().is_ok(), is_met, "{theirs}");
        };
        check(29e9, true);
        check(30.5e9, true);
        check(31e9, false);
    }
}
