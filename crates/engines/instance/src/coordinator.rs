//! The coordinator's end: starts one instance process and reads its reports.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use linux::child_group::ChildGroup;

use crate::Error;
use crate::ending::ended_early;
use crate::order::{InstanceCommand, InstanceOrder, InstanceReport, Task};
use crate::sessions::PROCESS_NAME;

/// The most of an instance's standard error that is kept for a failure's reason.
const STDERR_BYTES_MAX: u64 = 4096;

/// How instance processes are started.
#[derive(Debug, Clone)]
pub struct Coordinator {
    /// The executable.
    pub program: std::path::PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// An instance process under way; its whole process group is killed when this is dropped.
pub struct Running {
    group: ChildGroup,
    /// Open as long as the instance is to be told more.
    stdin: Option<ChildStdin>,
    reports: Receiver<Result<InstanceReport, Error>>,
    stderr: Option<JoinHandle<String>>,
}

impl Coordinator {
    /// Starts an instance process and hands it its order. Must be called on a thread that lives as
    /// long as the instance: the kernel ends it with that thread.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be started.
    pub fn start(&self, order: &InstanceOrder) -> Result<Running, Error> {
        let io = |what| move |cause| Error::Io { what, cause };
        let mut command = Command::new(&self.program);
        command
            .arg0(PROCESS_NAME)
            .args(&self.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut group =
            ChildGroup::start(&mut command).map_err(io("starting the instance process"))?;
        let (Some(mut stdin), Some(stdout), Some(stderr)) = group.take_pipes() else {
            unreachable!("standard input, output and error were asked to be pipes");
        };
        let (sender, reports) = channel();
        std::thread::spawn(move || read_reports(stdout, &sender));
        let stderr = std::thread::spawn(move || {
            let mut text = Vec::new();
            // What cannot be read is not known, and not worth failing for.
            let _ = stderr.take(STDERR_BYTES_MAX).read_to_end(&mut text);
            String::from_utf8_lossy(&text).trim().replace('\n', "; ")
        });
        write_line(
            &mut stdin,
            order,
            "handing the order to the instance process",
        )?;
        let takes_commands = matches!(order.task, Task::Windows { .. });
        Ok(Running {
            group,
            stdin: takes_commands.then_some(stdin),
            reports,
            stderr: Some(stderr),
        })
    }
}

fn write_line(
    stdin: &mut ChildStdin,
    document: &impl serde::Serialize,
    what: &'static str,
) -> Result<(), Error> {
    let mut line = serde_json::to_vec(document).map_err(|cause| Error::Protocol {
        what,
        cause: cause.to_string(),
    })?;
    line.push(b'\n');
    let written = stdin.write_all(&line);
    written.map_err(|cause| Error::Io { what, cause })
}

fn read_reports(
    stdout: ChildStdout,
    sender: &std::sync::mpsc::Sender<Result<InstanceReport, Error>>,
) {
    for line in BufReader::new(stdout).lines() {
        let report = line.map_err(|cause| Error::Io {
            what: "reading a report",
            cause,
        });
        let report = report.and_then(|line| {
            serde_json::from_str(&line).map_err(|cause| Error::Protocol {
                what: "report",
                cause: cause.to_string(),
            })
        });
        if sender.send(report).is_err() {
            return;
        }
    }
}

impl Running {
    /// Tells an instance that takes commands what to do next.
    ///
    /// # Errors
    /// [`Error::Io`] when it has ended: why, its next report says.
    pub fn tell(&mut self, command: &InstanceCommand) -> Result<(), Error> {
        let what = "telling the instance process what to do";
        match &mut self.stdin {
            Some(stdin) => write_line(stdin, command, what),
            None => Err(Error::Protocol {
                what,
                cause: "its task takes no commands".to_owned(),
            }),
        }
    }

    /// The next report; `None` when there was none within `timeout`.
    ///
    /// # Errors
    /// [`Error::Protocol`] when the instance ended without saying why, with what it wrote to its
    /// standard error.
    pub fn next_report(&mut self, timeout: Duration) -> Result<Option<InstanceReport>, Error> {
        match self.reports.recv_timeout(timeout) {
            Ok(report) => report.map(Some),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                let status = self.group.end().map_err(|cause| Error::Io {
                    what: "waiting for the instance",
                    cause,
                })?;
                let said = self.stderr.take().and_then(|thread| thread.join().ok());
                let said = said.filter(|text| !text.is_empty());
                let said = said.map_or_else(String::new, |text| format!(": {text}"));
                let cause = format!("the instance process {}{said}", ended_early(status));
                Err(Error::Protocol {
                    what: "instance",
                    cause,
                })
            }
        }
    }

    /// Process id of the instance.
    pub fn pid(&self) -> u32 {
        self.group.pid()
    }
}
