//! A real MariaDB that does what makes looks at its buffer pool hard: it compresses and encrypts,
//! changes the size of its pool, and ends in the middle.
//!
//! Tests of mariadb.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::laboratory::Laboratory;
use crate::mariadb_server::MariaDbServer;
use crate::patience::until;

/// A table of each kind; those that the server compresses are larger in memory than on disk.
const TABLES: [(&str, &str, &str); 4] = [
    ("plain", "", "REPEAT('x', 3000)"),
    (
        "zipped",
        "ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8",
        "REPEAT(MD5(seq), 90)",
    ),
    ("punched", "PAGE_COMPRESSED=1", "REPEAT('z', 3000)"),
    ("secret", "ENCRYPTED=YES", "REPEAT('k', 3000)"),
];

fn make(server: &MariaDbServer, (name, kind, note): (&str, &str, &str)) {
    server.sql(&format!(
        "CREATE DATABASE IF NOT EXISTS shop; USE shop;
         CREATE TABLE {name} (id INT PRIMARY KEY, note TEXT) {kind};
         INSERT INTO {name} SELECT seq, {note} FROM seq_1_to_2000;"
    ));
}

/// What the server says of its pool: pages of data, and those of each table.
fn said(server: &MariaDbServer) -> (u64, String) {
    let pages = server.sql("SHOW STATUS LIKE 'Innodb_buffer_pool_pages_data'");
    let pages = pages.split_whitespace().last().unwrap().parse().unwrap();
    let tables = "SELECT TABLE_NAME, COUNT(*) FROM information_schema.INNODB_BUFFER_PAGE WHERE \
                  TABLE_NAME LIKE '`shop`%' AND PAGE_TYPE = 'INDEX' GROUP BY 1 ORDER BY 1";
    (pages, server.sql(tables))
}

/// Looks until the pool stays as it is: the server says the same before, between and after two
/// looks, which find the same. One look is not enough: after one of a hundred recoveries it found a
/// page more than the server said that it had, before it and after it.
fn look_at(server: &MariaDbServer, laboratory: &Laboratory) -> ((u64, String), Value) {
    let target = server.target();
    let words = ["inspect", &target, "--relations", "--server-view", "--json"];
    let look = || laboratory.document(&words)["relations"].clone();
    until("two looks while the pool stays as it is", || {
        let before = said(server);
        let found = look();
        let is_quiet = before == said(server) && found == look() && before == said(server);
        is_quiet.then_some((before, found))
    })
}

/// Asserts that a look has found the pages that the server says it has, all that it names among
/// them. Those that were freed it does not name, and after a recovery some of them are empty.
#[track_caller]
fn has_found(relations: &Value, pages: u64) {
    let (used, view) = (&relations["buffers_used"], &relations["server_view"]);
    let (used, unnamed) = (used.as_u64().unwrap(), view["unnamed"].as_u64().unwrap());
    let is_right = (pages - unnamed..=pages).contains(&used) && view["only_said"] == 0;
    let server = "pages by the server";
    assert!(is_right, "{pages} {server}, {used} found: {view:#}");
}

fn buffers_of(relations: &Value, table: &str) -> u64 {
    let mut all = relations["relations"].as_array().unwrap().iter();
    let found = all.find(|it| it["database"] == "shop" && it["name"] == table);
    found.map_or(0, |it| it["buffers"].as_u64().unwrap())
}

