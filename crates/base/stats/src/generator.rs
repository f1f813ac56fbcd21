//! Random numbers that a stored seed reproduces on every machine and in every later version.
//!
//! ChaCha with 8 rounds (Bernstein 2008, "ChaCha, a variant of Salsa20"); the key is
//!
//! ```text
//! bytes  0..8   seed, little-endian
//! bytes  8..16  stream, little-endian
//! bytes 16..32  zero
//! ```
//!
//! so that one stored seed yields independent streams for separate purposes.

use std::collections::BTreeSet;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use statrs::distribution::{ContinuousCDF, Normal};

/// A seeded generator whose output is part of the stored format: it must never change.
#[derive(Debug, Clone)]
pub struct Generator {
    words: ChaCha8Rng,
}

impl Generator {
    /// The generator of one `stream` of `seed`. Different streams are independent.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..16].copy_from_slice(&stream.to_le_bytes());
        Generator {
            words: ChaCha8Rng::from_seed(key),
        }
    }

    /// A uniform random 64-bit word, for example as a seed.
    pub fn word(&mut self) -> u64 {
        self.words.next_u64()
    }

    /// A uniform random integer from 0 up to but not including `bound`; 0 for bound 0.
    ///
    /// The method is Lemire's (2019, "Fast Random Integer Generation in an Interval", ACM TOMACS
    /// 29): the high half of a product, rejecting the few low halves that would bias the result.
    pub fn below(&mut self, bound: u32) -> u32 {
        let mut product = u64::from(self.words.next_u32()) * u64::from(bound);
        if (product as u32) < bound {
            let rejected_below = bound.wrapping_neg() % bound;
            while (product as u32) < rejected_below {
                product = u64::from(self.words.next_u32()) * u64::from(bound);
            }
        }
        (product >> 32) as u32
    }

    /// Distinct integers below `bound`, ascending, every choice of `count` of them equally likely;
    /// all of them when there are no more.
    pub fn choose(&mut self, count: usize, bound: u64) -> Vec<u64> {
        if bound <= count as u64 {
            return (0..bound).collect();
        }
        // Words above the last whole multiple of the bound would bias towards low numbers.
        let rejected_from = u64::MAX - u64::MAX % bound;
        let mut chosen = BTreeSet::new();
        while chosen.len() < count {
            let word = self.word();
            if word < rejected_from {
                chosen.insert(word % bound);
            }
        }
        chosen.into_iter().collect()
    }

    /// A number strictly between 0 and 1: the middle of one of 2^52 equal steps.
    pub fn unit(&mut self) -> f64 {
        unit_of(self.word())
    }

    /// A standard normal deviate, by inversion of the distribution function. For simulations: its
    /// last digit may depend on the platform's logarithm.
    pub fn normal(&mut self) -> f64 {
        Normal::standard().inverse_cdf(self.unit())
    }

    /// Shuffles the items, every order equally likely (Fisher–Yates, in the form of
    /// Durstenfeld 1964, Communications of the ACM 7, algorithm 235).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            // More than 2^32 items would keep their tail; no list here comes near that.
            let bound = u32::try_from(last + 1).unwrap_or(u32::MAX);
            items.swap(last, self.below(bound) as usize);
        }
    }
}

