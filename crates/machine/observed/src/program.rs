//! Programs of others that are run for one answer, such as their version.

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use linux::child_group::ChildGroup;
use linux::process_handle::ProcessHandle;

use crate::{Error, ServerUser};

/// A program that says its version needs milliseconds; one on a busy machine, or on a file system
/// of the network, more.
const WITHIN: Duration = Duration::from_secs(30);
/// No answer that numalab asks for is longer.
const BYTES_MAX: u64 = 1 << 20;
/// What is left in the pipes of a program that has ended is read at once, unless something that it
/// started in a group of its own has them open.
const REST_WITHIN: Duration = Duration::from_secs(5);

/// A program and its limits. It is killed, with all that stays in its process group, when a limit
/// is reached and when it has ended.
#[derive(Debug)]
pub struct Program {
    command: Command,
    /// What it is called in errors.
    name: String,
    input: Vec<u8>,
    within: Duration,
}

/// What a program said.
#[derive(Debug)]
pub struct Answer {
    /// What the program is called in errors.
    name: String,
    /// How it ended.
    pub status: ExitStatus,
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error.
    pub stderr: Vec<u8>,
}

impl Program {
    /// A program of an installation, by its path or as `PATH` has it: as `user`, if there is one to
    /// become, in the folder `/`, in English, and with nothing on its standard input.
    pub fn installed(program: impl AsRef<OsStr>, user: Option<ServerUser>) -> Self {
        let mut command = Command::new(program.as_ref());
        ServerUser::runs(user, command.env("LC_ALL", "C").current_dir("/"));
        Program {
            command,
            name: program.as_ref().display().to_string(),
            input: Vec::new(),
            within: WITHIN,
        }
    }

    /// A command line for the shell, as this user, and where numalab runs.
    pub fn shell(command_line: &str) -> Self {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", command_line]);
        Program {
            command,
            name: "the command".to_owned(),
            input: Vec::new(),
            within: WITHIN,
        }
    }

    /// Adds arguments.
    pub fn args(mut self, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.command.args(words);
        self
    }

    /// Changes its environment.
    pub fn with(mut self, change: impl FnOnce(&mut Command) -> &mut Command) -> Self {
        change(&mut self.command);
        self
    }

    /// Runs it in this folder.
    pub fn in_folder(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Gives it something on its standard input: at most what a pipe holds, 64 KiB (pipe(7)).
    pub fn given(mut self, input: &[u8]) -> Self {
        input.clone_into(&mut self.input);
        self
    }

    /// Gives it this time in the place of half a minute.
    pub fn within(mut self, within: Duration) -> Self {
        self.within = within;
        self
    }

    /// Runs it until it has ended.
    ///
    /// # Errors
    /// When it cannot be started; `TimedOut` when it has not ended in time; when it says more than
    /// 1 MiB.
    pub fn answer(mut self) -> Result<Answer, Error> {
        let name = self.name.clone();
        self.run().map_err(Error::of(format!("running {name}")))
    }

    fn run(&mut self) -> io::Result<Answer> {
        let stdin = match self.input.is_empty() {
            true => Stdio::null(),
            false => Stdio::piped(),
        };
        let pipes = self.command.stdin(stdin).stdout(Stdio::piped());
        let mut group = ChildGroup::start(pipes.stderr(Stdio::piped()))?;
        // Of a child that is not reaped: the process is this one.
        let leader = ProcessHandle::open(group.pid())?;
        let (stdin, stdout, stderr) = group.take_pipes();
        let (stdout, stderr) = (said_by(stdout), said_by(stderr));
        // A program that has ended before it read all says why by its status.
        let _ = stdin.map(|mut stdin| stdin.write_all(&self.input));
        let ended = leader.map_or(Ok(true), |leader| leader.ends_within(self.within));
        if !ended? {
            let late = format!("it has not ended within {:?}", self.within);
            return Err(io::Error::new(io::ErrorKind::TimedOut, late));
        }
        Ok(Answer {
            name: self.name.clone(),
            status: group.end()?,
            stdout: received(&stdout)?,
            stderr: received(&stderr)?,
        })
    }
}

impl Answer {
    /// Its standard output, if it succeeded.
    ///
    /// # Errors
    /// With its status and the end of its standard error.
    pub fn succeeded(self) -> Result<Vec<u8>, Error> {
        if self.status.success() {
            return Ok(self.stdout);
        }
        let said = match one_line(&self.stderr) {
            silent if silent.is_empty() => format!("it ended with {}", self.status),
            said => format!("it ended with {}: {said}", self.status),
        };
        Err(Error::of(format!("running {}", self.name))(
            io::Error::other(said),
        ))
    }
}

/// Reads a pipe on a thread of its own, which ends with the limit or with the pipe.
fn said_by(pipe: Option<impl Read + Send + 'static>) -> Receiver<io::Result<Vec<u8>>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = pipe.map_or(Ok(0), |pipe| {
            pipe.take(BYTES_MAX + 1).read_to_end(&mut bytes)
        });
        // The other side may have given up.
        let _ = sender.send(read.map(|_| bytes));
    });
    receiver
}

