//! The minimum length of a window under instance caging: long enough to give every session a turn.
//!
//! A session without a turn completes no statement: nothing proves where it would have run, and the
//! trial would not count.

use experiment::Plan;
use model::exit::ExitCode;

use crate::failure::Failure;

/// Refuses a window that is too short for a case of the plan.
pub(crate) fn check(plan: &Plan, window_s: f64) -> Result<(), Failure> {
    for case in &plan.cases {
        let Some(load) = case.logical_reads().map(|work| &work.load) else {
            continue;
        };
        let Some(cpu_count) = load.cpu_count else {
            continue;
        };
        let sessions = load.sessions;
        let needed_ns = shortest_ns(sessions, cpu_count);
        if ((window_s * 1e9).round() as u64) < needed_ns {
            let (name, needed_s) = (&case.name, needed_ns as f64 / 1e9);
            let message = format!(
                "case {name}: {sessions} sessions take turns, {cpu_count} at a time, \
                 and a window of {window_s} s does not give each of them one"
            );
            let advice = format!("--seconds {needed_s:.1} or more, or a higher cpu-count");
            return Err(Failure::new(ExitCode::Usage, message).advise(advice));
        }
    }
    Ok(())
}

/// Returns the time in which every session gets one turn, plus one more turn because turns end a
/// little late.
fn shortest_ns(sessions: u32, cpu_count: u32) -> u64 {
    let turns = sessions.div_ceil(cpu_count.max(1));
    instance::QUANTUM_NS * u64::from(turns + 1)
}

#[cfg(test)]
mod tests {
    use super::shortest_ns;

    #[test]
    fn every_session_has_a_turn() {
        for (sessions, cpu_count, expected_ms) in [(2, 1, 300), (3, 1, 400), (9, 6, 300)] {
            let shortest_ns = shortest_ns(sessions, cpu_count);
            assert_eq!(
                shortest_ns,
                expected_ms * 1_000_000,
                "{sessions} on {cpu_count}"
            );
        }
    }
}
