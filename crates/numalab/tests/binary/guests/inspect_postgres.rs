//! `numalab inspect` of a PostgreSQL with 256 MiB of shared buffers on article 000's eight nodes,
//! interleaved and without policy: what it finds agrees with Shmem of each node, to the
//! page, before most of the buffers exist, once they do, and with fifty processes, and the
//! inspection allocates no memory.
//!
//! Tests of residency, postgresql.

use std::fs::File;
use std::os::unix::fs::chown;
use std::process::Stdio;

use super::look::{Counters, Look, Uncounted};
use crate::laboratory::Laboratory;
use crate::patience::until;
use crate::postgres_server::{Server, installed};
use crate::running::Running;
use crate::unmet_need::is_guest;
use crate::user::{NOBODY, User};

/// Size of the buffers in bytes.
const BUFFERS: u64 = 256 << 20;
const SETTINGS: &str = "shared_buffers = 256MB
    max_connections = 60
    dynamic_shared_memory_type = mmap
    min_wal_size = 32MB
    max_wal_size = 64MB";

#[test]
fn buffers_of_an_interleaved_server_are_found_where_the_kernel_counts_them() {
    let test = "buffers_of_an_interleaved_server_are_found_where_the_kernel_counts_them";
    are_found(test, "--interleave=all", &[0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn buffers_of_a_server_without_policy_are_found_where_the_kernel_counts_them() {
    let test = "buffers_of_a_server_without_policy_are_found_where_the_kernel_counts_them";
    are_found(test, "--all", &[]);
}

/// Looks at a server placed by this option of numactl; where its buffers must be `nodes` says,
/// unless it chooses.
#[track_caller]
fn are_found(test: &str, placement: &str, nodes: &[usize]) {
    if !is_guest(test, "eight-node") {
        return;
    }
    let Some(bin) = installed(test) else {
        return;
    };
    let laboratory = Laboratory::new();
    let _uncounted = Uncounted::mounted_for(&laboratory);
    let server = Server::create(&bin, laboratory.folder(), SETTINGS);
    server.start_again();
    let _hole = table_that_takes_no_page(&server);
    server.stop();
    let target = server.target();
    let before = Counters::read();
    server.start_through(&["numactl", placement]);
    Look::at(&laboratory, &target).agrees(&before, 0, 5);
    assert_eq!(server.query("select pg_prewarm('big')"), "32768");
    let look = Look::at(&laboratory, &target);
    look.agrees(&before, 0, 5);
    are_on(nodes, &look);
    let script = laboratory.file("sleep.sql", "select pg_sleep(3600)");
    let mut pgbench = server.command("pgbench", &["-n", "-c", "45", "-f", &script]);
    let _sessions = Running::of(pgbench.stdout(Stdio::null()).stderr(Stdio::null()));
    until("45 sessions are asleep", || {
        let asleep =
            "select count(*) from pg_stat_activity where query like 'select pg_sleep(3600)%'";
        (server.query(asleep) == "45").then_some(())
    });
    let look = Look::at(&laboratory, &target);
    look.agrees(&before, 0, 50);
    are_on(nodes, &look);
}

/// Creates the table `big`, a hole in a file of a tmpfs, as large as the buffers.
fn table_that_takes_no_page(server: &Server) -> tempfile::TempDir {
    let hole = tempfile::tempdir().unwrap();
    let User(id) = NOBODY;
    chown(hole.path(), Some(id), Some(id)).unwrap();
    server.query("create extension pg_prewarm");
    server.query(&format!(
        "create tablespace hole location '{}'",
        hole.path().display()
    ));
    server.query("create table big (filler text) tablespace hole");
    let file = server.query("select pg_relation_filepath('big')");
    let file = File::options()
        .write(true)
        .open(format!("{}/{file}", server.data()));
    file.unwrap().set_len(BUFFERS).unwrap();
    hole
}

/// Asserts that all buffers exist and are on these nodes, evenly if there are several.
#[track_caller]
fn are_on(nodes: &[usize], look: &Look) {
    let found = look.shared_memory();
    let total: u64 = found.values().sum();
    assert!(total >= BUFFERS, "{found:?}");
    for node in nodes {
        let share = total / nodes.len() as u64;
        let is_near = found[node].abs_diff(share) <= share / 50;
        assert!(is_near, "node {node}, {share} bytes expected: {found:?}");
    }
}
