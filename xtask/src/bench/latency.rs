//! `cargo xtask bench latency`: compares the local latency and the depth curve of `numalab latency`
//! with lmbench's `lat_mem_rd` and a plain chase, in turns on the same CPU and all in transparent
//! huge pages; and measures the time that a curve takes. If the last-level cache is so large that
//! the time runs out, it says what it left out.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::claims::Claims;
use super::lat_mem_rd::LatMemRd;
use super::levels::Levels;
use super::own_binary::{Curve, OwnBinary};
use super::plain_chase::PlainChase;
use super::spread::Spread;

/// Maximum number of turns of a cell and the plain chase.
const TURNS: usize = 21;
/// Minimum number of these turns.
const TURNS_MIN: usize = 5;
/// Number of curves of numalab. Each is followed by one of the plain chase and one of `lat_mem_rd`,
/// which takes over a minute.
const CURVES: u32 = 2;
/// Maximum deviation from 1 of the median ratio of all working sets, and of the ratio of local
/// memory.
pub(super) const TOLERANCE: f64 = 0.02;
/// Maximum deviation from 1 of the median ratio of the working sets of one level, which are few.
const LEVEL_TOLERANCE: f64 = 0.1;
/// Minimum number of levels, caches or memory, that must be judged.
const LEVELS_MIN: usize = 2;
/// How long a curve to 1 GiB may take, in seconds.
const CURVE_S_MAX: f64 = 5.0;

/// Values by working set: numalab's and the other program's.
type Pairs = BTreeMap<u64, (Vec<f64>, Vec<f64>)>;

/// Builds, measures, and prints medians, ratios and the time of a curve; fails if a claim is not
/// met.
pub(super) fn run(limit: Duration) -> Result<()> {
    let peer = LatMemRd::fetch();
    let numalab = OwnBinary::build(limit)?;
    let plain = PlainChase::build(&numalab.folder)?;
    let mut claims = Claims::default();
    if let Err(error) = &peer {
        claims.not_compared("lat_mem_rd", &format!("{error:#}"));
    }
    let (cpu, bytes) = local_memory(&numalab, &plain, &mut claims)?;
    let levels = Levels::of_cpu(cpu)?;
    let (mut with_plain, mut with_peer) = (Pairs::new(), Pairs::new());
    let mut seconds = Vec::new();
    for turn in 0..CURVES {
        let curve = numalab.curve()?;
        seconds.push(curve.seconds);
        // The time left, shared by this and the later turns and by both other programs.
        let limit = numalab.supervisor.time_left() / (2 * (CURVES - turn)) / 10 * 9;
        let theirs = plain_curve(&numalab, &plain, &curve, bytes, limit)?;
        collect(&mut with_plain, &curve, &theirs);
        if let Ok(peer) = &peer {
            let theirs = peer.curve(&numalab.supervisor, curve.cpu, bytes >> 20, limit)?;
            if !theirs.is_whole {
                left_out("lat_mem_rd", &theirs.points, limit);
            }
            collect(&mut with_peer, &curve, &theirs.points);
        }
    }
    compare("plain chase", &with_plain, &levels, &mut claims);
    if peer.is_ok() {
        compare("lat_mem_rd", &with_peer, &levels, &mut claims);
    }
    let seconds = Spread::of(&seconds).context("there is a curve")?;
    let found = format!("curve of 1 KiB to 1 GiB: {seconds} s");
    claims.add(&found, "below 5 s", seconds.median < CURVE_S_MAX);
    claims.conclude()
}

/// Measures local memory in turns, for at most a third of the time; returns the CPU and the working
/// set.
fn local_memory(
    numalab: &OwnBinary,
    plain: &PlainChase,
    claims: &mut Claims,
) -> Result<(u64, u64)> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let (mut cpu, mut bytes) = (0, 0);
    let until = numalab.supervisor.time_left() / 3 * 2;
    for turn in 0..TURNS {
        if numalab.supervisor.time_left() < until && turn >= TURNS_MIN {
            println!(
                "LEFT OUT: {} of {TURNS} turns of local memory: no time",
                TURNS - turn
            );
            break;
        }
        // All turns use the working set that the first one found.
        let cell = numalab.cell((turn > 0).then_some(bytes))?;
        let place = (cell.cpu, None);
        let (ns, huge_bytes) = plain.measure(&numalab.supervisor, place, cell.bytes, turn + 1)?;
        ensure!(
            (cell.page_kind == "small") != (huge_bytes >= cell.bytes),
            "not alike: numalab measured in {} pages, the plain chase had {huge_bytes} of {} bytes \
             in huge ones",
            cell.page_kind,
            cell.bytes
        );
        (cpu, bytes) = (cell.cpu, cell.bytes);
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
    claims.add(&found, "within 2 %", is_within(ratio, TOLERANCE));
    Ok((cpu, bytes))
}

