//! `numalab.doctor/1`.

use model::Diagnosis;
use serde::Serialize;

/// The name of the format.
pub const DOCTOR_FORMAT: &str = "numalab.doctor/1";

/// The document.
#[derive(Debug, Serialize)]
pub struct DoctorDocument<'a> {
    /// [`DOCTOR_FORMAT`].
    pub format: &'static str,
    /// What was looked at beside the machine.
    pub target: Option<&'a str>,
    /// How many findings were looked for.
    pub looked_for: usize,
    /// What was found, what matters most first.
    pub findings: &'a [Diagnosis],
}

/// The document of a diagnosis.
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
