//! `cargo xtask bench start-up`: how long commands that measure nothing take: help, the topology of
//! a machine with 1,152 CPUs, the experiments, the history of 10,000 stored runs, and a move of
//! memory that lies where it should.

use std::process::Command;

use anyhow::{Context, Result};
use testing::article_machines::thirty_two_nodes;

use super::harness::{Harness, seconds};
use super::holder::{Holder, PAGE_HOLDER};
use crate::guest::packages;

/// Starting a program that does nothing.
const ALONE: &str = "/bin/true";
/// The system calls for the files of the described machine: each is opened and read once.
const FILES: &str = "grep -rc";
/// The same runs and medians, by the program of the same library.
const ROWS: &str = "sqlite3, 20 runs";
const ALL_ROWS: &str = "sqlite3, 10,000 runs";
const MIGRATEPAGES: &str = "migratepages PID 0 0";
/// The programs that `list` starts, which are those of the databases on this machine, and starts of
/// a program for its own work.
const PROGRAMS: &str = "20 starts and the databases' versions";
const START_PROGRAMS: &str = "for start in $(seq 20); do /bin/true; done; \
     for program in pg_config postgres mariadbd redis-server valkey-server; do \
     if command -v $program; then $program --version; fi; done";
const PEERS: [&str; 6] = [ALONE, FILES, PROGRAMS, ROWS, ALL_ROWS, MIGRATEPAGES];

/// The words of numalab, and how many times as long as a peer in the same rounds the median start
/// may take: the speed of a machine is in both. PID is a process whose memory is on node 0.
const COMMANDS: [(&str, f64, &str); 7] = [
    ("--help", 5.0, ALONE),
    ("topology", 1.0, FILES),
    ("list", 1.0, PROGRAMS),
    ("history", 2.0, ROWS),
    ("history --limit 10000", 1.0, ALL_ROWS),
    ("show last", 4.0, ROWS),
    ("move PID --to 0", 15.0, MIGRATEPAGES),
];

/// The store of numalab in the folder of its state.
const STORE: &str = "numalab/runs.sqlite";

/// A run that is stored.
const FIGURES: &str = "case,round,figure\nnear,1,1001\nnear,2,1002\nnear,3,1003\nnear,4,1004\n\
    near,5,1005\nfar,1,801\nfar,2,802\nfar,3,803\nfar,4,804\nfar,5,805\n";
/// Makes 10,000 runs of it.
const COPIES: &str = "BEGIN;
    CREATE TEMP TABLE n AS WITH RECURSIVE n(i) AS
        (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 10000) SELECT i FROM n;
    INSERT INTO runs SELECT i, 'copy-' || i, format, experiment, question, definition,
        started_at, status, seed, metric, baseline, asks_about_memory, window_s, host,
        emulated, machine, calibration FROM runs, n WHERE number = 1;
    INSERT INTO cases SELECT i, position, name, plan FROM cases, n WHERE run = 1;
    INSERT INTO trials (run, case_position, round, outcome, reason, value, trial)
        SELECT i, case_position, round, outcome, reason, value, trial FROM trials, n
        WHERE run = 1;
    COMMIT;";

pub(super) fn run(harness: &mut Harness) -> Result<()> {
    packages::require_program("sqlite3", "sqlite3")?;
    packages::require_program("numactl", "numactl")?;
    let machine = thirty_two_nodes().tree().expand_in_memory()?;
    let near = ["numactl", "--membind=0"];
    let near = Holder::start(harness, &near, PAGE_HOLDER, "1 1 memfd")?;
    harness.folder.push("start-up");
    store(harness).context("store 10,000 runs")?;
    let subjects = [&PEERS[..], &COMMANDS.map(|(words, ..)| words)].concat();
    let turns = harness.turns(51, &subjects, |subject| {
        let words = subject.replace("PID", &near.pid);
        let mut words = words.split(' ');
        let mut command = match subject {
            FILES => Command::new("grep"),
            PROGRAMS => Command::new("sh"),
            ROWS | ALL_ROWS => Command::new("sqlite3"),
            ALONE | MIGRATEPAGES => Command::new(words.next().unwrap_or_default()),
            _ => harness.numalab::<&str>(&[]),
        };
        match subject {
            FILES => command.args(["-rc", ""]).arg(machine.path()),
            PROGRAMS => command.args(["-c", START_PROGRAMS]),
            ROWS => command.arg(harness.folder.join(STORE)).arg(rows(20)),
            ALL_ROWS => command.arg(harness.folder.join(STORE)).arg(rows(10_000)),
            "topology" => command.args(words).arg("--root").arg(machine.path()),
            _ => command.args(words),
        };
        Ok(1000.0 * seconds(&mut command)?)
    })?;
    std::fs::remove_dir_all(&harness.folder)?;
    turns.print("one start", 1.0, "ms")?;
    for (words, most, peer) in COMMANDS {
        harness.claims.at_most_times(&turns, words, most, peer)?;
    }
    Ok(())
}

/// What `history` shows of the newest runs: their names, and the figures of each case.
fn rows(limit: u32) -> String {
    format!(
        "SELECT r.number, r.id, r.started_at, r.status, c.name, group_concat(t.value)
         FROM (SELECT * FROM runs ORDER BY number DESC LIMIT {limit}) AS r
         JOIN cases AS c ON c.run = r.number
         JOIN trials AS t ON t.run = r.number AND t.case_position = c.position
         GROUP BY r.number, c.position;"
    )
}

/// Fills a new store: one run that is imported, and copies of it.
fn store(harness: &Harness) -> Result<()> {
    let folder = &harness.folder;
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    std::fs::create_dir_all(folder)?;
    let file = folder.join("figures.csv");
    std::fs::write(&file, FIGURES)?;
    harness.text(harness.numalab(&["import", "csv"]).arg(file))?;
    harness.text(Command::new("sqlite3").arg(folder.join(STORE)).arg(COPIES))?;
    Ok(())
}
