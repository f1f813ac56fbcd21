//! `cargo xtask test --repeat N --beside K`: the tests of this machine N times, beside K busy loops
//! and one guest, and which of them failed once.

use std::collections::BTreeMap;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Mutex;

use anyhow::{Context, Result};

use super::host;
use super::program::Test;
use super::summary::indented;
use super::verdict::{Checked, Verdict};
use crate::program::Interrupt;
use crate::repository;

/// Runs the tests so many times; prints each that failed, with what it said the first time.
pub(crate) fn run(
    tests: &[&Test],
    times: u32,
    beside: u32,
    interrupt: &Interrupt,
) -> Result<ExitCode> {
    let _load = Load::start(beside)?;
    let failed = Mutex::new(BTreeMap::<String, (u32, String)>::new());
    let mut done = 0;
    while done < times && interrupt.signal().is_none() {
        let hear = |test: &Test, checked: Checked| {
            if let Verdict::Failed(said) = checked.verdict {
                println!(
                    "FAILED in turn {}: {}\n{}",
                    done + 1,
                    checked.name,
                    indented(&said)
                );
                let mut failed = failed.lock().expect("nothing panics with it");
                let said = format!("{}\n    again: {}", indented(&said), test.again());
                failed.entry(checked.name).or_insert((0, said)).0 += 1;
            }
        };
        host::run(tests, interrupt, &hear)?;
        done += 1;
        let count = failed.lock().expect("nothing panics with it").len();
        println!("turn {done} of {times}: {count} tests have failed so far");
    }
    let failed = failed.into_inner().expect("nothing panics with it");
    for (name, (count, said)) in &failed {
        println!("FAILED {count} of {done} times: {name}\n{said}");
    }
    println!(
        "{} tests, {done} times: {} failed at least once",
        tests.len(),
        failed.len()
    );
    Ok(match failed.is_empty() && done == times {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// Busy loops, and a guest that is busy, too; they end with this.
struct Load(Vec<Child>);

impl Load {
    fn start(loops: u32) -> Result<Self> {
        let mut load = Load(Vec::new());
        if loops == 0 {
            return Ok(load);
        }
        // The build of the tests may have replaced the file of this process.
        let xtask = repository::target().join("debug/xtask");
        let day = ["--timeout", "86400", "--", "sh", "-c", BUSY];
        let mut guest = Command::new(xtask);
        guest.args(["guest", "--shape", "two-node"]).args(day);
        let mut commands = vec![guest];
        commands.extend((0..loops).map(|_| {
            let mut command = Command::new("setpriv");
            command.args(["--pdeathsig", "KILL", "--", "sh", "-c", BUSY]);
            command
        }));
        for command in &mut commands {
            let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
            load.0
                .push(child.with_context(|| format!("start {command:?}"))?);
        }
        Ok(load)
    }
}

const BUSY: &str = "while :; do :; done";

impl Drop for Load {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // A guest ends with the task that booted it.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
