//! `cargo xtask bench start-up`: how long commands that measure nothing take: help, the topology of
//! a machine with 1,152 CPUs, the experiments, the history of 10,000 stored runs, and a move of
//! memory that lies where it should.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
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

/// Stands for the process whose memory is moved.
const PROCESS: &str = "PROCESS";

/// The commands, and the most milliseconds that the median start may take.
const COMMANDS: [(&[&str], f64); 7] = [
    (&["--help"], 10.0),
    (&["topology"], 30.0),
    (&["list"], 100.0),
    (&["history"], 100.0),
    (&["history", "--limit", "10000"], 100.0),
    (&["show", "last"], 100.0),
    (&["move", PROCESS, "--to", "0"], 30.0),
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
    let process = Process::on_node_0()?;
    let command = |words: &[&str]| {
        let mut command = Command::new(&binary);
        let is_topology = words[0] == "topology";
        let words = words.iter().map(|word| match *word {
            PROCESS => process.0.id().to_string(),
            word => word.to_owned(),
        });
        command.args(words).env("XDG_STATE_HOME", &folder);
        if is_topology {
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

/// A process whose memory is on node 0; ends with this.
struct Process(Child);

impl Process {
    fn on_node_0() -> Result<Self> {
        packages::require_program("numactl", "numactl")?;
        let mut command = Command::new("numactl");
        command.args(["--membind=0", "sleep", "600"]);
        let process = Process(command.spawn().context("start numactl")?);
        let name = format!("/proc/{}/comm", process.0.id());
        // numactl has to become what it runs.
        while fs::read_to_string(&name).context("read the name of numactl")? != "sleep\n" {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(process)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that has ended by itself needs no end.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
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
