//! `cargo xtask guard`, by which benchmarks start other programs: the program and everything that
//! it starts end with the benchmark, even one that is killed (`kill -9`), and at a time limit.
//!
//! The benchmark holds the other end of the guard's standard input, which the kernel closes
//! whatever ends the benchmark. The program has a process group of its own, so that what it starts
//! is ended with it (`lat_mem_rd` measures in a child, which outlives it).

use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::arguments::GuardArguments;

/// The exit status of a program that was ended at its limit, as of timeout(1).
pub(crate) const PAST_LIMIT: u8 = 124;
/// That of one whose benchmark is gone; nobody is left to read it.
const ORPHANED: u8 = 128 + 9;
/// How often the program is looked at; seldom, because most of them measure time.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Runs the program; ends with its exit status.
pub(crate) fn run(arguments: &GuardArguments) -> Result<ExitCode> {
    let (program, words) = arguments.command.split_first().context("no program")?;
    let mut child = Command::new(program)
        .args(words)
        .stdin(Stdio::null())
        .process_group(0)
        .spawn()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let group = Pid::from_child(&child);
    let orphaned = watch_stdin();
    // A limit beyond what a clock can show is none.
    let deadline = Instant::now().checked_add(arguments.limit);
    let ended_by_us = loop {
        if has_ended(group)? {
            break None;
        }
        if orphaned.load(Ordering::Relaxed) {
            break Some(ORPHANED);
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            break Some(PAST_LIMIT);
        }
        std::thread::sleep(LOOK_EVERY);
    };
    // Before its leader is collected, so that the id is still that of the group. It is an error
    // only when nobody of the group is left.
    let _ = kill_process_group(group, Signal::KILL);
    let status = child.wait().context("cannot wait for the program")?;
    Ok(ExitCode::from(
        ended_by_us.unwrap_or_else(|| code_of(status)),
    ))
}

/// Whether the leader of the group has ended; it is not collected.
fn has_ended(leader: Pid) -> Result<bool> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    let ended = waitid(WaitId::Pid(leader), options).context("cannot wait for the program")?;
    Ok(ended.is_some())
}

/// Says when nobody holds the other end of stdin any more.
fn watch_stdin() -> Arc<AtomicBool> {
    let orphaned = Arc::new(AtomicBool::new(false));
    let noticed = Arc::clone(&orphaned);
    std::thread::spawn(move || {
        // Whatever is written is nothing to us; an error is an end, too.
        let _ = std::io::copy(&mut std::io::stdin().lock().by_ref(), &mut std::io::sink());
        noticed.store(true, Ordering::Relaxed);
    });
    orphaned
}

fn code_of(status: ExitStatus) -> u8 {
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
