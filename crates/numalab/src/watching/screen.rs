//! The screen of a machine that is watched.

use std::time::Duration;

use experiment::Cancel;
use live::Attention;
use watch::{Input, Options, Request, Screen, View};

use super::{Questions, RecordingFile, Sampling, Sessions, Shown};
use crate::failure::Failure;
use crate::output;

/// How long a key is waited for before the next snapshot is looked for.
const KEYS_WITHIN: Duration = Duration::from_millis(100);

/// Takes the terminal.
pub(crate) fn take() -> Result<Screen, watch::Error> {
    Screen::take(&std::env::var("TERM").unwrap_or_default())
}

/// How the terminal shows the view: without colours for who wants none (no-color.org), in ASCII
/// where the locale has no UTF-8.
pub(crate) fn options() -> Options {
    let no_colours = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    Options {
        has_colours: !no_colours,
        is_ascii: output::is_ascii(),
        ..Options::default()
    }
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
            ..options()
        }),
        questions: Questions::new(),
        sessions: Sessions::default(),
        attention: Attention::default(),
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
    /// What the sampler was told.
    attention: Attention,
    /// `None` after the last snapshot.
    sampling: Option<Sampling>,
    questions: Questions,
    sessions: Sessions,
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
            if is_old {
                self.attend();
            }
            let Ok(input) = self.screen.input(KEYS_WITHIN) else {
                return Ok(());
            };
            let said = self.said();
            is_old = input.is_some() || !said.is_empty();
            for input in input.into_iter().chain(said) {
                match self.view.update(input) {
                    Request::Quit => return Ok(()),
                    Request::Run(arguments) => self.questions.ask(arguments),
                    Request::Copy(text) if self.screen.copy(&text).is_err() => return Ok(()),
                    Request::Copy(_) | Request::Nothing | Request::Step | Request::Seek(_) => {}
                }
            }
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

    /// What commands and servers have said.
    fn said(&mut self) -> Vec<Input> {
        let answer = self.questions.answer().map(Input::Said);
        let sessions = self.sessions.of(self.attention.opened.as_ref());
        let sessions = sessions.map(|(name, sessions)| Input::Sessions(name, sessions));
        answer.into_iter().chain(sessions).collect()
    }

    /// Says what the user looks at.
    fn attend(&mut self) {
        let attention = self.view.attention();
        if attention != self.attention {
            if let Some(sampling) = &self.sampling {
                sampling.attend(attention.clone());
            }
            self.attention = attention;
        }
    }
}
