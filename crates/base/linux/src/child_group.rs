//! A child that leads a process group of its own, all of which ends with it. As long as the leader
//! is not reaped, nobody else can have its id or its group's: so the group is killed first.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

/// A child with its process group; killed and reaped when dropped.
#[derive(Debug)]
pub struct ChildGroup {
    child: Child,
    /// How the leader ended, once it is reaped.
    ended: Option<ExitStatus>,
}

impl ChildGroup {
    /// Starts a command as the leader of a new process group: a signal from the terminal does not
    /// reach it, and one kill reaches all that it starts and that stays in the group.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        let child = command.process_group(0).spawn()?;
        Ok(ChildGroup { child, ended: None })
    }

    /// Id of the leader, and of the group.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its standard input, output and error, each if it was asked to be a pipe and not yet taken.
    pub fn take_pipes(&mut self) -> (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>) {
        let Child {
            stdin,
            stdout,
            stderr,
            ..
        } = &mut self.child;
        (stdin.take(), stdout.take(), stderr.take())
    }

    /// How the leader ended; `None` while it runs. What it left in its group is killed.
    ///
    /// # Errors
    /// When the kernel refuses to tell.
    pub fn try_end(&mut self) -> io::Result<Option<ExitStatus>> {
        self.end_if(WaitIdOptions::NOHANG)
    }

    /// Waits until the leader has ended, as [`ChildGroup::try_end`].
    ///
    /// # Errors
    /// When the kernel refuses to tell.
    pub fn end(&mut self) -> io::Result<ExitStatus> {
        let ended = self.end_if(WaitIdOptions::empty())?;
        ended.ok_or_else(|| io::Error::other("waited for, and did not end"))
    }

    fn end_if(&mut self, waiting: WaitIdOptions) -> io::Result<Option<ExitStatus>> {
        if self.ended.is_none() {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | waiting;
            let look = || rustix::process::waitid(WaitId::Pid(self.id()), options);
            if rustix::io::retry_on_intr(look)?.is_none() {
                return Ok(None);
            }
            self.kill_group();
            self.ended = Some(self.child.wait()?);
        }
        Ok(self.ended)
    }

    /// Sends the leader `SIGQUIT`, unless it was seen to end.
    pub fn quit(&self) {
        if self.ended.is_none() {
            // It was not reaped, so the id is its own; it may not take the signal any more.
            let _ = rustix::process::kill_process(self.id(), Signal::QUIT);
        }
    }

    /// Only while the leader is not reaped.
    fn kill_group(&self) {
        // The only failure left is a group in which nobody takes signals any more.
        let _ = rustix::process::kill_process_group(self.id(), Signal::KILL);
    }

    fn id(&self) -> Pid {
        Pid::from_child(&self.child)
    }
}

impl Drop for ChildGroup {
    fn drop(&mut self) {
        if self.ended.is_none() {
            self.kill_group();
            // It was just killed; reaping it cannot fail in a way that matters.
            let _ = self.child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use super::ChildGroup;
    use crate::process_handle::ProcessHandle;

    /// A group whose leader runs `script`, which prints the id of a process that it starts.
    fn group(script: &str) -> (ChildGroup, ProcessHandle) {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdout(Stdio::piped());
        let mut group = ChildGroup::start(&mut command).unwrap();
        let (_, stdout, _) = group.take_pipes();
        let mut line = String::new();
        BufReader::new(stdout.unwrap())
            .read_line(&mut line)
            .unwrap();
        let member = ProcessHandle::open(line.trim().parse().unwrap());
        (group, member.unwrap().unwrap())
    }

    #[test]
    fn what_the_leader_left_is_killed_when_its_end_is_told() {
        let (mut group, member) = group("sleep 600 & echo $!; exit 3");
        assert_eq!(group.end().unwrap().code(), Some(3));
        assert!(member.ends_within(Duration::from_secs(10)).unwrap());
        assert_eq!(group.try_end().unwrap().unwrap().code(), Some(3));
        // The id is free by now.
        group.quit();
    }

    #[test]
    fn a_group_is_killed_when_dropped() {
        let (mut group, member) = group("sleep 600 & echo $!; wait");
        assert!(group.try_end().unwrap().is_none());
        drop(group);
        assert!(member.ends_within(Duration::from_secs(10)).unwrap());
    }
}
