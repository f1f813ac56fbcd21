//! A buffer pool on one node, as one thread filled it when the server started.

use model::{ByteSize, Severity, node_words};

use super::row::{Check, Row};
use crate::doctor::innodb_pool::{is_interleaved, nodes_of_server};
use crate::doctor::memory::WORTH_BYTES;
use crate::doctor::{DoctorInput, sight};
use crate::found::{Found, fact};

pub(super) const ROW: Row = Row {
    id: "mariadb-pool-on-one-node",
    severity: Severity::Warning,
    about: "nearly all memory of a MariaDB is on one node, and its threads run on others, too",
    cost: "threads on the other nodes read every page from afar, and one memory controller serves \
           all of them",
    cost_source: "`numalab run mariadb-local-vs-remote` measures it here",
    checks: &[Check::Doctor(sight::mariadb, check)],
};

/// As for shared memory that lies on one node (`cyclops`).
const SHARE_MIN: f64 = 0.9;

fn check(input: &DoctorInput) -> Option<Found> {
    let settings = input.server.as_ref()?;
    // Only of a MariaDB.
    settings.value("innodb_buffer_pool_size")?;
    let residency = input.residency.as_ref()?;
    let process = residency
        .processes
        .iter()
        .find(|it| it.pid == settings.pid)?;
    let all: u64 = process.private_bytes_by_node.values().sum();
    let (node, most) = process
        .private_bytes_by_node
        .iter()
        .max_by_key(|(_, bytes)| **bytes)?;
    let is_on_one = *most as f64 >= SHARE_MIN * all as f64;
    let runs_elsewhere = process.nodes_of_cpus.len() > 1;
    let nodes = nodes_of_server(input, settings);
    let could_be_elsewhere = nodes.len() > 1 && !is_interleaved(input, settings);
    if all < WORTH_BYTES || !is_on_one || !runs_elsewhere || !could_be_elsewhere {
        return None;
    }
    let by_one_thread = settings.value("innodb_buffer_pool_load_at_startup") == Some("ON");
    let why = match by_one_thread {
        true => ": one thread fills the pool when the server starts",
        false => "",
    };
    let mut evidence = vec![fact(
        format!("/proc/{}/pagemap", process.pid),
        format!(
            "{} of {} private memory on node {node}",
            ByteSize(*most),
            ByteSize(all)
        ),
    )];
    evidence.push(fact(
        format!("/proc/{}/status", process.pid),
        format!("may run on {}", node_words(&process.nodes_of_cpus)),
    ));
    if by_one_thread {
        evidence.push(fact(
            settings.source,
            "innodb_buffer_pool_load_at_startup ON",
        ));
    }
    Some(Found {
        message: format!(
            "{} of {} private memory of {} ({}) are on node {node}, and it runs on {}{why}",
            ByteSize(*most),
            ByteSize(all),
            process.name,
            process.pid,
            node_words(&process.nodes_of_cpus)
        ),
        evidence,
        ..Found::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::samples::mariadb;

    #[test]
    fn a_pool_on_one_node_is_found() {
        let settings = [
            ("innodb_buffer_pool_size", "1073741824"),
            ("innodb_buffer_pool_load_at_startup", "ON"),
        ];
        let message = |mib: &[(u32, u64)]| check(&mariadb(&settings, mib)).map(|it| it.message);
        assert_eq!(
            message(&[(0, 990), (1, 10)]).unwrap(),
            "990 MiB of 1000 MiB private memory of mariadbd (7) are on node 0, and it runs on \
             nodes 0-1: one thread fills the pool when the server starts"
        );
        assert_eq!(message(&[(0, 800), (1, 200)]), None);
        assert_eq!(message(&[(0, 10)]), None, "too little");
        let mut interleaved = mariadb(&settings, &[(0, 990)]);
        interleaved.server_memory.policy = Some("interleave:0-1".to_owned());
        assert!(check(&interleaved).is_none());
        let of_another = mariadb(&[], &[(0, 990)]);
        assert!(check(&of_another).is_none());
    }
}
