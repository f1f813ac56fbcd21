//! What is stored is what is read: for any run, inserted as a whole or recorded event by event.

use model::{Event, Observer, Run, RunStatus};
use proptest::prelude::*;
use store::{RunRecorder, Store};

use crate::arbitrary;
use crate::homes::on_both_of;

/// The events a runner tells of a run.
fn record(store: &mut Store, run: &Run) {
    let mut at_start = run.clone();
    at_start.status = RunStatus::Unfinished;
    at_start.calibration = None;
    at_start.cases.iter_mut().for_each(|it| it.trials.clear());
    let mut recorder = RunRecorder::new(store);
    let mut tell = |event: Event<'_>| recorder.observe(&event).unwrap();
    tell(Event::RunStarted {
        run: &at_start,
        trials_at_most: 9,
    });
    if let Some(calibration) = &run.calibration {
        tell(Event::Calibrated(calibration));
    }
    let rounds = run.cases.iter().map(|it| it.trials.len()).max();
    for round in 0..rounds.unwrap_or(0) {
        for (case_index, case) in run.cases.iter().enumerate() {
            if let Some(trial) = case.trials.get(round) {
                tell(Event::TrialFinished {
                    case_index,
                    case: &case.plan.name,
                    trial,
                });
            }
        }
    }
    tell(Event::RunFinished { status: run.status });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn a_run_is_read_as_it_was_stored(run in arbitrary::run()) {
        on_both_of("a_run_is_read_as_it_was_stored", std::slice::from_ref(&run), |home| {
            let mut store = home.open();
            store.insert(&run).unwrap();
            assert_eq!(store.load(&run.id).unwrap(), run);
        });
    }

    #[test]
    fn a_run_is_read_as_it_was_recorded(mut runs in prop::collection::vec(arbitrary::run(), 1..3)) {
        for (number, run) in runs.iter_mut().enumerate() {
            run.id = format!("run-{number}");
        }
        on_both_of("a_run_is_read_as_it_was_recorded", &runs, |home| {
            runs.iter().for_each(|run| record(&mut home.open(), run));
            let store = home.open_existing();
            for run in &runs {
                assert_eq!(&store.load(&run.id).unwrap(), run);
            }
            let headers = store.history(usize::MAX).unwrap();
            for (header, run) in headers.iter().zip(runs.iter().rev()) {
                let trials = run.cases.iter().map(|case| case.trials.len() as u32);
                let counted = header.trials_valid + header.trials_invalid + header.trials_failed;
                assert_eq!(&header.id, &run.id);
                assert_eq!(counted, trials.sum::<u32>());
                assert_eq!(header.cases as usize, run.cases.len());
                assert_eq!(header.skipped as usize, run.skipped.len());
            }
        });
    }
}
