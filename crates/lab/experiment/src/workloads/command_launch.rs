//! The processes of an external program: the guardian, which ends it, and the one that is
//! placed, reads back what it has been given, and becomes the shell.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};

use linux::mempolicy::{self, Policy};
use linux::{Root, guardian, proc_status};
use model::{Allocation, CpuSet, NodeSet, Placement};
use serde::{Deserialize, Serialize};

/// A program of ours: numalab itself, with the arguments of a hidden command.
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
    /// Process id of whoever starts it.
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
pub(super) struct ReadBack {
    pub pid: u32,
    pub cpus: CpuSet,
    pub memory_nodes: NodeSet,
    pub policy: String,
}

/// Has `launcher` start a shell as the order on the first line of stdin says, and ends it with all
/// that it started when the shell ends, or when stdin is closed: the coordinator keeps it open as
/// long as it lives, so that not even SIGKILL leaves a program of ours behind. Answers how the
/// shell ended.
///
/// # Errors
/// When there is no such order, or the shell cannot be started.
pub fn guard(launcher: &CommandLauncher) -> std::io::Result<ExitStatus> {
    let stdin = std::io::stdin();
    let mut line = String::new();
    stdin.read_line(&mut line)?;
    let mut order: CommandOrder = serde_json::from_str(&line)?;
    order.parent_pid = std::process::id();
    let document = serde_json::to_vec(&order)?;
    let mut command = Command::new(&launcher.program);
    guardian::run(command.args(&launcher.arguments), &document, stdin)
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
        numa::hierarchy::join(group)?;
    }
    if let Some(policy) = policy(&order.allocation) {
        mempolicy::set_task_policy(&policy)?;
    }
    Ok(())
}

/// The memory policy of an allocation; `None` for the kernel's own.
pub(super) fn policy(allocation: &Allocation) -> Option<Policy> {
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
        pid: std::process::id(),
        cpus: allowed.cpus,
        memory_nodes: allowed.memory_nodes,
        policy,
    })
}
