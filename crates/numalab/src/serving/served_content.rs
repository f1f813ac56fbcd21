//! What `numalab serve` shows: this machine, and the stored runs as the commands show them.

use std::sync::{Arc, Mutex, PoisonError};

use model::{Run, RunHeader};
use report::{Fields, RecordComparison, RunView, TextOptions};
use serde::Serialize;
use serde_json::json;
use serve::{Content, Exporter, Look, Problem, RUNS_MAX, RunFigures, RunPage};
use store::{Store, Stored};
use verdict::Selection;

use crate::failure::Failure;
use crate::observation::Observation;
use crate::output;
use crate::serving::snapshot_document::SnapshotDocument;
use crate::serving::stored_figures::{Made, StoredFigures};

/// Pages and documents that are kept: a run of a hundred trials has a page of a megabyte.
const PAGES_MAX: usize = 8;

/// The content of a server.
pub(crate) struct ServedContent {
    observation: Mutex<Observation>,
    stored: StoredFigures,
    started_at: jiff::Timestamp,
    pages: Made<RunPage>,
    documents: Made<String>,
}

impl ServedContent {
    /// Shows this machine and these runs.
    pub(crate) fn new(observation: Observation, stored: StoredFigures) -> Self {
        Self {
            observation: Mutex::new(observation),
            stored,
            started_at: jiff::Timestamp::now(),
            pages: Made::new(PAGES_MAX),
            documents: Made::new(PAGES_MAX),
        }
    }

    fn load(&self, run: &str) -> Result<Run, Problem> {
        let store = self.store()?;
        store.load(run).map_err(|error| of_store(&error))
    }

    fn store(&self) -> Result<Store, Problem> {
        let store = self.stored.open().map_err(|error| of_store(&error))?;
        let none =
            || Problem::Missing("no run is stored yet; run an experiment: numalab run".into());
        store.ok_or_else(none)
    }

    /// Compares two records; `None` if both are none.
    fn records(&self, first: &str, second: &str) -> Result<Option<RecordComparison>, Problem> {
        let store = self.store()?;
        let live = |run: &str| store.load_live(run).map_err(|error| of_store(&error));
        let Some((first, second)) = live(first)?.zip(live(second)?) else {
            return Ok(None);
        };
        let found = report::compare_records(&[first], &[second]);
        found.map(Some).map_err(not_comparable)
    }

    /// Returns what is made of a run: kept, if the run was asked for by its whole id.
    fn made<T>(
        &self,
        kept: &Made<T>,
        run: &str,
        make: impl Fn(Stored) -> Result<T, Problem>,
    ) -> Result<Arc<T>, Problem> {
        let make = || {
            let stored = self.store()?.load_any(run);
            make(stored.map_err(|error| of_store(&error))?)
        };
        let header = self.stored.header(run);
        match header.map_err(|error| of_store(&error))? {
            Some(header) => kept.get(&header, make),
            None => make().map(Arc::new),
        }
    }
}

impl Content for ServedContent {
    fn look(&self) -> Result<Look, Problem> {
        // A look that panicked left a history without it.
        let mut observation = self
            .observation
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let look = observation.look();
        look.map_err(|error| Problem::Failed(format!("cannot read this machine: {error}")))
    }

    fn exporter(&self) -> Exporter {
        let own = linux::own_use::own_use();
        Exporter {
            cpu_s: own.cpu_s,
            resident_bytes: own.resident_bytes,
            open_files: own.open_files,
            started_at_s: self.started_at.as_duration().as_secs_f64(),
        }
    }

    fn snapshot_document(&self, look: &Look) -> Result<String, Problem> {
        json_text(&SnapshotDocument::of(look))
    }

    fn runs(&self) -> Result<Vec<RunHeader>, Problem> {
        let headers = self.stored.headers(RUNS_MAX);
        headers.map_err(|error| of_store(&error))
    }

    fn runs_document(&self) -> Result<String, Problem> {
        json_text(&json!({ "format": "numalab.history/1", "runs": self.runs()? }))
    }

    fn run_figures(&self) -> Result<Vec<RunFigures>, Problem> {
        self.stored.newest().map_err(|error| of_store(&error))
    }

    fn run_page(&self, run: &str) -> Result<RunPage, Problem> {
        let make = |stored: Stored| match stored {
            Stored::Run(run) => {
                let view: RunView = crate::measuring::memory_runs::view(&run);
                Ok(RunPage::Document(page::run_page(std::slice::from_ref(
                    &view,
                ))))
            }
            Stored::Live(live) => {
                let text = report::live_text(&live, true, &TextOptions::default());
                Ok(RunPage::Text(report::plain_lines(&text)))
            }
        };
        let page = self.made(&self.pages, run, make)?;
        Ok(RunPage::clone(&page))
    }

    fn run_document(&self, run: &str) -> Result<String, Problem> {
        let make = |stored: Stored| match stored {
            Stored::Run(run) => json_text(&report::run_document(&run)),
            Stored::Live(live) => json_text(&report::live_document(&live)),
        };
        let document = self.made(&self.documents, run, make)?;
        Ok(String::clone(&document))
    }

    fn comparison(&self, first: &str, second: &str) -> Result<RunPage, Problem> {
        if let Some(found) = self.records(first, second)? {
            let options = TextOptions::default();
            let text = report::record_comparison_text(&found, [first, second], &options);
            return Ok(RunPage::Text(report::plain_lines(&text)));
        }
        let (first, second) = (self.load(first)?, self.load(second)?);
        let found = verdict::compare_runs(whole(&first), whole(&second)).map_err(not_comparable)?;
        let view = report::comparison_view(&found, &first, &second);
        Ok(RunPage::Document(page::comparison_page(&view)))
    }

    fn comparison_document(&self, first: &str, second: &str) -> Result<String, Problem> {
        if let Some(found) = self.records(first, second)? {
            return json_text(&found.document());
        }
        let (first, second) = (self.load(first)?, self.load(second)?);
        let found = verdict::compare_runs(whole(&first), whole(&second)).map_err(not_comparable)?;
        json_text(&report::compare_document(&found, None, None))
    }
}

fn whole(run: &Run) -> Selection<'_> {
    Selection { run, case: None }
}

fn not_comparable(reason: impl std::fmt::Display) -> Problem {
    Problem::Senseless(format!("cannot compare: {reason}"))
}

fn json_text(document: &impl Serialize) -> Result<String, Problem> {
    let failed = |failure: Failure| Problem::Failed(failure.message);
    output::json_text(document).map_err(failed)
}

/// A run that is not there is the reader's mistake, a store that cannot be read is not.
fn of_store(error: &store::Error) -> Problem {
    let text = format!("{error}; {}", error.advice());
    match error {
        store::Error::NotThere { .. }
        | store::Error::NoRuns { .. }
        | store::Error::NoTrials { .. }
        | store::Error::IsLive { .. }
        | store::Error::UnknownRun { .. }
        | store::Error::AmbiguousRun { .. } => Problem::Missing(text),
        _ => Problem::Failed(text),
    }
}
