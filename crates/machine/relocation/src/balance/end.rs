//! When a balancing has reached its end.

use model::{BalanceEnd, BalanceSample};

/// The last seconds in which pages that come back are counted, and the fewest in which they have
/// settled. The kernel scans a task's memory at most once per second of its CPU time
/// (kernel/sched/fair.c, `sysctl_numa_balancing_scan_period_min`).
const WINDOW_S: f64 = 10.0;
/// Without a hint fault for so long after every task has been scanned, none will come.
const NO_FAULTS_S: f64 = 30.0;
/// Changes of fewer pages than this, as a share of those that are watched, are none.
const SETTLED_SHARE: f64 = 0.005;
/// With changes of more pages than this, of which at least half come back, pages move back and
/// forth.
const PING_PONG_SHARE: f64 = 0.02;

/// Pages that stay where they are for so long have settled, in seconds, where the kernel scans the
/// memory of a process after at most `scan_period_s`: in a shorter time, a process whose pages are
/// elsewhere may not have been scanned at all.
pub(super) fn settled_after_s(scan_period_s: f64) -> f64 {
    scan_period_s.max(WINDOW_S)
}

/// Judges samples, oldest first; `None` while there is no reason to end.
pub(super) fn of(samples: &[BalanceSample], settled_after_s: f64) -> Option<BalanceEnd> {
    let now_s = samples.last()?.at_s;
    if samples.iter().all(|it| it.hint_faults == 0) {
        let is_late = now_s >= settled_after_s + NO_FAULTS_S;
        return is_late.then_some(BalanceEnd::NoFaults);
    }
    let since = |seconds: f64| {
        let from = samples.partition_point(|it| it.at_s <= now_s - seconds);
        (now_s >= seconds).then(|| &samples[from..])
    };
    let window = since(WINDOW_S)?;
    let watched = window.last()?.pages_watched as f64;
    let sum = |window: &[BalanceSample], of: fn(&BalanceSample) -> u64| {
        window.iter().map(of).sum::<u64>() as f64
    };
    let changed = sum(window, |it| it.pages_changed);
    let returned = sum(window, |it| it.pages_returned);
    if changed > PING_PONG_SHARE * watched && returned * 2.0 >= changed {
        return Some(BalanceEnd::PingPong);
    }
    let window = since(settled_after_s)?;
    // While the kernel is stopped, no page could change.
    let was_stopped = window.iter().any(|it| it.stopped_s > 0.0);
    let has_settled = sum(window, |it| it.pages_changed) <= SETTLED_SHARE * watched;
    (has_settled && !was_stopped).then_some(BalanceEnd::Settled)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn samples(seconds: u32, of: impl Fn(u32) -> (u64, u64, u64)) -> Vec<BalanceSample> {
        let sample = |second| {
            let (hint_faults, pages_changed, pages_returned) = of(second);
            BalanceSample {
                at_s: f64::from(second),
                hint_faults,
                pages_watched: 1000,
                pages_changed,
                pages_returned,
                ..BalanceSample::default()
            }
        };
        (1..=seconds).map(sample).collect()
    }

    /// Judges samples of a kernel that scans every process within 10 s.
    fn soon(samples: &[BalanceSample]) -> Option<BalanceEnd> {
        of(samples, settled_after_s(1.0))
    }

    #[test]
    fn pages_that_stay_have_settled() {
        let moves_at_first = |second| match second {
            1..=5 => (100, 200, 0),
            _ => (50, 0, 0),
        };
        assert_eq!(soon(&samples(9, moves_at_first)), None);
        assert_eq!(soon(&samples(14, moves_at_first)), None);
        let settled = Some(BalanceEnd::Settled);
        assert_eq!(soon(&samples(15, moves_at_first)), settled);
        assert_eq!(soon(&samples(12, |_| (100, 100, 3))), None);
    }

    #[test]
    fn pages_have_not_settled_before_every_process_was_scanned() {
        let settled_after_s = settled_after_s(60.0);
        let moves_late = |second| match second {
            50 => (100, 800, 0),
            _ => (100, 0, 0),
        };
        let ends = |seconds| of(&samples(seconds, moves_late), settled_after_s);
        assert_eq!((ends(49), ends(60), ends(109)), (None, None, None));
        assert_eq!(ends(110), Some(BalanceEnd::Settled));
    }

    #[test]
    fn pages_that_come_back_and_go_again_are_ping_pong() {
        let back_and_forth = |second| (100, 40, if second > 3 { 30 } else { 0 });
        let samples = samples(10, back_and_forth);
        for settled_after_s in [10.0, 60.0] {
            assert_eq!(of(&samples, settled_after_s), Some(BalanceEnd::PingPong));
        }
    }

    #[test]
    fn a_kernel_that_sees_no_use_is_not_waited_for() {
        let none = |seconds| samples(seconds, |_| (0, 0, 0));
        assert_eq!(soon(&none(39)), None);
        assert_eq!(soon(&none(40)), Some(BalanceEnd::NoFaults));
        assert_eq!(of(&none(89), 60.0), None);
        assert_eq!(of(&none(90), 60.0), Some(BalanceEnd::NoFaults));
        let late = |second| (u64::from(second == 29), 0, 0);
        assert_eq!(soon(&samples(30, late)), Some(BalanceEnd::Settled));
    }

    #[test]
    fn a_kernel_that_is_stopped_has_not_settled() {
        let mut samples = samples(12, |_| (10, 0, 0));
        assert_eq!(soon(&samples), Some(BalanceEnd::Settled));
        samples[7].stopped_s = 0.4;
        assert_eq!(soon(&samples), None);
    }

    proptest! {
        #[test]
        fn no_samples_panic(
            list in prop::collection::vec(any::<(f64, u32, u32, u32)>(), 0..20),
            scan_period_s in any::<f64>(),
        ) {
            let sample = |(at_s, faults, changed, returned): (f64, u32, u32, u32)| BalanceSample {
                at_s,
                hint_faults: faults.into(),
                pages_changed: changed.into(),
                pages_returned: returned.into(),
                ..BalanceSample::default()
            };
            let samples: Vec<_> = list.into_iter().map(sample).collect();
            let _ = of(&samples, settled_after_s(scan_period_s));
        }
    }
}
