//! The processes of one numalab, found by the state folder in their environment, which instances
//! and sessions inherit. So other numalabs on the machine are never mistaken for it.
//!
//! Tests of numalab.

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

/// The kernel numbers processes from the lowest on again when it has come to the last number, which
/// is this or more (proc_sys_kernel(5), `pid_max`).
const LAST_PID: u32 = 32_768;

/// Returns every live process whose state folder is below `state`, those that were started first
/// first.
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
    in_order_of_start(&mut found);
    found
}

fn in_order_of_start(processes: &mut [Process]) {
    let highest = processes.iter().map(|it| it.pid).max().unwrap_or_default();
    processes.sort_by_key(|it| (highest - it.pid > LAST_PID / 2, it.pid));
}

#[test]
fn numbers_that_begin_again_do_not_change_the_order() {
    let check = |pids: [u32; 3]| {
        let process = |pid| Process {
            pid,
            role: Role::Session,
        };
        let mut sorted = pids.map(process).to_vec();
        sorted.reverse();
        in_order_of_start(&mut sorted);
        assert_eq!(sorted, pids.map(process));
    };
    check([311, 312, 313]);
    check([32_766, 32_767, 311]);
    check([32_767, 311, 312]);
    check([4_194_303, 311, 312]);
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