fn received(said: &Receiver<io::Result<Vec<u8>>>) -> io::Result<Vec<u8>> {
    let open = |_| io::Error::new(io::ErrorKind::TimedOut, "its output stays open");
    let bytes = said.recv_timeout(REST_WITHIN).map_err(open)??;
    match bytes.len() as u64 > BYTES_MAX {
        true => Err(io::Error::other("it says more than 1 MiB")),
        false => Ok(bytes),
    }
}

/// Returns the end of a program's output, where the reason is, as one line.
pub fn one_line(said: &[u8]) -> String {
    const CHARACTERS_MAX: usize = 600;
    let text = String::from_utf8_lossy(said);
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let line = lines.join("; ");
    let skip = line.chars().count().saturating_sub(CHARACTERS_MAX);
    line.chars().skip(skip).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(command_line: &str) -> Result<String, String> {
        let program = Program::shell(command_line);
        let answer = program.answer().map_err(|error| error.to_string())?;
        let said = answer.succeeded().map_err(|error| error.to_string())?;
        Ok(String::from_utf8(said).unwrap())
    }

    #[test]
    fn what_a_program_says_is_the_answer() {
        assert_eq!(said("echo a; echo b >&2"), Ok("a\n".to_owned()));
        let failed = said("echo a; echo why >&2; echo not >&2; exit 3").unwrap_err();
        assert_eq!(
            failed,
            "running the command: it ended with exit status: 3: why; not"
        );
        let cat = Program::installed("cat", None).given(b"some words");
        assert_eq!(cat.answer().unwrap().stdout, b"some words");
        let missing = Program::installed("/nonexistent/program", None).answer();
        let cause = missing.unwrap_err().cause;
        assert_eq!(cause.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_program_that_does_not_end_is_killed_with_what_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("pid");
        let hangs = format!("sleep 600 & echo $! >{}; wait", mark.display());
        // On a busy machine it needs longer to start what it starts.
        for milliseconds in [200, 2_000, 20_000, 200_000] {
            let within = Duration::from_millis(milliseconds);
            let late = Program::shell(&hangs).within(within).answer();
            let late = late.unwrap_err().to_string();
            let expected = format!("running the command: it has not ended within {within:?}");
            assert_eq!(late, expected);
            if std::fs::read_to_string(&mark).is_ok_and(|pid| pid.ends_with('\n')) {
                break;
            }
        }
        let started = std::fs::read_to_string(&mark).unwrap();
        let handle = ProcessHandle::open(started.trim().parse().unwrap()).unwrap();
        // A zombie that nobody has reaped yet has ended, too.
        let ended = handle.map(|it| it.ends_within(Duration::from_secs(60)).unwrap());
        assert_ne!(ended, Some(false));
    }

    #[test]
    fn what_a_program_leaves_behind_is_not_waited_for() {
        assert_eq!(said("echo a; sleep 600 &"), Ok("a\n".to_owned()));
        // Out of the group before the shell ends, with its output open.
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("out").display().to_string();
        let out = format!(
            "setsid sh -c 'echo >{mark}; exec sleep 30' & until [ -e {mark} ]; do sleep 0.01; done"
        );
        let open = Program::shell(&out).answer().unwrap_err().to_string();
        assert_eq!(open, "running the command: its output stays open");
    }

    #[test]
    fn a_program_that_says_too_much_is_given_up() {
        let much = Program::shell("exec head -c 1048577 /dev/zero").answer();
        let much = much.unwrap_err().to_string();
        assert_eq!(much, "running the command: it says more than 1 MiB");
        let endless = Program::shell("cat /dev/zero").answer().unwrap_err();
        assert_eq!(endless.cause.to_string(), "it says more than 1 MiB");
    }
}
