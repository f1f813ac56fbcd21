//! Finds caches in a depth curve: plateaus of latency, and how far each reaches.
//!
//! The logarithm of the curve is fitted by steps: of all ways to cut it into level pieces, the one
//! with the least sum of squares plus a fixed charge for each piece (optimal partitioning: Jackson
//! et al. 2005, "An Algorithm for Optimal Partitioning of Data on an Interval", IEEE Signal
//! Processing Letters 12). A piece that is short in bytes is not a level but the transition to the
//! next.

use model::{CurveLevel, CurvePoint};

/// The charge for a piece, in squared natural logarithms: eight points on each side of a step have
/// to differ by a factor of 1.4 to pay for it.
const PIECE_CHARGE: f64 = 0.45;

/// Levels that differ by a smaller factor are one: within the second level, latency rises by up to
/// half when the first-level TLB no longer reaches.
const LEVEL_FACTOR: f64 = 1.6;

/// A piece between two others is a transition unless its last working set is at least this many
/// times its first: a cache is at least four times the one before it, and the transition between
/// them takes an octave at most.
const SPAN_MIN: f64 = 2.0;

/// The levels that a curve shows, the nearest first; the last one has no end. Points are sorted by
/// working set; those without a positive figure are skipped.
pub fn curve_levels(points: &[CurvePoint]) -> Vec<CurveLevel> {
    let fit = |point: &&CurvePoint| point.ns.is_finite() && point.ns > 0.0;
    let points: Vec<CurvePoint> = points.iter().filter(fit).copied().collect();
    let pieces = merged(&points, without_transitions(&points, pieces(&points)));
    let level = |(index, piece): (usize, &Piece)| {
        let ns = piece.ns(&points);
        let next = pieces.get(index + 1).map(|next| next.ns(&points));
        CurveLevel {
            ns,
            fits_bytes: next.map(|next| fits_bytes(&points[piece.begin..], ns, next)),
        }
    };
    pieces.iter().enumerate().map(level).collect()
}

/// Points `begin..end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Piece {
    begin: usize,
    end: usize,
}

impl Piece {
    /// The median figure of its points.
    fn ns(&self, points: &[CurvePoint]) -> f64 {
        let mut figures: Vec<f64> = points[self.begin..self.end].iter().map(|p| p.ns).collect();
        figures.sort_unstable_by(f64::total_cmp);
        figures[figures.len() / 2]
    }
}

/// The optimal cut of the curve into pieces.
fn pieces(points: &[CurvePoint]) -> Vec<Piece> {
    // Prefix sums, so that the cost of a piece takes constant time.
    let mut sums = vec![(0.0, 0.0)];
    for point in points {
        let logarithm = point.ns.ln();
        let (sum, squares) = sums[sums.len() - 1];
        sums.push((sum + logarithm, squares + logarithm * logarithm));
    }
    let cost = |begin: usize, end: usize| {
        let (sum, squares) = (sums[end].0 - sums[begin].0, sums[end].1 - sums[begin].1);
        (squares - sum * sum / (end - begin) as f64).max(0.0) + PIECE_CHARGE
    };
    // The cheapest way to cut the points before each end, and where its last piece begins.
    let mut best: Vec<(f64, usize)> = vec![(0.0, 0)];
    for end in 1..=points.len() {
        let ways = (0..end).map(|begin| (best[begin].0 + cost(begin, end), begin));
        let cheapest = ways.min_by(|(one, _), (other, _)| one.total_cmp(other));
        best.push(cheapest.expect("there is a way to begin a piece"));
    }
    let mut pieces = Vec::new();
    let mut end = points.len();
    while end > 0 {
        let begin = best[end].1;
        pieces.push(Piece { begin, end });
        end = begin;
    }
    pieces.reverse();
    pieces
}

/// Drops the short pieces between others.
fn without_transitions(points: &[CurvePoint], pieces: Vec<Piece>) -> Vec<Piece> {
    let last = pieces.len().saturating_sub(1);
    let span = |piece: &Piece| {
        points[piece.end - 1].bytes as f64 / points[piece.begin].bytes.max(1) as f64
    };
    let is_level =
        |(index, piece): &(usize, Piece)| *index == 0 || *index == last || span(piece) >= SPAN_MIN;
    let levels = pieces.into_iter().enumerate().filter(is_level);
    levels.map(|(_, piece)| piece).collect()
}

/// Joins neighbouring pieces that are one level.
fn merged(points: &[CurvePoint], pieces: Vec<Piece>) -> Vec<Piece> {
    let mut merged: Vec<Piece> = Vec::new();
    for piece in pieces {
        match merged.last_mut() {
            Some(last) if piece.ns(points) < last.ns(points) * LEVEL_FACTOR => {
                last.end = piece.end;
            }
            _ => merged.push(piece),
        }
    }
    merged
}

