//! Runs are listed, and found by what a person types.

use crate::homes::{Home, on_both};
use crate::small_run::small_run;
use model::exit::ExitCode;
use model::{Event, RunStatus};
use store::{Error, RunRecorder, Store};

use crate::small_run;

fn store_of(home: &Home, ids: &[&str]) -> Store {
    let mut store = home.open();
    for id in ids {
        store.insert(&small_run(id)).unwrap();
    }
    store
}

fn check_found(home: &Home, asked: &str, expected: &str) {
    let home = home.another();
    let store = store_of(&home, &["b7f3", "b7f3c", "c102", "d9\u{1b}"]);
    assert_eq!(store.load(asked).unwrap().id, expected, "{asked:?}");
}

fn check_error(home: &Home, asked: &str, expected: &str) {
    let home = home.another();
    let store = store_of(&home, &["b7f3", "b7a0", "c102"]);
    let error = store.load(asked).unwrap_err();
    assert_eq!(error.to_string(), expected);
    assert_eq!(error.exit_code(), ExitCode::Usage);
}

#[test]
fn a_run_is_found_by_its_id_or_an_unmistakable_start() {
    on_both(
        "a_run_is_found_by_its_id_or_an_unmistakable_start",
        |home| {
            check_found(home, "b7f3", "b7f3");
            check_found(home, "b7f3c", "b7f3c");
            check_found(home, "c102", "c102");
            check_found(home, "c", "c102");
            check_found(home, "d", "d9\u{1b}");
            check_found(home, "last", "d9\u{1b}");
        },
    );
}

#[test]
fn last_is_the_newest_run_with_a_trial() {
    on_both("last_is_the_newest_run_with_a_trial", |home| {
        let mut store = store_of(home, &[]);
        let mut without = small_run("failed");
        without.status = RunStatus::Failed;
        for case in &mut without.cases {
            case.trials.clear();
        }
        store.insert(&without).unwrap();
        let error = store.load("last").unwrap_err();
        assert!(matches!(error, Error::NoTrials { .. }), "{error}");
        assert_eq!(error.exit_code(), ExitCode::Usage);
        // Trials that do not count are what a user wants to see.
        let mut invalid = small_run("invalid");
        invalid.cases[0].trials.truncate(1);
        invalid.cases[0].trials[0].outcome = model::Outcome::Invalid("moved".to_owned());
        invalid.cases[1].trials.clear();
        store.insert(&invalid).unwrap();
        without.id = "failed-again".to_owned();
        store.insert(&without).unwrap();
        assert_eq!(store.load("last").unwrap(), invalid);
        assert_eq!(store.load("failed-again").unwrap(), without);
        let ids = store.history(9).unwrap().into_iter();
        let ids: Vec<String> = ids.map(|header| header.id).collect();
        assert_eq!(ids, ["failed-again", "invalid", "failed"]);
    });
}

#[test]
fn an_unknown_id_names_the_nearest() {
    on_both("an_unknown_id_names_the_nearest", |home| {
        check_error(
            home,
            "b9",
            "no run \"b9\"; the nearest are b7a0, b7f3, c102",
        );
        check_error(home, "", "no run \"\"; the nearest are c102, b7a0, b7f3");
        check_error(
            home,
            "c102x",
            "no run \"c102x\"; the nearest are c102, b7a0, b7f3",
        );
    });
}

#[test]
fn an_ambiguous_start_names_what_it_can_mean() {
    on_both("an_ambiguous_start_names_what_it_can_mean", |home| {
        check_error(home, "b7", "\"b7\" matches 2 runs: b7a0, b7f3");
        check_error(home, "b", "\"b\" matches 2 runs: b7a0, b7f3");
    });
}

#[test]
fn an_empty_store_has_an_empty_history() {
    on_both("an_empty_store_has_an_empty_history", |home| {
        let store = store_of(home, &[]);
        assert_eq!(store.history(9).unwrap(), []);
        let error = store.load("last").unwrap_err();
        assert!(matches!(error, Error::NoRuns { .. }), "{error}");
    });
}

#[test]
fn the_history_is_newest_first_and_counts_trials() {
    on_both("the_history_is_newest_first_and_counts_trials", |home| {
        let store = store_of(home, &["first", "second", "third"]);
        let headers = store.history(2).unwrap();
        let ids: Vec<&str> = headers.iter().map(|header| header.id.as_str()).collect();
        assert_eq!(ids, ["third", "second"]);
        let header = &headers[0];
        assert_eq!((header.cases, header.skipped), (2, 1));
        assert_eq!(
            (
                header.trials_valid,
                header.trials_invalid,
                header.trials_failed
            ),
            (1, 1, 1)
        );
        assert_eq!(header.status, RunStatus::Bounded);
        assert_eq!(header.host.as_deref(), Some("example"));
        assert_eq!(header.emulated, Some(false));
        assert_eq!(store.history(0).unwrap(), []);
    });
}

#[test]
fn each_run_of_the_history_has_its_own_counts() {
    on_both("each_run_of_the_history_has_its_own_counts", |home| {
        let mut store = store_of(home, &["whole"]);
        let mut no_case = small_run("no-case");
        no_case.cases.clear();
        let mut no_trial = small_run("no-trial");
        no_trial
            .cases
            .iter_mut()
            .for_each(|case| case.trials.clear());
        no_trial.skipped.clear();
        for run in [no_case, no_trial, small_run("last")] {
            store.insert(&run).unwrap();
        }
        let check = |limit: usize| {
            for header in store.history(limit).unwrap() {
                let run = store.load(&header.id).unwrap();
                let cases = (run.cases.len(), run.skipped.len());
                let counted = (header.cases as usize, header.skipped as usize);
                assert_eq!(counted, cases, "{}", run.id);
                let trials: usize = run.cases.iter().map(|case| case.trials.len()).sum();
                let counted = header.trials_valid + header.trials_invalid + header.trials_failed;
                assert_eq!(counted as usize, trials, "{}", run.id);
            }
        };
        (1..5).for_each(check);
        assert_eq!(store.history(9).unwrap().len(), 4);
    });
}

