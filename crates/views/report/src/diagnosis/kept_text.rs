//! A stored diagnosis, as text and as the document `numalab.kept-diagnosis/1`.

use model::{KeptDiagnosis, LiveRun, Machine};
use serde::Serialize;

use crate::diagnosis::doctor_text::doctor_text;
use crate::form::plain::plain;
use crate::form::style::TextOptions;

/// The document.
#[derive(Debug, Serialize)]
pub struct KeptDocument<'a> {
    /// `numalab.kept-diagnosis/1`.
    pub format: &'static str,
    /// The id of the stored run.
    pub run: &'a str,
    /// When, RFC 3339 with offset.
    pub started_at: &'a str,
    /// The machine.
    pub machine: &'a Machine,
    /// Its fields.
    #[serde(flatten)]
    pub kept: &'a KeptDiagnosis,
}

/// Returns the document of a stored diagnosis.
pub(crate) fn kept_document<'a>(run: &'a LiveRun, kept: &'a KeptDiagnosis) -> KeptDocument<'a> {
    KeptDocument {
        format: "numalab.kept-diagnosis/1",
        run: &run.id,
        started_at: &run.started_at,
        machine: &run.machine,
        kept,
    }
}

/// Formats a stored diagnosis.
pub(crate) fn kept_text(
    run: &LiveRun,
    kept: &KeptDiagnosis,
    full: bool,
    options: &TextOptions,
) -> String {
    let host = plain(&run.machine.host);
    let heading = format!("{host}, {}: {}", run.started_at, plain(&run.title()));
    let text = doctor_text(&kept.diagnosis, None, full, options);
    options.heading(&heading) + &text
}
