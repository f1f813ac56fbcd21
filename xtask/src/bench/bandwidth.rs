//! `cargo xtask bench bandwidth`: compares `numalab bandwidth` with `likwid-bench`, `mbw` and
//! `stress-ng --stream`: the same CPUs, the same number of bytes in all arrays (`stress-ng` sizes
//! its own), transparent huge pages, bytes counted alike, in alternating rounds.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use super::bandwidth_peers::{self, Does, Load, PEERS, Peer};
use super::claims::Claims;
use super::own_binary::OwnBinary;
use super::spread::Spread;

/// Number of rounds.
const ROUNDS: usize = 11;
/// numalab is below a peer if it was slower in at least this many rounds (for two equals, in one of
/// 170 comparisons, by the binomial distribution) and the median ratio is below [`RATIO_MIN`].
const ROUNDS_BELOW: usize = 10;
/// The smallest median ratio that never counts as below.
const RATIO_MIN: f64 = 0.98;
/// numalab is also below a peer if the ratio was below [`RATIO_FAR`] in at least this many rounds:
/// medians of two equals scatter by a few per cent (docs/latency.md), but not three quarters of the
/// rounds by 5 %.
const ROUNDS_FAR_BELOW: usize = 8;
/// The ratio below which a round is far below.
const RATIO_FAR: f64 = 0.95;
/// The kernels of numalab that have a peer.
const KERNELS: [&str; 6] = ["read", "nt-write", "nt-copy", "nt-triad", "copy", "triad"];

/// A comparison: the number of threads, and the peer.
type Key = (usize, Peer);

/// The measurements of all rounds.
#[derive(Default)]
struct Rounds {
    /// Bytes per second of numalab and of the peer in each round.
    pairs: BTreeMap<Key, Vec<(f64, f64)>>,
    /// Number of rounds in which the peer failed, and why it failed first.
    failures: BTreeMap<Key, (usize, String)>,
    /// The kernels of numalab that were measured, with the number of threads.
    own: BTreeSet<(usize, &'static str)>,
}

/// Builds, measures, prints medians and ratios; fails if numalab is below a peer, or if a peer that
/// this machine can run could not be compared.
pub(super) fn run(limit: Duration) -> Result<()> {
    bandwidth_peers::require()?;
    let numalab = OwnBinary::build(limit)?;
    let flags = processor_flags()?;
    let (peers, unable): (Vec<Peer>, Vec<Peer>) = PEERS
        .iter()
        .partition(|peer| peer.needs().is_none_or(|flag| flags.contains(flag)));
    for peer in unable {
        let flag = peer.needs().unwrap_or_default();
        println!("LEFT OUT: {}: this processor has no {flag}", peer.name());
    }
    let mut rounds = Rounds::default();
    for _ in 0..ROUNDS {
        round(&numalab, &peers, &mut rounds)?;
    }
    let mut claims = Claims::default();
    judge(&rounds, &mut claims);
    claims.conclude()
}

/// Returns the flags of the processor, as in /proc/cpuinfo.
fn processor_flags() -> Result<BTreeSet<String>> {
    let text = std::fs::read_to_string("/proc/cpuinfo").context("read /proc/cpuinfo")?;
    let line = text.lines().find(|line| line.starts_with("flags"));
    let words = line.into_iter().flat_map(str::split_whitespace);
    Ok(words.map(str::to_owned).collect())
}

/// Measures each kernel of numalab, followed by the peers that do the same.
fn round(numalab: &OwnBinary, peers: &[Peer], rounds: &mut Rounds) -> Result<()> {
    let mut rates = BTreeMap::new();
    for kernel in KERNELS {
        for (load, rate) in own_rates(numalab, kernel)? {
            let threads = load.cpus.len();
            rates.insert((threads, kernel), rate);
            rounds.own.insert((threads, kernel));
            let peers = peers.iter().filter(|peer| peer.runs_with(threads));
            for peer in peers.filter(|peer| peer.does.ends_with(kernel)) {
                let ours = match peer.does {
                    Does::Kernel(_) => rate,
                    Does::StreamMix => mixed(rates[&(threads, "copy")], rate),
                };
                numalab.supervisor.check()?;
                let theirs = peer.measure(&numalab.supervisor, &load);
                rounds.add((threads, *peer), ours, theirs);
            }
        }
    }
    Ok(())
}

impl Rounds {
    fn add(&mut self, key: Key, ours: f64, theirs: Result<f64>) {
        match theirs {
            Ok(theirs) => self.pairs.entry(key).or_default().push((ours, theirs)),
            Err(error) => {
                let why = format!("{error:#}");
                self.failures.entry(key).or_insert((0, why)).0 += 1;
            }
        }
    }
}

/// Checks that every peer answered in every round, that every kernel has a peer, and that numalab
/// is below none.
fn judge(rounds: &Rounds, claims: &mut Claims) {
    for ((threads, peer), (count, why)) in &rounds.failures {
        let name = format!("{} with {threads} threads", peer.name());
        claims.not_compared(&name, &format!("it failed in {count} rounds: {why}"));
    }
    let failed = |key: &Key| rounds.failures.contains_key(key);
    let compared: Vec<_> = rounds
        .pairs
        .iter()
        .filter(|(key, _)| !failed(key))
        .collect();
    if rounds.own.is_empty() {
        claims.not_compared("numalab bandwidth", "nothing was measured");
    }
    for (threads, kernel) in &rounds.own {
        let is_peer = |(of, peer): &Key| of == threads && peer.does.is_of(kernel);
        if !compared.iter().any(|(key, _)| is_peer(key)) {
            let name = format!("{kernel} of numalab with {threads} threads");
            claims.not_compared(&name, "it has no peer here");
        }
    }
    for ((threads, peer), pairs) in compared {
        compare(*threads, peer, pairs, claims);
    }
}

/// Measures a kernel with all threads of the first node and with one; returns the CPUs, the bytes
/// and the rate of each.
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

/// Parses a list in the kernel's format, such as `0-3,8`.
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
    let rounds_below = |limit: f64| ratios.iter().filter(|ratio| **ratio < limit).count();
    let (below, far) = (rounds_below(1.0), rounds_below(RATIO_FAR));
    let found = format!(
        "{threads} threads, {} of numalab {ours} GB/s, {} {theirs} GB/s: ratio {ratio}, below in \
         {below} of {} rounds, by 5 % in {far}",
        peer.does.name(),
        peer.name(),
        ratios.len()
    );
    let is_below = ratio.median < RATIO_MIN && below >= ROUNDS_BELOW;
    let is_far_below = far >= ROUNDS_FAR_BELOW;
    claims.add(&found, "not below", !is_below && !is_far_below);
}

