//! A program of the shell under its guardian: started under a placement that it reads back, with
//! what it prints, and ended with everything that it started.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{ChildStderr, ChildStdin, ChildStdout, ExitStatus, Stdio};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use linux::child_group::ChildGroup;
use linux::own_program::OwnProgram;
use linux::process_handle::ProcessHandle;
use linux::{Root, proc_stat};
use model::{Between, CpuId};
use residency::instances::{self, Target};

use super::command_launch::{CommandOrder, ReadBack};
use super::printed_lines::{Marks, Printed};

/// Maximum number of bytes kept of its standard output; one that prints more is refused.
const OUTPUT_BYTES_MAX: usize = 16 << 20;
/// Maximum number of bytes kept of its standard error, the last ones.
const STDERR_BYTES_MAX: usize = 1 << 20;
/// Time limit for the guardian to end the processes it guards; its own limit is shorter.
const GUARDIAN_WITHIN: Duration = Duration::from_secs(12);

/// A running program. Dropping this ends the program and all processes that it started.
pub(super) struct Guarded {
    guardian: ChildGroup,
    /// Open as long as the program is to run.
    stdin: Option<ChildStdin>,
    read_back: Arc<OnceLock<ReadBack>>,
    output: Option<JoinHandle<Printed>>,
    errors: Option<JoinHandle<String>>,
}

/// What a program that has ended left.
pub(super) struct Left {
    /// The placement that it read back; `None` when it did not start.
    pub read_back: Option<ReadBack>,
    /// What it printed.
    pub printed: Printed,
    /// The end of its standard error.
    pub stderr: String,
}

impl Guarded {
    /// Starts a program; `between` are the lines whose time is taken.
    ///
    /// # Errors
    /// What could not be done, and why, as a lower-case fragment.
    pub(super) fn start(
        launcher: &OwnProgram,
        order: &CommandOrder,
        between: Option<&Between>,
    ) -> Result<Self, String> {
        let said = |what: &str, cause: std::io::Error| format!("{what}: {cause}");
        let marks = Marks::of(between)?;
        let mut document = serde_json::to_vec(order).map_err(|error| error.to_string())?;
        document.push(b'\n');
        let mut command = launcher.command();
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let guardian = ChildGroup::start(&mut command);
        let mut guardian = guardian.map_err(|cause| said("starting the program", cause))?;
        let (stdin, stdout, stderr) = guardian.take_pipes();
        let read_back = Arc::new(OnceLock::new());
        let told = Arc::clone(&read_back);
        let mut started = Guarded {
            guardian,
            stdin,
            read_back,
            output: Some(std::thread::spawn(move || {
                read_output(stdout, marks, &told)
            })),
            errors: Some(std::thread::spawn(move || read_errors(stderr))),
        };
        let stdin = started.stdin.as_mut();
        let written = stdin.map_or(Ok(()), |stdin| stdin.write_all(&document));
        written.map_err(|cause| said("handing over its order", cause))?;
        Ok(started)
    }

    /// How it ended; `None` while it runs.
    ///
    /// # Errors
    /// As [`Guarded::start`].
    pub(super) fn try_end(&mut self) -> Result<Option<ExitStatus>, String> {
        let ended = self.guardian.try_end();
        ended.map_err(|cause| format!("waiting for it: {cause}"))
    }

    /// The CPUs on which its threads ran last; none before its placement is applied, when it may
    /// run anywhere.
    pub(super) fn cpus_now(&self) -> Vec<CpuId> {
        if self.read_back.get().is_none() {
            return Vec::new();
        }
        let root = Root::live();
        let guardian = self.guardian.pid();
        let found = instances::find(&root, &Target::Process(guardian)).unwrap_or_default();
        let pids = found.into_iter().map(|it| it.stat.pid);
        let threads = pids
            .filter(|pid| *pid != guardian)
            .flat_map(|pid| proc_stat::threads(&root, pid));
        let stats = threads.filter_map(|thread| proc_stat::read(&root, thread).ok());
        stats.filter_map(|stat| stat.last_cpu).collect()
    }

