//! How long the trials of a run take, and how long it may.

use super::request::RunRequest;
use crate::Clock;

/// How long trials take, and how long the run may.
pub(super) struct Pace<'r> {
    pub clock: &'r dyn Clock,
    started_s: f64,
    bound_s: Option<f64>,
    /// What a trial takes, as far as is known before the first.
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

    /// Answers what each of them took.
    pub(super) fn add_trials_since(&mut self, begun_s: f64, trials: usize) -> f64 {
        let took_s = self.clock.now_s() - begun_s;
        self.trials_s += took_s;
        self.trials_done += u32::try_from(trials).unwrap_or(u32::MAX);
        took_s / trials.max(1) as f64
    }

    /// What a trial takes on average.
    pub(super) fn trial_s(&self) -> f64 {
        match self.trials_done {
            0 => self.guess_s,
            done => self.trials_s / f64::from(done),
        }
    }

    /// Seconds until the time bound.
    pub(super) fn until_bound_s(&self) -> f64 {
        let passed_s = self.clock.now_s() - self.started_s;
        self.bound_s
            .map_or(f64::INFINITY, |bound_s| bound_s - passed_s)
    }

    /// Whether the time bound has been reached.
    pub(super) fn is_over(&self) -> bool {
        self.until_bound_s() <= 0.0
    }

    /// Whether as much time again has passed: rounds that are still to be made had it.
    pub(super) fn is_long_over(&self) -> bool {
        let bound_s = self.bound_s.unwrap_or(f64::INFINITY);
        self.until_bound_s() <= -bound_s
    }

    /// Whether so many trials would end before the time bound.
    pub(super) fn has_time_for(&self, trials: usize) -> bool {
        self.trial_s() * trials as f64 <= self.until_bound_s()
    }

    /// Seconds the run is expected to take from here, at most.
    pub(super) fn seconds_left(&self, trials_left: u32) -> f64 {
        (self.trial_s() * f64::from(trials_left)).min(self.until_bound_s())
    }
}
