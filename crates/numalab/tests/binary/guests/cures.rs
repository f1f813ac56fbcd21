//! What the doctor's plan is worth: servers whose memory lies wrong are diagnosed, cured by the
//! plan's own lines typed by a shell, judged by the kernel's numa_maps, and given back by undo; on
//! two nodes and on four. The table in docs/doctor.md is what this prints.
//!
//! Tests of judgement, relocation.

use std::any::Any;
use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use super::doctor_screens::is_one_screen;
use super::holder::{Holder, cpus_of, use_cpus};
use super::kernel_setting::{KernelSettings, pages_stay_where_they_are};
use super::numa_maps;
use crate::finished::Finished;
use crate::laboratory::Laboratory;
use crate::mariadb_server::MariaDbServer;
use crate::postgres_server::{Server, installed};
use crate::redis_program::REDIS;
use crate::redis_targets::{self, Redis};
use crate::unmet_need::guest_shape;

/// The page with the table.
const PAGE: &str = include_str!("../../../../../docs/doctor.md");
/// Shares that differ by less are equal: a few pages are those of the program itself.
const EQUAL: f64 = 0.01;

/// How memory came to lie wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// It was filled on node 0, and its processes were moved to the last node.
    Left,
    /// `numactl --cpunodebind=LAST --membind=0`.
    Bound,
    /// `numactl --membind=0`, and CPUs of all nodes.
    OnOne,
}

impl How {
    fn words(self) -> &'static str {
        match self {
            Self::Left => "filled on node 0, moved to the last node",
            Self::Bound => "`numactl --cpunodebind=LAST --membind=0`",
            Self::OnOne => "`numactl --membind=0`",
        }
    }

    /// What starts the server.
    fn launcher(self, last: usize) -> Vec<String> {
        let words = match self {
            Self::Left => format!("taskset -c {}", cpus_of(0)),
            Self::Bound => format!("numactl --cpunodebind={last} --membind=0"),
            Self::OnOne => "numactl --membind=0".to_owned(),
        };
        words.split(' ').map(str::to_owned).collect()
    }

    /// What is done once it is filled.
    fn then(self, pids: &[String], last: usize) {
        if self == Self::Left {
            use_cpus(pids, &cpus_of(last));
        }
    }
}

/// Nodes of this guest, all with CPUs and memory; `None` where this is no such guest.
pub(super) fn nodes(test: &str) -> Option<usize> {
    match guest_shape(test)?.as_str() {
        "two-node" => Some(2),
        "four-node-ring" => Some(4),
        other => panic!("{test} is not for {other}"),
    }
}

/// Bytes of the memory of processes by node, without programs and files: the kernel's own account.
fn bytes_by_node(pids: &[String]) -> BTreeMap<u64, u64> {
    let mut sum = BTreeMap::new();
    for pid in pids {
        // A session of the server may have ended.
        let maps = fs::read_to_string(format!("/proc/{pid}/numa_maps")).unwrap_or_default();
        let is_file = |line: &&str| {
            let file = line.split_once(" file=").map(|(_, file)| file);
            let shared = [
                "/memfd:",
                "/SYSV",
                "/dev/shm",
                "/dev/zero",
                "/anon_hugepage",
            ];
            file.is_some_and(|file| !shared.iter().any(|start| file.starts_with(start)))
        };
        let lines: Vec<&str> = maps.lines().filter(|line| !is_file(line)).collect();
        for mapping in numa_maps::parse(&lines.join("\n")) {
            for (node, pages) in &mapping.pages {
                *sum.entry(*node).or_default() += pages * mapping.page_bytes;
            }
        }
    }
    sum
}

/// The share of the memory that is on a node.
pub(super) fn share_on(pids: &[String], node: usize) -> f64 {
    let bytes = bytes_by_node(pids);
    let all: u64 = bytes.values().sum();
    bytes.get(&(node as u64)).copied().unwrap_or(0) as f64 / all as f64
}

