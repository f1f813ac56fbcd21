//! The processes of an external program: the guardian, which ends it, and the process that applies
//! the placement, reads it back, and becomes the shell.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitStatus;

use linux::mempolicy::{self, Policy};
use linux::own_program::{OwnProgram, become_program};
use linux::{Root, guardian, proc_status};
use model::{Allocation, CpuSet, NodeSet, Placement};
use serde::{Deserialize, Serialize};

/// The order for the launched process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommandOrder {
    /// Process id of its parent.
    pub parent_pid: u32,
    /// CPUs and memory nodes.
    pub placement: Placement,
    /// The cgroups to join; a processor group is the first.
    pub groups: Vec<PathBuf>,
    /// The memory policy.
    pub allocation: Allocation,
    /// The command line for the shell.
    pub command: String,
}

/// The placement that a process reads back before it becomes the shell; all of it survives
/// execve(2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ReadBack {
    pub pid: u32,
    pub cpus: CpuSet,
    pub memory_nodes: NodeSet,
    pub policy: String,
}

/// Runs `launcher`, which starts a shell according to the order on the first line of stdin. Ends
/// the shell and everything that it started when the shell ends or when stdin is closed. The
/// coordinator keeps stdin open as long as it lives, so that not even SIGKILL leaves a process
/// behind. Returns the exit status of the shell.
///
/// # Errors
/// When the order is missing or malformed, or the shell cannot be started.
pub fn guard(launcher: &OwnProgram) -> std::io::Result<ExitStatus> {
    let stdin = std::io::stdin();
    let mut line = String::new();
    stdin.read_line(&mut line)?;
    let mut order: CommandOrder = serde_json::from_str(&line)?;
    order.parent_pid = std::process::id();
    let document = serde_json::to_vec(&order)?;
    guardian::run(&mut launcher.command(), &document, stdin)
}

/// Applies the placement to this process, writes what it reads back as the first line of standard
/// output, and becomes `sh -c COMMAND`. Returns only on failure, with the reason.
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
    let cause = become_program("/bin/sh", &["-c", &order.command]);
    format!("executing /bin/sh: {cause}")
}

fn place(order: &CommandOrder) -> Result<(), placement::Error> {
    // If this fails because the parent is gone, no process reads the answer.
    let _ = linux::process::die_with_parent(order.parent_pid);
    let first = order.groups.first().map(PathBuf::as_path);
    placement::apply_to_this_process(&order.placement, first)?;
    for group in &order.groups {
        placement::hierarchy::join(group)?;
    }
    if let Some(policy) = policy(&order.allocation) {
        mempolicy::set_task_policy(&policy)?;
    }
    Ok(())
}

/// Returns the memory policy of an allocation; `None` for the kernel's default.
pub(super) fn policy(allocation: &Allocation) -> Option<Policy> {
    Some(match allocation {
        // The planner rejects pools for external programs.
        Allocation::OsDefault | Allocation::PerNode(_) => return None,
        Allocation::Interleave(nodes) => Policy::Interleave(nodes.clone()),
        Allocation::WeightedInterleave(nodes) => Policy::WeightedInterleave(nodes.clone()),
        Allocation::Bind(nodes) => Policy::Bind(nodes.clone()),
        Allocation::Prefer(node) => Policy::Preferred(*node),
    })
}

fn read_back() -> Result<ReadBack, placement::Error> {
    let allowed = proc_status::allowed(&Root::live(), std::process::id())?;
    let policy = match mempolicy::task_policy() {
        Ok((mode, nodes)) => mempolicy::policy_words(mode, &nodes),
        // Containers may refuse get_mempolicy(2); numa_maps also shows the policy.
        Err(_) => placement::evidence::policy_of_process(&Root::live(), std::process::id())?,
    };
    Ok(ReadBack {
        pid: std::process::id(),
        cpus: allowed.cpus,
        memory_nodes: allowed.memory_nodes,
        policy,
    })
}
