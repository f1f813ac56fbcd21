//! Ranks that do not pretend: samples that cannot be told apart share one.

use crate::bootstrap::VALUES_MIN;
use crate::quantile::median;

/// Which median is the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Best {
    /// The highest: rates.
    Highest,
    /// The lowest: times.
    Lowest,
}

/// Ranks of samples, 1 for the best median.
///
/// The samples are taken from the best median to the worst (equal medians in the order given). The
/// first leads a group; the next one joins it, sharing its rank, unless `told_apart` says of the
/// indices of the leader and itself that they differ; then it leads the next group, ranked one more
/// than the number of samples before it: 1, 1, 3. Being tied is not transitive: the last of a group
/// may well be told apart from the first of the next and yet not from that one's neighbours.
///
/// `None` for samples that are empty or otherwise cannot have an interval: fewer than
/// [`VALUES_MIN`] values, or one that is NaN or infinite.
pub fn ranks(
    samples: &[&[f64]],
    best: Best,
    told_apart: impl Fn(usize, usize) -> bool,
) -> Vec<Option<u32>> {
    let mut by_median: Vec<(usize, f64)> = samples
        .iter()
        .enumerate()
        .filter(|(_, sample)| sample.len() >= VALUES_MIN)
        .filter_map(|(index, sample)| Some((index, median(sample)?)))
        .collect();
    by_median.sort_by(|(_, a), (_, b)| match best {
        Best::Highest => b.total_cmp(a),
        Best::Lowest => a.total_cmp(b),
    });

    let mut ranks = vec![None; samples.len()];
    let mut group: Option<(usize, u32)> = None;
    for (position, (index, _)) in by_median.into_iter().enumerate() {
        let (leader, rank) = match group {
            Some((leader, rank)) if !told_apart(leader, index) => (leader, rank),
            _ => (index, position as u32 + 1),
        };
        ranks[index] = Some(rank);
        group = Some((leader, rank));
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::ratio_interval;
    use proptest::prelude::*;

    /// Ranks by the intervals of the ratios of the medians.
    fn ranks(samples: &[&[f64]], best: Best, seed: u64) -> Vec<Option<u32>> {
        super::ranks(samples, best, |a, b| {
            let interval = ratio_interval(samples[a], samples[b], 0.95, seed);
            interval.is_some_and(|interval| !interval.contains(1.0))
        })
    }

    fn check(samples: &[&[f64]], expected: &[Option<u32>]) {
        assert_eq!(ranks(samples, Best::Highest, 7), expected);
    }

    #[test]
    fn clearly_different_samples_have_their_own_ranks() {
        let slow = [3.48, 3.49, 3.50, 3.51, 3.52];
        let middle = [5.76, 5.78, 5.79, 5.80, 5.82];
        let fast = [8.60, 8.61, 8.62, 8.63, 8.64];
        check(&[&middle, &slow, &fast], &[Some(2), Some(3), Some(1)]);
    }

    #[test]
    fn of_times_the_lowest_is_the_best() {
        let near = [80.0, 81.0, 82.0, 83.0, 84.0];
        let far = [210.0, 211.0, 212.0, 213.0, 214.0];
        let ranks = ranks(&[&far, &near, &far], Best::Lowest, 7);
        assert_eq!(ranks, [Some(2), Some(1), Some(2)]);
    }

    #[test]
    fn samples_that_overlap_share_the_leaders_rank() {
        let leader = [100.0, 101.0, 102.0, 103.0, 104.0];
        let near = [99.0, 100.0, 101.0, 102.0, 103.0];
        let far = [50.0, 51.0, 52.0, 53.0, 54.0];
        check(&[&far, &near, &leader], &[Some(3), Some(1), Some(1)]);
        check(&[&leader, &leader], &[Some(1), Some(1)]);
    }

    #[test]
    fn ties_are_with_the_leader_and_not_handed_on() {
        let first = [104.0, 105.0, 106.0, 107.0, 108.0];
        let second = [101.0, 102.0, 103.0, 104.0, 105.0];
        let third = [98.0, 99.0, 100.0, 101.0, 102.0];
        check(&[&first, &second, &third], &[Some(1), Some(1), Some(3)]);
    }

    #[test]
    fn samples_without_an_interval_have_no_rank() {
        let good = [1.0, 2.0, 3.0, 4.0, 5.0];
        let holed = [1.0, 2.0, f64::NAN, 4.0, 5.0];
        check(&[], &[]);
        check(&[&[]], &[None]);
        check(&[&[9.0, 9.0, 9.0, 9.0], &good], &[None, Some(1)]);
        check(&[&good, &holed, &[]], &[Some(1), None, None]);
    }

    #[test]
    fn rates_of_nought_are_not_told_apart() {
        check(&[&[0.0; 5], &[0.0; 5]], &[Some(1), Some(1)]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn ranks_follow_the_medians(
            samples in prop::collection::vec(prop::collection::vec(0.1..1e6f64, 0..8), 0..5),
            seed: u64,
        ) {
            let slices: Vec<&[f64]> = samples.iter().map(Vec::as_slice).collect();
            let ranks = ranks(&slices, Best::Highest, seed);
            prop_assert_eq!(ranks.len(), samples.len());
            for (a, rank_a) in samples.iter().zip(&ranks) {
                prop_assert_eq!(rank_a.is_none(), a.len() < VALUES_MIN);
                for (b, rank_b) in samples.iter().zip(&ranks) {
                    if rank_a.is_some() && rank_b.is_some() && median(a) > median(b) {
                        prop_assert!(rank_a <= rank_b);
                    }
                }
            }
            prop_assert!(ranks.iter().all(Option::is_none) || ranks.contains(&Some(1)));
        }
    }
}
