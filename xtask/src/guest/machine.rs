//! Runs one guest from start to end: boots it, waits, kills it if necessary, and collects its
//! output.

use std::fs::{self, File};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, anyhow, bail};
use rustix::process::Signal;

use super::heartbeat::Heartbeat;
use super::options::Options;
use super::parts::fetch;
use super::relay::{Follower, Relay};
use super::run_directory::RunDirectory;
use super::{initial_ramdisk, qemu};
use crate::program::Interrupt;

/// The outcome of one command.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The exit status, as in a shell: 128 plus its number for a signal.
    pub status: u8,
    /// Everything it wrote to stdout.
    pub stdout: Vec<u8>,
    /// Everything it wrote to stderr.
    pub stderr: Vec<u8>,
    /// Time from the end of the previous command, or of the boot, until it ended.
    pub took: Duration,
}

/// Why the commands did not all run.
#[derive(Debug, thiserror::Error)]
pub(super) enum Stopped {
    /// The guest ran out of time.
    #[error(
        "the guest was killed after {seconds} s, before `{command}` had ended; a longer timeout \
         (--timeout) or a quieter machine may help; its console ended with\n{console}"
    )]
    Timeout {
        /// The limit.
        seconds: u64,
        /// The command that was running, or that the guest was still booting for.
        command: String,
        /// The end of its console.
        console: String,
    },
    /// The emulator failed, which says nothing about what runs in the guest.
    #[error("{failure}; its console ended with\n{console}")]
    Emulator {
        /// How it failed.
        failure: String,
        /// Whether the first command had started.
        is_booted: bool,
        /// The end of the console.
        console: String,
    },
    /// A command ran out of time.
    #[error(
        "`{command}` had not ended after {seconds} s; the processes of the guest:\n{processes}"
    )]
    Late {
        /// The limit.
        seconds: u64,
        /// The command.
        command: String,
        /// What each process was doing.
        processes: String,
    },
    /// A signal asked to stop.
    #[error("stopped by signal {0}")]
    Interrupted(u8),
}

impl Stopped {
    fn emulator(failure: String, run: &RunDirectory) -> Self {
        Self::Emulator {
            failure,
            is_booted: run.is_booted(),
            console: console(run),
        }
    }
}

/// Maximum number of boots before a failing emulator is an error.
const BOOTS: u32 = 3;

/// The same if a command takes longer than it may. Guests that stood still for a minute and went
/// on, and one that stood still for more than half an hour, were seen on busy hosts.
const BOOTS_IF_LATE: u32 = 2;

/// How long a boot may take. The longest that was seen took 37 s of CPU time on two CPUs.
const LONGEST_BOOT: Duration = Duration::from_secs(240);

/// What a kernel prints on its console when one of its CPUs hangs.
const HANG: &str = "detected stalls on CPUs";

/// What a kernel prints on its console when it gives up. Before the first command, that is taken
/// for a failure of the emulator: a kernel that panics for another reason does so in every boot.
const PANIC: &str = "Kernel panic";

/// Boots a guest, runs the commands in it one after the other, and switches it off. Kills it if a
/// signal asks to stop.
///
/// If its emulator fails, a guest starts again, with all commands, and the user is told. Four
/// failures of QEMU 7.2 were seen, each once in some hundred boots: an emulated CPU keeps executing
/// instructions that another one has just patched (int3 forever in `hrtimer_start_range_ns`) or
/// takes them for invalid (a panic in `sched_clock_cpu`), SIGSEGV while the kernel scans for PCI
/// devices, and a guest in which nothing goes on, while its CPUs sleep or all of them work. If
/// output is passed on, commands that have started are not repeated.
pub(crate) fn run(
    options: &Options,
    commands: &[Vec<String>],
    relay: Relay,
    interrupt: &Interrupt,
) -> Result<Vec<Outcome>> {
    let mut boots = 1;
    loop {
        let result = run_once(options, commands, relay, interrupt);
        let Err(error) = &result else { return result };
        let (failure, most) = match error.downcast_ref() {
            Some(Stopped::Emulator {
                failure, is_booted, ..
            }) if relay == Relay::Keep || !is_booted => (failure, BOOTS),
            Some(late @ Stopped::Late { .. }) => (&late.to_string(), BOOTS_IF_LATE),
            _ => return result,
        };
        if boots >= most {
            return result;
        }
        boots += 1;
        eprintln!("{failure}; boot {boots} of {most}");
    }
}

