//! `cargo xtask guard`, with which benchmarks start other programs: the program and everything that
//! it starts end with the benchmark, even one that is killed (`kill -9`), and at a time limit.
//!
//! The benchmark holds the other end of the guard's standard input, which the kernel closes
//! whatever ends the benchmark. The program has its own process group, so that what it starts is
//! killed with it (`lat_mem_rd` measures in a child, which outlives it).

use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::arguments::GuardArguments;

/// The exit status of a program that was killed at its limit, as with timeout(1).
pub(crate) const PAST_LIMIT: u8 = 124;
/// The exit status of a program whose benchmark is gone; nobody is left to read it.
const ORPHANED: u8 = 128 + 9;
/// Interval between checks of the program: long, because most programs measure time.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Runs the program; exits with its exit status.
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
    // A limit beyond the range of the clock is none.
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
    // Kill the group before reaping its leader, while the id is still that of the group. This fails
    // only if no process of the group is left.
    let _ = kill_process_group(group, Signal::KILL);
    let status = child.wait().context("cannot wait for the program")?;
    Ok(ExitCode::from(
        ended_by_us.unwrap_or_else(|| code_of(status)),
    ))
}

/// Whether the leader of the group has ended; does not reap it.
fn has_ended(leader: Pid) -> Result<bool> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    let ended = waitid(WaitId::Pid(leader), options).context("cannot wait for the program")?;
    Ok(ended.is_some())
}

/// Returns a flag that is set when nobody holds the other end of stdin any more.
fn watch_stdin() -> Arc<AtomicBool> {
    let orphaned = Arc::new(AtomicBool::new(false));
    let noticed = Arc::clone(&orphaned);
    std::thread::spawn(move || {
        // Ignore what is written; an error is an end, too.
        let _ = std::io::copy(&mut std::io::stdin().lock().by_ref(), &mut std::io::sink());
        noticed.store(true, Ordering::Relaxed);
    });
    orphaned
}

fn code_of(status: ExitStatus) -> u8 {
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