/// Runs the plain chase at the working sets of a curve that are powers of two, as far as the time
/// allows.
fn plain_curve(
    numalab: &OwnBinary,
    plain: &PlainChase,
    curve: &Curve,
    bytes: u64,
    limit: Duration,
) -> Result<Vec<(u64, f64)>> {
    let supervisor = &numalab.supervisor;
    let until = supervisor.time_left().saturating_sub(limit);
    let sizes = curve.points.iter().map(|(size, _)| *size);
    let mut points = Vec::new();
    for size in sizes.filter(|size| size.is_power_of_two() && *size <= bytes) {
        if supervisor.time_left() < until {
            left_out("the plain chase", &points, limit);
            break;
        }
        let (ns, _) = plain.measure(supervisor, (curve.cpu, None), size, points.len() + 1)?;
        points.push((size, ns));
    }
    Ok(points)
}

fn left_out(peer: &str, points: &[(u64, f64)], limit: Duration) {
    let reached = points.last().map_or(0, |(bytes, _)| bytes >> 10);
    println!(
        "LEFT OUT: {peer} above {reached} KiB: its {:.0} s were over",
        limit.as_secs_f64()
    );
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

/// Prints the medians of each working set with their ratio. Claims concern the median of all ratios
/// and that of each level, because few of the working sets are in memory.
fn compare(peer: &str, pairs: &Pairs, levels: &Levels, claims: &mut Claims) {
    let mut ratios = Vec::new();
    let mut by_level: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (bytes, (ours, theirs)) in pairs {
        if let Some((ours, theirs)) = Spread::of(ours).zip(Spread::of(theirs)) {
            let ratio = ours.median / theirs.median;
            let (kib, level) = (bytes >> 10, levels.of(*bytes));
            let name = level.unwrap_or("end of a cache");
            println!(
                "{kib:>8} KiB, {name}: numalab {ours} ns, {peer} {theirs} ns, ratio {ratio:.3}"
            );
            ratios.push(ratio);
            if let Some(level) = level {
                by_level.entry(level).or_default().push(ratio);
            }
        }
    }
    let Some(spread) = Spread::of(&ratios) else {
        return claims.not_compared(peer, "it has no working set of the curve");
    };
    let found = format!(
        "curve against {peer}, {} working sets: ratios {spread}",
        ratios.len()
    );
    claims.add(
        &found,
        "median within 2 %",
        is_within(spread.median, TOLERANCE),
    );
    let found = format!("curve against {peer}: {} levels", by_level.len());
    claims.add(&found, "two at least", by_level.len() >= LEVELS_MIN);
    for (level, ratios) in by_level {
        if let Some(spread) = Spread::of(&ratios) {
            let found = format!(
                "{level} against {peer}, {} working sets: {spread}",
                ratios.len()
            );
            let is_met = is_within(spread.median, LEVEL_TOLERANCE);
            claims.add(&found, "median within 10 %", is_met);
        }
    }
}

fn is_within(ratio: f64, tolerance: f64) -> bool {
    (ratio - 1.0).abs() <= tolerance
}

#[cfg(test)]
mod tests {
    use super::{Claims, Curve, Levels, Pairs, collect, compare};

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

    /// Returns the claims that curves with these ratios do not meet, by working set in KiB.
    fn not_met(ratios: &[(u64, f64)]) -> String {
        let pair = |(kib, ratio): &(u64, f64)| (kib << 10, (vec![*ratio], vec![1.0]));
        let pairs: Pairs = ratios.iter().map(pair).collect();
        let mut claims = Claims::default();
        compare("x", &pairs, &Levels::for_tests(), &mut claims);
        claims
            .conclude()
            .err()
            .map_or(String::new(), |it| it.to_string())
    }

    /// Working sets of L1, L2, L3 and memory, in KiB.
    const SIZES: [u64; 7] = [1, 2, 4, 128, 256, 4096, 128 << 10];

    #[test]
    fn a_median_ratio_beyond_2_percent_is_not_met() {
        assert_eq!(not_met(&SIZES.map(|kib| (kib, 1.019))), "");
        assert!(not_met(&SIZES.map(|kib| (kib, 1.03))).contains("median within 2 %"));
    }

    #[test]
    fn memory_alone_that_is_wrong_is_not_met() {
        let wrong_in_memory = |ratio| SIZES.map(|kib| (kib, if kib > 9999 { ratio } else { 1.0 }));
        assert_eq!(not_met(&wrong_in_memory(1.09)), "");
        let found = not_met(&wrong_in_memory(1.2));
        assert!(
            found.contains("memory against x, 1 working sets: 1.20"),
            "{found}"
        );
        // The end of a cache is shown but not judged.
        let with_an_end = [&SIZES.map(|kib| (kib, 1.0))[..], &[(32, 1.8)]].concat();
        assert_eq!(not_met(&with_an_end), "");
    }

    #[test]
    fn a_peer_without_working_sets_or_levels_is_not_met() {
        assert!(not_met(&[]).contains("x was not compared"));
        assert!(not_met(&[(1, 1.0), (2, 1.0)]).contains("1 levels"));
    }
}
