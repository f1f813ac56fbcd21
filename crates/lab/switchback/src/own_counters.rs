//! Counters of work that a user names: what a program prints, or a file holds.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use linux::plain_file;
use observed::{Answer, Program};
use server::{Error, WorkCounters, WorkDone};

/// A counter has at most so many bytes.
const BYTES_MAX: u64 = 4096;

/// A command that takes longer is killed: an answer is wanted every second.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);

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
    let answer = Program::shell(command).within(ANSWER_WITHIN).answer();
    let said = answer.and_then(Answer::succeeded);
    let said = said.map_err(|error| error.cause)?;
    Ok(String::from_utf8_lossy(&said).into_owned())
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
            Err("it ended with exit status: 3"),
        );
        // What it started is killed, too.
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("pid");
        let hangs = format!("sleep 600 & echo $! >{}; wait", mark.display());
        check(&mut command(hangs), Err("has not ended within 2s"));
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
