//! The stored runs as `serve` and `metrics` show them. The store is opened for each question, so
//! that a run which ended a moment ago is there; what was judged is kept until its run changes.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use model::{Run, RunHeader};
use serve::{CaseFigures, RunFigures};
use store::{Place, Store};

/// Maximum number of runs whose figures are kept: that of experiments is not known.
const FIGURES_MAX: usize = 256;

/// The stored runs.
pub(crate) struct StoredFigures {
    place: Place,
    figures: Made<RunFigures>,
}

impl StoredFigures {
    /// Shows the runs of the store at `place`, which need not exist.
    pub(crate) fn of_store(place: Place) -> Self {
        Self {
            place,
            figures: Made::new(FIGURES_MAX),
        }
    }

    /// Opens the store; `None` if there is none yet.
    pub(crate) fn open(&self) -> Result<Option<Store>, store::Error> {
        match Store::open_existing(&self.place) {
            Err(store::Error::NotThere { .. }) => Ok(None),
            opened => opened.map(Some),
        }
    }

    /// Returns the newest runs, newest first.
    pub(crate) fn headers(&self, count: usize) -> Result<Vec<RunHeader>, store::Error> {
        match self.open()? {
            None => Ok(Vec::new()),
            Some(store) => store.history(count),
        }
    }

    /// Returns the run with this whole id; `None` if there is none.
    pub(crate) fn header(&self, id: &str) -> Result<Option<RunHeader>, store::Error> {
        match self.open()? {
            None => Ok(None),
            Some(store) => store.header(id),
        }
    }

    /// Returns the figures of the newest run of each experiment.
    pub(crate) fn newest(&self) -> Result<Vec<RunFigures>, store::Error> {
        let Some(store) = self.open()? else {
            return Ok(Vec::new());
        };
        let mut figures = Vec::new();
        for header in store.newest_of_each()? {
            let make = || store.load(&header.id).map(|run| figures_of(&run));
            figures.push(RunFigures::clone(&*self.figures.get(&header, make)?));
        }
        Ok(figures)
    }
}

/// The figures of a run, judged as those of its document are.
fn figures_of(run: &Run) -> RunFigures {
    let started_at = run.started_at.parse::<jiff::Timestamp>();
    let judged = verdict::judge(run);
    let cases = judged.cases.into_iter().map(|case| CaseFigures {
        name: case.name,
        valid: case.valid,
        invalid: case.invalid,
        failed: case.failed,
        median: case.median,
        interval: case.interval.map(|it| (it.low, it.high)),
    });
    RunFigures {
        experiment: run.experiment.clone(),
        metric: run.metric,
        unit: run.shown_unit().to_owned(),
        started_at_s: started_at.ok().map(|it| it.as_duration().as_secs_f64()),
        cases: cases.collect(),
    }
}

/// What was made of runs, each until its run changes: a run that has ended never does, another has
/// more trials in its header.
pub(crate) struct Made<T> {
    count_max: usize,
    made: Mutex<VecDeque<(RunHeader, Arc<T>)>>,
}

impl<T> Made<T> {
    /// Keeps at most so many.
    pub(crate) fn new(count_max: usize) -> Self {
        Self {
            count_max,
            made: Mutex::default(),
        }
    }

    /// Returns what was made of this run, or makes it.
    pub(crate) fn get<E>(
        &self,
        header: &RunHeader,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        let lock = || self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let found = lock().iter().find(|(of, _)| of == header).cloned();
        if let Some((_, made)) = found {
            return Ok(made);
        }
        // Others may ask meanwhile, and make the same: better than waiting for each other.
        let made = Arc::new(make()?);
        let mut all = lock();
        all.retain(|(of, _)| of.id != header.id);
        all.push_back((header.clone(), Arc::clone(&made)));
        while all.len() > self.count_max {
            all.pop_front();
        }
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use model::RunStatus;

    use super::*;

    fn header(id: &str, experiment: &str, status: RunStatus) -> RunHeader {
        RunHeader {
            id: id.to_owned(),
            experiment: experiment.to_owned(),
            label: None,
            started_at: String::new(),
            status,
            host: None,
            emulated: None,
            cases: 1,
            skipped: 0,
            trials_valid: 1,
            trials_invalid: 0,
            trials_failed: 0,
        }
    }

    #[test]
    fn what_was_made_of_a_run_is_made_again_when_the_run_has_changed() {
        let made = Made::new(2);
        let make = |header: &RunHeader, value: u32| {
            let value = || Ok::<u32, ()>(value);
            *made.get(header, value).unwrap()
        };
        let mut run = header("1", "a", RunStatus::Unfinished);
        assert_eq!((make(&run, 1), make(&run, 2)), (1, 1));
        run.trials_valid += 1;
        assert_eq!((make(&run, 3), make(&run, 4)), (3, 3));
        let others = ["2", "3"].map(|id| header(id, "a", RunStatus::Settled));
        assert_eq!((make(&others[0], 5), make(&others[1], 6)), (5, 6));
        assert_eq!(make(&run, 7), 7, "only two are kept");
    }
}
