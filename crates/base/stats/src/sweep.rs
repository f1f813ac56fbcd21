//! The sweep of a calibration: a quantity is doubled until doubling gains almost nothing.

/// Consecutive doublings that must gain too little: a single one may be chance.
const FLAT_DOUBLINGS: u32 = 2;

/// A sweep under way: it says what to measure next, and is told the rate.
#[derive(Clone, Debug)]
pub struct Sweep {
    gain_min: f64,
    largest: u32,
    seen: u32,
    next: Option<u32>,
    best: Option<f64>,
    flat: u32,
}

impl Sweep {
    /// A sweep of 1, 2, 4, … up to `largest`. A doubling is flat if the rate exceeds the best so
    /// far by less than the share `gain_min`. Up to `seen` the sweep goes on whatever doublings
    /// gain.
    pub fn new(gain_min: f64, largest: u32, seen: u32) -> Self {
        Sweep {
            gain_min,
            largest,
            seen,
            next: Some(1),
            best: None,
            flat: 0,
        }
    }

    /// What to measure next; `None` at the end.
    pub fn next(&self) -> Option<u32> {
        let goes_on = |next: &u32| self.flat < FLAT_DOUBLINGS || *next <= self.seen;
        self.next
            .filter(|next| *next <= self.largest)
            .filter(goes_on)
    }

    /// Takes the rate of what [`Sweep::next`] returned.
    pub fn take(&mut self, rate: f64) {
        let gains = self
            .best
            .is_none_or(|best| rate > best * (1.0 + self.gain_min));
        self.flat = if gains { 0 } else { self.flat + 1 };
        self.best = Some(self.best.map_or(rate, |best| best.max(rate)));
        self.next = self.next.and_then(|next| next.checked_mul(2));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Sweep;

    fn last(mut sweep: Sweep, rates: &[f64]) -> u32 {
        let mut last = 0;
        let mut rates = rates.iter();
        while let Some(next) = sweep.next() {
            last = next;
            sweep.take(*rates.next().unwrap());
        }
        last
    }

    #[test]
    fn two_flat_doublings_end_it() {
        let check = |largest, seen, rates: &[f64], expected| {
            assert_eq!(
                last(Sweep::new(0.03, largest, seen), rates),
                expected,
                "{rates:?}"
            );
        };
        check(8192, 1, &[1.0, 2.0, 3.0, 3.05, 3.06], 16);
        // A doubling that gains in between starts the count over.
        check(8192, 1, &[1.0, 1.0, 2.0, 2.0, 2.0], 16);
        // What is lost is not gained again: the best counts.
        check(8192, 1, &[4.0, 1.0, 2.0], 4);
        check(8192, 8, &[1.0, 1.0, 1.0, 1.0], 8);
        check(5, 256, &[1.0, 1.0, 1.0], 4);
        check(0, 1, &[], 0);
    }

    proptest! {
        #[test]
        fn every_sweep_ends(rates in prop::collection::vec(any::<f64>(), 40), seen: u32) {
            prop_assert!(last(Sweep::new(0.03, u32::MAX, seen), &rates) >= 4);
        }
    }
}
