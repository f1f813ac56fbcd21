//! The document `numalab.doctor/1`.

use model::Diagnosis;
use serde::Serialize;

/// The name of the format.
pub const DOCTOR_FORMAT: &str = "numalab.doctor/1";

/// The document.
#[derive(Debug, Serialize)]
pub struct DoctorDocument<'a> {
    /// [`DOCTOR_FORMAT`].
    pub format: &'static str,
    /// What was inspected besides the machine.
    pub target: Option<&'a str>,
    /// Number of checks made.
    pub looked_for: usize,
    /// The findings, the most important first.
    pub findings: &'a [Diagnosis],
}

/// Returns the document of a diagnosis.
pub fn doctor_document<'a>(
    target: Option<&'a str>,
    looked_for: usize,
    findings: &'a [Diagnosis],
) -> DoctorDocument<'a> {
    DoctorDocument {
        format: DOCTOR_FORMAT,
        target,
        looked_for,
        findings,
    }
}
