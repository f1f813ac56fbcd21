//! Tests on this machine: each is a process of its own, taken from one queue by several workers.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process_group};
use testing::{Need, NotRun, not_run};

use super::program::Test;
use super::said::shortened;
use super::verdict::{Checked, Verdict};
use crate::program::Interrupt;
use crate::repository;

/// A test that takes longer hangs. The longest takes a minute; on a machine with twenty times its
/// work, it took six.
const LIMIT: Duration = Duration::from_secs(900);
/// Interval between two looks at a test.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Tests wait for processes and for windows nearly half of their time, so there are more workers
/// than CPUs.
const WORKERS_FOR_A_CPU: usize = 2;
/// The variable without which a test of minutes says that it did not run.
const LONG: &str = "NUMALAB_LONG_TESTS";

/// Runs tests, the first ones first, and passes each result on as it comes.
pub(crate) fn run(
    tests: &[&Test],
    interrupt: &Interrupt,
    hear: &(impl Fn(&Test, Checked) + Sync),
) -> Result<()> {
    let folder = repository::target().join(format!("tests/{}", std::process::id()));
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let failure = Mutex::new(None);
    let work = || {
        while interrupt.signal().is_none() {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(test) = tests.get(number) else {
                return;
            };
            match run_one(test, &folder.join(number.to_string()), interrupt) {
                // It was killed: that is no result.
                Ok(_) if interrupt.signal().is_some() => return,
                Ok(checked) => hear(test, checked),
                Err(error) => *failure.lock().expect("no worker panics with it") = Some(error),
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..cpus * WORKERS_FOR_A_CPU {
            scope.spawn(work);
        }
    });
    // What is left was written by processes that outlive their test.
    let _ = fs::remove_dir_all(&folder);
    let failure = failure.into_inner().expect("no worker panics with it");
    failure.map_or(Ok(()), Err)
}

/// Runs one test to its end; `file` is where it may write what it says.
fn run_one(test: &Test, file: &Path, interrupt: &Interrupt) -> Result<Checked> {
    let begin = Instant::now();
    let not_run = file.with_extension("not-run");
    let said = File::create(file).with_context(|| format!("cannot write {}", file.display()))?;
    let child = Command::new(&test.program.file)
        .args(["--exact", &test.name, "--nocapture"])
        .current_dir(&test.program.folder)
        .env(not_run::FILE, &not_run)
        .env(LONG, "1")
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .stderr(said.try_clone().context("cannot share a file")?)
        .stdout(said)
        .process_group(0)
        .spawn()
        .with_context(|| format!("cannot start {}", test.program.file.display()))?;
    let ended = wait(child, interrupt)?;
    let said = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let said = String::from_utf8_lossy(&said);
    let verdict = match ended {
        None => Verdict::Failed(format!(
            "it had not ended after {} s\n{}",
            LIMIT.as_secs(),
            shortened(&said)
        )),
        Some(status) => verdict(status.success(), &said, &read(&not_run)?)?,
    };
    Ok(Checked {
        took: Some(begin.elapsed()),
        ..Checked::new(test.title(), verdict)
    })
}

/// Waits for its end; kills it and returns `None` if it takes too long.
fn wait(mut child: Child, interrupt: &Interrupt) -> Result<Option<ExitStatus>> {
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait().context("cannot wait for a test")? {
            return Ok(Some(status));
        }
        if interrupt.signal().is_some() || begin.elapsed() > LIMIT {
            let group = Pid::from_child(&child);
            // It may have ended meanwhile.
            let _ = kill_process_group(group, Signal::KILL);
            child.wait().context("cannot wait for a test")?;
            return Ok(None);
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Returns the content of a file that may not be there.
fn read(path: &PathBuf) -> Result<String> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        read => read.with_context(|| format!("cannot read {}", path.display())),
    }
}

/// Returns what came of a test that ended: what it said, and which parts of it did not run.
pub(super) fn verdict(has_passed: bool, said: &str, not_run: &str) -> Result<Verdict> {
    if !has_passed {
        return Ok(Verdict::Failed(shortened(said)));
    }
    let left_out = NotRun::parse(not_run).context("what a test says that it did not run")?;
    Ok(match left_out.first() {
        None => Verdict::Passed,
        Some(NotRun { need, why, .. }) => {
            Verdict::Skipped(Some(*need), format!("needs {}: {why}", need.word()))
        }
    })
}

/// Whether a test did not run here because it runs in a guest.
pub(super) fn is_elsewhere(checked: &Checked) -> bool {
    matches!(checked.verdict, Verdict::Skipped(Some(Need::Guest), _))
}
