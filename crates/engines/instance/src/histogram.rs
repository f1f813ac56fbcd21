//! A histogram of durations with a relative error of at most one eighth.
//!
//! Buckets are logarithmic with eight linear steps per power of two, as in Gil Tene's HdrHistogram.
//! A library's histogram cannot lie in shared memory; 512 buckets cover 64-bit values.

use crate::layout::HISTOGRAM_BUCKETS;

/// Binary logarithm of the number of linear steps per power of two.
const STEP_BITS: u32 = 3;

/// Returns the index of the bucket that counts `value`.
#[inline]
pub(crate) fn bucket(value: u64) -> usize {
    let power = (value | 1).ilog2();
    if power < STEP_BITS {
        return value as usize;
    }
    let step = (value >> (power - STEP_BITS)) & ((1 << STEP_BITS) - 1);
    ((power - STEP_BITS + 1) << STEP_BITS) as usize + step as usize
}

/// Returns the middle of the range that bucket `index` counts.
fn middle(index: usize) -> u64 {
    let (power, step) = (
        (index >> STEP_BITS) as u32,
        (index & ((1 << STEP_BITS) - 1)) as u64,
    );
    if power == 0 {
        return step;
    }
    let shift = power - 1;
    let low = ((1u64 << STEP_BITS) + step) << shift;
    low + ((1u64 << shift) >> 1)
}

/// Returns the `share` quantile of a histogram; `None` if it is empty.
pub(crate) fn quantile(counts: &[u64; HISTOGRAM_BUCKETS], share: f64) -> Option<u64> {
    let total: u64 = counts.iter().sum();
    if total == 0 {
        return None;
    }
    let wanted = ((total as f64 * share).ceil() as u64).clamp(1, total);
    let mut seen = 0;
    let index = counts.iter().position(|&count| {
        seen += count;
        seen >= wanted
    })?;
    Some(middle(index))
}

#[cfg(test)]
mod tests {
    use super::{bucket, middle, quantile};
    use crate::layout::HISTOGRAM_BUCKETS;

    #[test]
    fn every_duration_has_a_bucket_whose_middle_is_near() {
        let mut value = 1u64;
        while value < u64::MAX / 3 {
            let index = bucket(value);
            assert!(index < HISTOGRAM_BUCKETS);
            let error = middle(index).abs_diff(value) as f64 / value as f64;
            assert!(error <= 0.125, "{value} counts as {}", middle(index));
            value = value * 3 / 2 + 1;
        }
        assert!(bucket(u64::MAX) < HISTOGRAM_BUCKETS);
    }

    #[test]
    fn quantiles_are_those_of_the_values() {
        let mut counts = [0; HISTOGRAM_BUCKETS];
        assert_eq!(quantile(&counts, 0.5), None);
        for value in 1..=1000u64 {
            counts[bucket(value)] += 1;
        }
        for (share, expected) in [(0.5, 500), (0.99, 990), (1.0, 1000)] {
            let found = quantile(&counts, share).unwrap();
            assert!(found.abs_diff(expected) <= expected / 8, "{share}: {found}");
        }
    }
}
