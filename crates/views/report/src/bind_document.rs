//! The document `numalab.bind/1`.

use model::BindReport;
use serde::Serialize;

/// The name of the format.
pub const BIND_FORMAT: &str = "numalab.bind/1";

/// The document.
#[derive(Debug, Serialize)]
pub struct BindDocument<'a> {
    /// [`BIND_FORMAT`].
    pub format: &'static str,
    /// Its fields.
    #[serde(flatten)]
    pub report: &'a BindReport,
}

/// Returns the document of a report.
pub fn bind_document(report: &BindReport) -> BindDocument<'_> {
    BindDocument {
        format: BIND_FORMAT,
        report,
    }
}
