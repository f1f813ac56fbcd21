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
const ROUNDS: usize = 11;
/// A peer is above numalab when it was in so many of the rounds (two equals: in one of 170
/// comparisons, by the binomial distribution) and the median of the ratios is below
/// [`RATIO_MIN`].
const ROUNDS_BELOW: usize = 10;
/// The least ratio that is not "below" in any case.
const RATIO_MIN: f64 = 0.98;
/// Our kernels that have a peer.
const KERNELS: [&str; 6] = ["read", "nt-write", "nt-copy", "nt-triad", "copy", "triad"];

/// Ours and the peer's bytes per second of each round, by number of threads.
type Pairs = BTreeMap<(usize, Peer), Vec<(f64, f64)>>;

/// Builds, measures, prints medians and ratios; fails when numalab is below a peer.
pub fn run() -> Result<()> {
    bandwidth_peers::require()?;
    let numalab = OwnBinary::build()?;
    let (mut pairs, mut missing) = (Pairs::new(), BTreeMap::new());
    for _ in 0..ROUNDS {
        round(&numalab, &mut pairs, &mut missing)?;
    }
    for (peer, error) in missing {
        println!("{} {}: not compared: {error}", peer.program, peer.test);
    }
    let mut claims = Claims::default();
    for ((threads, peer), pairs) in &pairs {
        compare(*threads, peer, pairs, &mut claims);
    }
    claims.conclude()
}

/// Measures each of our kernels, and after it the peers that do the same.
fn round(
    numalab: &OwnBinary,
    pairs: &mut Pairs,
    missing: &mut BTreeMap<Peer, String>,
) -> Result<()> {
    let mut rates = BTreeMap::new();
    for kernel in KERNELS {
        for (load, rate) in own_rates(numalab, kernel)? {
            let threads = load.cpus.len();
            rates.insert((threads, kernel), rate);
            let peers = PEERS.iter().filter(|peer| peer.runs_with(threads));
            for peer in peers.filter(|peer| peer.does.ends_with(kernel)) {
                let ours = match peer.does {
                    Does::Kernel(_) => rate,
                    Does::StreamMix => mixed(rates[&(threads, "copy")], rate),
                };
                match peer.measure(&load) {
                    Ok(theirs) => pairs
                        .entry((threads, *peer))
                        .or_default()
                        .push((ours, theirs)),
                    Err(error) => drop(missing.insert(*peer, format!("{error:#}"))),
                }
            }
        }
    }
    Ok(())
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

fn compare(threads: usize, peer: &Peer, pairs: &[(f64, f64)], claims: &mut Claims) {
    let spread = |value: fn(&(f64, f64)) -> f64| {
        let values: Vec<f64> = pairs.iter().map(value).collect();
        Spread::of(&values).map(|spread| spread.divided_by(1e9))
    };
    let ratios: Vec<f64> = pairs.iter().map(|(ours, theirs)| ours / theirs).collect();
    let (ours, theirs) = (spread(|pair| pair.0), spread(|pair| pair.1));
    let Some(((ours, theirs), ratio)) = ours.zip(theirs).zip(Spread::of(&ratios)) else {
        return;
    };
    let below = ratios.iter().filter(|ratio| **ratio < 1.0).count();
    let found = format!(
        "{threads} threads, {} of numalab {ours} GB/s, {} {} {theirs} GB/s: ratio {ratio}, below \
         in {below} of {} rounds",
        peer.does.name(),
        peer.program,
        peer.test,
        ratios.len()
    );
    let is_below = ratio.median < RATIO_MIN && below >= ROUNDS_BELOW.min(ratios.len());
    claims.add(&found, "not below", !is_below);
}

/// The rate of copy, scale, add and triad in turn: two pairs of kernels that move 16 and 24 bytes
/// an element.
fn mixed(copy: f64, triad: f64) -> f64 {
    (32.0 + 48.0) / (32.0 / copy + 48.0 / triad)
}

#[cfg(test)]
mod tests {
    use super::{Claims, PEERS, compare, cpus_of, mixed};

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
        let check = |ratios: [f64; 11], is_met: bool| {
            let pairs: Vec<(f64, f64)> = ratios.map(|ratio| (ratio * 30e9, 30e9)).into();
            let mut claims = Claims::default();
            compare(1, &PEERS[0], &pairs, &mut claims);
            assert_eq!(claims.conclude().is_ok(), is_met, "{ratios:?}");
        };
        check([1.0; 11], true);
        check([0.99; 11], true);
        check([0.95; 11], false);
        let mut ratios = [0.9; 11];
        ratios[3] = 1.1;
        check(ratios, false);
        ratios[7] = 1.1;
        check(ratios, true);
    }
}
