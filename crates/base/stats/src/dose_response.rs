//! What a unit of work costs by how far its memory is, from doses: windows in random order in which
//! a known part of the pages was moved.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::Interval;
use crate::interval::is_probability;
use crate::quantile::sorted;

/// The fewest blocks of windows of which there is an interval.
const BLOCKS_MIN: usize = 5;
/// This share of the blocks is trimmed at each end, so that a burst does not decide.
const TRIMMED: f64 = 0.2;
/// Doses that bend by more than chance at this confidence are no line.
const BEND_CONFIDENCE: f64 = 0.99;
/// What the line may be wrong by beyond the doses, as a share of the change that it predicts there:
/// queues and overlap of accesses bend it. A model of the slowdown by far memory was within a tenth
/// for more than 99 of 100 of 265 workloads (SupMario: Liu et al. 2024, "Dissecting CXL Memory
/// Performance at Scale", arXiv:2409.14317).
const MODEL_ERROR: f64 = 0.1;

/// A line through doses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DoseResponse {
    /// By how much the cost changes for each unit of distance, as a share of that without a dose.
    pub slope: f64,
    /// The interval of that.
    pub interval: Interval,
    /// Blocks of windows.
    pub blocks: usize,
    /// Whether the doses are no line.
    pub is_bent: bool,
    /// The largest dose, with its sign.
    largest: f64,
}

impl DoseResponse {
    /// Fits blocks of windows, each with the distance that its dose added (0: none) and its cost.
    /// Noise that all windows of a block share, and drift between blocks, cancel.
    ///
    /// `None` for fewer than five blocks, for a block that has no two distances, for costs that are
    /// not above 0, and for a confidence outside 0..1 (both ends excluded).
    pub fn of(blocks: &[Vec<(f64, f64)>], confidence: f64) -> Option<Self> {
        if blocks.len() < BLOCKS_MIN || !is_probability(confidence) {
            return None;
        }
        let lines: Vec<Line> = blocks
            .iter()
            .map(|it| Line::of(it))
            .collect::<Option<_>>()?;
        let slopes: Vec<f64> = lines.iter().map(|it| it.slope).collect();
        let bends: Vec<f64> = lines.iter().filter_map(|it| it.bend).collect();
        let (slope, interval) = trimmed_mean(&slopes, confidence)?;
        let bent = trimmed_mean(&bends, BEND_CONFIDENCE);
        let distances = blocks.iter().flatten().map(|it| it.0);
        let largest = distances.max_by(|one, other| one.abs().total_cmp(&other.abs()))?;
        Some(DoseResponse {
            slope,
            interval,
            blocks: blocks.len(),
            is_bent: bent.is_some_and(|(_, interval)| !interval.contains(0.0)),
            largest,
        })
    }

    /// Whether the doses show nothing above noise.
    pub fn is_noise(&self) -> bool {
        self.interval.contains(0.0)
    }

    /// By how much the cost changes with this distance more, as a share: the estimate, and an
    /// interval that holds the error of the line beyond the doses.
    pub fn change(&self, distance: f64) -> (f64, Interval) {
        let Interval {
            low,
            high,
            confidence,
        } = self.interval;
        let ends = [low * distance, high * distance];
        let is_beyond = distance * self.largest < 0.0;
        let dosed = if is_beyond { 0.0 } else { self.largest.abs() };
        let beyond = (distance.abs() - dosed).max(0.0);
        let error = MODEL_ERROR * self.slope.abs() * beyond;
        let interval = Interval {
            // Nothing costs less than nothing.
            low: (ends[0].min(ends[1]) - error).max(-1.0),
            high: (ends[0].max(ends[1]) + error).max(-1.0),
            confidence,
        };
        ((self.slope * distance).max(-1.0), interval)
    }
}

/// The line of one block, as shares of the cost without a dose.
struct Line {
    slope: f64,
    /// How far the windows bend, in one direction or the other; `None` of fewer than three.
    bend: Option<f64>,
}

impl Line {
    /// By least squares.
    fn of(windows: &[(f64, f64)]) -> Option<Self> {
        let count = windows.len() as f64;
        let mean = |of: &dyn Fn(&(f64, f64)) -> f64| windows.iter().map(of).sum::<f64>() / count;
        let (x, y) = (mean(&|it| it.0), mean(&|it| it.1));
        let spread = mean(&|it| (it.0 - x).powi(2));
        let slope = mean(&|it| (it.0 - x) * (it.1 - y)) / spread;
        let base = y - slope * x;
        // A part of the squares of distances that no line holds.
        let square = mean(&|it| it.0 * it.0);
        let with_line = mean(&|it| it.0 * it.0 * (it.0 - x)) / spread;
        let left = |it: f64| it * it - square - with_line * (it - x);
        let norm = mean(&|it| left(it.0).powi(2)).sqrt();
        let bend = mean(&|it| left(it.0) * it.1) / norm / base;
        let line = Line {
            slope: slope / base,
            bend: (norm > 1e-9 * spread).then_some(bend),
        };
        (line.slope.is_finite() && base > 0.0).then_some(line)
    }
}