/// The largest working set before the curve comes nearer to the next level than to this.
fn fits_bytes(points: &[CurvePoint], ns: f64, next: f64) -> u64 {
    let half_way = (ns * next).sqrt();
    let fitting = points.iter().take_while(|point| point.ns < half_way);
    fitting.last().map_or(0, |point| point.bytes)
}

#[cfg(test)]
mod tests {
    use model::CurvePoint;
    use proptest::prelude::*;

    use super::curve_levels;

    fn point(bytes: u64, ns: f64) -> CurvePoint {
        CurvePoint {
            bytes,
            ns,
            ns_min: ns,
            ns_max: ns,
        }
    }

    /// Levels as `ns up to KiB`.
    fn shown(points: &[CurvePoint]) -> Vec<String> {
        let levels = curve_levels(points);
        let line = |level: &model::CurveLevel| match level.fits_bytes {
            Some(bytes) => format!("{:.1} up to {}", level.ns, bytes >> 10),
            None => format!("{:.1}", level.ns),
        };
        levels.iter().map(line).collect()
    }

    #[test]
    fn the_caches_of_article_002_are_found() {
        // The lines of lat_mem_rd that the article prints: MiB and ns. Its author reads off a
        // first level of 32 KiB, a second of 256 KiB and a third of 16 MiB.
        let text = include_str!("../../tests/hops/article-002-lat-mem-rd-local.txt");
        let points: Vec<CurvePoint> = text
            .lines()
            .filter_map(|line| {
                let (mib, ns) = line.split_once(' ')?;
                let bytes = (mib.parse::<f64>().ok()? * 1024.0 * 1024.0) as u64;
                Some(point(bytes, ns.parse().ok()?))
            })
            .collect();
        assert_eq!(points.len(), 44);
        let levels = curve_levels(&points);
        let ns: Vec<f64> = levels.iter().map(|level| level.ns).collect();
        assert_eq!(ns.len(), 4, "{levels:?}");
        for (found, expected) in ns.iter().zip([1.117, 3.35, 10.84, 52.4]) {
            assert!((found / expected - 1.0).abs() < 0.03, "{ns:?}");
        }
        assert_eq!(levels[0].fits_bytes.map(|bytes| bytes >> 10), Some(32));
        let second = levels[1].fits_bytes.unwrap() >> 10;
        assert!((192..=256).contains(&second), "{second}");
        let third = levels[2].fits_bytes.unwrap() >> 20;
        assert!((13..=16).contains(&third), "{third}");
        assert_eq!(levels[3].fits_bytes, None);
    }

    /// Four points to an octave from 1 KiB on.
    fn curve(ns: impl Fn(f64) -> f64, octaves: u32) -> Vec<CurvePoint> {
        let sizes = (0..octaves * 4).map(|step| 1024.0 * 2f64.powf(f64::from(step) / 4.0));
        sizes.map(|bytes| point(bytes as u64, ns(bytes))).collect()
    }

    #[test]
    fn steps_are_levels_and_slopes_are_not() {
        let ns = |bytes: f64| match bytes {
            bytes if bytes <= 32768.0 => 1.1,
            bytes if bytes <= 1048576.0 => 4.0,
            // From the third level to memory in one octave and a half.
            bytes if bytes <= 16777216.0 => 15.0,
            bytes if bytes <= 33554432.0 => 15.0 * (bytes / 16777216.0).powi(3),
            _ => 140.0,
        };
        let expected = [
            "1.1 up to 32",
            "4.0 up to 1024",
            "15.0 up to 23170",
            "140.0",
        ];
        assert_eq!(shown(&curve(ns, 19)), expected);
    }

    #[test]
    fn a_level_curve_has_one_level() {
        assert_eq!(shown(&curve(|_| 80.0, 10)), ["80.0"]);
        assert_eq!(shown(&[point(1024, 1.0)]), ["1.0"]);
        assert_eq!(shown(&[]), Vec::<String>::new());
    }

    proptest! {
        #[test]
        fn no_curve_panics(figures in prop::collection::vec(any::<f64>(), 0..40)) {
            let points: Vec<CurvePoint> = figures
                .iter()
                .enumerate()
                .map(|(index, ns)| point(1024 << (index % 50), *ns))
                .collect();
            let levels = curve_levels(&points);
            prop_assert!(levels.iter().rev().skip(1).all(|level| level.fits_bytes.is_some()));
        }

        #[test]
        fn noise_of_a_few_percent_makes_no_levels(
            noise in prop::collection::vec(0.95..1.05f64, 80),
        ) {
            let noisy = |bytes: f64, ns: f64| ns * noise[(bytes.log2() * 4.0) as usize % 80];
            let points = curve(|bytes| noisy(bytes, if bytes < 1e6 { 4.0 } else { 20.0 }), 18);
            prop_assert_eq!(curve_levels(&points).len(), 2);
        }
    }
}
