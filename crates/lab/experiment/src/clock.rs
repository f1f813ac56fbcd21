//! The runner's clock: real, or simulated so that tests can check a run exactly.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

/// A monotonic clock.
pub trait Clock {
    /// Returns the seconds since a fixed moment.
    fn now_s(&self) -> f64;
}

/// The machine's monotonic clock.
#[derive(Debug, Clone, Copy)]
pub struct RealClock {
    start: Instant,
}

impl RealClock {
    /// Starts a clock at 0.
    pub fn start() -> Self {
        RealClock {
            start: Instant::now(),
        }
    }
}

impl Clock for RealClock {
    fn now_s(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }
}

/// A clock that stands still until advanced. Clones share the same time.
#[derive(Debug, Clone, Default)]
pub struct SimulatedClock {
    now_s: Rc<Cell<f64>>,
}

impl SimulatedClock {
    /// Creates a clock at 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Advances the clock. A negative or non-finite duration has no effect.
    pub fn advance(&self, seconds: f64) {
        if seconds.is_finite() && seconds > 0.0 {
            self.now_s.set(self.now_s.get() + seconds);
        }
    }
}

impl Clock for SimulatedClock {
    fn now_s(&self) -> f64 {
        self.now_s.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_never_go_back() {
        let clock = SimulatedClock::new();
        let same = clock.clone();
        clock.advance(1.5);
        clock.advance(-1.0);
        clock.advance(f64::NAN);
        assert_eq!(same.now_s(), 1.5);
        let real = RealClock::start();
        let first = real.now_s();
        assert!(first >= 0.0 && real.now_s() >= first);
    }
}
