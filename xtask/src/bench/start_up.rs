//! `cargo xtask bench start-up`: how long commands that measure nothing take: help, the topology of
//! a machine with 1,152 CPUs, the experiments, the history of 10,000 stored runs, and a move of
//! memory that lies where it should.

use std::process::Command;

use anyhow::{Context, Result};
use testing::article_machines::thirty_two_nodes;

use super::harness::{Harness, seconds};
use super::holder::{Holder, PAGE_HOLDER};
use crate::guest::packages;

const ALONE: &str = "/bin/true";

/// The words of numalab, and the most milliseconds that the median start may take. PID is a
/// process whose memory is on node 0.
const COMMANDS: [(&str, f64); 7] = [
    ("--help", 10.0),
    ("topology", 30.0),
    ("list", 100.0),
    ("history", 100.0),
    ("history --limit 10000", 100.0),
    ("show last", 100.0),
    ("move PID --to 0", 30.0),
];

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
    let subjects = [&[ALONE][..], &COMMANDS.map(|(words, _)| words)].concat();
    let turns = harness.turns(51, &subjects, |subject| {
        let words = subject.replace("PID", &near.pid);
        let mut command = match subject {
            ALONE => Command::new(ALONE),
            _ => harness.numalab(&words.split(' ').collect::<Vec<_>>()),
        };
        if subject == "topology" {
            command.arg("--root").arg(machine.path());
        }
        Ok(1000.0 * seconds(&mut command)?)
    })?;
    std::fs::remove_dir_all(&harness.folder)?;
    println!("{ALONE}: {} ms", turns.median(ALONE)?);
    for (words, most) in COMMANDS {
        let (what, found) = (format!("numalab {words}"), turns.median(words)?);
        harness.claims.at_most(&what, found, most, "ms");
    }
    Ok(())
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
    let store = folder.join("numalab/runs.sqlite");
    harness.text(Command::new("sqlite3").arg(store).arg(COPIES))?;
    Ok(())
}
