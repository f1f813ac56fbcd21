//! The processes of one numalab, found by the state folder in their environment, which instances
//! and sessions inherit. So other numalabs on the machine are never mistaken for it.

use std::fs;
use std::path::Path;

/// The role of a numalab process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Coordinator,
    Guardian,
    Instance,
    Session,
}

/// One live process; a zombie does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process {
    pub pid: u32,
    pub role: Role,
}

/// Returns every live process whose state folder is below `state`.
pub(crate) fn of_state_folder(state: &Path) -> Vec<Process> {
    let variable = format!("XDG_STATE_HOME={}", state.display());
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut found: Vec<Process> = pids
        .filter(|pid| has_variable(*pid, &variable))
        .filter_map(|pid| {
            Some(Process {
                pid,
                role: role(pid)?,
            })
        })
        .collect();
    found.sort_by_key(|process| process.pid);
    found
}

/// Whether a process has this environment variable; one that is gone, or ending, has none.
fn has_variable(pid: u32, variable: &str) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let mut variables = environment.split(|byte| *byte == 0);
    variables.any(|found| found == variable.as_bytes())
}

fn role(pid: u32) -> Option<Role> {
    let words = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let mut words = words.split(|byte| *byte == 0).skip(1);
    Some(match words.next() {
        Some(b"internal-guardian") => Role::Guardian,
        Some(b"internal-instance") => Role::Instance,
        Some(b"internal-session") => Role::Session,
        _ => Role::Coordinator,
    })
}
