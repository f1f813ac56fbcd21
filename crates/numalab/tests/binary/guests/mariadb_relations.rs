//! `numalab inspect mysql:… --relations` on article 002's four nodes: two tables that a MariaDB
//! reads on different nodes into its buffer pool are found there, with as many pages as the server
//! says, in small pages and in huge ones; `numalab move` spreads them, and undo gives them back.
//!
//! Tests of mariadb, residency.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;

use rustix::process::{Signal, kill_process};
use serde_json::Value;

use super::holder::{cpus_of, use_cpus};
use super::kernel_setting::{KernelSettings, pages_stay_where_they_are};
use super::look::by_node;
use crate::laboratory::{Laboratory, pid};
use crate::patience::until;
use crate::postgres_relations::relation;
use crate::running::Running;
use crate::unmet_need::is_guest;
use crate::user::{NOBODY, open_to_all};

/// The tables, and the nodes whose threads read them.
const READERS: [(&str, usize); 2] = [("on_1", 1), ("on_3", 3)];
/// The minimum share of a table on its node: a page of the table itself may have been read before.
const SHARE_MIN: f64 = 0.99;
/// The node that touches all of a pool of huge pages: that of the thread that starts the server.
const STARTER: usize = 2;

#[test]
fn tables_are_on_the_nodes_that_read_them_until_they_are_moved() {
    let test = "tables_are_on_the_nodes_that_read_them_until_they_are_moved";
    if !is_guest(test, "four-node-ring") {
        return;
    }
    let laboratory = Laboratory::new();
    let _settings = pages_stay_where_they_are();
    let server = Server::with_tables_read(&laboratory, &[]);
    are_as_the_server_says(&laboratory, &server, 4096, None);
    let inspect = ["inspect", &server.target(), "--relations", "--json"];
    let words = ["move", &server.target(), "--to", "interleave=0-3"];
    laboratory.run(&words).with_code(0);
    let moved = laboratory.document(&inspect);
    for (table, _) in READERS {
        for node in 0..4 {
            let share = share(&moved, table, node);
            assert!(
                (share - 0.25).abs() < 0.01,
                "{table}, node {node}: {share:.3} in {moved:#}"
            );
        }
    }
    server.read("on_1");
    laboratory.run(&["undo"]).with_code(0);
    let undone = laboratory.document(&inspect);
    for (table, reader) in READERS {
        let share = share(&undone, table, reader);
        assert!(
            share >= SHARE_MIN,
            "{table}, node {reader}: {share:.3} in {undone:#}"
        );
    }
    drop(server);
    laboratory.nothing_is_left();
}

#[test]
fn tables_in_huge_pages_are_on_the_node_that_started_the_server() {
    let test = "tables_in_huge_pages_are_on_the_node_that_started_the_server";
    if !is_guest(test, "four-node-ring") {
        return;
    }
    let laboratory = Laboratory::new();
    let _settings = pages_stay_where_they_are();
    let _pools = KernelSettings::huge_pages(60);
    let server = Server::with_tables_read(&laboratory, &["--large-pages"]);
    are_as_the_server_says(&laboratory, &server, 2 << 20, Some(STARTER));
}

#[track_caller]
fn are_as_the_server_says(
    laboratory: &Laboratory,
    server: &Server,
    page_bytes: u64,
    node_of_pool: Option<usize>,
) {
    let words = [
        "inspect",
        &server.target(),
        "--relations",
        "--server-view",
        "--json",
    ];
    let residency = laboratory.document(&words);
    assert_eq!(residency["relations"]["page_bytes"], page_bytes);
    let view = &residency["relations"]["server_view"];
    assert_eq!(view["state"], "pages-compared", "{view:#}");
    assert_eq!(view["only_said"], 0, "{view:#}");
    assert_eq!(view["only_found"], view["unnamed"], "{view:#}");
    let kernel = server.bytes_by_node();
    for (table, reader) in READERS {
        let node = node_of_pool.unwrap_or(reader);
        let counted: u64 = server.pages_of(table) << 14;
        let relation = relation(&residency, table);
        assert_eq!(relation["bytes"], counted, "{relation:#}");
        let share = share(&residency, table, node);
        assert!(
            share >= SHARE_MIN,
            "node {node}: {share:.3} in {relation:#}"
        );
        let there = by_node(&relation["bytes_by_node"])[&node];
        assert!(there <= kernel[&node], "node {node}: {there} of {kernel:?}");
    }
}

/// Returns the share of a table that is on a node.
#[track_caller]
fn share(residency: &Value, table: &str, node: usize) -> f64 {
    let relation = relation(residency, table);
    let there = by_node(&relation["bytes_by_node"]).get(&node).copied();
    there.unwrap_or(0) as f64 / relation["bytes"].as_f64().unwrap()
}