/// Diagnoses, cures, looks, and undoes; `expected` is the finding. Returns the row of the table.
#[track_caller]
fn is_cured(
    laboratory: &Laboratory,
    server: &str,
    how: How,
    (target, pids): (&str, &[String]),
    expected: &str,
) -> String {
    let nodes = nodes("is_cured").unwrap();
    let last = nodes - 1;
    let what = format!("{server}, {}", how.words());
    let before = share_on(pids, 0);
    assert!(before > 1.0 - 2.0 * EQUAL, "{what}: {before} on node 0");
    is_one_screen(laboratory, &format!("{nodes} nodes, {what}"), target);
    let diagnosis = laboratory.document(&["doctor", target, "--json"]);
    let ids = diagnosis["findings"].as_array().unwrap().iter();
    let ids: Vec<_> = ids.map(|it| it["id"].as_str().unwrap()).collect();
    assert!(
        ids.contains(&expected),
        "{what}: {expected} in {diagnosis:#}"
    );
    let plan = &diagnosis["plan"];
    let cure = plan["cure"]
        .as_str()
        .unwrap_or_else(|| panic!("{what}: {diagnosis:#}"));
    follow(laboratory, plan, "now").with_code(0);
    let spread = 1.0 / nodes as f64;
    for node in 0..nodes {
        let wanted = match how {
            How::OnOne => spread,
            _ if node == last => 1.0,
            _ => 0.0,
        };
        let found = share_on(pids, node);
        let is_right = (found - wanted).abs() <= EQUAL.max(0.1 * wanted * spread);
        assert!(
            is_right,
            "{what}: {found} on node {node}, {:?}",
            bytes_by_node(pids)
        );
    }
    // What was started with another policy keeps it until it is started again.
    let verified = follow(laboratory, plan, "verify");
    let said = &verified.stdout;
    let text = |time: &str| format!("{cure}: in force for memory that {time}");
    assert!(said.contains(&text("exists")), "{what}: {said}");
    let has_small_segment = ["memfd", "PostgreSQL"].contains(&server);
    let is_later = how == How::Left || (how == How::OnOne && has_small_segment);
    assert_eq!(
        said.contains(&text("comes later")),
        is_later,
        "{what}: {said}"
    );
    assert_eq!(
        verified.status.code(),
        Some(if is_later { 0 } else { 6 }),
        "{what}"
    );
    follow(laboratory, plan, "undo").with_code(0);
    let undone = share_on(pids, 0);
    assert!(
        undone > before - EQUAL,
        "{what}: {undone} on node 0 after undo"
    );
    let percent = |moment: &str| {
        let share = plan[moment]["remote_share"].as_f64().unwrap();
        format!("{:.0} %", share * 100.0)
    };
    let (now, then) = (percent("before"), percent("after"));
    let row = format!(
        "| {nodes} | {server} | {} | `{expected}` | `{cure}` | {now} | {then} |",
        how.words()
    );
    row
}

/// Asserts that docs/doctor.md has these rows of its table.
#[track_caller]
fn are_on_the_page(rows: &[String]) {
    let missing = rows.iter().filter(|row| !PAGE.contains(row.as_str()));
    let missing: Vec<_> = missing.map(String::as_str).collect();
    assert!(
        missing.is_empty(),
        "docs/doctor.md lacks\n{}",
        missing.join("\n")
    );
}

/// Types the lines of a step of the plan.
#[track_caller]
fn follow(laboratory: &Laboratory, plan: &Value, step: &str) -> Finished {
    let lines = plan[step].as_array().unwrap().iter();
    let lines: Vec<_> = lines.map(|line| line.as_str().unwrap()).collect();
    laboratory.script(&lines.join("\n"))
}

#[test]
fn a_heap_or_a_segment_is_cured() {
    let Some(nodes) = nodes("a_heap_or_a_segment_is_cured") else {
        return;
    };
    let laboratory = Laboratory::new();
    let _settings = pages_stay_where_they_are();
    let _pools = KernelSettings::huge_pages(40);
    let mut done = Vec::new();
    let rows = [
        ("private heap", "private", How::Left, "memory-far"),
        ("private heap", "private", How::Bound, "memory-far"),
        ("memfd", "memfd", How::Left, "memory-far"),
        ("memfd", "memfd", How::OnOne, "cyclops"),
        ("memfd in huge pages", "memfd-huge", How::Left, "memory-far"),
        ("memfd in huge pages", "memfd-huge", How::OnOne, "cyclops"),
    ];
    for (server, memory, how, finding) in rows {
        let launcher = how.launcher(nodes - 1);
        let launcher: Vec<&str> = launcher.iter().map(String::as_str).collect();
        let holder = Holder::start(&launcher, 64, 1, memory);
        let pids = [holder.pid()];
        how.then(&pids, nodes - 1);
        done.push(is_cured(
            &laboratory,
            server,
            how,
            (&pids[0], &pids),
            finding,
        ));
        if how == How::Bound {
            a_new_one_is_near(&laboratory, &pids[0], nodes - 1);
            is_applied_once(&laboratory, &pids, nodes - 1);
        }
    }
    laboratory.nothing_is_left();
    are_on_the_page(&done);
}

