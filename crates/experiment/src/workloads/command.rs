//! A program of somebody else's as a workload: started placed, read back before and while it runs,
//! its number read from what it prints.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use linux::mempolicy::{self, Policy};
use linux::{Root, proc_stat, proc_status};
use model::exit::ExitCode;
use model::{
    Allocation, CasePlan, CommandWork, CpuSet, Evidence, Measured, NodeSet, Outcome, Phase,
    Placement, SessionEvidence, Trial, Work,
};
use numa::hierarchy::Hierarchy;
use numa::journal::Journal;
use serde::{Deserialize, Serialize};

use super::printed_number::{number_in, shown};
use super::trial_groups::{TrialGroups, quota_contradiction};
use crate::{Cancel, TrialSpec, Workload, WorkloadError};

/// How often it is looked at where the program runs.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// The most that is read of what it prints.
const OUTPUT_BYTES_MAX: u64 = 16 << 20;
/// The most that is kept of its standard error.
const STDERR_BYTES_MAX: u64 = 1 << 20;

/// The program that becomes the shell: numalab itself, with the arguments of its hidden command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLauncher {
    /// The program.
    pub program: PathBuf,
    /// Its arguments; it reads a [`CommandOrder`] on stdin.
    pub arguments: Vec<String>,
}

/// What the launched process is to become.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommandOrder {
    /// Process id of the coordinator.
    pub parent_pid: u32,
    /// CPUs and memory nodes.
    pub placement: Placement,
    /// The cgroups to join; a processor group is the first.
    pub groups: Vec<PathBuf>,
    /// The memory policy.
    pub allocation: Allocation,
    /// What the shell is given.
    pub command: String,
}

/// What a process read back of itself before it became the shell: all of it outlives execve(2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct ReadBack {
    cpus: CpuSet,
    memory_nodes: NodeSet,
    policy: String,
}

/// Places this process, writes what it reads back as the first line of its standard output, and
/// becomes `sh -c COMMAND`. Returns only when that failed, with the reason.
pub fn place_and_execute(order: &CommandOrder) -> String {
    let placed = place(order).and_then(|()| read_back());
    let line = match placed.map(|it| serde_json::to_string(&it)) {
        Ok(Ok(line)) => line,
        Ok(Err(error)) => return error.to_string(),
        Err(error) => return error.to_string(),
    };
    if let Err(error) = writeln!(std::io::stdout(), "{line}") {
        return error.to_string();
    }
    let cause = Command::new("/bin/sh").args(["-c", &order.command]).exec();
    format!("executing /bin/sh: {cause}")
}

fn place(order: &CommandOrder) -> Result<(), numa::Error> {
    // When this ends before it is asked for, the parent is gone, and nobody reads the answer.
    let _ = linux::process::die_with_parent(order.parent_pid);
    let first = order.groups.first().map(PathBuf::as_path);
    numa::placement::apply_to_this_process(&order.placement, first)?;
    for group in &order.groups {
        numa::group::join(group)?;
    }
    if let Some(policy) = policy(&order.allocation) {
        mempolicy::set_task_policy(&policy)?;
    }
    Ok(())
}

/// The memory policy of an allocation; `None` for the kernel's own.
fn policy(allocation: &Allocation) -> Option<Policy> {
    Some(match allocation {
        // The plan lets no pools through.
        Allocation::OsDefault | Allocation::PerNode(_) => return None,
        Allocation::Interleave(nodes) => Policy::Interleave(nodes.clone()),
        Allocation::WeightedInterleave(nodes) => Policy::WeightedInterleave(nodes.clone()),
        Allocation::Bind(nodes) => Policy::Bind(nodes.clone()),
        Allocation::Prefer(node) => Policy::Preferred(*node),
    })
}

fn read_back() -> Result<ReadBack, numa::Error> {
    let allowed = proc_status::allowed(&Root::live(), std::process::id())?;
    let policy = match mempolicy::task_policy() {
        Ok((mode, nodes)) => mempolicy::policy_words(mode, &nodes),
        // Containers refuse the question; numa_maps answers it too.
        Err(_) => numa::evidence::policy_of_process(&Root::live(), std::process::id())?,
    };
    Ok(ReadBack {
        cpus: allowed.cpus,
        memory_nodes: allowed.memory_nodes,
        policy,
    })
}

/// Programs of somebody else's.
pub struct CommandWorkload {
    launcher: CommandLauncher,
    /// Where processor groups are made; `None` when none can be.
    hierarchy: Option<Hierarchy>,
    journal: Journal,
}

impl CommandWorkload {
    /// A workload that starts programs with `launcher`.
    pub fn new(launcher: CommandLauncher, hierarchy: Option<Hierarchy>, journal: Journal) -> Self {
        CommandWorkload {
            launcher,
            hierarchy,
            journal,
        }
    }