/// Returns the rate of copy, scale, add and triad in turn: two kernels that move 16 bytes per
/// element, and two that move 24.
fn mixed(copy: f64, triad: f64) -> f64 {
    (32.0 + 48.0) / (32.0 / copy + 48.0 / triad)
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::{Claims, KERNELS, PEERS, ROUNDS, Rounds, compare, cpus_of, judge, mixed};

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
        let check = |ratios: [f64; ROUNDS], is_met: bool| {
            let pairs: Vec<(f64, f64)> = ratios.map(|ratio| (ratio * 30e9, 30e9)).into();
            let mut claims = Claims::default();
            compare(1, &PEERS[0], &pairs, &mut claims);
            assert_eq!(claims.conclude().is_ok(), is_met, "{ratios:?}");
        };
        // This many rounds at a ratio, the others above 1.
        let with = |count: usize, ratio: f64| {
            let mut ratios = [1.1; ROUNDS];
            ratios[..count].fill(ratio);
            ratios
        };
        check(with(11, 1.0), true);
        check(with(11, 0.99), true);
        check(with(11, 0.97), false);
        check(with(10, 0.97), false);
        check(with(9, 0.97), true);
        check(with(9, 0.9), false);
        check(with(8, 0.9), false);
        check(with(7, 0.9), true);
    }

    /// Returns rounds in which one thread measures every kernel and every peer is as fast as
    /// numalab, except those that fail.
    fn rounds(fails: impl Fn(usize, &str) -> bool) -> Rounds {
        let mut rounds = Rounds {
            own: KERNELS.map(|kernel| (1, kernel)).into(),
            ..Rounds::default()
        };
        for round in 0..ROUNDS {
            for peer in PEERS {
                let theirs = match fails(round, &peer.name()) {
                    true => Err(anyhow!("no such program")),
                    false => Ok(30e9),
                };
                rounds.add((1, *peer), 30e9, theirs);
            }
        }
        rounds
    }

    #[test]
    fn peers_that_fail_are_told() {
        let check = |rounds: Rounds, expected: &[&str]| {
            let mut claims = Claims::default();
            judge(&rounds, &mut claims);
            let said = claims
                .conclude()
                .err()
                .map_or(String::new(), |it| it.to_string());
            assert_eq!(said.is_empty(), expected.is_empty(), "{said}");
            for part in expected {
                assert!(said.contains(part), "{part} is not in {said}");
            }
        };
        check(rounds(|_, _| false), &[]);
        let all = ["it failed in 11 rounds: no such program", "read of numalab"];
        check(rounds(|_, _| true), &all);
        let one = ["mbw -t0 with 1 threads was not compared: it failed in 1 rounds"];
        check(rounds(|round, name| round == 3 && name == "mbw -t0"), &one);
        check(Rounds::default(), &["nothing was measured"]);
        // A processor that can run none of the peers of a kernel.
        let mut without = rounds(|_, _| false);
        without
            .pairs
            .retain(|(_, peer), _| !peer.does.is_of("read"));
        check(
            without,
            &["read of numalab with 1 threads was not compared"],
        );
    }
}