#[test]
fn compressed_and_encrypted_tables_have_the_pages_that_the_server_says() {
    const TEST: &str = "compressed_and_encrypted_tables_have_the_pages_that_the_server_says";
    let keys = tempfile::NamedTempFile::new().unwrap();
    fs::write(keys.path(), format!("1;{:064}\n", 7)).unwrap();
    crate::user::open_to_all(keys.path());
    let file = format!("--file-key-management-filename={}", keys.path().display());
    let plugin = "--plugin-load-add=file_key_management";
    let Some(server) = MariaDbServer::start(TEST, &[plugin, &file]) else {
        return;
    };
    TABLES.into_iter().for_each(|table| make(&server, table));
    let laboratory = Laboratory::new();
    let all = ["plain", "punched", "secret", "zipped"];
    let check = |server: &MariaDbServer| {
        let ((pages, tables), found) = look_at(server, &laboratory);
        has_found(&found, pages);
        for table in all {
            let buffers = buffers_of(&found, table);
            assert!(buffers > 300, "{table}: {buffers}");
        }
        let lines = all.iter().map(|table| (table, buffers_of(&found, table)));
        let lines = lines.filter(|(_, buffers)| *buffers > 0);
        let lines = lines.map(|(table, buffers)| format!("`shop`.`{table}`\t{buffers}\n"));
        assert_eq!(lines.collect::<String>(), tables);
    };
    check(&server);

    // Read back from the disk, where they are compressed and encrypted. Recovery may have pages of
    // any of them in the pool, and the server names only tables that it has opened: so open all.
    let cold = "--innodb-buffer-pool-load-at-startup=0";
    let server = server.killed_and_started(&[plugin, &file, cold]);
    for table in all {
        let read = server.sql(&format!("SELECT COUNT(note) FROM shop.{table}"));
        assert_eq!(read, "2000\n");
    }
    check(&server);
    laboratory.nothing_is_left();
}

#[test]
fn a_pool_that_changes_its_size_during_looks_is_exact_afterwards() {
    const TEST: &str = "a_pool_that_changes_its_size_during_looks_is_exact_afterwards";
    let Some(server) = MariaDbServer::start(TEST, &[]) else {
        return;
    };
    make(&server, TABLES[0]);
    let resize = |mib: u32| {
        server.sql(&format!(
            "SET GLOBAL innodb_buffer_pool_size = {} << 20",
            mib
        ));
    };
    let laboratory = Laboratory::new();
    let target = server.target();
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for mib in [24, 64].into_iter().cycle() {
                resize(mib);
                thread::sleep(Duration::from_millis(100));
                if is_done.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
        for _ in 0..8 {
            let found = laboratory.document(&["inspect", &target, "--relations", "--json"]);
            let used = found["relations"]["buffers_used"].as_u64().unwrap();
            assert!(used <= 4096, "more than 64 MiB: {used}");
        }
        is_done.store(true, Ordering::Relaxed);
    });
    resize(64);
    let read = server.sql("SELECT COUNT(note) FROM shop.plain");
    assert_eq!(read, "2000\n");
    let ((_, tables), found) = look_at(&server, &laboratory);
    let buffers = buffers_of(&found, "plain");
    assert_eq!(tables, format!("`shop`.`plain`\t{buffers}\n"));
    assert_eq!(found["server_view"]["only_said"], 0, "{found:#}");
}

#[test]
fn a_server_that_is_killed_and_started_again_is_never_shown_wrong() {
    const TEST: &str = "a_server_that_is_killed_and_started_again_is_never_shown_wrong";
    let Some(server) = MariaDbServer::start(TEST, &[]) else {
        return;
    };
    make(&server, TABLES[0]);
    let laboratory = Laboratory::new();
    let target = server.target();
    let words = ["inspect", &target, "--relations", "--json"];
    let pid: i32 = server.server.pid().parse().unwrap();
    let killer = thread::spawn(move || {
        thread::sleep(Duration::from_millis(200));
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    });
    // A server that dies still works in its directory for a while after it has lost its memory: a
    // look finds that it ends until it finds none. (What has ended stays as a zombie here.)
    let refused = until("a look that finds no server", || {
        let looked = laboratory.run(&words);
        match looked.status.code().unwrap() {
            0 => None,
            8 => {
                looked.says(&["ended during the inspection"]);
                None
            }
            _ => Some(looked),
        }
    });
    killer.join().unwrap();
    refused.with_code(2).says(&["no server of MariaDB"]);

    let server = server.killed_and_started(&[]);
    server.sql("SELECT COUNT(note) FROM shop.plain");
    let ((pages, _), found) = look_at(&server, &laboratory);
    has_found(&found, pages);
    assert!(buffers_of(&found, "plain") > 300, "{found:#}");
}
