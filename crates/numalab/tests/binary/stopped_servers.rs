//! Servers that are stopped (SIGSTOP): their sockets still accept connections and nobody answers.
//! Every command that asks one gives up after 5 s, and says so: it ends within 10 s where the
//! machine has time for it.
//!
//! Tests of server, postgresql, mariadb, valkey.

use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};

use crate::finished::Finished;
use crate::laboratory::{Laboratory, pid};
use crate::mariadb_server::MariaDbServer;
use crate::postgres_server::{self, Server};
use crate::redis_program::{REDIS, VALKEY};
use crate::redis_targets::Redis;

/// What a command may take with a stopped server, besides some times what it takes otherwise: a
/// busy machine is slower from one moment to the next.
const WITHIN: Duration = Duration::from_secs(10);
const SILENT: &str = "did not answer within 5 s";

/// A process that is stopped until this is dropped.
struct Stopped(u32);

impl Stopped {
    fn of(process: u32) -> Self {
        kill_process(pid(process), Signal::STOP).unwrap();
        Stopped(process)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = kill_process(pid(self.0), Signal::CONT);
    }
}

fn timed(laboratory: &Laboratory, words: &[&str]) -> (Finished, Duration) {
    let start = Instant::now();
    let finished = laboratory.run(words);
    (finished, start.elapsed())
}

/// Runs each command with the server running and stopped.
#[track_caller]
fn check(server: u32, commands: &[(&[&str], i32)]) {
    let laboratory = Laboratory::new();
    for (words, code) in commands {
        let (running, usually) = timed(&laboratory, words);
        let said = [&running.stdout[..], &running.stderr].concat();
        assert!(!said.contains("did not answer"), "{words:?}: {said}");
        let _stopped = Stopped::of(server);
        let (finished, took) = timed(&laboratory, words);
        let most = 4 * usually + WITHIN;
        assert!(took < most, "{words:?}: {took:?}, {usually:?}");
        let finished = finished.with_code(*code);
        let said = [&finished.stdout[..], &finished.stderr].concat();
        // Tables and messages are broken into lines.
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(SILENT), "{words:?}: {said}");
    }
    laboratory.nothing_is_left();
}

#[test]
fn a_stopped_postgres_is_asked_for_a_few_seconds() {
    const TEST: &str = "a_stopped_postgres_is_asked_for_a_few_seconds";
    let Some(bin) = postgres_server::installed(TEST) else {
        return;
    };
    let server = Server::start(&bin);
    server.query("CREATE EXTENSION pg_buffercache");
    let (target, url) = (server.target(), server.url("postgres"));
    let lock = std::path::Path::new(&server.data()).join("postmaster.pid");
    let lock = std::fs::read_to_string(lock).unwrap();
    let postmaster = lock.lines().next().unwrap().parse().unwrap();
    let role = ["--pg-role", "postgres"];
    let doctor = [&["doctor", &target][..], &role].concat();
    let relations = [&["inspect", &target, "--relations"][..], &role].concat();
    let run = [
        "run",
        "--connect",
        &url,
        "--create",
        "probe",
        "--trials",
        "5",
        "--seconds",
        "0.1",
    ];
    check(postmaster, &[(&doctor, 0), (&relations, 8), (&run, 8)]);
}

#[test]
fn a_stopped_mariadb_is_asked_for_a_few_seconds() {
    const TEST: &str = "a_stopped_mariadb_is_asked_for_a_few_seconds";
    let Some(server) = MariaDbServer::start(TEST, &[]) else {
        return;
    };
    let target = server.target();
    let pid = server.server.pid().parse().unwrap();
    let doctor = ["doctor", &target];
    let relations = ["inspect", &target, "--relations"];
    let view = ["inspect", &target, "--relations", "--server-view"];
    check(pid, &[(&doctor, 0), (&relations, 0), (&view, 0)]);
}

#[test]
fn a_stopped_redis_or_valkey_is_asked_for_a_few_seconds() {
    const TEST: &str = "a_stopped_redis_or_valkey_is_asked_for_a_few_seconds";
    for kind in [REDIS, VALKEY] {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("s").display().to_string();
        // A server that listens on a socket alone has it in its title.
        let title = format!("{} unixsocket:{socket}", kind.server);
        let by_socket = ["--unixsocket", &socket, "--proc-title-template", &title];
        for settings in [&[][..], &by_socket] {
            let Some(server) = Redis::start_kind(kind, TEST, settings) else {
                continue;
            };
            let target = format!("{}:{}", kind.id, server.folder.path().display());
            let pid = server.server.pid().parse().unwrap();
            check(pid, &[(&["doctor", &target], 0)]);
        }
    }
}
