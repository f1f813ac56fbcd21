//! An external program as a workload: started under its placement, with evidence read before and
//! while it runs; its number is parsed from its output, and all processes that it started are
//! ended.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use journal::Journal;
use linux::Root;
use linux::child_group::ChildGroup;
use model::exit::ExitCode;
use model::{
    CasePlan, CommandWork, CpuSet, Evidence, Measured, Outcome, Phase, SessionEvidence, Trial, Work,
};
use placement::hierarchy::Hierarchy;
use residency::instances::{self, Target};

use super::command_launch::{CommandLauncher, CommandOrder, ReadBack, policy};
use super::printed_number::{number_in, shown};
use super::trial_groups::{TrialGroups, quota_contradiction};
use crate::{Cancel, TrialSpec, Workload, WorkloadError};

/// Interval at which the program's CPUs are sampled.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Maximum number of bytes read from its standard output.
const OUTPUT_BYTES_MAX: u64 = 16 << 20;
/// Maximum number of bytes kept of its standard error.
const STDERR_BYTES_MAX: u64 = 1 << 20;

/// Time limit for the guardian to end the processes it guards; its own limit is shorter.
const GUARDIAN_WITHIN: Duration = Duration::from_secs(12);

/// External programs.
pub struct CommandWorkload {
    guardian: CommandLauncher,
    /// Where processor groups are created; `None` when none can be.
    hierarchy: Option<Hierarchy>,
    journal: Journal,
}

impl CommandWorkload {
    /// Creates a workload that starts programs under `guardian`, which must call [`super::guard`].
    pub fn new(guardian: CommandLauncher, hierarchy: Option<Hierarchy>, journal: Journal) -> Self {
        CommandWorkload {
            guardian,
            hierarchy,
            journal,
        }
    }

