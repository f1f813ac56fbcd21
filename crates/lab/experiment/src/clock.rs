//! Time as the runner sees it: real, or simulated so that a run can be tested to the digit.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

/// A clock that never goes back.
pub trait Clock {
    /// Seconds since some moment that does not change.
    fn now_s(&self) -> f64;
}

/// The machine's monotonic clock.
#[derive(Debug, Clone, Copy)]
pub struct RealClock {
    start: Instant,
}

impl RealClock {
    /// A clock that starts at 0 now.
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

/// A clock that stands still unless it is moved. Clones are the same clock.
#[derive(Debug, Clone, Default)]
pub struct SimulatedClock {
    now_s: Rc<Cell<f64>>,
}

impl SimulatedClock {
    /// A clock at 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Moves the clock on. A negative or unfit duration does not move it.
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
