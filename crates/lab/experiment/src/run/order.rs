//! The order of trials and their seeds, all derived from the one seed that a run stores.
//!
//! A round holds each case once, in its own random order: changes during a run (heat, other
//! programs) affect all cases alike. The streams of the seed are
//!
//! ```text
//! 0 and 1            resampling (crate stats)
//! 2^32               calibration
//! 2 · 2^32 + round   order of a round
//! 3 · 2^32 + round   data and keys of a round
//! 4 · 2^32 + round   order of the windows of a round
//! ```

use stats::Generator;

const STREAM_CALIBRATION: u64 = 1 << 32;
const STREAM_ORDER: u64 = 2 << 32;
const STREAM_DATA: u64 = 3 << 32;
const STREAM_WINDOWS: u64 = 4 << 32;

/// Shuffles the cases of a round.
pub(crate) fn shuffle_round(seed: u64, round: u32, cases: &mut [usize]) {
    Generator::new(seed, STREAM_ORDER + u64::from(round)).shuffle(cases);
}

/// Returns the seed for data and keys, the same for every case of a round.
pub(crate) fn data_seed(seed: u64, round: u32) -> u64 {
    Generator::new(seed, STREAM_DATA + u64::from(round)).word()
}

/// Returns the seed for the order of the windows of a round.
pub(crate) fn windows_seed(seed: u64, round: u32) -> u64 {
    Generator::new(seed, STREAM_WINDOWS + u64::from(round)).word()
}

/// Returns the seed for the calibration's data and keys.
pub(crate) fn calibration_seed(seed: u64) -> u64 {
    Generator::new(seed, STREAM_CALIBRATION).word()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(seed: u64, round: u32) -> Vec<usize> {
        let mut cases: Vec<usize> = (0..5).collect();
        shuffle_round(seed, round, &mut cases);
        cases
    }

    #[test]
    fn a_seed_gives_the_same_rounds_for_ever() {
        let orders = [order(1, 0), order(1, 1), order(2, 0)];
        assert_eq!(orders, [[2, 3, 0, 4, 1], [4, 3, 0, 1, 2], [1, 3, 4, 0, 2]]);
        assert_eq!(
            (data_seed(1, 0), calibration_seed(1)),
            (6973301302382589191, 13076808476879205290)
        );
    }

    #[test]
    fn each_case_is_first_about_as_often_as_any_other() {
        let mut firsts = [0u32; 5];
        for round in 0..1_000 {
            firsts[order(9, round)[0]] += 1;
        }
        // Five standard deviations of a binomial count: sqrt(1000 * 0.2 * 0.8) is 12.6.
        assert!(
            firsts.iter().all(|count| count.abs_diff(200) < 64),
            "{firsts:?}"
        );
    }

    #[test]
    fn seeds_of_data_differ_by_round_and_from_calibration() {
        let mut seeds: Vec<u64> = (0..100).map(|round| data_seed(5, round)).collect();
        seeds.push(calibration_seed(5));
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 101);
    }
}
