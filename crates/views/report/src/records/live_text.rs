//! A stored run of live windows, as text and as its document.

use model::{LiveMeasured, LiveRun};
use serde::Serialize;

use crate::diagnosis::kept_text::{KeptDocument, kept_document, kept_text};
use crate::form::style::TextOptions;
use crate::placement::try_text::{TryDocument, try_document, try_log_text, try_text};
use crate::records::text::{RecordDocument, record_document, record_text};

/// The document of a stored run of live windows.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum LiveDocument<'a> {
    /// `numalab.try/1`.
    Try(TryDocument<'a>),
    /// `numalab.record/1`.
    Record(RecordDocument<'a>),
    /// `numalab.kept-diagnosis/1`.
    Doctor(KeptDocument<'a>),
}

/// Returns the document.
pub fn live_document(run: &LiveRun) -> LiveDocument<'_> {
    match &run.measured {
        LiveMeasured::Try(report) => LiveDocument::Try(try_document(Some(&run.id), report)),
        LiveMeasured::Record(report) => LiveDocument::Record(record_document(run, report)),
        LiveMeasured::Doctor(kept) => LiveDocument::Doctor(kept_document(run, kept)),
    }
}

/// Formats the run; `full` with what happened when.
pub fn live_text(run: &LiveRun, full: bool, options: &TextOptions) -> String {
    match &run.measured {
        LiveMeasured::Try(report) if full => {
            format!("{}\n{}", try_text(report, options), try_log_text(report))
        }
        LiveMeasured::Try(report) => try_text(report, options),
        LiveMeasured::Record(report) => record_text(run.label.as_deref(), report, options),
        LiveMeasured::Doctor(kept) => kept_text(run, kept, full, options),
    }
}
