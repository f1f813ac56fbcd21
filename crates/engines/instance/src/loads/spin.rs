//! A computation that accesses no memory: the negative control. The location of memory cannot
//! affect it; if it seems to, something else differs.
//!
//! One piece: 1,048,576 steps of a generator, in registers. Verified: the state after that many
//! steps, computed by squaring.

use super::Load;
use crate::Error;
use crate::buffer_cache::Reader;

/// Steps per piece.
const STEPS: u64 = 1 << 20;
/// A linear congruential generator modulo 2^64 (Knuth, MMIX): each step waits for the previous one.
const FACTOR: u64 = 6_364_136_223_846_793_005;
const SUMMAND: u64 = 1_442_695_040_888_963_407;

/// The load.
pub(super) struct Spin {
    seed: u64,
    state: u64,
    steps: u64,
}

impl Spin {
    pub(super) fn new(seed: u64) -> Self {
        Spin {
            seed,
            state: seed,
            steps: 0,
        }
    }
}

/// Returns the state after `steps` steps from `state`, in as many squarings as `steps` has bits
/// (Brown, "Random Number Generation with Arbitrary Strides", 1994).
fn after(state: u64, mut steps: u64) -> u64 {
    let (mut factor, mut summand) = (FACTOR, SUMMAND);
    let (mut all_factor, mut all_summand) = (1u64, 0u64);
    while steps > 0 {
        if steps & 1 == 1 {
            all_factor = all_factor.wrapping_mul(factor);
            all_summand = all_summand.wrapping_mul(factor).wrapping_add(summand);
        }
        summand = factor.wrapping_add(1).wrapping_mul(summand);
        factor = factor.wrapping_mul(factor);
        steps >>= 1;
    }
    all_factor.wrapping_mul(state).wrapping_add(all_summand)
}

impl Load for Spin {
    fn piece(&mut self, _: &mut Reader<'_>) -> Result<u64, Error> {
        let mut state = self.state;
        for _ in 0..STEPS {
            // Hide the value from the compiler, which could otherwise jump ahead as `after` does.
            state = std::hint::black_box(state.wrapping_mul(FACTOR).wrapping_add(SUMMAND));
        }
        self.state = state;
        self.steps += STEPS;
        Ok(STEPS)
    }

    fn memory(&self) -> Option<(usize, usize)> {
        None
    }

    fn verify(&mut self) -> Result<(), Error> {
        let expected = after(self.seed, self.steps);
        if self.state == expected {
            return Ok(());
        }
        Err(Error::WrongResult {
            what: "the state of the computation",
            found: format!("{:#x}", self.state),
            expected: format!("{expected:#x}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use model::SessionLoad;

    use super::super::Load;
    use super::super::load::tests::with_load;
    use super::{FACTOR, STEPS, SUMMAND, Spin, after};

    #[test]
    fn jumping_ahead_is_stepping() {
        let mut state = 42u64;
        for steps in 0..100 {
            assert_eq!(after(42, steps), state, "{steps} steps");
            state = state.wrapping_mul(FACTOR).wrapping_add(SUMMAND);
        }
    }

    #[test]
    fn steps_are_counted_and_verified() {
        with_load(SessionLoad::Spin, 0, |load, reader| {
            assert_eq!(load.piece(reader).unwrap(), STEPS);
            load.verify().unwrap();
            assert_eq!(load.memory(), None);
        });
        let mut wrong = Spin::new(1);
        wrong.steps = 1;
        assert!(wrong.verify().is_err());
    }
}
