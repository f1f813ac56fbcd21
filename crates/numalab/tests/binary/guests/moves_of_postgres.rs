//! A PostgreSQL under pgbench on eight nodes has all of its memory on node 0. `numalab move`
//! interleaves it while it works, and `numalab undo` moves it back: no transaction fails.
//!
//! Tests of relocation.

use std::collections::BTreeMap;
use std::fs::{self, File};

use rustix::process::Signal;

use super::holders::signal;
use super::kernel_setting::KernelSettings;
use crate::laboratory::Laboratory;
use crate::patience::until;
use crate::postgres_server::{Server, installed};
use crate::running::Running;
use crate::unmet_need::is_guest;

/// The kind of the server's shared memory, as inspect names it.
const KIND: &str = "shared-anonymous";
/// The write-ahead log stays small: it lies on node 0, too.
const SETTINGS: &str = "shared_buffers = 24MB\nmin_wal_size = 32MB\nmax_wal_size = 64MB\n";
/// Maximum relative deviation of a node's share from an even one, and maximum share of pages that
/// came after the move once the others are back.
const TOLERANCE: f64 = 0.01;

#[test]
fn a_postgres_moves_under_load() {
    let test = "a_postgres_moves_under_load";
    if !is_guest(test, "eight-node") {
        return;
    }
    let Some(bin) = installed(test) else {
        return;
    };
    // With transparent huge pages, pages other than the moved ones would come and go.
    let _settings = KernelSettings::no_transparent_huge_pages();
    let laboratory = Laboratory::new();
    let launcher = ["numactl", "--membind=0"];
    let server = Server::start_behind(&bin, &launcher, SETTINGS);
    let said = laboratory.file("pgbench", "");
    let mut load = load(&server, &said);
    until_commits(&server, 300, &mut load);
    let shares = || shares(&laboratory, &server.target());
    assert_eq!(shares(), [(0, 1.0)].into(), "before");

    let words = ["move", &server.target(), "--to", "interleave", "--json"];
    let moved = laboratory.document(&words);
    assert_eq!(moved["status"], "complete", "{moved:#}");
    assert_eq!(moved["refused"].as_array().unwrap().len(), 0, "{moved:#}");
    let go_on = |load: &mut Running| until_commits(&server, commits(&server) + 50, load);
    go_on(&mut load);
    let after = shares();
    let is_even = |share: &f64| (share * 8.0 - 1.0).abs() <= TOLERANCE;
    assert!(after.len() == 8 && after.values().all(is_even), "{after:?}");

    laboratory.run(&["undo"]).with_code(0);
    go_on(&mut load);
    let back = shares();
    assert!(
        back.get(&0).is_some_and(|share| *share >= 1.0 - TOLERANCE),
        "{back:?}"
    );
    // On this signal pgbench ends as if its time were over, with its report.
    signal(&load.pid(), Signal::ALARM);
    let ended = load.0.wait().unwrap();
    let said = fs::read_to_string(said).unwrap();
    let fails_never = said.contains("number of failed transactions: 0 (0.000%)");
    assert!(ended.success() && fails_never, "{ended}: {said}");
    assert_eq!(server.errors(), Vec::<String>::new());
    drop(server);
    laboratory.nothing_is_left();
}

/// Fills the buffers, so that every one is allocated from here on, and starts pgbench.
fn load(server: &Server, said: &str) -> Running {
    let scale = server.command("pgbench", &["-i", "-s", "2", "-q"]).output();
    let scale = scale.unwrap();
    assert!(scale.status.success(), "{scale:?}");
    // The tables are larger than the buffers.
    server.query("create extension pg_prewarm");
    server.query(
        "select pg_prewarm(oid) from pg_class
         where relname in ('pgbench_accounts_pkey', 'pgbench_accounts')",
    );
    let mut command = server.command("pgbench", &["-n", "-c", "4", "-T", "36000"]);
    let file = File::create(said).unwrap();
    command.stdout(file.try_clone().unwrap()).stderr(file);
    Running::of(&mut command)
}

fn commits(server: &Server) -> u64 {
    let count = server.query("select sum(xact_commit) from pg_stat_database");
    count.parse().unwrap()
}

fn until_commits(server: &Server, count: u64, load: &mut Running) {
    until("the load goes on", || {
        assert!(load.0.try_wait().unwrap().is_none(), "pgbench has ended");
        (commits(server) >= count).then_some(())
    });
}

/// Returns each node's share of the server's shared memory.
fn shares(laboratory: &Laboratory, target: &str) -> BTreeMap<u64, f64> {
    let document = laboratory.document(&["inspect", target, "--json"]);
    let segments = document["segments"].as_array().unwrap().iter();
    let segments: Vec<_> = segments.filter(|it| it["kind"] == KIND).collect();
    let [segment] = segments[..] else {
        panic!("expected one segment of kind {KIND}: {document:#}");
    };
    let by_node = segment["bytes_by_node"].as_object().unwrap();
    let bytes = by_node.values().map(|bytes| bytes.as_f64().unwrap());
    let all: f64 = bytes.clone().sum();
    let nodes = by_node.keys().map(|node| node.parse().unwrap());
    nodes.zip(bytes.map(|bytes| bytes / all)).collect()
}
