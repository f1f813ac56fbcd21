//! Interleaving for the buffers that also applies to the private memory of each session.

use model::{Severity, ShellLine, shell_line};

use super::row::{Check, Row};
use crate::doctor::postgres_server::postmaster;
use crate::doctor::{DoctorInput, sight};
use crate::found::{Found, fact};

pub(super) const ROW: Row = Row {
    id: "postgres-private-memory-interleaved",
    severity: Severity::Info,
    about: "PostgreSQL was started interleaved, so its sessions' private memory is, too",
    cost: "some 10 to 20 % of performance for what sessions do in their own memory",
    cost_source: "Andres Freund, \"NUMA vs PostgreSQL\", pgconf.eu 2024",
    checks: &[Check::Doctor(sight::postgres, check)],
};

fn check(input: &DoctorInput) -> Option<Found> {
    let postmaster = postmaster(input.residency.as_ref()?)?;
    let policy = input.policies.get(&postmaster.pid)?;
    let is_interleaved = policy.contains("interleave");
    let pid = postmaster.pid;
    // What its cpuset forbids is no destination.
    let nodes = Some(input.allowed_database_nodes()).filter(|nodes| !nodes.is_empty());
    let nodes = nodes.unwrap_or_else(|| input.database_nodes());
    (is_interleaved && input.topology.memory_nodes().len() > 1).then(|| Found {
        message: format!(
            "the server was started with memory policy {policy}, which its sessions inherit: \
             their sorts and hash tables are interleaved, too"
        ),
        evidence: vec![fact(format!("/proc/{pid}/numa_maps"), policy)],
        fix: vec![
            ShellLine::of("# start it without that policy, and interleave only the shared memory:"),
            shell_line!("numalab move {} --to interleave={} --shared", pid, nodes),
        ],
        ..Found::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::samples::server;

    #[test]
    fn a_policy_of_the_whole_server_is_found() {
        let with = |policy: &str| DoctorInput {
            policies: [(1, policy.to_owned())].into(),
            ..server("off", 4096, "0-1")
        };
        let found = check(&with("interleave:0-1")).unwrap();
        assert!(found.fix[1].contains("numalab move 1 --to interleave=0-1 --shared"));
        assert!(check(&with("weighted interleave:0-1")).is_some());
        assert!(check(&with("default")).is_none());
        assert!(check(&with("bind:0")).is_none());
    }
}
