//! The table of names against a real server: its threads have the roles that the table says.
//!
//! Tests of residency.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use crate::laboratory::Laboratory;
use crate::patience::until;
use crate::redis_program::{Kind, REDIS, VALKEY};
use crate::running::Running;

#[test]
fn the_threads_of_a_real_redis_have_the_roles_of_the_table() {
    let test = "the_threads_of_a_real_redis_have_the_roles_of_the_table";
    threads_have_their_roles(REDIS, test);
}

#[test]
fn the_threads_of_a_real_valkey_have_the_roles_of_the_table() {
    let test = "the_threads_of_a_real_valkey_have_the_roles_of_the_table";
    threads_have_their_roles(VALKEY, test);
}

fn threads_have_their_roles(kind: Kind, test: &str) {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = kind.link_to_server(folder.path(), test) else {
        return;
    };
    let mut command = Command::new(program);
    command.args(["--port", "0", "--unixsocket", "socket", "--save", ""]);
    command.args(["--io-threads", "3", "--dir", "."]);
    command.current_dir(folder.path());
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let server = Running(command.spawn().unwrap());
    until("the server has its socket", || {
        folder.path().join("socket").exists().then_some(())
    });
    let pid = server.pid();
    let names = || {
        let mut ps = Command::new("ps");
        ps.args(["-L", "-o", "comm=", "-p", &pid]);
        String::from_utf8(ps.output().unwrap().stdout).unwrap()
    };
    let laboratory = Laboratory::new();
    // Threads get their names, and some of them are started, after the socket is there.
    let (names, found) = until("a look while the names stay as they are", || {
        let before = names();
        let found = laboratory.document(&["inspect", &pid, "--json"]);
        let is_named = before.contains("io_thd_2")
            && before.matches("bio_").count() == 3
            && before.matches(kind.server).count() == 1;
        (is_named && before == names()).then_some((before, found))
    });
    let roles = found["threads"]["roles"].as_array().unwrap();
    let mut expected: BTreeMap<&str, u64> = BTreeMap::new();
    for name in names.lines() {
        let role = match name {
            name if name == kind.server => "main (runs commands)",
            "jemalloc_bg_thd" => "allocator",
            name if name.starts_with("io_thd_") => "I/O thread",
            name if name.starts_with("bio_") => "background job",
            other => panic!("a thread of Redis that the table does not have: {other}"),
        };
        *expected.entry(role).or_default() += 1;
    }
    let role = |role: &'_ serde_json::Value| -> (String, u64) {
        assert_eq!(role["server"], "Valkey, Redis", "{role:#}");
        let word = role["role"].as_str().unwrap();
        (word.to_owned(), role["threads"].as_u64().unwrap())
    };
    let found: BTreeMap<String, u64> = roles.iter().map(role).collect();
    let expected = expected
        .into_iter()
        .map(|(role, count)| (role.to_owned(), count));
    let expected: BTreeMap<String, u64> = expected.collect();
    assert_eq!(found, expected);
    assert_eq!((expected["I/O thread"], expected["background job"]), (2, 3));
}
