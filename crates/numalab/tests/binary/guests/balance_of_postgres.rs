//! `numalab balance` on a PostgreSQL whose shared buffers are far from all of its sessions: the
//! kernel moves what each session reads to its node, by the kernel's own count, and `numalab undo`
//! moves it back.
//!
//! Tests of relocation, postgresql.

use std::fs;
use std::process::{Command, Stdio};

use rustix::process::Signal;

use super::kernel_setting::KernelSettings;
use super::machine_state::memory;
use super::random_kills::undo;
use crate::laboratory::Laboratory;
use crate::patience::until;
use crate::postgres_server::{Server, installed};
use crate::running::Running;
use crate::unmet_need::is_guest;

const PAGE_BYTES: u64 = 4096;
/// The least share of a table that must be near to its reader: the other session and the server's
/// own processes use some blocks of it, too.
const NEAR_SHARE: f64 = 0.9;
/// The largest share of pages that were touched for the first time after the look before.
const NEW_SHARE: f64 = 0.01;
/// Each table is 8 MiB: a row of 4 KiB takes half a block. Without frozen rows, the first reader
/// would write a hint to each row.
const TABLES: [&str; 4] = [
    "create extension pg_prewarm",
    "create table near (filler char(3900)); create table far (filler char(3900));
     alter table near alter filler set storage plain;
     alter table far alter filler set storage plain;
     insert into near select '' from generate_series(1, 2048);
     insert into far select '' from generate_series(1, 2048)",
    "select pg_prewarm('near'), pg_prewarm('far')",
    "vacuum (freeze)",
];

#[test]
fn the_kernel_moves_buffers_to_the_sessions_that_read_them() {
    let test = "the_kernel_moves_buffers_to_the_sessions_that_read_them";
    if !is_guest(test, "four-node-ring") {
        return;
    }
    let Some(bin) = installed(test) else {
        return;
    };
    // With transparent huge pages, pages other than those that are counted would come and go.
    let _settings = KernelSettings::no_transparent_huge_pages();
    let laboratory = Laboratory::new();
    let settings = "shared_buffers = 32MB\nmax_parallel_workers_per_gather = 0\n";
    let server = Server::start_behind(&bin, &["numactl", "--cpunodebind=3"], settings);
    for sql in TABLES {
        server.query(sql);
    }
    let readers = [("near", "0-1"), ("far", "2-3")].map(|it| reader(&server, it.0, it.1));
    let sizes = "select sum(pg_relation_size(it)) from unnest('{near,far}'::regclass[]) it";
    let table_pages = server.query(sizes).parse::<u64>().unwrap() / 2 / PAGE_BYTES;
    let near_least = (table_pages as f64 * NEAR_SHARE) as u64;

    let look = || readers.each_ref().map(|(pid, _)| Mapped::of(pid));
    all_on_node_3(&look());
    let before = migrated();
    let words = ["balance", &server.target(), "--for", "600", "--json"];
    let balance = laboratory.start(&words);
    until("each table is near to its reader", || {
        let sessions = look();
        let mut nodes = sessions.iter().zip([0, 1]);
        let are_near = nodes.all(|(session, node)| session.pages[node] >= near_least);
        are_near.then_some(())
    });
    balance.signal(Signal::INT);
    let document = balance.finish().with_code(130).document();
    let after = look();
    for (node, session) in after.iter().enumerate() {
        let is_near = session.pages[node] >= near_least;
        assert!(is_near, "to {node}, {table_pages} pages: {after:?}");
        assert_eq!(session.policy, "default");
    }
    let moved = migrated() - before;
    assert!(moved >= 2 * near_least, "counted by the kernel: {moved}");
    let segments = document["segments"].as_array().unwrap().iter();
    let elsewhere = segments.filter_map(|it| it["bytes_elsewhere"].as_u64());
    let elsewhere = elsewhere.sum::<u64>() / PAGE_BYTES;
    assert!(elsewhere >= 2 * near_least, "pages elsewhere: {document:#}");

    let (undo, undone) = undo(&laboratory);
    undo.with_code(0);
    assert_eq!(undone, 1);
    all_on_node_3(&look());
    // Before the sessions are killed, which the server notes.
    assert_eq!(server.errors(), Vec::<String>::new());
    drop(server);
    laboratory.nothing_is_left();
}

/// Starts a session that reads a table over and over on these CPUs; returns its process id.
fn reader(server: &Server, table: &str, cpus: &str) -> (String, Running) {
    let sql = format!("do $$ begin loop perform count(filler) from {table}; end loop; end $$");
    let mut client = server.command("psql", &["-X", "-c", &sql]);
    // It complains when the server is stopped.
    let client = Running::of(client.stderr(Stdio::null()));
    let pid = until("a session reads", || {
        let of_table = format!("query like 'do %from {table};%'");
        let pid = server.query(&format!(
            "select pid from pg_stat_activity where {of_table}"
        ));
        (!pid.is_empty()).then_some(pid)
    });
    let moved = Command::new("taskset")
        .args(["-p", "-c", cpus, &pid])
        .output();
    assert!(moved.unwrap().status.success());
    (pid, client)
}

/// The server's shared memory as one session has it mapped, by the kernel's account.
#[derive(Debug)]
struct Mapped {
    policy: String,
    pages: [u64; 4],
}

impl Mapped {
    fn of(pid: &str) -> Self {
        let lines = memory(pid, |line| line.contains("file=/dev/zero"));
        let [line] = &lines[..] else {
            panic!("expected one mapping: {lines:?}");
        };
        let words: Vec<_> = line.split(' ').collect();
        let on = |node: u32| {
            let prefix = format!("N{node}=");
            let pages = words.iter().find_map(|word| word.strip_prefix(&prefix));
            pages.map_or(0, |pages| pages.parse().unwrap())
        };
        Mapped {
            policy: words[2].to_owned(),
            pages: [0, 1, 2, 3].map(on),
        }
    }
}

/// Asserts that the sessions' pages are on node 3, but for some that are new.
#[track_caller]
fn all_on_node_3(sessions: &[Mapped; 2]) {
    for session in sessions {
        let all: u64 = session.pages.iter().sum();
        let others = (all - session.pages[3]) as f64;
        assert!(others <= NEW_SHARE * all as f64, "{session:?}");
        assert_eq!(session.policy, "default");
    }
}

/// Returns the number of pages that NUMA balancing has moved since boot.
fn migrated() -> u64 {
    let counters = fs::read_to_string("/proc/vmstat").unwrap();
    let mut lines = counters.lines();
    let count = lines.find_map(|line| line.strip_prefix("numa_pages_migrated "));
    count.unwrap().parse().unwrap()
}