    /// Sends `SIGTERM` to the shell, or what it has become by `exec`, and waits up to `timeout` for
    /// its end.
    pub(super) fn terminate(&mut self, timeout: Duration) {
        let shell = self.read_back.get().map(|it| it.pid);
        let handle = shell.and_then(|pid| ProcessHandle::open(pid).ok().flatten());
        // Of a process that has ended since, the id may be another's: its parent tells.
        let is_ours = shell
            .and_then(|pid| proc_stat::read(&Root::live(), pid).ok())
            .is_some_and(|stat| stat.parent == self.guardian.pid());
        if let Some(handle) = handle.filter(|_| is_ours) {
            // One of another user, through setuid, is killed with the rest.
            let _ = handle.terminate();
            self.await_end(timeout);
        }
    }

    fn await_end(&mut self, timeout: Duration) {
        let deadline = Instant::now() + timeout;
        while matches!(self.guardian.try_end(), Ok(None)) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// The placement that it read back; `None` before it has started.
    pub(super) fn read_back(&self) -> Option<ReadBack> {
        self.read_back.get().cloned()
    }

    /// The end of the standard error of a program that has ended; nothing the second time.
    pub(super) fn said(&mut self) -> String {
        let said = self.errors.take().map(JoinHandle::join);
        said.and_then(Result::ok).unwrap_or_default()
    }

    /// Ends what is left of it, and returns what it left.
    ///
    /// # Errors
    /// When a thread that reads its output ended.
    pub(super) fn finish(mut self) -> Result<Left, String> {
        self.let_go();
        let panicked = |_| "the thread that reads its output ended".to_owned();
        let printed = self.output.take().map(JoinHandle::join).transpose();
        let stderr = self.errors.take().map(JoinHandle::join).transpose();
        Ok(Left {
            read_back: self.read_back.get().cloned(),
            printed: printed.map_err(panicked)?.unwrap_or_default(),
            stderr: stderr.map_err(panicked)?.unwrap_or_default(),
        })
    }

    /// A guardian that does not end is killed with its group.
    fn let_go(&mut self) {
        drop(self.stdin.take());
        self.await_end(GUARDIAN_WITHIN);
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.let_go();
    }
}

/// Reads the first line, which the launcher prints, and the rest, with the times of the marks.
fn read_output(
    stdout: Option<ChildStdout>,
    mut marks: Marks,
    told: &OnceLock<ReadBack>,
) -> Printed {
    let mut printed = Printed::default();
    let Some(stdout) = stdout else {
        return printed;
    };
    let mut reader = BufReader::new(stdout);
    let mut line = Vec::new();
    // A line that cannot be read counts as missing; the caller reports that.
    let _ = reader.read_until(b'\n', &mut line);
    if let Ok(read_back) = serde_json::from_slice(&line) {
        let _ = told.set(read_back);
    }
    let mut now = Instant::now();
    loop {
        line.clear();
        // Lines that are read at once came at once, whenever this thread comes to the second.
        let has_come = reader.buffer().contains(&b'\n');
        let mut part = reader.by_ref().take(OUTPUT_BYTES_MAX as u64);
        match part.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
        if !has_come {
            now = Instant::now();
        }
        let text = String::from_utf8_lossy(&line);
        marks.look(&text, now);
        match printed.text.len() + text.len() <= OUTPUT_BYTES_MAX {
            true => printed.text.push_str(&text),
            false => printed.is_cut = true,
        }
    }
    printed.window = marks.window();
    printed
}

fn read_errors(stderr: Option<ChildStderr>) -> String {
    let mut kept = Vec::new();
    let mut part = [0; 8192];
    if let Some(mut stderr) = stderr {
        while let Ok(length @ 1..) = stderr.read(&mut part) {
            kept.extend_from_slice(&part[..length]);
            if kept.len() > 2 * STDERR_BYTES_MAX {
                kept.drain(..kept.len() - STDERR_BYTES_MAX);
            }
        }
    }
    String::from_utf8_lossy(&kept).into_owned()
}
