//! `cargo xtask bench latency`: the local latency and the depth curve of `numalab latency` against
//! lmbench's `lat_mem_rd` and a plain chase, in turns on the same CPU and all of them in
//! transparent huge pages; and the time that a curve takes.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};

use super::claims::Claims;
use super::lat_mem_rd::LatMemRd;
use super::own_binary::{Curve, OwnBinary};
use super::plain_chase::PlainChase;
use super::spread::Spread;

/// Turns of a cell and the plain chase.
const TURNS: usize = 21;
/// Curves of ours, after each of which comes one of `lat_mem_rd`, which takes over a minute.
const CURVES: usize = 2;
/// How far a median ratio may be from 1.
const TOLERANCE: f64 = 0.02;
/// How long a curve to 1 GiB may take, in seconds.
const CURVE_S_MAX: f64 = 5.0;

/// Values of a working set: ours and the other's.
type Pairs = BTreeMap<u64, (Vec<f64>, Vec<f64>)>;

/// Builds, measures, and prints medians, ratios and the time of a curve; fails when a claim is not
/// met.
pub fn run() -> Result<()> {
    let numalab = OwnBinary::build()?;
    let plain = PlainChase::build(&numalab.folder)?;
    let peer = LatMemRd::fetch();
    if let Err(error) = &peer {
        println!("lat_mem_rd: not compared: {error:#}");
    }
    let mut claims = Claims::default();
    let bytes = local_memory(&numalab, &plain, &mut claims)?;
    let (mut with_plain, mut with_peer) = (Pairs::new(), Pairs::new());
    let mut seconds = Vec::new();
    for turn in 0..CURVES {
        let curve = numalab.curve()?;
        seconds.push(curve.seconds);
        let sizes = curve.points.iter().map(|(bytes, _)| *bytes);
        let sizes = sizes.filter(|size| size.is_power_of_two() && *size <= bytes);
        let measure = |size| Ok((size, plain.measure(curve.cpu, size, turn + 1)?.0));
        let theirs: Result<Vec<(u64, f64)>> = sizes.map(measure).collect();
        collect(&mut with_plain, &curve, &theirs?);
        if let Ok(peer) = &peer {
            collect(&mut with_peer, &curve, &peer.curve(curve.cpu, bytes >> 20)?);
        }
    }
    compare("plain chase", &with_plain, &mut claims);
    if !with_peer.is_empty() {
        compare("lat_mem_rd", &with_peer, &mut claims);
    }
    let seconds = Spread::of(&seconds).context("there is a curve")?;
    let found = format!("curve of 1 KiB to 1 GiB: {seconds} s");
    claims.add(&found, "below 5 s", seconds.median < CURVE_S_MAX);
    claims.conclude()
}

/// Local memory in turns; says the working set.
fn local_memory(numalab: &OwnBinary, plain: &PlainChase, claims: &mut Claims) -> Result<u64> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let mut bytes = 0;
    for turn in 0..TURNS {
        let cell = numalab.cell()?;
        let (ns, huge_bytes) = plain.measure(cell.cpu, cell.bytes, turn + 1)?;
        ensure!(
            (cell.page_kind == "small") != (huge_bytes >= cell.bytes),
            "not alike: numalab measured in {} pages, the plain chase had {huge_bytes} of {} bytes \
             in huge ones",
            cell.page_kind,
            cell.bytes
        );
        bytes = cell.bytes;
        ours.push(cell.ns);
        theirs.push(ns);
    }
    let (ours, theirs) = (Spread::of(&ours), Spread::of(&theirs));
    let (ours, theirs) = ours.zip(theirs).context("there are turns")?;
    let ratio = ours.median / theirs.median;
    let found = format!(
        "{} MiB of local memory: numalab {ours} ns, plain chase {theirs} ns, ratio {ratio:.3}",
        bytes >> 20
    );
    claims.add(&found, "within 2 %", is_within(ratio));
    Ok(bytes)
}

/// Adds the points that both have.
fn collect(pairs: &mut Pairs, ours: &Curve, theirs: &[(u64, f64)]) {
    let theirs: BTreeMap<u64, f64> = theirs.iter().copied().collect();
    for (bytes, ns) in &ours.points {
        if let Some(other) = theirs.get(bytes) {
            let (mine, others) = pairs.entry(*bytes).or_default();
            mine.push(*ns);
            others.push(*other);
        }
    }
}

/// Prints the medians of each working set with their ratio; the median of the ratios is claimed.
fn compare(peer: &str, pairs: &Pairs, claims: &mut Claims) {
    let mut ratios = Vec::new();
    for (bytes, (ours, theirs)) in pairs {
        if let Some((ours, theirs)) = Spread::of(ours).zip(Spread::of(theirs)) {
            let ratio = ours.median / theirs.median;
            let kib = bytes >> 10;
            println!("{kib:>8} KiB: numalab {ours} ns, {peer} {theirs} ns, ratio {ratio:.3}");
            ratios.push(ratio);
        }
    }
    let Some(spread) = Spread::of(&ratios) else {
        return claims.add(peer, "has working sets of the curve", false);
    };
    let found = format!(
        "curve against {peer}, {} working sets: ratios {spread}",
        ratios.len()
    );
    claims.add(&found, "median within 2 %", is_within(spread.median));
}

fn is_within(ratio: f64) -> bool {
    (ratio - 1.0).abs() <= TOLERANCE
}

#[cfg(test)]
mod tests {
    use super::{Claims, Curve, Pairs, collect, compare};

    #[test]
    fn working_sets_that_both_have_are_compared() {
        let curve = Curve {
            cpu: 0,
            seconds: 1.0,
            points: vec![(1024, 1.0), (2048, 2.0), (4096, 4.0)],
        };
        let mut pairs = Pairs::new();
        collect(&mut pairs, &curve, &[(512, 9.0), (1024, 1.0), (4096, 2.0)]);
        assert_eq!(
            pairs.into_iter().collect::<Vec<_>>(),
            [
                (1024, (vec![1.0], vec![1.0])),
                (4096, (vec![4.0], vec![2.0]))
            ]
        );
    }

    #[test]
    fn a_median_ratio_beyond_2_percent_is_not_met() {
        let check = |theirs: f64, is_met: bool| {
            let pairs = Pairs::from([(1024, (vec![1.0], vec![theirs]))]);
            let mut claims = Claims::default();
            compare("x", &pairs, &mut claims);
            assert_eq!(claims.conclude().is_ok(), is_met, "{theirs}");
        };
        check(1.0, true);
        check(1.019, true);
        check(0.97, false);
        let mut claims = Claims::default();
        compare("x", &Pairs::new(), &mut claims);
        assert!(claims.conclude().is_err());
    }
}
