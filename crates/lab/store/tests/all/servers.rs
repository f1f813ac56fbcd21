//! What only a store in PostgreSQL has: a server that ends, stands still, or refuses; and psql,
//! which judges from outside.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use model::exit::ExitCode;
use model::{Event, Run, RunStatus};
use store::{Error, Place, RunRecorder, Store};

use crate::homes::{Cluster, Home};
use crate::small_run::{self, small_run};

fn place(url: &str) -> Place {
    Place::named(url.as_ref()).unwrap()
}

/// The run with no trial yet.
fn begun(id: &str) -> Run {
    let mut run = small_run(id);
    run.status = RunStatus::Unfinished;
    run.cases.iter_mut().for_each(|case| case.trials.clear());
    run
}

#[test]
fn a_server_has_the_tables_of_a_file() {
    let test = "a_server_has_the_tables_of_a_file";
    let Some(home) = Home::of_server(test) else {
        return;
    };
    home.open();
    let file = Home::of_file();
    file.open();
    let of_server = home.sql(
        "SELECT table_name || '.' || column_name FROM information_schema.columns
         WHERE table_schema = 'numalab' AND table_name NOT IN ('store', 'writers') ORDER BY 1",
    );
    let connection = rusqlite::Connection::open(file.named()).unwrap();
    let mut statement = connection
        .prepare(
            "SELECT t.name || '.' || c.name FROM sqlite_schema t, pragma_table_info(t.name) c
             WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite%' ORDER BY 1",
        )
        .unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    let of_file: Vec<String> = rows.map(Result::unwrap).collect();
    let of_server: Vec<&str> = of_server.lines().collect();
    assert_eq!(of_server, of_file);
    assert_eq!(home.sql("SELECT version FROM store"), "4");
}

#[test]
fn an_older_version_is_upgraded_once_by_many() {
    let test = "an_older_version_is_upgraded_once_by_many";
    let Some(home) = Home::of_server(test) else {
        return;
    };
    let open_at_once = || {
        std::thread::scope(|scope| {
            let all: Vec<_> = (0..8).map(|_| scope.spawn(|| drop(home.open()))).collect();
            all.into_iter().for_each(|one| one.join().unwrap());
        });
    };
    open_at_once();
    home.open().insert(&small_run("a")).unwrap();
    home.sql(
        "DROP INDEX runs_of_uid; ALTER TABLE runs DROP COLUMN uid; UPDATE store SET version = 3",
    );
    open_at_once();
    assert_eq!(home.open_existing().load("a").unwrap(), small_run("a"));
    let uid = "example/a/18446744073709551615/2026-11-21T03:04:05+00:00";
    assert_eq!(home.sql("SELECT uid FROM runs"), uid);
}

#[track_caller]
fn check_refused(home: &Home, sql: &str, expected: &str) {
    home.sql(sql);
    for opened in [
        Store::open(home.place()),
        Store::open_existing(home.place()),
    ] {
        let error = opened.and_then(|store| store.load("a")).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(expected), "{text}");
        assert_eq!(error.exit_code(), ExitCode::Store, "{text}");
    }
}

#[test]
fn what_is_not_a_store_of_this_version_is_left_alone() {
    let test = "what_is_not_a_store_of_this_version_is_left_alone";
    let Some(home) = Home::of_server(test) else {
        return;
    };
    let missing = Store::open_existing(home.place()).unwrap_err();
    assert!(matches!(missing, Error::NotThere { .. }), "{missing}");
    let none = "SELECT count(*) FROM pg_namespace WHERE nspname = 'numalab'";
    assert_eq!(home.sql(none), "0", "looking makes nothing");
    home.open().insert(&small_run("a")).unwrap();
    let newer = "schema version 5, but this numalab supports up to 4";
    check_refused(&home, "UPDATE store SET version = 5", newer);
    check_refused(
        &home,
        "UPDATE store SET version = 4; DROP TABLE skipped",
        "damaged",
    );
    check_refused(&home, "DROP TABLE store", "another program's database");
    let other = home.another();
    other.sql("CREATE SCHEMA numalab; CREATE TABLE numalab.mine (x int)");
    check_refused(&other, "SELECT 1", "another program's database");
}

#[test]
fn a_role_that_may_only_read_reads() {
    let Some(home) = Home::of_server("a_role_that_may_only_read_reads") else {
        return;
    };
    home.open().insert(&small_run("a")).unwrap();
    home.sql(
        "CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA numalab TO reader;
         GRANT SELECT ON ALL TABLES IN SCHEMA numalab TO reader",
    );
    let url = home
        .named()
        .to_str()
        .unwrap()
        .replace("postgres@", "reader@");
    let mut store = Store::open(place(&url)).unwrap();
    assert_eq!(store.load("last").unwrap(), small_run("a"));
    let error = store.insert(&small_run("b")).unwrap_err();
    assert!(matches!(error, Error::NotWritable { .. }), "{error}");
    assert!(error.advice().contains("GRANT"), "{}", error.advice());
    home.sql("DROP OWNED BY reader; DROP ROLE reader");
}

