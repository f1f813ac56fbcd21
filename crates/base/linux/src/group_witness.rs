//! A process in the process group of this one that reports which signals were sent to the whole
//! group: a signal sent by kill(2) looks the same whether it was sent to one process or to all.

use std::io::{self, PipeReader, Read};
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, WaitOptions, kill_process, waitpid};

use crate::signal_queue::Signal;

/// Size of the witness's record of one signal: its number and the id of its sender.
const RECORD_BYTES: usize = 8;
/// How long to wait for an answer; a stopped witness does not answer.
const PATIENCE: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

/// A witness; it ends when the value is dropped, and with this process.
#[derive(Debug)]
pub struct GroupWitness {
    pid: libc::pid_t,
    records: PipeReader,
    /// Signals that it saw and that were not yet queried, each once.
    seen: Vec<Signal>,
    /// Questions that it has not answered: those of which nobody waited for the answer any longer,
    /// whose answers are still to come.
    unanswered: u32,
}

impl GroupWitness {
    /// Starts a witness. When a signal to the whole group reaches this process, the witness has
    /// already received it, because the kernel walks a group from its youngest process on
    /// (kernel/pid.c, attach_pid).
    ///
    /// For a process that has blocked all its signals, in a [`crate::signal_queue::SignalQueue`].
    ///
    /// # Errors
    /// When this process has threads that may receive signals; when descriptors or processes have
    /// run out.
    pub fn start() -> io::Result<Self> {
        crate::process::require_one_thread()?;
        let (records, writer) = io::pipe()?;
        let parent = std::process::id();
        // SAFETY: the child makes only system calls, on its own memory, so it needs nothing that
        // another thread held as it was made, and ends without running any handlers that the
        // parent registered.
        let pid = unsafe { libc::fork() };
        match pid {
            0 => witness(writer.as_raw_fd(), parent),
            1.. => Ok(GroupWitness {
                pid,
                records,
                seen: Vec::new(),
                unanswered: 0,
            }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Whether a signal to this process was sent to its whole group; false when unknown.
    pub fn saw(&mut self, signal: Signal) -> bool {
        self.listen();
        let place = self.seen.iter().position(|seen| *seen == signal);
        place.map(|place| self.seen.swap_remove(place)).is_some()
    }

    /// Reads what the witness has received. It receives the lowest signal number first (signal(7)),
    /// so once it reports the question, it has reported every earlier signal.
    fn listen(&mut self) {
        let question = libc::SIGRTMAX();
        // SAFETY: the child has not been reaped, so the id still belongs to it.
        if unsafe { libc::kill(self.pid, question) } != 0 {
            return;
        }
        self.unanswered += 1;
        while let Some(signal) = self.next_record() {
            if signal.number == question && signal.sender == Some(std::process::id()) {
                self.unanswered = self.unanswered.saturating_sub(1);
                match self.unanswered {
                    0 => return,
                    _ => continue,
                }
            }
            if !self.seen.contains(&signal) {
                self.seen.push(signal);
            }
        }
    }

    fn next_record(&mut self) -> Option<Signal> {
        let mut waited = [PollFd::new(&self.records, PollFlags::IN)];
        let ready = rustix::event::poll(&mut waited, Some(&PATIENCE));
        let mut record = [0; RECORD_BYTES];
        if ready != Ok(1) || self.records.read_exact(&mut record).is_err() {
            return None;
        }
        let [a, b, c, d, e, f, g, h] = record;
        Some(Signal {
            number: i32::from_ne_bytes([a, b, c, d]),
            sender: Some(u32::from_ne_bytes([e, f, g, h])),
        })
    }
}

impl Drop for GroupWitness {
    fn drop(&mut self) {
        // The child has not been reaped, so the id still belongs to it.
        if let Some(pid) = Pid::from_raw(self.pid) {
            let _ = kill_process(pid, rustix::process::Signal::KILL);
            let _ = waitpid(Some(pid), WaitOptions::empty());
        }
    }
}

/// The witness: reports every signal that a process sends it, until it is killed.
fn witness(writer: i32, parent: u32) -> ! {
    // SAFETY: system calls on plain numbers and on memory of this function, which the kernel fills
    // before it is read. The other descriptors are closed because a reader may wait for their end
    // of file.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        let told = libc::dup2(writer, 0);
        libc::syscall(libc::SYS_close_range, 1_u32, u32::MAX, 0_u32);
        let mut all = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigfillset(all.as_mut_ptr());
        // The parent may have ended before the death signal was requested.
        while told == 0 && libc::getppid() as u32 == parent {
            let mut found = MaybeUninit::<libc::siginfo_t>::uninit();
            let number = libc::sigwaitinfo(all.as_ptr(), found.as_mut_ptr());
            // sigaction(2): codes above 0 are the kernel's.
            if number <= 0 || (*found.as_ptr()).si_code > 0 {
                continue;
            }
            let mut record = [0_u8; RECORD_BYTES];
            record[..4].copy_from_slice(&number.to_ne_bytes());
            record[4..].copy_from_slice(&(*found.as_ptr()).si_pid().to_ne_bytes());
            libc::write(0, record.as_ptr().cast(), RECORD_BYTES);
        }
        libc::_exit(0)
    }
}

#[cfg(test)]
mod tests {
    use super::GroupWitness;

    #[test]
    fn a_process_with_several_threads_gets_no_witness() {
        let refused = std::thread::scope(|scope| {
            let thread = scope.spawn(|| GroupWitness::start().map(drop));
            thread.join().unwrap()
        });
        let error = refused.unwrap_err().to_string();
        assert!(
            error.contains("other threads, and may have none"),
            "{error}"
        );
    }
}
