//! An interval and its confidence.

/// The fewest values an interval is made from.
///
/// No interval from a sample is wider than the sample, and the range of n values misses the median
/// with probability 2^(1−n): 6 % for five values, 12 % for four, 25 % for three. For a ratio, two
/// samples of n values that do not differ are fully separated with probability 2 / C(2n, n): under
/// 1 % for five values, 10 % for three. Below five, no interval is honest, so there is none.
pub const VALUES_MIN: usize = 5;

/// Whether this is a probability strictly between 0 and 1.
pub(crate) fn is_probability(value: f64) -> bool {
    value > 0.0 && value < 1.0
}

/// An interval, its ends included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end, not below `low`.
    pub high: f64,
    /// How often intervals computed like this one contain the true value, at least: 0.95.
    pub confidence: f64,
}

impl Interval {
    /// Whether `value` lies in the interval.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Half the width, as a share of `center`: 0.02 reads "within 2 %".
    ///
    /// `None` when the center is 0 or the result is not finite.
    pub fn relative_half_width(&self, center: f64) -> Option<f64> {
        let share = (self.high / 2.0 - self.low / 2.0) / center.abs();
        share.is_finite().then_some(share)
    }

    /// The interval of 1 / x.
    #[must_use]
    pub fn inverse(&self) -> Self {
        Interval {
            low: 1.0 / self.high,
            high: 1.0 / self.low,
            confidence: self.confidence,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Interval, is_probability};

    #[test]
    fn relative_half_width_is_a_share_of_the_center() {
        let interval = Interval {
            low: 98.0,
            high: 102.0,
            confidence: 0.95,
        };
        assert_eq!(interval.relative_half_width(100.0), Some(0.02));
        assert_eq!(interval.relative_half_width(-100.0), Some(0.02));
        assert_eq!(interval.relative_half_width(0.0), None);
        assert_eq!(interval.relative_half_width(f64::NAN), None);
    }

    #[test]
    fn an_interval_holds_its_ends_and_what_is_between_them() {
        let interval = Interval {
            low: 2.0,
            high: 4.0,
            confidence: 0.95,
        };
        let inside = [1.9, 2.0, 3.0, 4.0, 4.1, f64::NAN].map(|value| interval.contains(value));
        assert_eq!(inside, [false, true, true, true, false, false]);
        let expected = Interval {
            low: 0.25,
            high: 0.5,
            confidence: 0.95,
        };
        assert_eq!(interval.inverse(), expected);
    }

    #[test]
    fn what_is_certain_or_impossible_is_no_probability_here() {
        let found = [-0.1, 0.0, 1e-300, 0.5, 1.0, 1.1, f64::NAN].map(is_probability);
        assert_eq!(found, [false, false, true, true, false, false, false]);
    }
}
