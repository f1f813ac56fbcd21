//! A child that leads its own process group and takes the whole group with it. While the leader is
//! not reaped, neither its id nor the group's can be reused, so the group is killed first.

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
    /// Starts a command as the leader of a new process group. Signals from the terminal do not
    /// reach it, and one kill reaches all its descendants that stay in the group.
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

    /// Its standard input, output and error, each if it was requested as a pipe and not yet taken.
    pub fn take_pipes(&mut self) -> (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>) {
        let Child {
            stdin,
            stdout,
            stderr,
            ..
        } = &mut self.child;
        (stdin.take(), stdout.take(), stderr.take())
    }

    /// How the leader ended; `None` while it runs. Kills what is left of its group.
    ///
    /// # Errors
    /// When waitid(2) fails.
    pub fn try_end(&mut self) -> io::Result<Option<ExitStatus>> {
        self.end_if(WaitIdOptions::NOHANG)
    }

    /// Waits until the leader has ended, then as [`ChildGroup::try_end`].
    ///
    /// # Errors
    /// When waitid(2) fails.
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

    /// Sends the leader `SIGQUIT`, unless it is known to have ended.
    pub fn quit(&self) {
        self.send(Signal::QUIT);
    }

    /// Sends the leader `SIGTERM`, unless it is known to have ended.
    pub fn terminate(&self) {
        self.send(Signal::TERM);
    }

    fn send(&self, signal: Signal) {
        if self.ended.is_none() {
            // It has not been reaped, so the id is its own; if it has ended, the signal is lost.
            let _ = rustix::process::kill_process(self.id(), signal);
        }
    }

    /// Must be called only while the leader is not reaped.
    fn kill_group(&self) {
        // The only failure left is a group whose members have all ended.
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
            // It was just killed; any failure to reap it does not matter.
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

    /// Starts a group whose leader runs `script`, which prints the id of a process it starts.
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
        // The id may be reused from here on.
        group.quit();
        group.terminate();
    }

    #[test]
    fn a_leader_that_is_told_to_terminate_may_end_in_its_own_way() {
        let (mut group, _) = group("trap 'exit 5' TERM; echo $$; while :; do sleep 0.01; done");
        group.terminate();
        assert_eq!(group.end().unwrap().code(), Some(5));
    }

    #[test]
    fn a_group_is_killed_when_dropped() {
        let (mut group, member) = group("sleep 600 & echo $!; wait");
        assert!(group.try_end().unwrap().is_none());
        drop(group);
        assert!(member.ends_within(Duration::from_secs(10)).unwrap());
    }
}
