//! The coordinator's side: starts an instance process and reads its reports.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, ChildStdout, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use linux::child_group::ChildGroup;
use linux::own_program::OwnProgram;

use crate::Error;
use crate::failure::ended_early;
use crate::order::{InstanceCommand, InstanceOrder, InstanceReport, Task};
use crate::sessions::PROCESS_NAME;

/// Maximum bytes of an instance's standard error to keep as the reason of a failure.
const STDERR_BYTES_MAX: u64 = 4096;

/// How to start instance processes.
#[derive(Debug, Clone)]
pub struct Coordinator(pub OwnProgram);

/// A running instance process. Dropping it kills the whole process group.
pub struct Running {
    group: ChildGroup,
    /// Open while the instance takes commands.
    stdin: Option<ChildStdin>,
    reports: Receiver<Result<InstanceReport, Error>>,
    stderr: Option<JoinHandle<String>>,
}

impl Coordinator {
    /// Starts an instance process and sends it its order. Call it on a thread that lives as long as
    /// the instance: the kernel kills the instance when that thread ends.
    ///
    /// # Errors
    /// [`Error::Io`] when the process cannot be started.
    pub fn start(&self, order: &InstanceOrder) -> Result<Running, Error> {
        let io = |what| move |cause| Error::Io { what, cause };
        let mut command = self.0.command();
        command
            .arg0(PROCESS_NAME)
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
            // An unreadable standard error is not worth failing for.
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
    /// Sends the next command to an instance that takes commands.
    ///
    /// # Errors
    /// [`Error::Io`] when the instance has ended; its next report gives the reason.
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

    /// Returns the next report; `None` if none arrives within `timeout`.
    ///
    /// # Errors
    /// [`Error::Protocol`] when the instance ended without giving a reason, with the text it wrote
    /// to its standard error.
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

    /// Returns the process id of the instance.
    pub fn pid(&self) -> u32 {
        self.group.pid()
    }
}