fn run_once(
    options: &Options,
    commands: &[Vec<String>],
    relay: Relay,
    interrupt: &Interrupt,
) -> Result<Vec<Outcome>> {
    let parts = fetch(options.kernel)?;
    let run = RunDirectory::create(options, commands)?;
    let early = options.early_initrd.as_deref();
    initial_ramdisk::write(&run.initial_ramdisk(), &parts.kernel, &parts.busybox, early)?;

    let mut command = Command::new("setpriv");
    command
        .args(["--pdeathsig", "KILL", "--"])
        .arg(&parts.emulator);
    command.args(qemu::arguments(options, &parts.kernel, &parts.root, &run));
    let deadline = Instant::now() + options.timeout;
    let is_late = || Instant::now() >= deadline;
    let mut machine = Machine::start(&mut command, &run)?;
    boot(&mut machine, &run, interrupt, is_late)?;
    let followers = match relay {
        Relay::Pass => (0..commands.len())
            .map(|number| Follower::open(&run.command(number)))
            .collect::<Result<Vec<_>>>()?,
        Relay::Keep => Vec::new(),
    };
    let ended = match wait(&mut machine, &run, followers, interrupt, is_late)? {
        Some(status) => status,
        None => return Err(timed_out(options, commands, &run).into()),
    };
    if is_crash(ended) {
        let failure = format!("the emulator crashed ({ended})");
        return Err(Stopped::emulator(failure, &run).into());
    }
    if let Some(processes) = run.late() {
        let late = Stopped::Late {
            seconds: options.command_timeout.as_secs(),
            command: first_open(commands, &run),
            processes,
        };
        return Err(late.into());
    }
    outcomes(&run, commands.len(), ended)
}

