//! Stored trials as a Parquet file, which DuckDB reads as the store has them.
//!
//! Tests of export, store.

use std::path::Path;
use std::process::Command;

use testing::{Need, not_run};

use crate::experiment_file::{ExperimentFile, SMALL};
use crate::laboratory::Laboratory;
use crate::unpacked_programs::UNPACKED;

/// Compares the file with the store's own tables, read by SQLite.
const COMPARE: &str = r#"
import sqlite3, sys, duckdb
parquet, store = sys.argv[1:]
of_parquet = duckdb.sql(f"""
    SELECT run, host, experiment, epoch_us(started_at), status, metric, "case", round, outcome,
           reason, value FROM '{parquet}' ORDER BY run, "case", round""").fetchall()
of_store = sqlite3.connect(store).execute("""
    SELECT r.id, r.host, r.experiment,
           CAST(round((julianday(r.started_at) - 2440587.5) * 86400) AS INTEGER),
           r.status, r.metric, c.name, t.round, t.outcome, t.reason, t.value
    FROM trials t JOIN runs r ON r.number = t.run
    JOIN cases c ON c.run = t.run AND c.position = t.case_position
    ORDER BY r.id, c.name, t.round""").fetchall()
seconds = [row[:3] + (row[3] // 1_000_000,) + row[4:] for row in of_parquet]
assert [r[:3] + r[4:] for r in seconds] == [r[:3] + r[4:] for r in of_store], (seconds, of_store)
assert all(abs(a[3] - b[3]) <= 1 for a, b in zip(seconds, of_store)), (seconds, of_store)
described = duckdb.sql(f"DESCRIBE SELECT * FROM '{parquet}'")
kinds = dict(described.project("column_name, column_type").fetchall())
assert kinds["started_at"] == "TIMESTAMP WITH TIME ZONE", kinds
found = kinds["value"], kinds["round"], kinds["emulated"]
assert found == ("DOUBLE", "INTEGER", "BOOLEAN"), kinds
print(len(of_parquet))
"#;

#[test]
fn duckdb_reads_every_trial_as_the_store_has_it() {
    let test = "duckdb_reads_every_trial_as_the_store_has_it";
    let python = Path::new(UNPACKED).join("duckdb/usr/bin/python3");
    if !python.is_file() {
        let why = "it needs DuckDB (cargo xtask test --only packages)";
        return not_run(test, Need::Network, why);
    }
    let laboratory = Laboratory::new();
    let experiment = ExperimentFile::new("one", SMALL)
        .case("one", "")
        .case("two", "cache = \"2MiB\"");
    let path = laboratory.file("mine.toml", experiment.text());
    let words = ["run", &path, "--trials", "5", "--seconds", "0.2"];
    for _ in 0..2 {
        laboratory.run_until_a_trial_counts(&words).with_code(0);
    }
    let file = laboratory.folder().join("trials.parquet");
    let file = file.to_str().unwrap();
    let said = laboratory
        .run(&["export", "--all", "--parquet", file])
        .with_code(0);
    said.says(&["wrote ", "trials of "]);
    let store = laboratory.store();
    let store = store.to_str().unwrap();
    let compared = Command::new(&python)
        .args(["-c", COMPARE, file, store])
        .output()
        .unwrap();
    let (out, error) = (
        String::from_utf8_lossy(&compared.stdout),
        String::from_utf8_lossy(&compared.stderr),
    );
    assert!(compared.status.success(), "{error}");
    assert!(
        out.trim().parse::<u32>().is_ok_and(|rows| rows >= 8),
        "{out}"
    );
    // One run alone, in the place of what was there.
    laboratory
        .run(&["export", "last", "--parquet", file])
        .with_code(0)
        .says(&[" trials of 1 run"]);
    laboratory.run(&["export", "--all"]).with_code(2);
}
