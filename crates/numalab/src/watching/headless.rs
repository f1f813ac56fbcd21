//! Snapshots without a screen: as JSON, as text, or into a recording only.

use std::time::Duration;

use experiment::Cancel;
use live::recording::without_arguments;

use super::{RecordingFile, Sample, Sampling, Shown};
use crate::failure::Failure;
use crate::observation::Seen;
use crate::output;
use crate::serving::snapshot_document::SnapshotDocument;

/// How often a signal is looked for.
const SIGNALS_EVERY: Duration = Duration::from_millis(100);

/// Passes on snapshots until there are no more, or a signal comes.
pub(crate) fn stream(
    sampling: Sampling,
    mut recording: Option<RecordingFile>,
    json: bool,
    shown: &Shown,
    cancel: &Cancel,
) -> Result<(), Failure> {
    let mut result = Ok(());
    let mut seen = json.then(Seen::default);
    while !cancel.is_cancelled() {
        let sample = match sampling.next(SIGNALS_EVERY) {
            Ok(None) => continue,
            Ok(Some(sample)) => sample,
            Err(last) => {
                result = last.map_or(Ok(()), Err);
                break;
            }
        };
        let has_ended = sample.has_ended;
        match pass_on(sample, recording.as_mut(), seen.as_mut()) {
            Ok(true) => {}
            Ok(false) => break,
            Err(failure) => {
                result = Err(failure);
                break;
            }
        }
        if has_ended {
            let target = shown.target.as_deref().unwrap_or_default();
            output::talk(&format!("{target} has ended"));
        }
    }
    drop(sampling);
    let finished = recording.map_or(Ok(()), RecordingFile::finish);
    result.and(finished)
}

/// Whether anybody still wants snapshots.
fn pass_on(
    sample: Sample,
    recording: Option<&mut RecordingFile>,
    seen: Option<&mut Seen>,
) -> Result<bool, Failure> {
    if let Some(recording) = recording {
        recording.add(&sample.snapshot)?;
    }
    match seen {
        Some(seen) => {
            let snapshot = without_arguments(sample.snapshot);
            output::json_line(&SnapshotDocument::of(&seen.add(snapshot)))
        }
        None => Ok(true),
    }
}

/// Prints the last snapshot as text, with rates since the one before.
pub(crate) fn text(sampling: Sampling, cancel: &Cancel) -> Result<(), Failure> {
    let mut taken = Vec::new();
    while !cancel.is_cancelled() {
        match sampling.next(SIGNALS_EVERY) {
            Ok(None) => {}
            // For a ticket, as JSON is for other programs.
            Ok(Some(sample)) => taken.push(without_arguments(sample.snapshot)),
            Err(Some(failure)) => return Err(failure),
            Err(None) => break,
        }
    }
    drop(sampling);
    let text = watch::plain_text(
        taken.into_iter(),
        output::text_options().width,
        output::is_ascii(),
    );
    text.map_or(Ok(()), |text| output::data(&text))
}