/// The upper 52 bits of a word as a number between 0 and 1. With one bit more, the middle of a step
/// would not be a double, and that of the last one would be rounded to 1.
fn unit_of(word: u64) -> f64 {
    let step = word >> 12;
    (step as f64 + 0.5) * (-52.0f64).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_zero_seed_gives_the_published_key_stream() {
        // First bytes of the ChaCha8 key stream for a zero key and zero nonce:
        // 3e00ef2f895f40d67f5bb8e81f09a5a1… (draft-strombergson-chacha-test-vectors-01, TC1).
        let mut generator = Generator::new(0, 0);
        let words: Vec<u32> = (0..4).map(|_| generator.words.next_u32()).collect();
        assert_eq!(
            words,
            [
                u32::from_le_bytes([0x3e, 0x00, 0xef, 0x2f]),
                u32::from_le_bytes([0x89, 0x5f, 0x40, 0xd6]),
                u32::from_le_bytes([0x7f, 0x5b, 0xb8, 0xe8]),
                u32::from_le_bytes([0x1f, 0x09, 0xa5, 0xa1]),
            ]
        );
    }

    #[test]
    fn a_choice_is_of_different_numbers_and_favours_none() {
        assert_eq!(Generator::new(1, 0).choose(9, 4), [0, 1, 2, 3]);
        assert_eq!(Generator::new(1, 0).choose(0, 4), []);
        let mut times = [0_u32; 5];
        for seed in 0..2000 {
            let chosen = Generator::new(seed, 0).choose(2, 5);
            assert!(chosen.len() == 2 && chosen[0] < chosen[1] && chosen[1] < 5);
            for number in chosen {
                times[number as usize] += 1;
            }
        }
        // Expected 800 each, with a standard deviation of 22.
        assert!(
            times.iter().all(|times| (690..910).contains(times)),
            "{times:?}"
        );
    }

    #[test]
    fn a_seed_gives_the_same_order_for_ever() {
        let mut order = [0, 1, 2, 3, 4, 5, 6, 7];
        Generator::new(42, 0).shuffle(&mut order);
        assert_eq!(order, [5, 6, 3, 4, 1, 7, 2, 0]);
        let mut order = [0, 1, 2, 3, 4, 5, 6, 7];
        Generator::new(42, 1).shuffle(&mut order);
        assert_eq!(order, [5, 2, 1, 6, 0, 7, 3, 4]);
    }

    #[test]
    fn every_order_of_three_is_equally_likely() {
        let mut generator = Generator::new(1, 0);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..6_000 {
            let mut order = [0, 1, 2];
            generator.shuffle(&mut order);
            *counts.entry(order).or_insert(0u32) += 1;
        }
        assert_eq!(counts.len(), 6);
        // Five standard deviations of a binomial count: sqrt(6000 * 1/6 * 5/6) is 29.
        for (order, count) in counts {
            assert!(count.abs_diff(1_000) < 145, "{order:?}: {count}");
        }
    }

    #[test]
    fn bounds_that_divide_no_power_of_two_favour_none() {
        // Three quarters of all words: without rejection every third number would come twice as
        // often.
        let mut generator = Generator::new(5, 0);
        let mut times = [0_u32; 3];
        for _ in 0..6_000 {
            times[generator.below(3 << 30) as usize % 3] += 1;
        }
        // Five standard deviations of a binomial count: sqrt(6000 * 1/3 * 2/3) is 37.
        let is_even = |times: &u32| times.abs_diff(2_000) < 185;
        assert!(times.iter().all(is_even), "{times:?}");
        let mut low = 0_u32;
        for seed in 0..6_000 {
            low += u32::from(Generator::new(seed, 1).choose(1, 3 << 62)[0] < 1 << 62);
        }
        assert!(is_even(&low), "{low}");
    }

    #[test]
    fn a_unit_is_never_nought_nor_one() {
        assert!(unit_of(0) > 0.0 && unit_of(u64::MAX) < 1.0);
        assert_eq!(unit_of(1 << 63), 0.5 + (-53.0f64).exp2());
    }

    #[test]
    fn bounds_of_nought_and_one_leave_no_choice() {
        let mut generator = Generator::new(9, 9);
        assert_eq!(generator.below(0), 0);
        assert_eq!(generator.below(1), 0);
        generator.shuffle::<u8>(&mut []);
    }

    #[test]
    fn normal_deviates_have_mean_nought_and_deviation_one() {
        let mut generator = Generator::new(3, 0);
        let deviates: Vec<f64> = (0..20_000).map(|_| generator.normal()).collect();
        let mean = deviates.iter().sum::<f64>() / 20_000.0;
        let variance = deviates.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 19_999.0;
        assert!(mean.abs() < 0.03, "{mean}");
        assert!((variance - 1.0).abs() < 0.05, "{variance}");
    }

    proptest! {
        #[test]
        fn numbers_stay_below_their_bound(seed: u64, stream: u64, bound in 1u32..) {
            let mut generator = Generator::new(seed, stream);
            for _ in 0..20 {
                prop_assert!(generator.below(bound) < bound);
                let unit = generator.unit();
                prop_assert!(0.0 < unit && unit < 1.0);
                prop_assert!(generator.normal().is_finite());
            }
        }

        #[test]
        fn a_shuffle_keeps_every_item(seed: u64, len in 0usize..50) {
            let mut items: Vec<usize> = (0..len).collect();
            Generator::new(seed, 0).shuffle(&mut items);
            items.sort_unstable();
            prop_assert_eq!(items, (0..len).collect::<Vec<_>>());
        }
    }
}
