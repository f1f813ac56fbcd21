//! Counters of work that a user names: what a program prints, or a file holds.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use linux::child_group::ChildGroup;
use linux::plain_file;
use server::{Error, WorkCounters, WorkDone};

/// A counter has at most so many bytes.
const BYTES_MAX: u64 = 4096;

/// A command that takes longer is killed: an answer is wanted every second.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
/// How often to look whether it has ended.
const NAP: Duration = Duration::from_millis(5);

/// A counter that a command of the shell prints.
pub fn command(command: String) -> Box<dyn WorkCounters> {
    Box::new(Named(Source::Command(command)))
}

/// A counter in a file.
pub fn file(path: PathBuf) -> Box<dyn WorkCounters> {
    Box::new(Named(Source::File(path)))
}

struct Named(Source);

enum Source {
    Command(String),
    File(PathBuf),
}

impl WorkCounters for Named {
    fn unit(&self) -> &'static str {
        "unit"
    }

    fn mix(&self) -> Option<&'static str> {
        None
    }

    fn read(&mut self) -> Result<WorkDone, Error> {
        let (what, text) = match &self.0 {
            Source::Command(command) => (command.clone(), output_of(command)),
            Source::File(path) => (path.display().to_string(), content_of(path)),
        };
        let text = text.map_err(Error::io(format!("reading the counter of {what}")))?;
        let first = text.split_whitespace().next().unwrap_or_default();
        let units = first.parse::<u64>().map_err(|_| {
            let found: String = first.chars().take(80).collect();
            let expected = format!("expected a whole number, found {found:?}");
            Error::io(format!("reading the counter of {what}"))(io::Error::other(expected))
        })?;
        Ok(WorkDone { units, mix: None })
    }
}

fn content_of(path: &Path) -> io::Result<String> {
    let content = plain_file::read_start(path, BYTES_MAX)?;
    content.ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// What a command prints. One that has not ended in time is killed with all that it started.
fn output_of(command: &str) -> io::Result<String> {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]);
    shell.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut shell = ChildGroup::start(&mut shell)?;
    let (_, output, _) = shell.take_pipes();
    let begin = Instant::now();
    let status = loop {
        if let Some(status) = shell.try_end()? {
            break status;
        }
        if begin.elapsed() > ANSWER_WITHIN {
            let late = format!("the command has not ended in {ANSWER_WITHIN:?}");
            return Err(io::Error::other(late));
        }
        sleep(NAP);
    };
    if !status.success() {
        return Err(io::Error::other(format!("the command failed: {status}")));
    }
    let mut text = String::new();
    let output = output.map(|it| it.take(BYTES_MAX));
    output.map_or(Ok(0), |mut output| output.read_to_string(&mut text))?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(counters: &mut Box<dyn WorkCounters>, expected: Result<u64, &str>) {
        match (counters.read(), expected) {
            (Ok(done), Ok(expected)) => assert_eq!(done.units, expected),
            (Err(error), Err(expected)) => {
                let error = error.to_string();
                assert!(error.contains(expected), "{error}");
            }
            (found, expected) => panic!("found {found:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn a_counter_is_a_whole_number_the_first_word() {
        check(&mut command("echo ' 42 x'; echo 7".to_owned()), Ok(42));
        check(
            &mut command("echo x".to_owned()),
            Err("expected a whole number, found \"x\""),
        );
        check(
            &mut command("exit 3".to_owned()),
            Err("the command failed: exit status: 3"),
        );
        // What it started is killed, too.
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("pid");
        let hangs = format!("sleep 600 & echo $! >{}; wait", mark.display());
        check(&mut command(hangs), Err("has not ended in 2s"));
        let pid = std::fs::read_to_string(&mark)
            .unwrap()
            .trim()
            .parse()
            .unwrap();
        let member = linux::process_handle::ProcessHandle::open(pid).unwrap();
        assert!(member.is_none_or(|it| it.ends_within(Duration::from_secs(10)).unwrap()));
        let path = folder.path().join("counter");
        let mut counters = file(path.clone());
        check(&mut counters, Err("not found"));
        for (text, expected) in [
            ("18446744073709551615\n", Ok(u64::MAX)),
            ("", Err("found \"\"")),
            ("-1", Err("found \"-1\"")),
            ("18446744073709551616", Err("expected a whole number")),
        ] {
            std::fs::write(&path, text).unwrap();
            check(&mut counters, expected);
        }
    }
}