/// Waits for the first command, the end of QEMU, or a hang.
fn boot(
    machine: &mut Machine,
    run: &RunDirectory,
    interrupt: &Interrupt,
    is_late: impl Fn() -> bool,
) -> Result<()> {
    let begin = Instant::now();
    while !run.is_booted() && machine.ended()?.is_none() && !is_late() {
        if let Some(signal) = interrupt.signal() {
            bail!(Stopped::Interrupted(signal));
        }
        if is_hanging(&fs::read(run.console()).unwrap_or_default()) {
            let failure = "the guest's kernel hung while it booted".to_string();
            bail!(Stopped::emulator(failure, run));
        }
        if begin.elapsed() >= LONGEST_BOOT {
            let seconds = LONGEST_BOOT.as_secs();
            let failure = format!("the guest had not booted after {seconds} s");
            bail!(Stopped::emulator(failure, run));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Whether QEMU crashed. SIGKILL is not a crash: the kernel sends it when memory is short, and
/// others may send it, too.
fn is_crash(ended: ExitStatus) -> bool {
    let crashes = [
        Signal::ILL,
        Signal::ABORT,
        Signal::BUS,
        Signal::FPE,
        Signal::SEGV,
    ];
    ended
        .signal()
        .is_some_and(|signal| crashes.iter().any(|crash| crash.as_raw() == signal))
}

fn is_hanging(console: &[u8]) -> bool {
    String::from_utf8_lossy(console).contains(HANG)
}

/// Waits for the end of QEMU and passes output on. `None` at the timeout.
fn wait(
    machine: &mut Machine,
    run: &RunDirectory,
    mut followers: Vec<Follower>,
    interrupt: &Interrupt,
    is_late: impl Fn() -> bool,
) -> Result<Option<ExitStatus>> {
    let mut heartbeat = Heartbeat::of(run.alive());
    loop {
        // Check first, so that output written before the end is still passed on.
        let ended = machine.ended()?;
        for follower in &mut followers {
            follower.pass_on()?;
        }
        if ended.is_some() || is_late() {
            return Ok(ended);
        }
        if let Some(signal) = interrupt.signal() {
            bail!(Stopped::Interrupted(signal));
        }
        if heartbeat.has_stopped() {
            let failure = "the guest stood still for three minutes".to_string();
            bail!(Stopped::emulator(failure, run));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn timed_out(options: &Options, commands: &[Vec<String>], run: &RunDirectory) -> Stopped {
    Stopped::Timeout {
        seconds: options.timeout.as_secs(),
        command: first_open(commands, run),
        console: console(run),
    }
}

/// The first command that has not ended.
fn first_open(commands: &[Vec<String>], run: &RunDirectory) -> String {
    let is_open = |number: &usize| !run.status(*number).exists();
    let first_open = (0..commands.len()).find(is_open);
    first_open.map_or_else(|| "switching off".into(), |at| commands[at].join(" "))
}

/// A running QEMU; killed when dropped.
#[derive(Debug)]
struct Machine {
    child: Child,
}

impl Machine {
    fn start(command: &mut Command, run: &RunDirectory) -> Result<Self> {
        let messages = run.qemu_messages();
        let messages = File::create(&messages)
            .with_context(|| format!("cannot write {}", messages.display()))?;
        // In its own process group: Ctrl-C reaches only this process, which ends the guest. If this
        // process is killed without a chance to do so, the kernel kills QEMU, as setpriv requested.
        let child = command
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(
                messages
                    .try_clone()
                    .context("cannot share the file of messages")?,
            )
            .stderr(messages)
            .spawn()
            .context("cannot start setpriv (of util-linux) with qemu-system-x86_64")?;
        Ok(Self { child })
    }

    fn ended(&mut self) -> Result<Option<ExitStatus>> {
        self.child.try_wait().context("cannot wait for QEMU")
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn outcomes(run: &RunDirectory, count: usize, ended: ExitStatus) -> Result<Vec<Outcome>> {
    if let Some(failure) = run.failure() {
        bail!("the guest could not be prepared: {failure}");
    }
    let ended_early = |before: &str| {
        anyhow!(
            "the guest ended before {before} (QEMU: {ended})\n{}{}",
            tail(&fs::read(run.qemu_messages()).unwrap_or_default()),
            console(run)
        )
    };
    if !run.is_booted() {
        let console = fs::read(run.console()).unwrap_or_default();
        if String::from_utf8_lossy(&console).contains(PANIC) {
            let failure = format!("the guest's kernel panicked as it booted (QEMU: {ended})");
            return Err(Stopped::emulator(failure, run).into());
        }
        return Err(ended_early("it had booted"));
    }
    let mut begin = written(&run.booted())?;
    let mut outcomes = Vec::with_capacity(count);
    for number in 0..count {
        let status = run.status(number);
        if !status.exists() {
            return Err(ended_early(&format!("command {} did", number + 1)));
        }
        let end = written(&status)?;
        let took = end.duration_since(begin).unwrap_or_default();
        outcomes.push(outcome(run, number, took)?);
        begin = end;
    }
    Ok(outcomes)
}

/// Returns when a file was last written, by the host's clock.
fn written(path: &Path) -> Result<SystemTime> {
    let time = fs::metadata(path).and_then(|metadata| metadata.modified());
    time.with_context(|| format!("cannot look at {}", path.display()))
}

fn outcome(run: &RunDirectory, number: usize, took: Duration) -> Result<Outcome> {
    let read =
        |path: PathBuf| fs::read(&path).with_context(|| format!("cannot read {}", path.display()));
    let status = String::from_utf8(read(run.status(number))?).context("an exit status is text")?;
    Ok(Outcome {
        status: status
            .trim()
            .parse()
            .with_context(|| format!("the guest wrote the exit status {status:?}"))?,
        stdout: read(run.command(number).join("stdout"))?,
        stderr: read(run.command(number).join("stderr"))?,
        took,
    })
}

fn console(run: &RunDirectory) -> String {
    tail(&fs::read(run.console()).unwrap_or_default())
}

/// Returns the last lines, indented, for an error message.
fn tail(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<_> = text.lines().collect();
    let last = &lines[lines.len().saturating_sub(20)..];
    last.iter()
        .map(|line| format!("  | {}\n", line.trim_end()))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::{is_crash, is_hanging};

    #[test]
    fn a_fault_of_the_emulator_is_a_crash_and_an_exit_or_a_kill_is_none() {
        let core_dumped = 0x80;
        assert!(is_crash(ExitStatus::from_raw(11)));
        assert!(is_crash(ExitStatus::from_raw(6 | core_dumped)));
        assert!(!is_crash(ExitStatus::from_raw(9)));
        assert!(!is_crash(ExitStatus::from_raw(11 << 8)));
    }

    #[test]
    fn only_a_stall_is_a_hang() {
        let boot = b"rcu: RCU calculated value of scheduler-enlistment delay is 25 jiffies.";
        assert!(!is_hanging(boot));
        let stall = b"[ 22.3] rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:\r\n";
        assert!(is_hanging(stall));
    }
}
