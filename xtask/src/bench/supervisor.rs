//! Programs that a benchmark starts: none outlives it, whatever ends it (`cargo xtask guard`), and
//! none runs past the benchmark's time limit.

use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::program::Interrupt;

/// Interval at which a waiting benchmark checks whether it was asked to stop.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Starts programs for one benchmark.
pub(super) struct Supervisor {
    interrupt: Interrupt,
    deadline: Instant,
    limit: Duration,
}

impl Supervisor {
    /// Starts the benchmark's time.
    pub(super) fn start(limit: Duration) -> Result<Self> {
        Ok(Supervisor {
            interrupt: Interrupt::watch()?,
            deadline: Instant::now() + limit,
            limit,
        })
    }

    /// Returns the rest of the benchmark's time.
    pub(super) fn time_left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Fails if the benchmark was asked to stop (so that it undoes what it has changed), or has no
    /// time left.
    pub(super) fn check(&self) -> Result<()> {
        if let Some(signal) = self.interrupt.signal() {
            bail!("stopped by signal {signal}");
        }
        if self.time_left().is_zero() {
            bail!("not done within its {:.0} s", self.limit.as_secs_f64());
        }
        Ok(())
    }

    /// Runs a program to its end; fails if the benchmark's time runs out first.
    pub(super) fn output(&self, command: &Command) -> Result<Output> {
        let output = self.output_within(command, self.limit)?;
        self.check()?;
        Ok(output)
    }

    /// Runs a program to its end, or until this limit: then its status is
    /// [`crate::guard::PAST_LIMIT`].
    pub(super) fn output_within(&self, command: &Command, limit: Duration) -> Result<Output> {
        let mut guard = self.guard(command, limit)?;
        guard.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut running = Guarded::start(&mut guard)?;
        let child = running.child.take().context("it was just started")?;
        let (sender, receiver) = channel();
        // The receiver may be gone.
        std::thread::spawn(move || drop(sender.send(child.wait_with_output())));
        loop {
            match receiver.recv_timeout(LOOK_EVERY) {
                Ok(output) => return output.context("cannot read what it says"),
                Err(RecvTimeoutError::Timeout) => self.check()?,
                Err(RecvTimeoutError::Disconnected) => bail!("nobody waits for the program"),
            }
        }
    }

    /// Starts a program that runs until the returned value is dropped, or the time is over.
    pub(super) fn start_guarded(&self, command: &Command) -> Result<Guarded> {
        Guarded::start(&mut self.guard(command, self.limit)?)
    }

    /// Returns a command that runs another one under guard.
    fn guard(&self, command: &Command, limit: Duration) -> Result<Command> {
        self.check()?;
        let limit = limit.min(self.time_left()).as_secs_f64();
        let own = std::env::current_exe().context("cannot find this program")?;
        let mut guard = Command::new(own);
        guard.args(["guard", "--limit-s", &limit.to_string(), "--"]);
        guard.arg(command.get_program()).args(command.get_args());
        let variables = command.get_envs();
        guard.envs(variables.filter_map(|(name, value)| Some((name, value?))));
        Ok(guard)
    }
}

/// A program under guard; killed when dropped.
pub(super) struct Guarded {
    child: Option<Child>,
    /// The guard kills the program once this is closed.
    alive: Option<ChildStdin>,
}

impl Guarded {
    fn start(guard: &mut Command) -> Result<Self> {
        use std::os::unix::process::CommandExt;
        // Ctrl-C at the terminal is for the benchmark: the guard kills its program once the
        // benchmark is gone.
        let mut child = guard
            .stdin(Stdio::piped())
            .process_group(0)
            .spawn()
            .context("cannot start the guard")?;
        Ok(Guarded {
            alive: child.stdin.take(),
            child: Some(child),
        })
    }

    /// Whether it has ended by itself.
    pub(super) fn has_ended(&mut self) -> bool {
        let child = self.child.as_mut();
        child.is_none_or(|child| child.try_wait().is_ok_and(|status| status.is_some()))
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        drop(self.alive.take());
        if let Some(mut child) = self.child.take() {
            // Once the guard has ended, its program is gone.
            let _ = child.wait();
        }
    }
}
