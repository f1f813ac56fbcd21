//! Recordings: on the screen, as documents, as text, and as a trace.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use experiment::Cancel;
use live::recording::{Reader, RecordingError};
use live::{Events, perfetto};
use model::exit::ExitCode;
use model::{Snapshot, counted};
use watch::{Input, Options, Recorded, Request, Screen, View};

use super::screen;
use crate::failure::Failure;
use crate::files::requested_files;
use crate::interrupt;
use crate::observation::Seen;
use crate::output;
use crate::serving::snapshot_document::SnapshotDocument;

/// A gap in a recording, while numalab was stopped for example, is not waited for longer.
const GAP_MAX_S: f64 = 10.0;
/// How long a key is waited for at most.
const KEYS_WITHIN: Duration = Duration::from_millis(100);

fn open(file: &Path) -> Result<Reader<File>, Failure> {
    let opened = observed::open_named(file).map_err(RecordingError::from);
    let reader = opened.and_then(Reader::new);
    reader.map_err(|error| unreadable(file, &error))
}

fn unreadable(file: &Path, error: &RecordingError) -> Failure {
    let message = format!("cannot replay {}: {error}", file.display());
    Failure::new(ExitCode::Usage, message).advise("name a file that `numalab watch --record` wrote")
}

/// Says on stderr that a recording ends in the middle.
fn say_if_cut(file: &Path, reader: &Reader<File>) {
    if reader.is_cut() {
        output::talk(&format!(
            "{} was cut off: its last snapshot is incomplete and left out",
            file.display()
        ));
    }
}

/// Prints every snapshot as a document.
pub(crate) fn documents(file: &Path) -> Result<(), Failure> {
    let (mut reader, mut seen) = (open(file)?, Seen::default());
    for snapshot in reader.by_ref() {
        let snapshot = snapshot.map_err(|error| unreadable(file, &error))?;
        if !output::json_line(&SnapshotDocument::of(&seen.add(snapshot)))? {
            return Ok(());
        }
    }
    say_if_cut(file, &reader);
    Ok(())
}

/// Prints the last snapshot.
pub(crate) fn last(file: &Path, json: bool) -> Result<(), Failure> {
    if json {
        let mut seen = Seen::default();
        let last = with_snapshots(file, |snapshots| snapshots.map(|it| seen.add(it)).last())?;
        return last.map_or(Ok(()), |last| output::json(&SnapshotDocument::of(&last)));
    }
    let width = output::text_options().width;
    let text = with_snapshots(file, |snapshots| {
        watch::plain_text(snapshots, width, output::is_ascii())
    })?;
    match text {
        Some(text) => output::data(&text),
        None => {
            output::talk("the recording has no snapshot");
            Ok(())
        }
    }
}

/// Writes the recording as a trace. It is read twice, and never held as a whole.
pub(crate) fn to_perfetto(file: &Path, trace: &Path) -> Result<(), Failure> {
    let busiest = with_snapshots(file, |snapshots| perfetto::busiest(snapshots))?;
    let mut bytes = Vec::new();
    let written = with_snapshots(file, |snapshots| {
        perfetto::write(&busiest, snapshots, &[], &mut bytes)
    })?;
    written.map_err(|cause| Failure::new(ExitCode::Bug, format!("cannot make it: {cause}")))?;
    requested_files::write(trace, &bytes)?;
    output::talk(&format!(
        "wrote {} ({}); open it in Perfetto or in Chrome's about:tracing",
        trace.display(),
        counted(bytes.len(), "byte")
    ));
    Ok(())
}

/// Reads a recording to its end, or up to where it was cut off.
fn with_snapshots<T>(
    file: &Path,
    read: impl FnOnce(&mut dyn Iterator<Item = Snapshot>) -> T,
) -> Result<T, Failure> {
    let mut reader = open(file)?;
    let mut malformed = None;
    let mut snapshots = reader
        .by_ref()
        .map_while(|it| it.map_err(|error| malformed = Some(error)).ok());
    let found = read(&mut snapshots);
    if let Some(error) = malformed {
        return Err(unreadable(file, &error));
    }
    say_if_cut(file, &reader);
    Ok(found)
}