    fn start(&self, order: &CommandOrder) -> Result<Running, String> {
        let said = |what: &str, cause: std::io::Error| format!("{what}: {cause}");
        let child = Command::new(&self.launcher.program)
            .args(&self.launcher.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A group of its own: one kill reaches what the shell starts.
            .process_group(0)
            .spawn();
        let mut child = child.map_err(|cause| said("starting the program", cause))?;
        let document = serde_json::to_vec(order).map_err(|error| error.to_string())?;
        let stdin = child.stdin.take();
        let running = Running { child };
        let written = stdin.map_or(Ok(()), |mut stdin| stdin.write_all(&document));
        written.map_err(|cause| said("handing over its order", cause))?;
        Ok(running)
    }
}

/// A program under way; killed with what it started when this is dropped.
struct Running {
    child: Child,
}

impl Drop for Running {
    fn drop(&mut self) {
        linux::process::kill_group(self.child.id());
        // It was just killed; reaping it cannot fail in a way that matters.
        let _ = self.child.wait();
    }
}

/// What came of a program.
struct Ended {
    status: ExitStatus,
    seconds: f64,
    read_back: Option<ReadBack>,
    stdout: String,
    stderr: String,
    cpus_used: CpuSet,
    pid: u32,
}

/// Waits for the end, looking where it runs; `None` when cancelled.
fn attend(mut running: Running, cancel: &Cancel) -> Result<Option<Ended>, String> {
    let pid = running.child.id();
    let start = Instant::now();
    let stdout = running.child.stdout.take();
    let stderr = running.child.stderr.take();
    let is_placed = Arc::new(AtomicBool::new(false));
    let tell = Arc::clone(&is_placed);
    let output = std::thread::spawn(move || read_output(stdout, &tell));
    let errors = std::thread::spawn(move || read_all(stderr, STDERR_BYTES_MAX));
    let mut cpus_used = CpuSet::default();
    let status = loop {
        if cancel.is_cancelled() {
            return Ok(None);
        }
        // Before it is placed it may be anywhere.
        if is_placed.load(Ordering::Acquire) {
            cpus_used.extend(cpus_of_group(pid));
        }
        let ended = running.child.try_wait();
        if let Some(status) = ended.map_err(|cause| format!("waiting for it: {cause}"))? {
            break status;
        }
        std::thread::sleep(LOOK_EVERY);
    };
    let seconds = start.elapsed().as_secs_f64();
    // What it left running would keep its pipes open for ever.
    drop(running);
    let panicked = |_| "the thread that reads its output ended".to_owned();
    let (read_back, stdout) = output.join().map_err(panicked)?;
    Ok(Some(Ended {
        status,
        seconds,
        read_back,
        stdout,
        stderr: errors.join().map_err(panicked)?,
        cpus_used,
        pid,
    }))
}

/// The first line, which is the launcher's, and the rest.
fn read_output(stdout: Option<impl Read>, is_placed: &AtomicBool) -> (Option<ReadBack>, String) {
    let Some(stdout) = stdout else {
        return (None, String::new());
    };
    let mut reader = BufReader::new(stdout.take(OUTPUT_BYTES_MAX));
    let mut first = String::new();
    // What cannot be read is not there, and that is said where it is missed.
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

/// The CPUs on which the process and its children were seen last.
fn cpus_of_group(pid: u32) -> Vec<model::CpuId> {
    let root = Root::live();
    let pids = proc_stat::pids(&root).unwrap_or_default();
    let stats = pids
        .into_iter()
        .filter_map(|pid| proc_stat::read(&root, pid).ok());
    let ours = stats.filter(|stat| stat.pid == pid || stat.parent == pid);
    ours.filter_map(|stat| stat.last_cpu).collect()
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
                message: format!("case {:?} is no program", case.name),
                exit_code: ExitCode::Bug,
            });
        };
        let groups = TrialGroups::create(
            self.hierarchy.as_ref(),
            &case.placement,
            work.cpu_quota,
            &self.journal,
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
            format!("the program was not started: {}, {said}", ended.status),
        );
    };
    let evidence = Evidence {
        sessions: vec![SessionEvidence {
            pid: ended.pid,
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
        let reason = format!("the program ended with {}; it said {said}", ended.status);
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
            ..Trial::failed(round, format!("its number cannot be read: {reason}"))
        },
    }
}

/// Compares placement, policy and quota with what was read back.
fn judge(case: &CasePlan, work: &CommandWork, trial: &mut Trial) {
    if trial.outcome != Outcome::Valid {
        return;
    }
    let mut found = numa::placement_contradictions(&case.placement, &trial.evidence);
    for session in &trial.evidence.sessions {
        let asked = policy(&work.allocation).map(|policy| policy.words());
        if let Some(asked) = asked.filter(|asked| *asked != session.policy) {
            let seen = &session.policy;
            found.push(format!(
                "the program has policy {seen:?}, {asked:?} was asked for"
            ));
        }
    }
    let quota = trial.evidence.cpu_quota.as_ref();
    found.extend(quota_contradiction(work.cpu_quota, quota));
    if !found.is_empty() {
        trial.outcome = Outcome::Invalid(found.join("; "));
    }
}
