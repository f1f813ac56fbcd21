//! Why a target has no processes, and how to list those that exist.

use std::io::ErrorKind;

use super::target::{Place, ServerTarget, Target, TargetError};

/// Why no processes were found.
#[derive(Debug, thiserror::Error)]
pub enum InstanceError {
    /// The words are not a target.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// No such process runs.
    #[error("no process of {target} is running")]
    NoProcess {
        /// The target.
        target: Target,
    },
    /// There is no such control group.
    #[error("no such control group: {path}")]
    NoControlGroup {
        /// Its path.
        path: String,
    },
    /// No server runs on a data directory.
    #[error("no PostgreSQL server runs on {directory}: {reason}")]
    NoServer {
        /// The data directory.
        directory: String,
        /// What is missing.
        reason: String,
    },
    /// No server is at a place.
    #[error("{}", not_serving(target, others))]
    NotServing {
        /// The target.
        target: ServerTarget,
        /// The processes of such servers at other places.
        others: Vec<u32>,
    },
    /// Several servers are at a place: in containers, or with different addresses.
    #[error("{target} names several servers: processes {}", list(pids))]
    ServingTwice {
        /// The target.
        target: ServerTarget,
        /// Their processes.
        pids: Vec<u32>,
    },
    /// The process has ended.
    #[error(
        "process {pid} ({name}) has ended: it is a zombie, not yet reaped by its parent, \
         process {parent}"
    )]
    Ended {
        /// The process.
        pid: u32,
        /// Its name.
        name: String,
        /// Its parent, which has not reaped it.
        parent: u32,
    },
    /// The process is a kernel thread.
    #[error("process {pid} ({name}) is a thread of the kernel, which has no memory of its own")]
    KernelThread {
        /// The process.
        pid: u32,
        /// Its name.
        name: String,
    },
    /// A file could not be read.
    #[error(transparent)]
    Read(#[from] linux::Error),
}

fn not_serving(target: &ServerTarget, others: &[u32]) -> String {
    let place = match &target.place {
        Place::Port(port) => format!("listens on port {port}"),
        Place::Directory(directory) => format!("works in {directory}"),
    };
    let name = target.server.word();
    match others {
        [] => format!("no server of {name} runs, so none {place}"),
        others => format!(
            "no server of {name} {place}; those that run: processes {}",
            list(others)
        ),
    }
}

fn list(pids: &[u32]) -> String {
    let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
    pids.join(", ")
}

impl InstanceError {
    /// Whether a permission is missing.
    pub fn is_permission(&self) -> bool {
        let InstanceError::Read(linux::Error::Read { cause, .. }) = self else {
            return false;
        };
        cause.kind() == ErrorKind::PermissionDenied
    }

    /// How to list the processes, groups or servers that exist.
    pub fn advice(&self) -> Option<&'static str> {
        const PROCESSES: &str =
            "`ps -e` shows what is running; threads and other namespaces do not count";
        const GROUPS: &str = "list control groups with `find /sys/fs/cgroup -type d`; paths are \
                              relative to that directory, under cgroup v1 to its controllers";
        const SERVERS: &str = "list running servers and their data directories with `ps -C \
                               postgres -o pid,args`; for one in a container, give the PID";
        match self {
            InstanceError::NoProcess { target } => Some(match target {
                Target::Process(_) | Target::Name(_) => PROCESSES,
                Target::Postgres(_) => SERVERS,
                Target::Server(_) => PROCESSES,
                Target::Oracle(_) => {
                    "`ps -eo args | grep _pmon_` shows the instances that run, by their SID; a \
                     pluggable database has no processes of its own: name the instance of its \
                     container"
                }
                Target::ControlGroup(_) => {
                    "neither the control group nor those below it have processes: see its \
                     cgroup.procs"
                }
                Target::Unit(_) => {
                    "`systemctl list-units --type=service,scope --state=running` shows the units"
                }
            }),
            InstanceError::NoControlGroup { .. } => Some(GROUPS),
            InstanceError::NoServer { .. } => Some(SERVERS),
            InstanceError::NotServing { .. } => Some(
                "`ss -ltnp` shows which process listens on which port, `readlink /proc/PID/cwd` in \
                 which directory it works (in a container, as the server knows it); any target \
                 can be given as a PID",
            ),
            InstanceError::ServingTwice { .. } => Some("give the PID of the one that you mean"),
            InstanceError::Read(_) if self.is_permission() => {
                Some("run it as the owner of the server and its data directory, or as root")
            }
            InstanceError::Target(_)
            | InstanceError::Ended { .. }
            | InstanceError::KernelThread { .. }
            | InstanceError::Read(_) => None,
        }
    }
}
