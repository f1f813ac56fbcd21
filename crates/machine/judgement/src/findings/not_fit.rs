//! What was stored with trials that were measured regardless.

use model::Severity;

use super::row::{Check, Row};
use crate::found::Found;
use crate::inputs::{BandwidthInput, LatencyInput};

pub(super) const ROW: Row = Row {
    id: "not-fit",
    severity: Severity::Warning,
    about: "it was measured although the machine was not fit for it",
    cost: "figures may be too slow by what other processes used",
    cost_source: "docs/latency.md",
    checks: &[
        Check::Latency(of_latencies),
        Check::Bandwidth(of_bandwidths),
    ],
};

fn of_latencies(input: &LatencyInput<'_>) -> Vec<Found> {
    check(input.warnings).into_iter().collect()
}

fn of_bandwidths(input: &BandwidthInput<'_>) -> Option<Found> {
    check(input.warnings)
}

fn check(warnings: &[&str]) -> Option<Found> {
    (!warnings.is_empty()).then(|| {
        Found::that(format!(
            "measured although the machine was not fit for it: {}",
            warnings.join("; ")
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_warnings_of_trials_are_one_finding() {
        assert!(check(&[]).is_none());
        let message = check(&["busy", "a quota"]).unwrap().message;
        assert!(
            message.ends_with("not fit for it: busy; a quota"),
            "{message}"
        );
    }
}
