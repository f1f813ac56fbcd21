//! The screen of a machine that is watched.

use std::time::Duration;

use experiment::Cancel;
use model::OpenedSubject;
use watch::{Input, Options, Request, Screen, View};

use super::{RecordingFile, Sampling, Shown};
use crate::failure::Failure;

/// How long a key is waited for before the next snapshot is looked for.
const KEYS_WITHIN: Duration = Duration::from_millis(100);

/// Takes the terminal.
pub(crate) fn take() -> Result<Screen, watch::Error> {
    Screen::take(&std::env::var("TERM").unwrap_or_default())
}

/// Whether the user wants colours (no-color.org).
pub(crate) fn has_colours() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Shows snapshots until the user has enough, a signal comes, or the terminal is gone.
pub(crate) fn show(
    screen: Screen,
    shown: &Shown,
    sampling: Sampling,
    mut recording: Option<RecordingFile>,
    cancel: &Cancel,
) -> Result<(), Failure> {
    let mut watched = Watched {
        view: View::new(Options {
            target: shown.target.clone(),
            has_colours: has_colours(),
            replay_of: None,
        }),
        opened: None,
        sampling: Some(sampling),
        screen,
    };
    let result = watched.show(shown, recording.as_mut(), cancel);
    // The terminal is given back before anything is said.
    drop(watched);
    let finished = recording.map_or(Ok(()), RecordingFile::finish);
    result.and(finished)
}

struct Watched {
    view: View,
    opened: Option<OpenedSubject>,
    /// `None` after the last snapshot.
    sampling: Option<Sampling>,
    screen: Screen,
}

impl Watched {
    fn show(
        &mut self,
        shown: &Shown,
        mut recording: Option<&mut RecordingFile>,
        cancel: &Cancel,
    ) -> Result<(), Failure> {
        if let Ok(size) = self.screen.size() {
            self.view.update(size);
        }
        let mut is_old = true;
        while !cancel.is_cancelled() {
            is_old |= self.snapshots(shown, recording.as_deref_mut())?;
            // A terminal that is gone is the end, not a failure.
            if is_old && self.screen.draw(&self.view).is_err() {
                return Ok(());
            }
            let Ok(input) = self.screen.input(KEYS_WITHIN) else {
                return Ok(());
            };
            is_old = input.is_some();
            if let Some(input) = input
                && self.view.update(input) == Request::Quit
            {
                return Ok(());
            }
            self.open();
        }
        Ok(())
    }

    /// Takes what snapshots there are; whether there were any.
    fn snapshots(
        &mut self,
        shown: &Shown,
        mut recording: Option<&mut RecordingFile>,
    ) -> Result<bool, Failure> {
        let mut is_new = false;
        while let Some(sampling) = &self.sampling {
            let sample = match sampling.next(Duration::ZERO) {
                Ok(None) => break,
                Ok(Some(sample)) => sample,
                Err(Some(failure)) => return Err(failure),
                Err(None) => {
                    self.sampling = None;
                    let why = match shown.is_process {
                        true => "the process has ended",
                        false => "as many snapshots as requested",
                    };
                    self.view.update(Input::Ended(why.to_owned()));
                    return Ok(true);
                }
            };
            if let Some(recording) = &mut recording {
                recording.add(&sample.snapshot)?;
            }
            // The last picture of a process stays: a snapshot without it shows nothing.
            if !sample.has_ended {
                self.view.update(Input::Snapshot(Box::new(sample.snapshot)));
            }
            is_new = true;
        }
        Ok(is_new)
    }

    /// Asks for more of what the user has opened.
    fn open(&mut self) {
        let opened = self.view.opened();
        if opened != self.opened {
            if let Some(sampling) = &self.sampling {
                sampling.open(opened.clone());
            }
            self.opened = opened;
        }
    }
}
