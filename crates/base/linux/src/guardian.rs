//! A process that keeps all descendants of a program below itself and ends them when the program
//! has ended, or when its client no longer wants it, even because the client was killed.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitOptions};

use crate::process_handle::ProcessHandle;
use crate::{Root, proc_stat};

/// How often orphaned processes that have ended are reaped.
const REAP_EVERY: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};
/// How long killed processes may take to disappear.
const GONE_WITHIN: Duration = Duration::from_secs(10);
/// Interval between two checks for remaining processes.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Runs a program with `input` on its standard input until it ends, or until no process has the
/// other end of the pipe `wanted` open for writing. Then kills every process below this one: its
/// children and all their descendants, in whatever process group or session, because a process
/// whose parent has ended becomes a child of this one (prctl(2), `PR_SET_CHILD_SUBREAPER`). Returns
/// how the program ended.
///
/// Only for a process that starts no other children during the call.
///
/// # Errors
/// When this process already has children, the program cannot be started, or a process below this
/// one does not end.
pub fn run(command: &mut Command, input: &[u8], wanted: impl AsFd) -> io::Result<ExitStatus> {
    require_no_children()?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let mut child = command.stdin(Stdio::piped()).spawn()?;
    // A program that ended without reading reports why by its exit status.
    let _ = child.stdin.take().map(|mut stdin| stdin.write_all(input));
    let program = Pid::from_child(&child);
    let handle = ProcessHandle::open(child.id())?;
    let mut status = None;
    while status.is_none() && is_wanted(&wanted, handle.as_ref())? {
        reap(program, &mut status)?;
    }
    let deadline = Instant::now() + GONE_WITHIN;
    loop {
        kill_children();
        if !reap(program, &mut status)? {
            return status.ok_or_else(|| io::Error::other("its end was not told"));
        }
        if Instant::now() >= deadline {
            return Err(io::Error::other("processes that it started do not end"));
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

fn require_no_children() -> io::Result<()> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    match rustix::process::waitid(WaitId::All, options) {
        Err(rustix::io::Errno::CHILD) => Ok(()),
        Err(error) => Err(error.into()),
        Ok(_) => Err(io::Error::other(
            "this process has other children, which would be killed",
        )),
    }
}

/// Waits up to `REAP_EVERY` for the end of the program or of `wanted`; true while that is open.
fn is_wanted(wanted: &impl AsFd, program: Option<&ProcessHandle>) -> io::Result<bool> {
    let mut waited = vec![PollFd::new(wanted, PollFlags::empty())];
    waited.extend(program.map(|program| PollFd::new(program, PollFlags::IN)));
    rustix::io::retry_on_intr(|| poll(&mut waited, Some(&REAP_EVERY)))?;
    // The kernel reports POLLHUP unrequested: no process has the other end open.
    Ok(waited[0].revents().is_empty())
}

/// Reaps the children that have ended and records the program's status; true if any is left.
fn reap(program: Pid, status: &mut Option<ExitStatus>) -> io::Result<bool> {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some((pid, ended))) if pid == program => {
                let raw = ended.as_raw();
                *status = Some(std::os::unix::process::ExitStatusExt::from_raw(raw));
            }
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) => return Ok(true),
            Err(rustix::io::Errno::CHILD) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Kills the children of this process. Nothing else reaps them, so the ids are theirs. Their own
/// children become children of this process when they end.
fn kill_children() {
    let root = Root::live();
    let own = std::process::id();
    let pids = proc_stat::pids(&root).unwrap_or_default().into_iter();
    let stats = pids.filter_map(|pid| proc_stat::read(&root, pid).ok());
    for child in stats.filter(|stat| stat.parent == own) {
        if let Some(pid) = Pid::from_raw(child.pid as i32) {
            // A child that is another user's, through setuid, cannot be killed.
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    #[test]
    fn a_process_with_children_of_its_own_is_no_guardian() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let refused = super::run(&mut Command::new("true"), b"", std::io::stdin());
        child.kill().unwrap();
        child.wait().unwrap();
        let error = refused.unwrap_err().to_string();
        assert!(error.contains("other children"), "{error}");
    }
}