#[test]
fn an_id_is_taken_once() {
    on_both("an_id_is_taken_once", |home| {
        let mut store = store_of(home, &["b7f3"]);
        let error = store.insert(&small_run("b7f3")).unwrap_err();
        assert!(matches!(error, Error::IdTaken { .. }), "{error}");
        assert_eq!(store.history(9).unwrap().len(), 1);
    });
}

#[test]
fn a_run_that_was_left_alone_stays_unfinished_and_can_be_read() {
    on_both(
        "a_run_that_was_left_alone_stays_unfinished_and_can_be_read",
        |home| {
            let mut store = store_of(home, &[]);
            let mut run = small_run("left");
            run.status = RunStatus::Unfinished;
            let started = Event::RunStarted {
                run: &run,
                trials_at_most: 9,
            };
            RunRecorder::new(&mut store).record(&started).unwrap();
            assert_eq!(store.load("left").unwrap(), run);
            assert_eq!(store.history(1).unwrap()[0].status, RunStatus::Unfinished);
        },
    );
}

#[test]
fn what_belongs_to_no_run_is_refused() {
    on_both("what_belongs_to_no_run_is_refused", |home| {
        let mut store = store_of(home, &[]);
        let trial = small_run::trial(0);
        let finished = |case_index| Event::TrialFinished {
            case_index,
            case: "local",
            trial: &trial,
        };
        let mut recorder = RunRecorder::new(&mut store);
        let error = recorder.record(&finished(0)).unwrap_err();
        assert!(matches!(error, Error::NotRecording { .. }), "{error}");
        let run = small_run("a");
        let started = Event::RunStarted {
            run: &run,
            trials_at_most: 9,
        };
        recorder.record(&started).unwrap();
        let error = recorder.record(&finished(2)).unwrap_err();
        assert!(matches!(error, Error::NotRecording { .. }), "{error}");
        assert_eq!(store.load("a").unwrap(), run);
    });
}

#[test]
fn a_rate_that_is_not_a_number_is_refused_and_leaves_nothing() {
    on_both(
        "a_rate_that_is_not_a_number_is_refused_and_leaves_nothing",
        |home| {
            let mut store = store_of(home, &[]);
            let mut run = small_run("a");
            let measured = run.cases[1].trials.first_mut().map(|trial| {
                *trial = small_run::trial(0);
                trial.measured.as_mut().unwrap()
            });
            measured.unwrap().value = f64::NAN;
            let error = store.insert(&run).unwrap_err();
            assert!(matches!(error, Error::NotStorable { .. }), "{error}");
            assert_eq!(error.exit_code(), ExitCode::Bug);
            assert_eq!(store.history(9).unwrap(), []);
        },
    );
}

#[test]
fn a_run_that_is_asked_for_by_its_id_is_read_without_others() {
    on_both(
        "a_run_that_is_asked_for_by_its_id_is_read_without_others",
        |home| {
            let store = store_of(home, &["first", "second"]);
            let second = store.history(1).unwrap().remove(0);
            let damage = "UPDATE runs SET status = 'nonsense' WHERE id = 'first'";
            home.sql(damage);
            assert!(store.history(2).is_err(), "the list reads both");
            assert_eq!(store.header("second").unwrap(), Some(second));
            assert_eq!(store.load("second").unwrap(), small_run("second"));
            assert!(store.header("sec").unwrap().is_none(), "the whole id");
            // An id is the whole id also where it begins another.
            home.sql("UPDATE runs SET id = 'secondary' WHERE id = 'first'");
            assert_eq!(store.load("second").unwrap().id, "second");
        },
    );
}

#[test]
fn the_newest_run_of_each_experiment_that_says_something_counts() {
    on_both(
        "the_newest_run_of_each_experiment_that_says_something_counts",
        |home| {
            let mut store = store_of(home, &[]);
            let mut insert = |id: &str, experiment: &str, change: &dyn Fn(&mut model::Run)| {
                let mut run = small_run(id);
                run.experiment = experiment.to_owned();
                change(&mut run);
                store.insert(&run).unwrap();
            };
            let without_trials = |run: &mut model::Run| {
                let trials = run.cases.iter_mut().map(|case| &mut case.trials);
                trials.for_each(Vec::clear);
            };
            let emulated =
                |run: &mut model::Run| run.machine.as_mut().unwrap().emulated = Some(true);
            insert("4", "a", &|_| {});
            insert("5", "b", &|run| {
                run.status = RunStatus::Interrupted;
                run.machine = None;
            });
            insert("6", "b", &without_trials);
            insert("7", "b", &emulated);
            insert("8", "a", &|_| {});
            insert("9", "a", &|run| run.status = RunStatus::Unfinished);
            let picked = store.newest_of_each().unwrap();
            let all = store.history(9).unwrap();
            let expected: Vec<_> = all
                .into_iter()
                .filter(|run| ["8", "5"].contains(&run.id.as_str()))
                .collect();
            assert_eq!(picked, expected);
        },
    );
}
