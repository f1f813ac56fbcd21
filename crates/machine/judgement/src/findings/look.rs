//! Looks for what each command looks for; the most severe findings come first.

use model::{Coverage, DistanceTable, Finding, Residency};

use super::FINDINGS;
use super::row::Check;
use crate::doctor::{DoctorInput, sight};
use crate::found::{Found, fact};
use crate::inputs::{BandwidthInput, BindInput, LatencyInput};

/// Which checks the doctor makes of this, and what the others lack.
pub fn coverage_of_doctor(input: &DoctorInput) -> Coverage {
    let mut coverage = Coverage::default();
    for row in FINDINGS {
        for check in row.checks {
            if let Check::Doctor(of, _) = check {
                sight::count(&mut coverage, row.id, of(input));
            }
        }
    }
    coverage
}

/// What is wrong with a machine, and with the memory of a database on it; and what latencies show
/// that came with it.
pub fn of_doctor(input: &DoctorInput) -> Vec<Finding> {
    let distances = DistanceTable::of(&input.topology);
    let latencies = LatencyInput::new(&input.latencies, distances.as_ref(), &[], &[]);
    let has_latencies = input.latencies.rows().next().is_some();
    // They were measured before, and not by this command.
    let measured = |mut found: Vec<Found>| {
        let by = fact("latencies", &input.latencies_by);
        let evidence = found.iter_mut().map(|it| &mut it.evidence);
        evidence.for_each(|it| it.push(by.clone()));
        found
    };
    let look = |checks: &[Check]| {
        let latency = |check: &Check| match check {
            Check::Latency(check) if has_latencies => measured(check(&latencies)),
            _ => Vec::new(),
        };
        let doctor = |check: &Check| match check {
            Check::Doctor(_, check) => check(input).into_iter().collect(),
            _ => Vec::new(),
        };
        let found: Vec<Found> = checks.iter().flat_map(doctor).collect();
        match found.is_empty() {
            true => checks.iter().flat_map(latency).collect(),
            false => found,
        }
    };
    findings_of(look)
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
    findings_of(|checks| checks.iter().flat_map(&found).collect())
}

/// Makes the checks of each row that `found` makes.
fn findings_of(found: impl Fn(&[Check]) -> Vec<Found>) -> Vec<Finding> {
    let rows = FINDINGS.iter();
    let found = rows.flat_map(|row| {
        let found = found(row.checks).into_iter();
        found.map(|found| row.finding(found))
    });
    let mut found: Vec<Finding> = found.collect();
    found.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    found
}