/// Starts the server again as the plan says for good: its memory is near, and nothing is found.
fn a_new_one_is_near(laboratory: &Laboratory, pid: &str, last: usize) {
    let plan = &laboratory.document(&["doctor", pid, "--json"])["plan"];
    let mut lines = plan["for_good"].as_array().unwrap().iter();
    let words = lines.find_map(|line| line.as_str().unwrap().strip_suffix(" COMMAND"));
    let words = words.unwrap_or_else(|| panic!("{plan:#}"));
    let cpus = cpus_of(last);
    let launcher = ["taskset", "-c", &cpus].into_iter().chain(words.split(' '));
    let holder = Holder::start(&launcher.collect::<Vec<_>>(), 64, 1, "private");
    let share = share_on(&[holder.pid()], last);
    assert!(
        share > 1.0 - 2.0 * EQUAL,
        "{share} on node {last} after {words}"
    );
    let words = ["doctor", &holder.pid(), "--verify", "near-cpus"];
    laboratory.run(&words).with_code(0);
}

/// `--apply` does what the plan says to do now, until undo; then there is no plan left to apply.
#[track_caller]
fn is_applied_once(laboratory: &Laboratory, pids: &[String], last: usize) {
    let folder = laboratory.folder().join("plan");
    let folder = folder.to_str().unwrap();
    let emitted = ["doctor", &pids[0], "--emit", folder];
    laboratory.run(&emitted).with_code(0);
    let words = ["doctor", &pids[0], "--apply"];
    let applied = laboratory.run(&words).with_code(0);
    assert!(applied.stdout.contains("plan: move "), "{}", applied.stdout);
    assert!(share_on(pids, last) > 1.0 - 2.0 * EQUAL);
    // The file of the plan stands for its cure; what comes later has its old policy.
    let plan = format!("{folder}/numalab-plan.txt");
    let verified = laboratory.run(&["doctor", &pids[0], "--verify", &plan]);
    let said = verified.with_code(6).stdout;
    assert!(
        said.contains("near-cpus: in force for memory that exists"),
        "{said}"
    );
    let again = laboratory.run(&words).with_code(0);
    assert!(
        again.stderr.contains("there is no plan"),
        "{}",
        again.stderr
    );
    laboratory.run(&["undo"]).with_code(0);
    assert!(share_on(pids, 0) > 1.0 - 2.0 * EQUAL);
}

/// The CPUs that the threads of a process may use, in the kernel's words.
fn cpus_of_threads(pid: &str) -> Vec<String> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let status = |thread: fs::DirEntry| fs::read_to_string(thread.path().join("status")).unwrap();
    let cpus = |text: String| {
        let mut lines = text.lines();
        let line = lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        line.unwrap().trim().to_owned()
    };
    threads
        .map(|thread| cpus(status(thread.unwrap())))
        .collect()
}

#[test]
fn threads_go_to_the_memory_if_asked_and_come_back() {
    let Some(nodes) = nodes("threads_go_to_the_memory_if_asked_and_come_back") else {
        return;
    };
    let laboratory = Laboratory::new();
    let _settings = pages_stay_where_they_are();
    let (first, last) = (cpus_of(0), cpus_of(nodes - 1));
    let holder = Holder::start(&["taskset", "-c", &first], 64, 1, "private");
    let pids = [holder.pid()];
    use_cpus(&pids, &last);
    let pid = &pids[0];
    // It hardly uses a CPU, but memory follows the CPUs that it was given.
    let plan = &laboratory.document(&["doctor", pid, "--json"])["plan"];
    assert_eq!(plan["cure"], "near-cpus", "{plan:#}");
    let other = &plan["runner_up"];
    assert_eq!(other["cure"], "nodes:0", "{plan:#}");
    assert!(other["cpus"]["used"].as_f64().unwrap() < 1.0, "{plan:#}");
    let predicted = laboratory.run(&["predict", pid]).with_code(0).stdout;
    let line = predicted.lines().find(|line| line.starts_with("nodes:0 "));
    assert!(line.is_some_and(|it| it.contains(" 0 %")), "{predicted}");
    let verify = ["doctor", pid, "--verify", "nodes:0"];
    let said = laboratory.run(&verify).with_code(6).stdout;
    assert!(
        said.contains("nodes:0: not in force for all threads"),
        "{said}"
    );
    // What is no cure is not done.
    let elsewhere = format!("--apply=nodes:{}", nodes - 1);
    let refused = laboratory.run(&["doctor", pid, &elsewhere]).with_code(2);
    assert!(
        refused.stderr.contains("is no cure of"),
        "{}",
        refused.stderr
    );
    let applied = laboratory
        .run(&["doctor", pid, "--apply=nodes:0"])
        .with_code(0);
    let head = "plan: bind all threads to nodes:0";
    assert!(applied.stdout.contains(head), "{}", applied.stdout);
    assert!(cpus_of_threads(pid).iter().all(|it| *it == first));
    laboratory.run(&verify).with_code(0);
    let then = laboratory.document(&["doctor", pid, "--json"]);
    assert!(then["plan"].is_null(), "{then:#}");
    laboratory.run(&["undo"]).with_code(0);
    assert!(cpus_of_threads(pid).iter().all(|it| *it == last));
    assert!(share_on(&pids, 0) > 1.0 - 2.0 * EQUAL);
    laboratory.nothing_is_left();
}

