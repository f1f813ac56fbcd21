//! `numalab inspect --relations` on article 002's four nodes: two tables that backends on different
//! nodes read into the shared buffers of a PostgreSQL are found there, with as many buffers as the
//! server says, and the inspection allocates nothing.
//!
//! Tests of postgresql.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{ChildStdout, Stdio};

use super::holder::{cpus_of, use_cpus};
use super::kernel_setting::KernelSettings;
use super::look::{by_node, shared_memory};
use crate::laboratory::Laboratory;
use crate::postgres_relations::relation;
use crate::postgres_server::{Server, installed};
use crate::running::Running;
use crate::unmet_need::is_guest;

/// The nodes whose backends read a table each.
const NODES: [usize; 2] = [1, 3];
/// Shared memory that a connection itself may need: blocks of catalogs, and the server's own
/// structures. The free buffers are six times as much.
const CONNECTION_BYTES: u64 = 3 << 20;

#[test]
fn tables_in_small_pages_are_on_the_nodes_that_read_them() {
    let test = "tables_in_small_pages_are_on_the_nodes_that_read_them";
    are_where_they_were_read(test, 4096, 0.99);
}

/// A page that holds the end of one table and the beginning of the next is where it was touched
/// first; each table of 12 MiB has at most one such huge page.
#[test]
fn tables_in_huge_pages_are_on_the_nodes_that_read_them() {
    let test = "tables_in_huge_pages_are_on_the_nodes_that_read_them";
    are_where_they_were_read(test, 2 << 20, 0.7);
}

#[track_caller]
fn are_where_they_were_read(test: &str, page_bytes: u64, share_min: f64) {
    if !is_guest(test, "four-node-ring") {
        return;
    }
    let Some(bin) = installed(test) else {
        return;
    };
    let laboratory = Laboratory::new();
    let are_huge = page_bytes > 4096;
    let _pools = are_huge.then(|| KernelSettings::huge_pages(40));
    let huge = if are_huge { "on" } else { "off" };
    let settings = format!(
        "shared_buffers = 48MB\nmin_wal_size = 32MB\nmax_wal_size = 64MB\nhuge_pages = {huge}"
    );
    let server = Server::create(&bin, &std::env::temp_dir(), &settings);
    server.start_again();
    for extension in ["pg_buffercache", "pg_prewarm"] {
        server.query(&format!("create extension {extension}"));
    }
    for node in NODES {
        server.query(&format!(
            "create table on_{node} as select g k, repeat('x', 1900) filler \
             from generate_series(1, 6144) g"
        ));
    }
    server.query("checkpoint");
    // So that its memory is fresh.
    server.stop();
    server.start_again();
    // They stay, because only a process that has touched a huge page knows where it lies.
    let backends = NODES.map(|node| Backend::that_read_on(&server, node));
    let before = laboratory.document(&["inspect", &server.target(), "--json"]);
    let words = [
        "inspect",
        &server.target(),
        "--relations",
        "--pg-role",
        "postgres",
        "--json",
    ];
    let residency = laboratory.document(&words);
    drop(backends);
    assert_eq!(residency["relations"]["page_bytes"], page_bytes);
    let bytes = |residency| shared_memory(residency).values().sum::<u64>();
    let grown = bytes(&residency).saturating_sub(bytes(&before));
    assert!(
        grown <= CONNECTION_BYTES,
        "shared memory grew by {grown}: {residency:#}"
    );
    for node in NODES {
        let counted = server.query(&format!(
            "select count(*) from pg_buffercache \
             where relfilenode = pg_relation_filenode('on_{node}')"
        ));
        let counted = counted.parse::<u64>().unwrap() * 8192;
        let relation = relation(&residency, &format!("public.on_{node}"));
        assert_eq!(relation["bytes"], counted, "{relation:#}");
        let found = by_node(&relation["bytes_by_node"]);
        assert_eq!(found.values().sum::<u64>(), counted, "{relation:#}");
        let share = found[&node] as f64 / counted as f64;
        assert!(
            share >= share_min,
            "{share:.3} of it on node {node}: {relation:#}"
        );
    }
}

/// A backend on the CPUs of a node, and its client.
struct Backend {
    _client: Running,
    _lines: Lines<BufReader<ChildStdout>>,
}

impl Backend {
    /// Starts one that reads the table of its node.
    fn that_read_on(server: &Server, node: usize) -> Self {
        let mut client = server.command("psql", &["-X", "-q", "-A", "-t"]);
        client.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut client = Running::of(&mut client);
        let mut lines = BufReader::new(client.0.stdout.take().unwrap()).lines();
        let input = client.0.stdin.as_mut().unwrap();
        let mut answer = |sql: &str| {
            writeln!(input, "{sql};").unwrap();
            lines.next().unwrap().unwrap()
        };
        let pid = answer("select pg_backend_pid()");
        use_cpus(&[pid], &cpus_of(node));
        answer(&format!("select pg_prewarm('on_{node}')"));
        Self {
            _client: client,
            _lines: lines,
        }
    }
}