    fn start(&self, order: &CommandOrder) -> Result<Running, String> {
        let said = |what: &str, cause: std::io::Error| format!("{what}: {cause}");
        let mut command = Command::new(&self.guardian.program);
        command
            .args(&self.guardian.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut guardian =
            ChildGroup::start(&mut command).map_err(|cause| said("starting the program", cause))?;
        let mut document = serde_json::to_vec(order).map_err(|error| error.to_string())?;
        document.push(b'\n');
        let (stdin, stdout, stderr) = guardian.take_pipes();
        let mut running = Running {
            guardian,
            stdin,
            stdout,
            stderr,
        };
        let stdin = running.stdin.as_mut();
        let written = stdin.map_or(Ok(()), |stdin| stdin.write_all(&document));
        written.map_err(|cause| said("handing over its order", cause))?;
        Ok(running)
    }
}

/// A program running under its guardian. Dropping this ends the program and all processes that it
/// started.
struct Running {
    guardian: ChildGroup,
    /// Open as long as the program is to run.
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let deadline = Instant::now() + GUARDIAN_WITHIN;
        // A guardian that does not end is killed with its group.
        while matches!(self.guardian.try_end(), Ok(None)) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// The result of a program.
struct Ended {
    status: ExitStatus,
    seconds: f64,
    read_back: Option<ReadBack>,
    stdout: String,
    stderr: String,
    cpus_used: CpuSet,
}

/// Waits for the program to end and samples the CPUs it runs on; returns `None` when cancelled.
fn attend(mut running: Running, cancel: &Cancel) -> Result<Option<Ended>, String> {
    let guardian_pid = running.guardian.pid();
    let start = Instant::now();
    let (stdout, stderr) = (running.stdout.take(), running.stderr.take());
    let is_placed = Arc::new(AtomicBool::new(false));
    let tell = Arc::clone(&is_placed);
    let output = std::thread::spawn(move || read_output(stdout, &tell));
    let errors = std::thread::spawn(move || read_all(stderr, STDERR_BYTES_MAX));
    let mut cpus_used = CpuSet::default();
    let status = loop {
        if cancel.is_cancelled() {
            return Ok(None);
        }
        // Before its placement is applied, it may run anywhere.
        if is_placed.load(Ordering::Acquire) {
            cpus_used.extend(cpus_below(guardian_pid));
        }
        let ended = running.guardian.try_end();
        if let Some(status) = ended.map_err(|cause| format!("waiting for it: {cause}"))? {
            break status;
        }
        std::thread::sleep(LOOK_EVERY);
    };
    let seconds = start.elapsed().as_secs_f64();
    let panicked = |_| "the thread that reads its output ended".to_owned();
    let (read_back, stdout) = output.join().map_err(panicked)?;
    Ok(Some(Ended {
        status,
        seconds,
        read_back,
        stdout,
        stderr: errors.join().map_err(panicked)?,
        cpus_used,
    }))
}

/// Reads the first line, which the launcher prints, and the rest.
fn read_output(stdout: Option<impl Read>, is_placed: &AtomicBool) -> (Option<ReadBack>, String) {
    let Some(stdout) = stdout else {
        return (None, String::new());
    };
    let mut reader = BufReader::new(stdout.take(OUTPUT_BYTES_MAX));
    let mut first = String::new();
    // A line that cannot be read counts as missing; the caller reports that.
    let _ = reader.read_line(&mut first);
    is_placed.store(true, Ordering::Release);
    (
        serde_json::from_str(&first).ok(),
        read_all(Some(reader), OUTPUT_BYTES_MAX),
    )
}

fn read_all(stream: Option<impl Read>, bytes_max: u64) -> String {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        let _ = stream.take(bytes_max).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the CPUs on which descendants of the guardian ran last.
fn cpus_below(guardian: u32) -> Vec<model::CpuId> {
    let found = instances::find(&Root::live(), &Target::Process(guardian));
    let stats = found.unwrap_or_default().into_iter().map(|it| it.stat);
    let below = stats.filter(|stat| stat.pid != guardian);
    below.filter_map(|stat| stat.last_cpu).collect()
}

impl Workload for CommandWorkload {
    fn trial(
        &mut self,
        case: &CasePlan,
        spec: &TrialSpec,
        live: &mut dyn FnMut(Phase, Option<f64>),
        cancel: &Cancel,
    ) -> Result<Trial, WorkloadError> {
        let Work::Command(work) = &case.work else {
            return Err(WorkloadError::Fatal {
                message: format!("case {:?} is not a program", case.name),
                exit_code: ExitCode::Bug,
            });
        };
        let groups = TrialGroups::create(
            self.hierarchy.as_ref(),
            &case.placement,
            work.cpu_quota,
            &self.journal,
            None,
        )?;
        let order = CommandOrder {
            parent_pid: std::process::id(),
            placement: case.placement.clone(),
            groups: groups.directories(),
            allocation: work.allocation.clone(),
            command: work.command.clone(),
        };
        live(Phase::Measuring, None);
        let ended = self
            .start(&order)
            .and_then(|running| attend(running, cancel));
        let mut trial = match ended {
            Ok(None) => {
                groups.remove()?;
                return Err(WorkloadError::Cancelled);
            }
            Ok(Some(ended)) => trial_of(spec.round, work, ended),
            Err(reason) => Trial::failed(spec.round, reason),
        };
        groups.read_back(&mut trial.evidence, &mut trial.warnings);
        groups.remove()?;
        judge(case, work, &mut trial);
        Ok(trial)
    }
}

fn trial_of(round: u32, work: &CommandWork, ended: Ended) -> Trial {
    let Some(read_back) = ended.read_back else {
        let said = shown(&ended.stderr);
        return Trial::failed(
            round,
            format!("the program did not start: {}, {said}", ended.status),
        );
    };
    let evidence = Evidence {
        sessions: vec![SessionEvidence {
            pid: read_back.pid,
            cpus_allowed: read_back.cpus,
            memory_nodes_allowed: read_back.memory_nodes,
            cpus_used: ended.cpus_used,
            policy: read_back.policy,
            bytes_read_by_node: Default::default(),
            own_memory: None,
        }],
        ..Evidence::default()
    };
    if !ended.status.success() {
        let said = shown(&ended.stderr);
        let reason = format!("the program ended with {}; stderr: {said}", ended.status);
        return Trial {
            evidence,
            ..Trial::failed(round, reason)
        };
    }
    match number_in(&ended.stdout, &work.number) {
        Ok(value) => Trial {
            outcome: Outcome::Valid,
            measured: Some(Measured {
                value,
                window_s: ended.seconds,
                warm_up_s: None,
                sessions: None,
                kernel: None,
            }),
            evidence,
            ..Trial::failed(round, String::new())
        },
        Err(reason) => Trial {
            evidence,
            ..Trial::failed(round, format!("cannot read its number: {reason}"))
        },
    }
}

/// Compares placement, policy and quota with the evidence.
fn judge(case: &CasePlan, work: &CommandWork, trial: &mut Trial) {
    if trial.outcome != Outcome::Valid {
        return;
    }
    let mut found = placement::placement_contradictions(&case.placement, &trial.evidence);
    for session in &trial.evidence.sessions {
        let asked = policy(&work.allocation).map(|policy| policy.words());
        if let Some(asked) = asked.filter(|asked| *asked != session.policy) {
            let seen = &session.policy;
            found.push(format!(
                "the program has policy {seen:?}, requested {asked:?}"
            ));
        }
    }
    let quota = trial.evidence.cpu_quota.as_ref();
    found.extend(quota_contradiction(work.cpu_quota, quota));
    if !found.is_empty() {
        trial.outcome = Outcome::Invalid(found.join("; "));
    }
}