/// The trimmed mean with the interval of Tukey and McLaughlin 1963, "Less vulnerable confidence and
/// significance procedures for location based on a single sample", Sankhya A 25.
fn trimmed_mean(values: &[f64], confidence: f64) -> Option<(f64, Interval)> {
    let values = sorted(values)?;
    let count = values.len();
    let cut = (TRIMMED * count as f64).floor() as usize;
    let kept = count - 2 * cut;
    if kept < 3 {
        return None;
    }
    let mean = values[cut..count - cut].iter().sum::<f64>() / kept as f64;
    let (least, most) = (values[cut], values[count - cut - 1]);
    let winsorised: Vec<f64> = values.iter().map(|it| it.clamp(least, most)).collect();
    let middle = winsorised.iter().sum::<f64>() / count as f64;
    let squares = winsorised
        .iter()
        .map(|it| (it - middle).powi(2))
        .sum::<f64>();
    let error = (squares / (count as f64 - 1.0) * count as f64).sqrt() / kept as f64;
    let t = StudentsT::new(0.0, 1.0, kept as f64 - 1.0).ok()?;
    let half = t.inverse_cdf(0.5 + confidence / 2.0) * error;
    let interval = Interval {
        low: mean - half,
        high: mean + half,
        confidence,
    };
    Some((mean, interval))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Generator;

    const DOSES: [f64; 4] = [0.0, 0.05, 0.1, 0.2];

    /// Blocks whose windows cost `cost` of their distance, with drift and noise.
    fn blocks(
        count: usize,
        noise: f64,
        seed: u64,
        cost: impl Fn(f64) -> f64,
    ) -> Vec<Vec<(f64, f64)>> {
        let mut generator = Generator::new(seed, 3);
        let mut drift = 0.0;
        let mut block = || {
            drift += 0.05 * generator.normal();
            let mut order = DOSES;
            generator.shuffle(&mut order);
            let mut window = |dose: f64| {
                (
                    dose,
                    cost(dose) * (drift + noise * generator.normal()).exp(),
                )
            };
            order.map(&mut window).to_vec()
        };
        (0..count).map(|_| block()).collect()
    }

    #[test]
    fn a_line_without_noise_is_found() {
        let found = DoseResponse::of(&blocks(8, 0.0, 1, |dose| 5.0 * (1.0 - 0.4 * dose)), 0.95);
        let found = found.unwrap();
        assert!((found.slope + 0.4).abs() < 1e-9, "{found:?}");
        assert!(!found.is_bent && !found.is_noise());
        let (middle, interval) = found.change(1.0);
        assert!((middle + 0.4).abs() < 1e-9);
        // A tenth of what is predicted beyond the doses.
        assert!((interval.low + 0.432).abs() < 1e-6 && (interval.high + 0.368).abs() < 1e-6);
        let (_, within) = found.change(0.2);
        assert!((within.high - within.low).abs() < 1e-6, "{within:?}");
        // On the other side, nothing was dosed.
        let (_, away) = found.change(-0.2);
        assert!((away.high - 0.088).abs() < 1e-6, "{away:?}");
        assert_eq!(found.change(9.0).1.low, -1.0);
    }

    #[test]
    fn what_is_no_line_is_noticed() {
        let found = DoseResponse::of(&blocks(20, 0.002, 2, |dose| 1.0 + 3.0 * dose * dose), 0.95);
        assert!(found.unwrap().is_bent);
    }

    #[test]
    fn intervals_hold_the_truth_and_no_effect_is_noise() {
        let sessions = 400;
        let (mut holds, mut shown, mut bent) = (0, 0, 0);
        for seed in 0..sessions {
            let found = DoseResponse::of(&blocks(20, 0.02, seed, |dose| 1.0 + 0.5 * dose), 0.95);
            let found = found.unwrap();
            holds += u32::from(found.change(1.0).1.contains(0.5));
            bent += u32::from(found.is_bent);
            let none = DoseResponse::of(&blocks(20, 0.02, seed, |_| 1.0), 0.95).unwrap();
            shown += u32::from(!none.is_noise());
        }
        println!("of {sessions}: {holds} hold, {shown} show what is not there, {bent} are bent");
        assert!(
            holds >= 372 && shown <= 28 && bent <= 12,
            "{holds} {shown} {bent}"
        );
    }

    #[test]
    fn too_few_or_unfit_blocks_have_no_line() {
        let good = blocks(5, 0.01, 1, |_| 1.0);
        assert!(DoseResponse::of(&good, 0.95).is_some());
        assert_eq!(DoseResponse::of(&good[..4], 0.95), None);
        assert_eq!(DoseResponse::of(&good, 1.0), None);
        for unfit in [vec![], vec![(0.0, 1.0)], vec![(0.0, 1.0), (0.1, f64::NAN)]] {
            let blocks: Vec<_> = good.iter().cloned().chain([unfit]).collect();
            assert_eq!(DoseResponse::of(&blocks, 0.95), None);
        }
    }
}