/// A server that was started and filled: what ends it when dropped, its target and its processes.
type Filled = (Box<dyn Any>, String, Vec<String>);

/// Cures a server in each of these ways, with the finding of each; `start` starts it behind a
/// command and fills it.
fn are_cured(
    test: &str,
    laboratory: &Laboratory,
    server: &str,
    rows: &[(How, &str)],
    start: impl Fn(&[String]) -> Option<Filled>,
) {
    let last = nodes(test).unwrap() - 1;
    let _settings = pages_stay_where_they_are();
    let mut done = Vec::new();
    for (how, finding) in rows {
        let Some((_server, target, pids)) = start(&how.launcher(last)) else {
            return;
        };
        how.then(&pids, last);
        let place = (target.as_str(), &pids[..]);
        done.push(is_cured(laboratory, server, *how, place, finding));
    }
    laboratory.nothing_is_left();
    are_on_the_page(&done);
}

#[test]
fn a_redis_is_cured() {
    let test = "a_redis_is_cured";
    if nodes(test).is_none() {
        return;
    }
    let mut laboratory = Laboratory::new();
    laboratory.launch_behind(&["env", &redis_targets::password()]);
    let rows = [(How::Left, "memory-far"), (How::Bound, "memory-far")];
    are_cured(test, &laboratory, "Redis", &rows, |launcher| {
        let settings = ["--save", "", "--enable-debug-command", "yes"];
        let redis = Redis::start_behind(launcher, REDIS, test, &settings)?;
        redis.fill(60_000);
        let (target, pids) = (redis.target(), vec![redis.server.pid()]);
        Some((Box::new(redis), target, pids))
    });
}

#[test]
fn a_postgres_is_cured() {
    let test = "a_postgres_is_cured";
    let (Some(_), Some(bin)) = (nodes(test), installed(test)) else {
        return;
    };
    let rows = [
        (How::Left, "memory-far"),
        (How::Bound, "memory-far"),
        (How::OnOne, "cyclops"),
    ];
    are_cured(test, &Laboratory::new(), "PostgreSQL", &rows, |launcher| {
        let launcher: Vec<&str> = launcher.iter().map(String::as_str).collect();
        let settings = "shared_buffers = 64MB\nmax_wal_size = 64MB";
        let server = Server::start_behind(&bin, &launcher, settings);
        server.query(
            "create table t as select k, repeat('x', 900) filler from generate_series(1, 40000) k",
        );
        let (target, pids) = (server.target(), server.pids());
        Some((Box::new(server), target, pids))
    });
}

#[test]
fn a_mariadb_is_cured() {
    let test = "a_mariadb_is_cured";
    if nodes(test).is_none() {
        return;
    }
    let rows = [
        (How::Left, "memory-far"),
        (How::OnOne, "mariadb-pool-on-one-node"),
    ];
    are_cured(test, &Laboratory::new(), "MariaDB", &rows, |launcher| {
        let server = MariaDbServer::start_behind(test, launcher, &[])?;
        server.sql("create database shop");
        server.sql(
            "create table shop.t (k int primary key, filler varchar(2000)) \
             select seq k, repeat('x', 1900) filler from shop.seq_1_to_16000",
        );
        assert_eq!(server.sql("select count(*) from shop.t"), "16000\n");
        let (target, pids) = (server.target(), vec![server.server.pid()]);
        Some((Box::new(server), target, pids))
    });
}
