//! The document `numalab.residency/1`.

use model::Residency;
use serde::Serialize;

/// The name of the format.
pub const RESIDENCY_FORMAT: &str = "numalab.residency/1";

/// The document.
#[derive(Debug, Serialize)]
pub struct ResidencyDocument<'a> {
    /// [`RESIDENCY_FORMAT`].
    pub format: &'static str,
    /// Its fields.
    #[serde(flatten)]
    pub residency: &'a Residency,
}

/// Returns the document of a residency.
pub fn residency_document(residency: &Residency) -> ResidencyDocument<'_> {
    ResidencyDocument {
        format: RESIDENCY_FORMAT,
        residency,
    }
}