#[test]
fn no_message_shows_a_password() {
    let place = place("postgresql://me:s3cret@localhost:1/x?connect_timeout=2");
    assert!(place.has_password());
    let error = Store::open(place.clone()).unwrap_err();
    let texts = [
        error.to_string(),
        format!("{error:?}"),
        format!("{place} {place:?}"),
    ];
    assert!(
        texts.iter().all(|text| !text.contains("s3cret")),
        "{texts:?}"
    );
    assert!(
        texts[0].contains("not reachable") && texts[2].contains("user='me'"),
        "{texts:?}"
    );
    let unread = Place::named("postgresql://me:s3cret@:::/".as_ref()).unwrap_err();
    assert!(!unread.to_string().contains("s3cret"), "{unread}");
    assert_eq!(Error::from(unread).exit_code(), ExitCode::Usage);
    let insecure = Place::named("postgresql://h/x?sslmode=require".as_ref()).unwrap_err();
    assert!(
        insecure
            .to_string()
            .contains("sslmode=require cannot be met"),
        "{insecure}"
    );
}

#[test]
fn a_server_that_stands_still_is_given_up() {
    let Some(cluster) = Cluster::start("a_server_that_stands_still_is_given_up") else {
        return;
    };
    let signal = |name: &str| {
        let pid = cluster.pid().to_string();
        assert!(
            Command::new("kill")
                .args([name, &pid])
                .status()
                .unwrap()
                .success()
        );
    };
    let url = cluster.url("postgres?connect_timeout=1");
    drop(Store::open(place(&url)).unwrap());
    signal("-STOP");
    let began = Instant::now();
    let error = Store::open(place(&url)).unwrap_err();
    signal("-CONT");
    assert!(matches!(error, Error::Lost { .. }), "{error}");
    assert!(
        began.elapsed() < Duration::from_secs(30),
        "{:?}",
        began.elapsed()
    );
}

/// The server is killed again and again while a run is recorded: every trial is there once, in its
/// order, as if nothing had been.
#[test]
fn others_are_waited_for_longer_than_a_lock_may_last() {
    let test = "others_are_waited_for_longer_than_a_lock_may_last";
    let Some(home) = Home::of_server(test) else {
        return;
    };
    let mut store = home.open();
    std::thread::scope(|scope| {
        // Holds a lock until another wants it, and 11 s more: the server gives up after 10.
        let hold = "
            BEGIN; LOCK TABLE runs;
            DO $$ BEGIN
                WHILE NOT EXISTS (
                    SELECT FROM pg_locks WHERE relation = 'runs'::regclass AND NOT granted)
                LOOP PERFORM pg_sleep(0.05); END LOOP;
            END $$;
            SELECT pg_sleep(11); COMMIT";
        let holder = scope.spawn(|| home.sql(hold));
        let is_held = "SELECT count(*) FROM pg_locks
                       WHERE relation = 'runs'::regclass AND mode = 'AccessExclusiveLock'";
        while home.sql(is_held) != "1" {
            assert!(!holder.is_finished(), "nobody holds the lock");
        }
        store.insert(&small_run("a")).unwrap();
    });
    assert_eq!(store.load("a").unwrap(), small_run("a"));
}

#[test]
fn a_run_is_recorded_through_the_ends_of_its_server() {
    let test = "a_run_is_recorded_through_the_ends_of_its_server";
    let Some(cluster) = Cluster::start(test) else {
        return;
    };
    let url = cluster.url("postgres");
    let mut store = Store::open(place(&url)).unwrap();
    let run = begun("killed");
    let is_over = AtomicBool::new(false);
    let mut expected = run.clone();
    std::thread::scope(|scope| {
        let killer = scope.spawn(|| {
            (0..3).for_each(|_| {
                cluster.kill();
                cluster.start_again();
            });
            is_over.store(true, Ordering::Release);
        });
        let mut recorder = RunRecorder::new(&mut store);
        let started = Event::RunStarted {
            run: &run,
            trials_at_most: 1,
        };
        recorder.record(&started).unwrap();
        for number in 0.. {
            let trial = small_run::trial(number % 3);
            let finished = Event::TrialFinished {
                case_index: 0,
                case: "local",
                trial: &trial,
            };
            recorder.record(&finished).unwrap();
            expected.cases[0].trials.push(trial);
            if is_over.load(Ordering::Acquire) {
                break;
            }
        }
        killer.join().unwrap();
    });
    assert_eq!(store.load("killed").unwrap(), expected);
    let count = cluster.query("postgres", "SELECT count(*) FROM numalab.trials");
    assert_eq!(count, expected.cases[0].trials.len().to_string());
}
