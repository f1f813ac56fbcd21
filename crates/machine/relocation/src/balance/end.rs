//! When a balancing has reached its end.

use model::{BalanceEnd, BalanceSample};

/// The last seconds that are judged. The kernel scans a task's memory at most once per second of
/// its CPU time (kernel/sched/fair.c, `sysctl_numa_balancing_scan_period_min`), so that in this
/// time the pages of a busy database are offered several times.
const WINDOW_S: f64 = 10.0;
/// Without a hint fault for so long, nothing is being scanned: the first scan of a task comes after
/// a second of its CPU time.
const NO_FAULTS_S: f64 = 30.0;
/// Changes of fewer pages than this, as a share of those that are watched, are none.
const SETTLED_SHARE: f64 = 0.005;
/// With changes of more pages than this, of which at least half come back, pages move back and
/// forth.
const PING_PONG_SHARE: f64 = 0.02;

/// Judges samples, oldest first; `None` while there is no reason to end.
pub(super) fn of(samples: &[BalanceSample]) -> Option<BalanceEnd> {
    let now_s = samples.last()?.at_s;
    if now_s >= NO_FAULTS_S && samples.iter().all(|it| it.hint_faults == 0) {
        return Some(BalanceEnd::NoFaults);
    }
    if now_s < WINDOW_S || samples.iter().all(|it| it.hint_faults == 0) {
        return None;
    }
    let from = samples.partition_point(|it| it.at_s <= now_s - WINDOW_S);
    let window = &samples[from..];
    let watched = window.last()?.pages_watched as f64;
    let sum = |of: fn(&BalanceSample) -> u64| window.iter().map(of).sum::<u64>() as f64;
    let (changed, returned) = (sum(|it| it.pages_changed), sum(|it| it.pages_returned));
    // While the kernel is stopped, no page could change.
    let was_stopped = window.iter().any(|it| it.stopped_s > 0.0);
    if changed <= SETTLED_SHARE * watched && !was_stopped {
        return Some(BalanceEnd::Settled);
    }
    let is_to_and_fro = changed > PING_PONG_SHARE * watched && returned * 2.0 >= changed;
    is_to_and_fro.then_some(BalanceEnd::PingPong)
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

    #[test]
    fn pages_that_stay_have_settled() {
        let moves_at_first = |second| match second {
            1..=5 => (100, 200, 0),
            _ => (50, 0, 0),
        };
        assert_eq!(of(&samples(9, moves_at_first)), None);
        assert_eq!(of(&samples(14, moves_at_first)), None);
        assert_eq!(of(&samples(15, moves_at_first)), Some(BalanceEnd::Settled));
        assert_eq!(of(&samples(12, |_| (100, 100, 3))), None);
    }

    #[test]
    fn pages_that_come_back_and_go_again_are_ping_pong() {
        let back_and_forth = |second| (100, 40, if second > 3 { 30 } else { 0 });
        assert_eq!(of(&samples(10, back_and_forth)), Some(BalanceEnd::PingPong));
    }

    #[test]
    fn a_kernel_that_sees_no_use_is_not_waited_for() {
        assert_eq!(of(&samples(29, |_| (0, 0, 0))), None);
        assert_eq!(of(&samples(30, |_| (0, 0, 0))), Some(BalanceEnd::NoFaults));
        let late = |second| (u64::from(second == 29), 0, 0);
        assert_eq!(of(&samples(30, late)), Some(BalanceEnd::Settled));
    }

    #[test]
    fn a_kernel_that_is_stopped_has_not_settled() {
        let mut samples = samples(12, |_| (10, 0, 0));
        assert_eq!(of(&samples), Some(BalanceEnd::Settled));
        samples[7].stopped_s = 0.4;
        assert_eq!(of(&samples), None);
    }

    proptest! {
        #[test]
        fn no_samples_panic(list in prop::collection::vec(any::<(f64, u32, u32, u32)>(), 0..20)) {
            let sample = |(at_s, faults, changed, returned): (f64, u32, u32, u32)| BalanceSample {
                at_s,
                hint_faults: faults.into(),
                pages_changed: changed.into(),
                pages_returned: returned.into(),
                ..BalanceSample::default()
            };
            let _ = of(&list.into_iter().map(sample).collect::<Vec<_>>());
        }
    }
}
