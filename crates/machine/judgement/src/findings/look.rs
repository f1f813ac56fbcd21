//! Looks for what each command looks for; the most severe findings come first.

use model::{Coverage, Finding, Residency};

use super::FINDINGS;
use super::row::Check;
use crate::doctor::{DoctorInput, sight};
use crate::found::Found;
use crate::inputs::{BandwidthInput, BindInput, LatencyInput};

/// Which checks the doctor makes of this, and what the others lack.
pub fn coverage_of_doctor(input: &DoctorInput) -> Coverage {
    let mut coverage = Coverage::default();
    for check in FINDINGS.iter().flat_map(|row| row.checks) {
        if let Check::Doctor(of, _) = check {
            sight::count(&mut coverage, of(input));
        }
    }
    coverage
}

/// What is wrong with a machine, and with the memory of a database on it.
pub fn of_doctor(input: &DoctorInput) -> Vec<Finding> {
    findings(|check| match check {
        Check::Doctor(_, check) => check(input).into_iter().collect(),
        _ => Vec::new(),
    })
}

/// What is wrong with where the memory of a target lies.
pub fn of_inspect(residency: &Residency) -> Vec<Finding> {
    findings(|check| match check {
        Check::Inspect(check) => check(residency).into_iter().collect(),
        _ => Vec::new(),
    })
}

/// What latencies show. What holds for many nodes is one finding that lists them.
pub fn of_latency(input: &LatencyInput<'_>) -> Vec<Finding> {
    findings(|check| match check {
        Check::Latency(check) => check(input),
        _ => Vec::new(),
    })
}

/// What makes bandwidths doubtful.
pub fn of_bandwidth(input: &BandwidthInput<'_>) -> Vec<Finding> {
    findings(|check| match check {
        Check::Bandwidth(check) => check(input).into_iter().collect(),
        _ => Vec::new(),
    })
}

/// What is doubtful about a placement before a program is started under it.
pub fn of_bind(input: &BindInput<'_>) -> Vec<Finding> {
    findings(|check| match check {
        Check::Bind(check) => check(input).into_iter().collect(),
        _ => Vec::new(),
    })
}

/// Makes the checks that `found` makes.
fn findings(found: impl Fn(&Check) -> Vec<Found>) -> Vec<Finding> {
    let rows = FINDINGS.iter();
    let found = rows.flat_map(|row| {
        let found = row.checks.iter().flat_map(&found);
        found.map(|found| row.finding(found))
    });
    let mut found: Vec<Finding> = found.collect();
    found.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    found
}
