//! Honest ranks: samples that cannot be distinguished have overlapping ranks.

use std::cmp::Ordering;

/// The possible ranks of a sample, 1 for the best. Enough other samples are better that it does not
/// rank before `best`, and enough are worse that it does not rank behind `worst`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rank {
    /// One more than the number of samples that are better.
    pub best: u32,
    /// The number of samples minus the number of worse ones.
    pub worst: u32,
}

impl Rank {
    /// Whether this is the rank of a sample that is better than all others.
    pub fn is_first(self) -> bool {
        self.worst == 1
    }
}

/// The ranks of `count` samples, each compared with every other: `compare` tells of two indices
/// whether the first is better (greater), worse (less), or indistinguishable (equal). (Such
/// sets of ranks from comparisons of pairs: Mogstad, Romano, Shaikh and Wilhelm 2024, "Inference
/// for Ranks with Applications to Mobility across Neighbourhoods and Academic Achievement across
/// Countries", The Review of Economic Studies 91.)
///
/// Being distinguishable is not transitive, so no single number can express it: of 1, 1 and 3 the
/// third may be as good as the second. Ranges can: where no sample is better than one of two and
/// worse than the other, two indistinguishable samples have a rank in common. Only a sample that is
/// better than all others has the rank 1 to 1.
pub fn ranks(count: usize, compare: impl Fn(usize, usize) -> Ordering) -> Vec<Rank> {
    let all = u32::try_from(count).unwrap_or(u32::MAX);
    let mut ranks = vec![
        Rank {
            best: 1,
            worst: all
        };
        count
    ];
    for one in 0..count {
        for other in one + 1..count {
            let (better, worse) = match compare(one, other) {
                Ordering::Greater => (one, other),
                Ordering::Less => (other, one),
                Ordering::Equal => continue,
            };
            ranks[better].worst -= 1;
            ranks[worse].best += 1;
        }
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::ratio_interval;
    use proptest::prelude::*;

    /// Ranks by the intervals of the ratios of the medians, in short form: `1 2-3 2-3`.
    fn shown(samples: &[&[f64]]) -> String {
        let ranks = ranks(samples.len(), |a, b| {
            match ratio_interval(samples[a], samples[b], 0.95) {
                Some(interval) if interval.low > 1.0 => Ordering::Greater,
                Some(interval) if interval.high < 1.0 => Ordering::Less,
                _ => Ordering::Equal,
            }
        });
        let ranks = ranks.iter().map(|rank| match rank.best == rank.worst {
            true => rank.best.to_string(),
            false => format!("{}-{}", rank.best, rank.worst),
        });
        ranks.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn clearly_different_samples_have_one_rank_each() {
        let slow = [3.48, 3.49, 3.50, 3.51, 3.52];
        let middle = [5.76, 5.78, 5.79, 5.80, 5.82];
        let fast = [8.60, 8.61, 8.62, 8.63, 8.64];
        assert_eq!(shown(&[&middle, &slow, &fast]), "2 3 1");
        assert_eq!(shown(&[&fast]), "1");
        assert_eq!(shown(&[]), "");
    }

    #[test]
    fn samples_that_cannot_be_told_apart_have_ranks_in_common() {
        let leader = [100.0, 101.0, 102.0, 103.0, 104.0];
        let near = [99.0, 100.0, 101.0, 102.0, 103.0];
        let far = [50.0, 51.0, 52.0, 53.0, 54.0];
        assert_eq!(shown(&[&far, &near, &leader]), "3 1-2 1-2");
        assert_eq!(shown(&[&leader, &leader]), "1-2 1-2");
        assert_eq!(shown(&[&[0.0; 5], &[0.0; 5]]), "1-2 1-2");
    }

    #[test]
    fn a_chain_of_ties_is_no_tie_of_its_ends() {
        let first = [104.0, 105.0, 106.0, 107.0, 108.0];
        let second = [101.0, 102.0, 103.0, 104.0, 105.0];
        let third = [98.0, 99.0, 100.0, 101.0, 102.0];
        assert_eq!(shown(&[&first, &second, &third]), "1-2 1-3 2-3");
    }

    #[test]
    fn one_that_scatters_may_have_any_rank() {
        let ranked = [[8.0; 5], [5.0; 5], [3.0; 5]];
        let scatters = [2.0, 4.0, 6.0, 8.0, 9.0];
        let samples: Vec<&[f64]> = ranked.iter().map(|it| &it[..]).collect();
        assert_eq!(
            shown(&[samples, vec![&scatters]].concat()),
            "1-2 2-3 3-4 1-4"
        );
    }

    proptest! {
        #[test]
        fn ranks_say_what_the_comparisons_say(
            count in 0usize..8,
            words in prop::collection::vec(-1i8..=1, 64),
        ) {
            let compare = |a: usize, b: usize| words[8 * a + b].cmp(&0);
            let ranks = ranks(count, compare);
            prop_assert_eq!(ranks.len(), count);
            let beats = |a: usize, b: usize| match a < b {
                true => compare(a, b) == Ordering::Greater,
                false => compare(b, a) == Ordering::Less,
            };
            for (index, rank) in ranks.iter().enumerate() {
                prop_assert!(1 <= rank.best && rank.best <= rank.worst);
                prop_assert!(rank.worst as usize <= count);
                let others = (0..count).filter(|other| *other != index);
                let wins = others.clone().all(|other| beats(index, other));
                prop_assert_eq!(rank.is_first(), wins);
                let better = others.filter(|other| beats(*other, index)).count();
                prop_assert_eq!(rank.best as usize, 1 + better);
            }
        }
    }
}
