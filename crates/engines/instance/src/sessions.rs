//! Starts, watches and ends the session processes and database writers of one instance.

use std::io::{self, ErrorKind, Write};
use std::ops::Range;
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use linux::own_program::OwnProgram;

use crate::failure::ended_early;
use crate::layout::{SessionSlot, SessionState};
use crate::order::SessionOrder;
use crate::sga::Sga;
use crate::sga_layout::SgaLayout;
use crate::{Error, failure};

/// How often the instance checks that its sessions are alive while it waits for them.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// First word of an instance's processes in ps(1), whatever their executable.
pub(crate) const PROCESS_NAME: &str = "numalab";

/// Session processes, then database writers, in slot order; dropping this kills them.
pub(crate) struct Sessions {
    children: Vec<Child>,
    layout: SgaLayout,
}

impl Sessions {
    /// Starts one process per order with `program`, which must run [`crate::session::run`] on the
    /// order that it reads from standard input.
    ///
    /// # Errors
    /// [`Error::Process`] when a process cannot be started; those already started are killed.
    pub(crate) fn start(
        program: &OwnProgram,
        layout: SgaLayout,
        orders: &[SessionOrder],
    ) -> Result<Self, Error> {
        let mut sessions = Sessions {
            children: Vec::with_capacity(orders.len()),
            layout,
        };
        for order in orders {
            let failed = |cause: String| Error::Process {
                process: layout.name_of(order.session),
                cause,
            };
            let mut child = program
                .command()
                .arg0(PROCESS_NAME)
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .spawn()
                .map_err(|cause| failed(not_started(program, &cause, orders.len())))?;
            let stdin = child.stdin.take();
            sessions.children.push(child);
            let document = serde_json::to_vec(order).map_err(|cause| failed(cause.to_string()))?;
            let written = stdin
                .expect("standard input was asked to be a pipe")
                .write_all(&document);
            match written {
                // It has ended already; `check_alive` reports how.
                Err(cause) if cause.kind() == ErrorKind::BrokenPipe => {}
                written => written
                    .map_err(|cause| failed(format!("cannot hand over its order: {cause}")))?,
            }
        }
        Ok(sessions)
    }

    /// Returns the process ids of the sessions in order of session number.
    pub(crate) fn pids(&self) -> Vec<u32> {
        self.pids_of(0..self.layout.sessions as usize)
    }

    /// Returns the process ids of the database writers in order of their pools.
    pub(crate) fn writer_pids(&self) -> Vec<u32> {
        self.pids_of(self.layout.sessions as usize..self.children.len())
    }

    fn pids_of(&self, numbers: Range<usize>) -> Vec<u32> {
        self.children[numbers].iter().map(Child::id).collect()
    }

    /// Waits until the processes of `slots`, the first slots of `sga`, have reached `state`.
    ///
    /// # Errors
    /// [`Error::Process`] when any process ends before that, or the deadline passes.
    pub(crate) fn wait_for(
        &mut self,
        sga: &Sga<'_>,
        slots: &[SessionSlot],
        state: SessionState,
        within: Duration,
    ) -> Result<(), Error> {
        let deadline = Instant::now() + within;
        loop {
            let lagging = slots
                .iter()
                .position(|slot| slot.live.0.state.load(Ordering::Acquire) < state as u32);
            let Some(process) = lagging else {
                return Ok(());
            };
            self.check_alive(sga)?;
            if Instant::now() >= deadline {
                let cause = format!("did not reach state {state:?} within {within:?}");
                let process = self.layout.name_of(process as u32);
                return Err(Error::Process { process, cause });
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Fails if a process has ended without finishing its work.
    ///
    /// # Errors
    /// [`Error::Process`] with the process and how it ended.
    pub(crate) fn check_alive(&mut self, sga: &Sga<'_>) -> Result<(), Error> {
        for (number, child) in (0..).zip(&mut self.children) {
            let process = self.layout.name_of(number);
            let slot = &sga.slots[number as usize];
            let state = &slot.live.0.state;
            let ended = child.try_wait().map_err(|cause| Error::Process {
                process,
                cause: cause.to_string(),
            })?;
            // Load the state after the exit status: a process publishes before it ends.
            let finished = state.load(Ordering::Acquire) == SessionState::Finished as u32;
            if let Some(status) = ended.filter(|_| !finished) {
                return Err(Error::Process {
                    process,
                    cause: match failure::read(slot) {
                        Some(reason) => reason,
                        None => ended_early(status),
                    },
                });
            }
        }
        Ok(())
    }
}

/// Returns why a session could not be started, with a hint if there is one.
fn not_started(program: &OwnProgram, cause: &io::Error, sessions: usize) -> String {
    let way_out = match cause.kind() {
        // EAGAIN from fork(2): a limit of the user, of the cgroup or of the kernel.
        ErrorKind::WouldBlock => format!(
            "; the limit on processes is below {sessions}: raise `ulimit -u` (or pids.max, \
             or kernel.pid_max), or use fewer sessions"
        ),
        _ => String::new(),
    };
    let program = program.program.display();
    format!("cannot start {program}: {cause}{way_out}")
}

impl Drop for Sessions {
    fn drop(&mut self) {
        for child in &mut self.children {
            // Killing a process that has already ended fails, which is fine.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
