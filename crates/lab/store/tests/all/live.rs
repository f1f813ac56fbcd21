//! Runs of live windows are stored beside those of experiments, and found like them.

use model::{
    LiveMeasured, LiveRun, RecordEnd, RecordReport, RecordWindow, RunStatus, TryReport, TryWindow,
};
use store::{Error, Store, Stored};

use crate::homes::on_both;
use crate::small_run::{live_run, small_run};

fn live(store: &Store, asked: &str) -> LiveRun {
    match store.load_any(asked).unwrap() {
        Stored::Live(live) => *live,
        Stored::Run(run) => panic!("{} is a run", run.id),
    }
}

fn record(id: &str, label: Option<&str>, windows: usize) -> LiveRun {
    let mut run = live_run(id);
    run.label = label.map(str::to_owned);
    run.measured = LiveMeasured::Record(RecordReport {
        target: "redis:6379".to_owned(),
        windows: vec![RecordWindow::default(); windows],
        ..RecordReport::default()
    });
    run
}

#[test]
fn a_live_run_is_read_as_it_was_stored_last() {
    on_both("a_live_run_is_read_as_it_was_stored_last", |home| {
        let mut store = home.open();
        let mut run = live_run("20261121-034512-271");
        run.status = RunStatus::Unfinished;
        store.put_live(&run).unwrap();
        store.insert(&small_run("20261122")).unwrap();
        let LiveMeasured::Try(report) = &mut run.measured else {
            unreachable!()
        };
        let window = |void: Option<&str>| TryWindow {
            work: Some(7),
            cpu_s: Some(0.1),
            void: void.map(str::to_owned),
            ..TryWindow::default()
        };
        report.windows = vec![window(None), window(Some("it was reset")), window(None)];
        run.status = RunStatus::Bounded;
        store.put_live(&run).unwrap();
        let store = home.open_existing();
        assert_eq!(live(&store, "20261121"), run);
        let headers = store.history(9).unwrap();
        assert_eq!(headers.len(), 2);
        // It keeps its place: runs are listed by when they began.
        let header = &headers[1];
        assert_eq!(header.id, run.id);
        assert_eq!(header.experiment, "try redis:6379");
        assert_eq!(header.status, RunStatus::Bounded);
        let counts = (header.cases, header.trials_valid, header.trials_invalid);
        assert_eq!(counts, (2, 2, 1));
        assert_eq!(store.newest_of_each().unwrap().len(), 1);
    });
}

#[test]
fn who_wants_cases_gets_no_live_run() {
    on_both("who_wants_cases_gets_no_live_run", |home| {
        let mut store = home.open();
        store.insert(&small_run("one")).unwrap();
        store.put_live(&record("two", None, 3)).unwrap();
        let error = store.load("two").unwrap_err();
        assert!(matches!(error, Error::IsLive { .. }), "{error}");
        assert!(error.to_string().contains("(record redis:6379)"), "{error}");
        assert_eq!(store.load("last").unwrap().id, "one");
        assert_eq!(live(&store, "last").id, "two");
        // One without a window has nothing to show.
        store.put_live(&record("three", None, 0)).unwrap();
        assert_eq!(live(&store, "last").id, "two");
    });
}

#[test]
fn records_are_found_by_their_label_in_order() {
    on_both("records_are_found_by_their_label_in_order", |home| {
        let mut store = home.open();
        for (id, label) in [
            ("c", Some("before")),
            ("b", Some("after")),
            ("a", Some("before")),
        ] {
            store.put_live(&record(id, label, 1)).unwrap();
        }
        store.put_live(&record("d", None, 1)).unwrap();
        let ids = |label: &str| -> Vec<String> {
            let found = store.labelled(label).unwrap().into_iter();
            found.map(|run| run.id).collect()
        };
        assert_eq!(ids("before"), ["c", "a"]);
        assert_eq!(ids("after"), ["b"]);
        assert!(ids("%").is_empty());
        assert_eq!(store.history(1).unwrap()[0].label, None);
        assert_eq!(
            store.history(2).unwrap()[1].label.as_deref(),
            Some("before")
        );
    });
}

#[test]
fn an_id_belongs_to_one_run() {
    on_both("an_id_belongs_to_one_run", |home| {
        let mut store = home.open();
        store.insert(&small_run("one")).unwrap();
        let taken = store.put_live(&record("one", None, 1)).unwrap_err();
        assert!(matches!(taken, Error::IdTaken { .. }), "{taken}");
        store.put_live(&record("two", None, 1)).unwrap();
        let taken = store.insert(&small_run("two")).unwrap_err();
        assert!(matches!(taken, Error::IdTaken { .. }), "{taken}");
        let ids = ["two", "three"].map(str::to_owned);
        assert_eq!(store.claim_id(ids.into_iter()).unwrap(), "three");
    });
}

#[test]
fn what_has_ended_has_the_status_of_its_end() {
    assert_eq!(RecordEnd::TargetEnded.status(), RunStatus::Failed);
    assert_eq!(RecordEnd::TimeOver.status(), RunStatus::Bounded);
    assert_eq!(TryReport::default().end.status(), RunStatus::Unfinished);
}
