//! Tracks the duration of trials against the time bound of a run.

use super::request::RunRequest;
use crate::Clock;

/// The duration of trials so far, and the time bound of the run.
pub(super) struct Pace<'r> {
    pub clock: &'r dyn Clock,
    started_s: f64,
    bound_s: Option<f64>,
    /// Estimated duration of a trial before the first one has run, in seconds.
    guess_s: f64,
    trials_s: f64,
    pub trials_done: u32,
}

impl<'r> Pace<'r> {
    pub(super) fn new(request: &RunRequest, clock: &'r dyn Clock) -> Self {
        Pace {
            clock,
            started_s: clock.now_s(),
            bound_s: request.time_bound_s,
            guess_s: request.warm_up_s_max + request.window_s,
            trials_s: 0.0,
            trials_done: 0,
        }
    }

    /// Adds trials that ran since `begun_s` and returns the mean duration of each, in seconds.
    pub(super) fn add_trials_since(&mut self, begun_s: f64, trials: usize) -> f64 {
        let took_s = self.clock.now_s() - begun_s;
        self.trials_s += took_s;
        self.trials_done += u32::try_from(trials).unwrap_or(u32::MAX);
        took_s / trials.max(1) as f64
    }

    /// Returns the mean duration of a trial, in seconds.
    pub(super) fn trial_s(&self) -> f64 {
        match self.trials_done {
            0 => self.guess_s,
            done => self.trials_s / f64::from(done),
        }
    }

    /// Returns the seconds until the time bound.
    pub(super) fn until_bound_s(&self) -> f64 {
        let passed_s = self.clock.now_s() - self.started_s;
        self.bound_s
            .map_or(f64::INFINITY, |bound_s| bound_s - passed_s)
    }

    /// Returns whether the time bound has been reached.
    pub(super) fn is_over(&self) -> bool {
        self.until_bound_s() <= 0.0
    }

    /// Returns whether twice the time bound has passed: the grace for rounds that every run must
    /// have.
    pub(super) fn is_long_over(&self) -> bool {
        let bound_s = self.bound_s.unwrap_or(f64::INFINITY);
        self.until_bound_s() <= -bound_s
    }

    /// Returns whether this many trials would end before the time bound.
    pub(super) fn has_time_for(&self, trials: usize) -> bool {
        self.trial_s() * trials as f64 <= self.until_bound_s()
    }

    /// Returns the seconds that the run is expected to take from here, at most.
    pub(super) fn seconds_left(&self, trials_left: u32) -> f64 {
        (self.trial_s() * f64::from(trials_left)).min(self.until_bound_s())
    }
}
