//! Runs are sent between stores of both kinds: each once, nothing lost, whoever sends how often.

use model::{LiveMeasured, RunStatus, TryWindow};
use proptest::prelude::*;
use store::{Error, Sent, Store, Stored};

use crate::arbitrary;
use crate::homes::{Home, on_both, on_both_of};
use crate::small_run::{self, live_run, small_run};

/// Sends all that the other lacks; what became of each, and its id there.
fn send_all(from: &Store, to: &mut Store) -> Vec<(Sent, String)> {
    let runs = from.runs(false).unwrap();
    let lacked = to.lacks(&runs).unwrap();
    let sent = lacked.into_iter().map(|run| from.send(run, to).unwrap());
    sent.collect()
}

/// A source for a store of each kind: a file.
fn source() -> (Home, Store) {
    let home = Home::of_file();
    let store = home.open();
    (home, store)
}

#[test]
fn every_run_arrives_as_it_is_and_once() {
    on_both("every_run_arrives_as_it_is_and_once", |home| {
        let (_folder, mut from) = source();
        let run = small_run("20261121-034512-271");
        let mut long = small_run("20261121-034512-300");
        let trials = &mut long.cases[0].trials;
        trials.extend((0..70).map(|number| small_run::trial(number % 3)));
        let live = live_run("20261121-034512-400");
        from.insert(&run).unwrap();
        from.insert(&long).unwrap();
        from.put_live(&live).unwrap();
        let mut to = home.open();
        let sent = send_all(&from, &mut to);
        assert!(sent.iter().all(|(sent, _)| *sent == Sent::New), "{sent:?}");
        assert_eq!(sent.len(), 3);
        assert_eq!(to.load(&run.id).unwrap(), run);
        assert_eq!(to.load(&long.id).unwrap(), long);
        let loaded = to.load_any(&live.id).unwrap();
        assert_eq!(loaded, Stored::Live(Box::new(live)));
        assert_eq!(send_all(&from, &mut to), []);
        let again = from.send(&from.run(&run.id).unwrap(), &mut to).unwrap();
        assert_eq!(again, (Sent::Known, run.id.clone()));
        // And back, where all is known.
        assert_eq!(send_all(&to, &mut from), []);
        assert_eq!(from.history(9).unwrap(), to.history(9).unwrap());
    });
}

#[test]
fn runs_of_two_machines_may_have_the_same_id() {
    on_both("runs_of_two_machines_may_have_the_same_id", |home| {
        let mut to = home.open();
        // One that is being begun there has its id, too.
        let ids = ["20261121", "20261121-3"].map(str::to_owned);
        to.claim_id(ids[1..].iter().cloned()).unwrap();
        let mut sent = Vec::new();
        for host in ["one", "two", "three"] {
            let (_folder, mut from) = source();
            let mut run = small_run("20261121");
            run.machine.as_mut().unwrap().host = host.to_owned();
            from.insert(&run).unwrap();
            sent.extend(send_all(&from, &mut to));
        }
        let ids: Vec<&str> = sent.iter().map(|(_, id)| id.as_str()).collect();
        assert_eq!(ids, ["20261121", "20261121-2", "20261121-4"]);
        let second = to.load("20261121-2").unwrap();
        assert_eq!(second.machine.unwrap().host, "two");
        assert_eq!(to.load("20261121").unwrap().machine.unwrap().host, "one");
    });
}

#[test]
fn a_run_that_is_measured_is_sent_again_until_it_has_ended() {
    let test = "a_run_that_is_measured_is_sent_again_until_it_has_ended";
    on_both(test, |home| {
        let (folder, mut from) = source();
        let mut to = home.open();
        let mut put = |windows: usize, status: RunStatus| {
            let mut live = live_run("live");
            live.status = status;
            let LiveMeasured::Try(report) = &mut live.measured else {
                unreachable!()
            };
            report.windows = vec![TryWindow::default(); windows];
            from.put_live(&live).unwrap();
        };
        put(1, RunStatus::Unfinished);
        let source = || folder.open_existing();
        assert_eq!(source().runs(true).unwrap(), [], "it has not ended");
        let sent = |from: &Store, to: &mut Store| {
            let sent = send_all(from, to).into_iter();
            sent.map(|(sent, _)| sent).collect::<Vec<_>>()
        };
        assert_eq!(sent(&source(), &mut to), [Sent::New]);
        assert_eq!(sent(&source(), &mut to), []);
        put(2, RunStatus::Unfinished);
        assert_eq!(sent(&source(), &mut to), [Sent::Updated]);
        let copy = Home::of_file();
        std::fs::copy(folder.named(), copy.named()).unwrap();
        put(2, RunStatus::Settled);
        assert_eq!(sent(&source(), &mut to), [Sent::Updated]);
        let ended = source().load_any("live").unwrap();
        assert_eq!(to.load_any("live").unwrap(), ended);
        // A copy of the file from before must not take back what came after.
        assert_eq!(sent(&copy.open(), &mut to), []);
        assert_eq!(to.load_any("live").unwrap(), ended);
        assert_eq!(to.history(9).unwrap().len(), 1);
    });
}

#[test]
fn a_run_of_an_experiment_that_was_killed_keeps_what_it_has_and_ends_later() {
    on_both("a_run_of_an_experiment", |home| {
        let (folder, mut from) = source();
        let mut to = home.open();
        let mut run = small_run("a");
        run.status = RunStatus::Unfinished;
        from.insert(&run).unwrap();
        assert_eq!(send_all(&from, &mut to)[0].0, Sent::New);
        folder.sql("UPDATE runs SET status = 'failed'");
        assert_eq!(send_all(&from, &mut to)[0].0, Sent::Updated);
        run.status = RunStatus::Failed;
        assert_eq!(to.load("a").unwrap(), run);
    });
}

#[test]
fn what_cannot_be_read_does_not_spread() {
    on_both("what_cannot_be_read_does_not_spread", |home| {
        let mut from = home.open();
        from.insert(&small_run("damaged")).unwrap();
        from.insert(&small_run("whole")).unwrap();
        home.sql("UPDATE trials SET trial = '{' WHERE run = (SELECT min(number) FROM runs)");
        let (_folder, mut to) = source();
        let runs = from.runs(true).unwrap();
        let error = from.send(&runs[0], &mut to).unwrap_err();
        assert!(matches!(error, Error::Damaged { .. }), "{error}");
        assert_eq!(to.history(9).unwrap(), []);
        assert_eq!(from.send(&runs[1], &mut to).unwrap().0, Sent::New);
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn any_run_arrives_as_it_is(run in arbitrary::run()) {
        on_both_of("any_run_arrives_as_it_is", std::slice::from_ref(&run), |home| {
            let (_folder, mut from) = source();
            from.insert(&run).unwrap();
            let mut to = home.open();
            send_all(&from, &mut to);
            assert_eq!(to.load(&run.id).unwrap(), run);
            let (_folder, mut back) = source();
            send_all(&to, &mut back);
            assert_eq!(back.load(&run.id).unwrap(), run);
        });
    }
}