/// Shows a recording in its own time, or as fast as the user wants.
pub(crate) fn on_screen(file: &Path) -> Result<(), Failure> {
    let recorded = with_snapshots(file, |snapshots| recorded(snapshots))?;
    let reader = open(file)?;
    let target = reader.header().target.clone();
    let screen = screen::take().map_err(|error| {
        Failure::new(ExitCode::Usage, format!("cannot show a screen: {error}"))
            .advise("print its last snapshot with --once, or all of them with --json")
    })?;
    let mut replay = Replay {
        view: View::new(Options {
            target: Some(target).filter(|it| it != "machine"),
            replay: Some(recorded),
            ..screen::options()
        }),
        screen,
        file,
        reader,
        read: 0,
        next: None,
        shown: None,
    };
    replay.show()
}

/// Returns when the snapshots were taken, and what happened.
fn recorded(snapshots: &mut dyn Iterator<Item = Snapshot>) -> Recorded {
    let (mut recorded, mut events) = (Recorded::default(), Events::default());
    for (index, snapshot) in snapshots.enumerate() {
        let happened = events.of(&snapshot).into_iter();
        recorded.events.extend(happened.map(|it| (index, it)));
        recorded.taken_at_s.push(snapshot.taken_at_s);
    }
    recorded
}

struct Replay<'f> {
    view: View,
    screen: Screen,
    file: &'f Path,
    reader: Reader<File>,
    /// Snapshots that the view has.
    read: usize,
    /// The next snapshot, read in advance.
    next: Option<Snapshot>,
    /// When the last one was shown, and its time.
    shown: Option<(Instant, f64)>,
}

impl Replay<'_> {
    fn show(&mut self) -> Result<(), Failure> {
        let cancel = interrupt::cancel_and_end_on_signals(watch::give_keys_back)?;
        if let Ok(size) = self.screen.size() {
            self.view.update(size);
        }
        self.read();
        self.step();
        // A terminal that is gone is the end, not a failure.
        while !cancel.is_cancelled() && self.screen.draw(&self.view).is_ok() {
            let wait = self.wait().min(KEYS_WITHIN);
            let Ok(input) = self.screen.input(wait) else {
                return Ok(());
            };
            match input.map(|input| self.view.update(input)) {
                Some(Request::Quit) => return Ok(()),
                Some(Request::Step) => self.step(),
                Some(Request::Seek(index)) => self.seek(index, &cancel)?,
                Some(Request::Copy(text)) if self.screen.copy(&text).is_err() => return Ok(()),
                Some(Request::Copy(_) | Request::Run(_) | Request::Nothing) | None => {}
            }
            if !self.view.is_paused() && self.wait().is_zero() {
                self.step();
            }
        }
        Ok(())
    }

    /// The time until the next snapshot is due.
    fn wait(&self) -> Duration {
        let (Some(next), Some((at, uptime_s))) = (&self.next, self.shown) else {
            return Duration::MAX;
        };
        let gap_s = (next.uptime_s - uptime_s).clamp(0.0, GAP_MAX_S);
        let gap = Duration::try_from_secs_f64(gap_s / self.view.speed()).unwrap_or_default();
        (at + gap).saturating_duration_since(Instant::now())
    }

    /// Shows the next snapshot: one that was shown before, or else one of the file.
    fn step(&mut self) {
        match self.view.step_forward() {
            true => self.shown = self.shown.map(|(_, uptime_s)| (Instant::now(), uptime_s)),
            false => self.give(Input::Snapshot),
        }
    }

    /// Gives the next snapshot of the file to the view, and reads the one after it.
    fn give(&mut self, input: fn(Box<Snapshot>) -> Input) {
        let Some(snapshot) = self.next.take() else {
            return;
        };
        self.shown = Some((Instant::now(), snapshot.uptime_s));
        self.view.update(input(Box::new(snapshot)));
        self.read += 1;
        self.read();
    }

    /// Shows the snapshot with this index. A recording is compressed as a whole: what lies behind
    /// is found only from its beginning.
    fn seek(&mut self, index: usize, cancel: &Cancel) -> Result<(), Failure> {
        if index < self.read {
            self.reader = open(self.file)?;
            self.read = 0;
            self.view.update(Input::Rewound);
            self.read();
        }
        while self.read <= index && self.next.is_some() && !cancel.is_cancelled() {
            self.give(match self.read + View::KEPT_BEFORE < index {
                true => Input::Passed,
                false => Input::Snapshot,
            });
        }
        Ok(())
    }

    /// Reads the next snapshot; the view is told when there is none.
    fn read(&mut self) {
        let why = match self.reader.next() {
            Some(Ok(snapshot)) => {
                self.next = Some(snapshot);
                return;
            }
            Some(Err(error)) => error.to_string(),
            None if self.reader.is_cut() => "cut off".to_owned(),
            None => String::new(),
        };
        self.view.update(Input::Ended(why));
    }
}
