//! What the findings on the buffer pool of a MariaDB share.

use model::{NodeSet, ServerSettings};

use super::input::DoctorInput;

/// The size that its buffer pool may take.
pub(crate) fn pool_bytes(settings: &ServerSettings) -> Option<u64> {
    settings.value("innodb_buffer_pool_size")?.parse().ok()
}

/// Whether it is interleaved, by its own setting or as it was started.
pub(crate) fn is_interleaved(input: &DoctorInput, settings: &ServerSettings) -> bool {
    let by_setting = settings.value("innodb_numa_interleave") == Some("ON");
    let policy = input.server_memory.policy.as_deref();
    by_setting || policy.is_some_and(|policy| policy.contains("interleave"))
}

/// The nodes where memory of the server belongs: those with memory and CPUs that it may use.
pub(crate) fn nodes_of_server(input: &DoctorInput, settings: &ServerSettings) -> NodeSet {
    let all = input.database_nodes();
    let processes = input.residency.iter().flat_map(|it| &it.processes);
    let mut of_server = processes.filter(|process| process.pid == settings.pid);
    match of_server.next() {
        Some(process) if !process.memory_nodes_allowed.is_empty() => {
            all.intersection(&process.memory_nodes_allowed)
        }
        _ => all,
    }
}
