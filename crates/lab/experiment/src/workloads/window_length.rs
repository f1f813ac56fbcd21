//! The length of the windows of a round, and of the unmeasured lead-in before each.

use model::LogicalReads;

/// Default lead-in, in seconds, where it cannot be measured, such as when fewer than two cases run
/// without a CPU limit.
pub(super) const LEAD_IN_USUAL_S: f64 = 0.03;
/// Minimum and maximum lead-in, in seconds.
const LEAD_IN_S: (f64, f64) = (0.01, 0.2);
/// Ratio of the lead-in to the time that a case loses while it refills its caches.
const TIMES_LOST: f64 = 4.0;
/// Minimum window, in seconds.
const WINDOW_S_MIN: f64 = 0.1;
/// Minimum ratio of a window to its lead-in.
const TIMES_LEAD_IN: f64 = 3.0;
/// Period of a CPU quota, in seconds: the kernel's default
/// (`Documentation/scheduler/sched-bwc.rst`), which numalab keeps. With a quota, a window holds
/// whole periods.
const PERIOD_S: f64 = 0.1;

/// The windows of a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct WindowLength {
    lead_in_s: f64,
    pub window_s: f64,
    pub windows: u32,
}

impl WindowLength {
    /// Computes the windows of cases that do `works`, measured for `all_s` each.
    ///
    /// Instance caging does not lengthen windows: in each window the next sessions have the first
    /// turns.
    pub(super) fn of(works: &[&LogicalReads], lead_in_s: f64, all_s: f64) -> Self {
        let least = WINDOW_S_MIN.max(lead_in_s * TIMES_LEAD_IN);
        if !works.iter().any(|work| work.load.cpu_quota.is_some()) {
            let windows = (all_s / least).floor().max(1.0);
            // Stretch the windows so that together they last as long as requested.
            return WindowLength {
                lead_in_s,
                window_s: all_s / windows,
                windows: windows.min(f64::from(u32::MAX)) as u32,
            };
        }
        let window_s = (least / PERIOD_S).ceil() * PERIOD_S;
        let windows = (all_s / window_s).round().max(1.0);
        WindowLength {
            lead_in_s,
            window_s,
            windows: windows.min(f64::from(u32::MAX)) as u32,
        }
    }

    /// Returns the unmeasured lead-in before each window of a case, in seconds. A group that slept
    /// spends its unused quota until its period ends, so with a quota the lead-in lasts at least
    /// one period.
    pub(super) fn lead_in_s(&self, work: &LogicalReads) -> f64 {
        match work.load.cpu_quota {
            Some(_) => self.lead_in_s.max(PERIOD_S),
            None => self.lead_in_s,
        }
    }
}

/// Derives the lead-in from a trace of (seconds since resume, work done): a multiple of the time
/// that the case lost against the rate that it reached.
pub(super) fn lead_in_of(points: &[(f64, u64)]) -> Option<f64> {
    let (end_s, all) = *points.last()?;
    let (middle_s, half) = *points.iter().find(|(at_s, _)| *at_s >= end_s / 2.0)?;
    let rate = (all - half) as f64 / (end_s - middle_s);
    if !rate.is_finite() || rate <= 0.0 {
        return None;
    }
    let lost_s = end_s - all as f64 / rate;
    Some((lost_s * TIMES_LOST).clamp(LEAD_IN_S.0, LEAD_IN_S.1))
}

#[cfg(test)]
mod tests {
    use model::{Allocation, Backing, LoadPlan, SgaPlan};

    use super::*;

    fn work(sessions: u32, cpu_count: Option<u32>, cpu_quota: Option<u32>) -> LogicalReads {
        LogicalReads {
            sga: SgaPlan {
                cache_bytes: 1 << 20,
                backing: Backing::Memfd,
                page_bytes: 4096,
                allocation: Allocation::OsDefault,
            },
            load: LoadPlan {
                sessions,
                cpu_count,
                cpu_quota,
                ..LoadPlan::default()
            },
        }
    }

    #[test]
    fn windows_are_short_but_hold_periods() {
        let check = |works: &[&LogicalReads], lead_in_s, all_s, expected: (f64, u32)| {
            let length = WindowLength::of(works, lead_in_s, all_s);
            let close = (length.window_s - expected.0).abs() < 1e-9;
            assert!(close && length.windows == expected.1, "{length:?}");
        };
        let free = work(2, None, None);
        check(&[&free, &free], 0.02, 2.0, (0.1, 20));
        check(&[&free, &free], 0.05, 2.0, (2.0 / 13.0, 13));
        check(&[&free, &free], 0.02, 0.25, (0.125, 2));
        check(&[&free, &free], 0.02, 0.05, (0.05, 1));
        check(&[&free, &work(4, Some(2), None)], 0.02, 2.0, (0.1, 20));
        let of_quota = work(4, None, Some(2));
        check(&[&free, &of_quota], 0.02, 2.0, (0.1, 20));
        check(&[&free, &of_quota], 0.06, 2.0, (0.2, 10));
        check(&[&free, &of_quota], 0.02, 0.25, (0.1, 3));
        let length = WindowLength::of(&[&free, &of_quota], 0.02, 2.0);
        assert_eq!(length.lead_in_s(&free), 0.02);
        assert_eq!(length.lead_in_s(&of_quota), 0.1);
    }

    #[test]
    fn a_lead_in_is_several_times_what_was_lost() {
        // Nothing for 10 ms, then 1000 per second.
        let points: Vec<(f64, u64)> = (1..=60_u32)
            .map(|step| (f64::from(step) * 0.002, u64::from(step) * 2))
            .map(|(at_s, work)| (at_s, work.saturating_sub(10)))
            .collect();
        let lead_in = lead_in_of(&points).unwrap();
        assert!((lead_in - 0.04).abs() < 0.002, "{lead_in}");
        let steady: Vec<(f64, u64)> = (1..=60_u32)
            .map(|step| (f64::from(step) * 0.002, u64::from(step) * 2))
            .collect();
        assert_eq!(lead_in_of(&steady), Some(0.01));
        assert_eq!(lead_in_of(&[(0.1, 0), (0.2, 0)]), None);
        assert_eq!(lead_in_of(&[]), None);
    }
}
