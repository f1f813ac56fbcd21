//! The warm-up of a load: it lasts until the rate is steady, within limits.

use crate::is_steady;

/// Samples in each of the two halves that the steady-state rule compares.
const SAMPLES: usize = 3;
/// Maximum relative difference of the two halves.
const TOLERANCE: f64 = 0.05;
/// Samples in the shortest warm-up.
const SAMPLES_OF_SHORTEST: f64 = 4.0;
/// Longest time between two samples, s.
const STEP_S_MAX: f64 = 0.5;

/// A warm-up under way: it is told rates, and says when it has ended.
#[derive(Clone, Debug)]
pub struct WarmUp {
    s_min: f64,
    s_max: f64,
    rates: Vec<f64>,
}

impl WarmUp {
    /// A warm-up of at least `s_min` seconds that ends after `s_max`, steady or not.
    pub fn new(s_min: f64, s_max: f64) -> Self {
        WarmUp {
            s_min,
            s_max,
            rates: Vec::new(),
        }
    }

    /// Seconds between two samples; `s_least` is the time that a rate needs to be measured.
    pub fn step_s(&self, s_least: f64) -> f64 {
        let step_s = self.s_min / SAMPLES_OF_SHORTEST;
        step_s.max(s_least).min(STEP_S_MAX)
    }

    /// Takes the rate of the last step, `seconds` after the begin. Once the warm-up has ended,
    /// returns whether the rate is steady. It is not while it `is_partial`, without the rate of
    /// some session.
    pub fn ends(&mut self, rate: f64, is_partial: bool, seconds: f64) -> Option<bool> {
        self.rates.push(rate);
        let steady = !is_partial && is_steady(&self.rates, SAMPLES, TOLERANCE) == Some(true);
        ((steady && seconds >= self.s_min) || seconds >= self.s_max).then_some(steady)
    }
}

#[cfg(test)]
mod tests {
    use super::WarmUp;

    /// Returns the number of samples after which it ends, and whether it is steady then.
    fn ending(rates: &[f64], partial: usize) -> Option<(usize, bool)> {
        let mut warm_up = WarmUp::new(2.0, 9.0);
        let step_s = warm_up.step_s(0.02);
        assert_eq!(step_s, 0.5);
        (1..).zip(rates).find_map(|(count, rate)| {
            let ended = warm_up.ends(*rate, count <= partial, count as f64 * step_s);
            Some((count, ended?))
        })
    }

    #[test]
    fn it_ends_when_the_rate_is_steady() {
        assert_eq!(ending(&[100.0; 20], 0), Some((6, true)));
        let climbs: Vec<f64> = (1..=20).map(|it| f64::from(it * it)).collect();
        assert_eq!(ending(&climbs, 0), Some((18, false)));
        assert_eq!(ending(&[100.0; 20], 8), Some((9, true)));
        assert_eq!(ending(&[0.0; 17], 0), None);
    }

    #[test]
    fn a_step_is_a_quarter_of_the_shortest_within_limits() {
        let check = |s_min, s_least, expected| {
            assert_eq!(
                WarmUp::new(s_min, 10.0).step_s(s_least),
                expected,
                "{s_min}"
            );
        };
        check(0.4, 0.02, 0.1);
        check(0.0, 0.02, 0.02);
        check(0.4, 0.15, 0.15);
        check(60.0, 0.15, 0.5);
    }
}
