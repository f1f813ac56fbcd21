//! `numalab run --connect`: measures a running server and leaves it as it was before.
//!
//! Tests of postgresql, server.

use std::fs;

use rustix::process::Signal;
use serde_json::Value;

use crate::laboratory::Laboratory;
use crate::patience::until;
use crate::postgres_server::{Server, installed};

/// Returns the arguments of a short run.
fn words<'w>(url: &'w str, more: &[&'w str]) -> Vec<&'w str> {
    let words = ["run", "--connect", url, "--trials", "5", "--seconds", "0.2"];
    [&words[..], more].concat()
}

/// Creates a table of 500 blocks with a key, and a role that may not read anything.
fn with_a_table(server: &Server) {
    server.query(
        "CREATE TABLE orders AS SELECT k, repeat('x', 900) AS filler \
         FROM generate_series(10, 4009) AS k",
    );
    server.query("CREATE UNIQUE INDEX ON orders (k)");
    server.query("VACUUM ANALYZE orders");
    server.query("CREATE ROLE reader LOGIN");
}

/// Returns everything in a database but its statistics.
fn inventory(server: &Server) -> String {
    server.query(
        "SELECT string_agg(oid::text || relname, ' ' ORDER BY oid) FROM pg_class \
         UNION ALL SELECT string_agg(nspname, ' ' ORDER BY oid) FROM pg_namespace \
         UNION ALL SELECT string_agg(extname, ' ' ORDER BY oid) FROM pg_extension",
    )
}

/// Counts the measured trials, valid or not: on a busy machine sessions wait for events outside
/// numalab, and a run with no other trials is given up. These tests check only the effects on the
/// server.
fn trials_of(run: &Value) -> usize {
    let trials = run["cases"][0]["trials"].as_array().unwrap();
    let measured = trials.iter().filter(|trial| {
        trial["logical_reads_per_s"]
            .as_f64()
            .is_some_and(|rate| rate > 0.0)
    });
    measured.count()
}

#[test]
fn a_table_of_a_server_that_runs_is_read_and_nothing_is_changed() {
    let Some(bin) = installed("a_table_of_a_server_that_runs_is_read_and_nothing_is_changed")
    else {
        return;
    };
    let laboratory = Laboratory::new();
    let server = Server::start(&bin);
    with_a_table(&server);
    let url = server.url("reader");
    let table = ["--table", "public.orders", "--json"];
    let refused = laboratory.run(&words(&url, &table)).with_code(4);
    refused.says(&[
        "permission denied for table orders",
        "GRANT SELECT ON the table",
    ]);
    server.query("GRANT SELECT ON orders TO reader");
    let before = inventory(&server);
    let run = laboratory.run(&words(&url, &table)).document();
    assert_eq!(run["experiment"], "postgres-connected");
    assert!(trials_of(&run) >= 1, "{run:#}");
    assert_eq!(inventory(&server), before);

    let create = laboratory
        .run(&words(&url, &["--create", "mine"]))
        .with_code(4);
    create.says(&["permission denied for database", "GRANT CREATE ON DATABASE"]);
    server.query("CREATE TABLE keyless (k int)");
    let keyless = laboratory.run(&words(&server.url("postgres"), &["--table", "keyless"]));
    keyless
        .with_code(2)
        .says(&["a unique index on one column of whole numbers"]);
    let absent = laboratory.run(&words(&server.url("postgres"), &["--table", "absent"]));
    absent.with_code(2).says(&["none named absent"]);
    laboratory.nothing_is_left();
}

/// Counters of PostgreSQL before 18 are those of all sessions, so that no trial can be valid.
#[test]
fn beside_others_a_server_that_counts_all_together_is_refused_at_once() {
    let Some(bin) = installed("beside_others_a_server_that_counts_all_together_is_refused_at_once")
    else {
        return;
    };
    let laboratory = Laboratory::new();
    let server = Server::start(&bin);
    with_a_table(&server);
    let version: u32 = server
        .query("SHOW server_version_num")
        .trim()
        .parse()
        .unwrap();
    if version >= 180_000 {
        return;
    }
    // It ends without an error when it is cancelled.
    let sleep = "DO $$ BEGIN PERFORM pg_sleep(600); \
                 EXCEPTION WHEN query_canceled THEN NULL; END $$";
    let sleeps = "state = 'active' AND query LIKE 'DO %'";
    let active = format!("SELECT count(*) FROM pg_stat_activity WHERE {sleeps}");
    let cancel = format!("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE {sleeps}");
    std::thread::scope(|scope| {
        scope.spawn(|| server.query(sleep));
        until("the other session works", || {
            (server.query(&active) == "1").then_some(())
        });
        let url = server.url("postgres");
        let refused = laboratory.run(&words(&url, &["--table", "public.orders"]));
        server.query(&cancel);
        refused.with_code(5).says(&[
            "other sessions work in this database (1 active session)",
            "PostgreSQL 18",
        ]);
    });
    assert_eq!(
        laboratory
            .run(&["history"])
            .with_code(0)
            .stdout
            .matches("postgres")
            .count(),
        0
    );
    laboratory.nothing_is_left();
}

#[test]
fn what_names_no_server_is_said_without_its_password() {
    let laboratory = Laboratory::new();
    let table = ["--table", "t"];
    let wrong = laboratory
        .run(&words("postgresql://me:secret@:::/", &table))
        .with_code(2);
    wrong.says(&["invalid server URL:", "postgresql://ROLE@HOST"]);
    assert!(!wrong.stderr.contains("secret"), "{}", wrong.stderr);
    let nobody = "host=/nowhere port=1 user=me password=secret";
    let refused = laboratory.run(&words(nobody, &table)).with_code(8);
    refused.says(&["connecting to /nowhere, port 1"]);
    assert!(!refused.stderr.contains("secret"), "{}", refused.stderr);
    let nothing = laboratory.run(&words(nobody, &[])).with_code(2);
    nothing.says(&["--connect needs --table or --create", "--table", "--create"]);
    laboratory.nothing_is_left();
}

#[test]
fn a_schema_is_gone_after_the_run_and_after_a_kill_by_undo() {
    let Some(bin) = installed("a_schema_is_gone_after_the_run_and_after_a_kill_by_undo") else {
        return;
    };
    let laboratory = Laboratory::new();
    let server = Server::start(&bin);
    let before = inventory(&server);
    let url = server.url("postgres");
    let create = ["--create", "bench", "--json"];
    let run = laboratory.run(&words(&url, &create)).document();
    assert!(trials_of(&run) >= 1, "{run:#}");
    assert_eq!(inventory(&server), before);
    laboratory.nothing_is_left();

    let exists = || server.query("SELECT to_regnamespace('bench') IS NOT NULL") == "t";
    let under_way = laboratory.start(&words(&url, &create));
    until("the schema", || exists().then_some(()));
    under_way.kill();
    under_way.finish();
    assert!(exists());
    let undone = laboratory.run(&["undo"]).with_code(0).stdout;
    assert!(
        undone.contains("schema bench in the database of"),
        "{undone}"
    );
    assert_eq!(inventory(&server), before);

    let interrupted = laboratory.start(&words(&url, &create));
    until("the schema", || exists().then_some(()));
    interrupted.signal_group(Signal::INT);
    let code = interrupted.finish().status.code();
    assert_eq!(code, Some(130));
    assert_eq!(inventory(&server), before);

    server.query("CREATE SCHEMA bench");
    let taken = laboratory.run(&words(&url, &create)).with_code(8);
    taken.says(&["\"bench\"", "already exists"]);
    assert!(exists(), "a schema that is not ours stays");
    laboratory.nothing_is_left();
}

#[test]
fn a_standby_can_be_read_and_gets_no_tables() {
    let Some(bin) = installed("a_standby_can_be_read_and_gets_no_tables") else {
        return;
    };
    let laboratory = Laboratory::new();
    let server = Server::start(&bin);
    with_a_table(&server);
    server.query("CHECKPOINT");
    server.stop();
    let signal = format!("{}/standby.signal", server.data());
    fs::write(&signal, "").unwrap();
    server.start_again();
    assert_eq!(server.query("SELECT pg_is_in_recovery()"), "t");
    let url = server.url("postgres");
    let refused = laboratory
        .run(&words(&url, &["--create", "mine"]))
        .with_code(2);
    refused.says(&["the server is a standby", "--table SCHEMA.TABLE"]);
    let read = ["--table", "public.orders", "--json"];
    let run = laboratory.run(&words(&url, &read)).document();
    assert!(trials_of(&run) >= 1, "{run:#}");
    laboratory.nothing_is_left();
}
