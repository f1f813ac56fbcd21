//! A process by descriptor (pidfd_open(2)). By the time an id is used, it may belong to another
//! process; a descriptor reaches only the process for which it was opened.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// A process that is running or has run.
#[derive(Debug)]
pub struct ProcessHandle(OwnedFd);

impl ProcessHandle {
    /// The process that has this id now; `None` when there is none. Inspect the process after this
    /// call, not before: then the process inspected is the process signalled.
    ///
    /// # Errors
    /// When descriptors have run out.
    pub fn open(pid: u32) -> io::Result<Option<Self>> {
        let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
            return Ok(None);
        };
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(descriptor) => Ok(Some(ProcessHandle(descriptor))),
            // The latter for a thread that is not a thread group leader.
            Err(Errno::SRCH | Errno::INVAL) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends `SIGTERM`; succeeds if the process has ended.
    ///
    /// # Errors
    /// `EPERM` when the process belongs to another user.
    pub fn terminate(&self) -> io::Result<()> {
        self.send(Signal::TERM)
    }

    /// Sends `SIGQUIT`; succeeds if the process has ended.
    ///
    /// # Errors
    /// `EPERM` when the process belongs to another user.
    pub fn quit(&self) -> io::Result<()> {
        self.send(Signal::QUIT)
    }

    /// Sends `SIGKILL`; succeeds if the process has ended.
    ///
    /// # Errors
    /// `EPERM` when the process belongs to another user.
    pub fn kill(&self) -> io::Result<()> {
        self.send(Signal::KILL)
    }

    fn send(&self, signal: Signal) -> io::Result<()> {
        match pidfd_send_signal(&self.0, signal) {
            Err(error) if error != Errno::SRCH => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Waits for it to end; returns whether it did so within `timeout`.
    ///
    /// # Errors
    /// When the kernel refuses to wait.
    pub fn ends_within(&self, timeout: Duration) -> io::Result<bool> {
        let mut waited = [PollFd::new(&self.0, PollFlags::IN)];
        let timeout = Timespec::try_from(timeout).map_err(io::Error::other)?;
        let ready = rustix::io::retry_on_intr(|| poll(&mut waited, Some(&timeout)))?;
        Ok(ready > 0)
    }
}

impl AsFd for ProcessHandle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::process::{Child, Command, Stdio};
    use std::time::Duration;

    use testing::{Need, not_run};

    use super::ProcessHandle;

    fn sleeper() -> Child {
        Command::new("sleep").arg("600").spawn().unwrap()
    }

    /// A process that has `SIGQUIT` at its default: a shell starts what runs in the background with
    /// `SIGQUIT` ignored, and so this test.
    fn quitter() -> Child {
        let script = "echo; exec sleep 600";
        let mut child = Command::new("env")
            .args(["--default-signal=QUIT", "sh", "-c", script])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_exact(&mut [0]).unwrap();
        child
    }

    #[test]
    fn a_process_is_signalled_and_waited_for() {
        let mut child = quitter();
        let handle = ProcessHandle::open(child.id()).unwrap().unwrap();
        assert!(!handle.ends_within(Duration::ZERO).unwrap());
        handle.quit().unwrap();
        assert!(handle.ends_within(Duration::from_secs(60)).unwrap());
        child.wait().unwrap();
        handle.kill().unwrap();
        for none in [0, child.id(), u32::MAX] {
            assert!(ProcessHandle::open(none).unwrap().is_none(), "{none}");
        }
    }

    /// The kernel assigns the next free id above `ns_last_pid`: root can give the id of a process
    /// that has ended to another one.
    #[test]
    fn another_process_with_the_same_id_is_left_alone() {
        for _ in 0..50 {
            let mut first = sleeper();
            let handle = ProcessHandle::open(first.id()).unwrap().unwrap();
            first.kill().unwrap();
            first.wait().unwrap();
            let before = (first.id() - 1).to_string();
            if let Err(error) = std::fs::write("/proc/sys/kernel/ns_last_pid", before) {
                let test = "another_process_with_the_same_id_is_left_alone";
                let need = Need::root_or_kernel(crate::process::is_root());
                return not_run(test, need, &format!("writing ns_last_pid: {error}"));
            }
            let mut second = sleeper();
            let is_same_id = second.id() == first.id();
            handle.kill().unwrap();
            let survives = second.try_wait().unwrap().is_none();
            second.kill().unwrap();
            second.wait().unwrap();
            assert!(survives);
            if is_same_id {
                return;
            }
        }
        panic!("no id was ever reused");
    }
}
