//! Decides whether a trial of the instance counts, by comparing evidence with the request.

use model::{CasePlan, LogicalReads, Outcome, ParkedEvidence, Trial};

use super::instance_launch::own_memory_of;
use super::trial_groups::{TrialGroups, quota_contradiction};

/// Maximum CPU time of parked sessions, as a share of the parked time.
const PARKED_CPU_MAX: f64 = 0.005;
/// Additional CPU time each time a session parks, in seconds: to fall asleep and to wake up. On
/// hardware it is about 10 µs; an emulated machine needs a hundred times as long. But at most this
/// share of the time for which a session is parked on average.
const PARKING_MAX: (f64, f64) = (0.002, 0.05);

/// Adds the groups to the evidence and decides whether the trial counts.
pub(super) fn judged(
    case: &CasePlan,
    work: &LogicalReads,
    mut trial: Trial,
    groups: &TrialGroups,
) -> Trial {
    groups.read_back(&mut trial.evidence, &mut trial.warnings);
    let quota = trial.evidence.cpu_quota.as_ref();
    let mut found = placement::contradictions(&case.placement, work, None, &trial.evidence);
    found.extend(quota_contradiction(work.load.cpu_quota, quota));
    found.extend(trial.evidence.parked.and_then(parked_contradiction));
    let sessions = trial.measured.as_ref().and_then(|it| it.sessions.as_ref());
    found.extend(sessions.and_then(|it| idle_contradiction(it.statements)));
    if let Some(own) = own_memory_of(case) {
        let page_bytes = work.sga.page_bytes;
        found.extend(placement::own_memory_contradictions(
            own,
            page_bytes,
            &trial.evidence,
        ));
    }
    if trial.outcome == Outcome::Valid && !found.is_empty() {
        trial.outcome = Outcome::Invalid(found.join("; "));
    }
    trial
}

/// Describes sessions that did nothing in the windows that count, as when a busy machine gave them
/// no CPU there: a figure of 0 says nothing about the case.
fn idle_contradiction(statements: u64) -> Option<String> {
    (statements == 0).then(|| "the sessions completed no statement in the window".to_owned())
}

/// Describes sessions that did not sleep while parked: they disturbed other cases.
fn parked_contradiction(parked: ParkedEvidence) -> Option<String> {
    let ParkedEvidence {
        parked_s,
        times,
        cpu_s,
        window_s: _,
    } = parked;
    let parking_s = (times as f64 * PARKING_MAX.0).min(parked_s * PARKING_MAX.1);
    (cpu_s > parked_s * PARKED_CPU_MAX + parking_s)
        .then(|| format!("sessions used {cpu_s:.3} s of CPU time while parked for {parked_s:.1} s"))
}

#[cfg(test)]
mod tests {
    use model::ParkedEvidence;

    use super::{idle_contradiction, parked_contradiction};

    #[test]
    fn a_figure_of_nothing_does_not_count() {
        assert_eq!(idle_contradiction(1), None);
        assert!(
            idle_contradiction(0)
                .unwrap()
                .contains("completed no statement")
        );
    }

    #[test]
    fn sessions_that_run_while_parked_are_told_of() {
        let of = |parked_s, times, cpu_s| {
            parked_contradiction(ParkedEvidence {
                parked_s,
                times,
                cpu_s,
                window_s: None,
            })
        };
        assert_eq!(of(10.0, 10, 0.001), None);
        assert_eq!(of(1.0, 10, 0.02), None);
        assert_eq!(of(1.0, 1000, 0.05), None);
        assert!(of(1.0, 1000, 0.06).is_some());
        assert_eq!(of(0.0, 0, 0.0), None);
        let found = of(10.0, 10, 0.2).unwrap();
        assert!(
            found.contains("0.200 s of CPU time while parked for 10.0 s"),
            "{found}"
        );
    }
}