/// A MariaDB without system tables that belongs to `nobody`, with a pool of 48 MiB.
struct Server {
    program: Running,
    data: PathBuf,
}

impl Server {
    /// Returns a server with these settings, on each of whose nodes a table was read.
    fn with_tables_read(laboratory: &Laboratory, settings: &[&str]) -> Self {
        let data = laboratory.folder().join("mariadb");
        fs::create_dir(&data).unwrap();
        open_to_all(laboratory.folder());
        NOBODY.owns(&data);
        open_to_all(&data);
        let mut server = Self::start(data, &[]);
        server.query("create database shop");
        for (table, _) in READERS {
            server.query(&format!(
                "create table shop.{table} (k int primary key, filler varchar(2000)) \
                 select seq k, repeat('x', 1900) filler from shop.seq_1_to_6000"
            ));
        }
        // So that its pool is fresh.
        kill_process(pid(server.program.0.id()), Signal::TERM).unwrap();
        server.program.0.wait().unwrap();
        let server = Self::start(server.data.clone(), settings);
        for (table, node) in READERS {
            use_cpus(&[server.program.pid()], &cpus_of(node));
            server.read(table);
        }
        server
    }

    fn start(data: PathBuf, settings: &[&str]) -> Self {
        let log = data.join("log");
        let file = File::create(&log).unwrap();
        let mut program = Command::new("taskset");
        program
            .args(["-c", &cpus_of(STARTER)])
            .args(NOBODY.launcher())
            .arg("mariadbd");
        program.args(
            "--no-defaults --skip-grant-tables --skip-networking --skip-stack-trace \
            --innodb-buffer-pool-size=48M --loose-innodb-buffer-pool-size-max=48M \
            --innodb-use-native-aio=0 --innodb-buffer-pool-load-at-startup=0 \
            --innodb-buffer-pool-dump-at-shutdown=0 --innodb-flush-log-at-trx-commit=0 \
            --innodb-log-file-size=16M --key-buffer-size=1M --aria-pagecache-buffer-size=1M \
            --innodb-read-ahead-threshold=0"
                .split_whitespace(),
        );
        for (option, file) in [("datadir", &data), ("socket", &data.join("socket"))] {
            program.arg(format!("--{option}={}", file.display()));
        }
        program
            .args(settings)
            .stdout(file.try_clone().unwrap())
            .stderr(file);
        let mut server = Self {
            program: Running::of(&mut program),
            data,
        };
        until("the server answers", || {
            let ended = server.program.0.try_wait().unwrap();
            assert_eq!(ended, None, "{}", fs::read_to_string(&log).unwrap());
            let output = server.client("select 1").output().unwrap();
            output.status.success().then_some(())
        });
        server
    }

    fn target(&self) -> String {
        format!("mysql:{}", self.data.display())
    }

    fn client(&self, sql: &str) -> Command {
        let mut client = Command::new("mariadb");
        client.args(["--no-defaults", "--batch", "--skip-column-names", "-e", sql]);
        client.arg("--socket").arg(self.data.join("socket"));
        client
    }

    #[track_caller]
    fn query(&self, sql: &str) -> String {
        let output = self.client(sql).output().unwrap();
        assert!(output.status.success(), "{sql}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn read(&self, table: &str) {
        self.query(&format!("select sum(length(filler)) from shop.{table}"));
    }

    /// Returns how many pages of a table its pool has.
    fn pages_of(&self, table: &str) -> u64 {
        let count = self.query(&format!(
            "select count(*) from information_schema.innodb_buffer_page \
             where table_name = '`shop`.`{table}`' and page_type = 'INDEX'"
        ));
        count.trim().parse().unwrap()
    }

    /// Returns the bytes of all its memory on each node, by the kernel's own count.
    fn bytes_by_node(&self) -> BTreeMap<usize, u64> {
        let maps = format!("/proc/{}/numa_maps", self.program.pid());
        let mut bytes = BTreeMap::new();
        for line in fs::read_to_string(maps).unwrap().lines() {
            let words = line.split(' ').filter_map(|word| word.split_once('='));
            let words: Vec<_> = words.collect();
            let kib = words.iter().find(|(key, _)| *key == "kernelpagesize_kB");
            let kib: u64 = kib.map_or(4, |(_, kib)| kib.parse().unwrap());
            for (key, pages) in words {
                if let Some(Ok(node)) = key.strip_prefix('N').map(str::parse) {
                    *bytes.entry(node).or_default() += pages.parse::<u64>().unwrap() * kib * 1024;
                }
            }
        }
        bytes
    }
}
