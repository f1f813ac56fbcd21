//! `cargo xtask bench start-up`: how long commands that measure nothing take: help, the topology of
//! a machine with 1,152 CPUs, the experiments, and the history of 10,000 stored runs.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use testing::article_machines::thirty_two_nodes;

use super::claims::Claims;
use super::own_binary;
use super::spread::Median;
use super::supervisor::Supervisor;
use crate::guest::packages;
use crate::repository;

/// Starts of each command, taken in turns.
const ROUNDS: usize = 51;
/// Stored runs.
const RUNS: u32 = 10_000;

/// The commands, and the most milliseconds that the median start may take.
const COMMANDS: [(&[&str], f64); 6] = [
    (&["--help"], 10.0),
    (&["topology"], 30.0),
    (&["list"], 100.0),
    (&["history"], 100.0),
    (&["history", "--limit", "10000"], 100.0),
    (&["show", "last"], 100.0),
];

/// Builds the release binary, makes the machine and the store, and judges the medians.
pub(super) fn run(limit: Duration) -> Result<()> {
    packages::require_program("sqlite3", "sqlite3")?;
    let binary = own_binary::release()?;
    let machine = thirty_two_nodes().tree().expand_in_memory()?;
    let folder = repository::target().join("bench/start-up");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    store(&binary, &folder)?;
    let supervisor = Supervisor::start(limit)?;
    let command = |words: &[&str]| {
        let mut command = Command::new(&binary);
        command.args(words).env("XDG_STATE_HOME", &folder);
        if words[0] == "topology" {
            command.arg("--root").arg(machine.path());
        }
        command
    };
    let mut alone = Vec::new();
    let mut times = vec![Vec::new(); COMMANDS.len()];
    for _ in 0..ROUNDS {
        supervisor.check()?;
        alone.push(timed(&mut Command::new("/bin/true"))?);
        for ((words, _), times) in COMMANDS.iter().zip(&mut times) {
            times.push(timed(&mut command(words))?);
        }
    }
    fs::remove_dir_all(&folder)?;
    println!("medians of {ROUNDS} starts, taken in turns; {RUNS} stored runs, 1152 CPUs");
    let median = |times: &[f64]| Median::of(times).context("too few starts");
    println!("/bin/true: {} ms", median(&alone)?);
    let mut claims = Claims::default();
    for ((words, most), times) in COMMANDS.iter().zip(&times) {
        let took = median(times)?;
        let found = format!("numalab {}: {took} ms", words.join(" "));
        claims.add(&found, &format!("at most {most} ms"), took.median <= *most);
    }
    claims.conclude()
}

/// Fills a store: one run that was imported, and copies of it.
fn store(binary: &Path, folder: &Path) -> Result<()> {
    let mut table = "case,round,figure\n".to_owned();
    for round in 1..=5 {
        writeln!(table, "near,{round},{}", 1000 + round)?;
        writeln!(table, "far,{round},{}", 800 + round)?;
    }
    let file = folder.join("figures.csv");
    fs::write(&file, table)?;
    let mut import = Command::new(binary);
    import.args(["import", "csv"]).arg(&file);
    import.env("XDG_STATE_HOME", folder);
    timed(&mut import)?;
    let copies = format!(
        "BEGIN;
         CREATE TEMP TABLE n AS WITH RECURSIVE n(i) AS
             (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < {RUNS}) SELECT i FROM n;
         INSERT INTO runs SELECT i, 'copy-' || i, format, experiment, question, definition,
             started_at, status, seed, metric, baseline, asks_about_memory, window_s, host,
             emulated, machine, calibration FROM runs, n WHERE number = 1;
         INSERT INTO cases SELECT i, position, name, plan FROM cases, n WHERE run = 1;
         INSERT INTO trials (run, case_position, round, outcome, reason, value, trial)
             SELECT i, case_position, round, outcome, reason, value, trial FROM trials, n
             WHERE run = 1;
         COMMIT;"
    );
    let mut sqlite = Command::new("sqlite3");
    sqlite.arg(folder.join("numalab/runs.sqlite")).arg(copies);
    timed(&mut sqlite)?;
    Ok(())
}

/// Runs a command to its end; returns the milliseconds it took.
fn timed(command: &mut Command) -> Result<f64> {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let began = Instant::now();
    let status = command
        .status()
        .with_context(|| format!("start {command:?}"))?;
    let took = began.elapsed().as_secs_f64() * 1000.0;
    ensure!(status.success(), "{command:?}: {status}");
    Ok(took)
}
