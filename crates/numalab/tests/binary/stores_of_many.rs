//! One PostgreSQL database as the store of many hosts: every command reads it as it reads a file,
//! and what fifty send arrives once, also when the server is killed.
//!
//! Tests of store, pglogin.

use std::process::{Child, Stdio};

use model::Run;
use rusqlite::Connection;
use serde_json::Value;
use store::Store;

use crate::experiment_file::{ExperimentFile, SMALL};
use crate::laboratory::Laboratory;
use crate::patience::until;
use crate::postgres_server::{Server, installed};
use crate::running::Running;

const WRITERS: usize = 50;
/// Runs of each writer.
const RUNS: usize = 12;
const FIGURES: &str = "case,tps\na,10\nb,20\na,11\nb,21\na,12\nb,22\na,10\nb,19\na,11\nb,20\n";

/// Counts its work in a file, whose length stays.
const COUNTS: &str = "
import os, sys
file = os.open(sys.argv[1], os.O_WRONLY)
count = 0
while True:
    count += 1
    os.pwrite(file, b'%010d' % count, 0)
";

/// Imports figures as a run; returns its id.
fn import(laboratory: &Laboratory, more: &[&str]) -> String {
    let file = laboratory.file("figures.csv", FIGURES);
    let words = [
        "import",
        "csv",
        &file,
        "--figure-column",
        "tps",
        "--unit",
        "tps",
    ];
    let imported = laboratory.run(&[&words[..], more].concat()).with_code(0);
    imported.stdout.trim().to_owned()
}

/// Returns the URL of the server's database.
pub(crate) fn url(server: &Server) -> String {
    let data = server.data();
    let folder = data.strip_suffix("/data").unwrap().replace('/', "%2F");
    format!("postgresql://postgres@{folder}:54399/postgres")
}

#[test]
fn every_command_reads_a_database_as_it_reads_a_file() {
    let Some(bin) = installed("every_command_reads_a_database_as_it_reads_a_file") else {
        return;
    };
    let server = Server::start(&bin);
    let url = url(&server);
    let laboratory = Laboratory::new();
    let store = ["--store", &url];
    let empty = laboratory
        .run(&[&["history"][..], &store].concat())
        .with_code(0);
    empty.says(&["no runs stored yet"]);
    let ids = [import(&laboratory, &[]), import(&laboratory, &[])];
    let pushed = laboratory
        .run(&["push", "--all", "--to", &url])
        .with_code(0);
    assert_eq!(pushed.stdout, format!("{}\n{}\n", ids[0], ids[1]));
    pushed.says(&["2 runs asked for: 2 sent, 0 updated"]);
    let commands: [&[&str]; 7] = [
        &["history"],
        &["history", "--json"],
        &["show", "last", "--full"],
        &["show", &ids[0], "--json"],
        &["compare", &ids[0], &ids[1], "--json"],
        &["explain", "last"],
        &["report", "last", "--markdown", "-"],
    ];
    for words in commands {
        let of_file = laboratory.run(words);
        let of_server = laboratory.run(&[words, &store].concat());
        assert_eq!(of_file.status.code(), of_server.status.code(), "{words:?}");
        assert_eq!(of_file.stdout, of_server.stdout, "{words:?}");
    }
    let mine = ExperimentFile::new("one", SMALL)
        .case("one", "")
        .case("two", "");
    let mine = laboratory.file("mine.toml", mine.text());
    let run = ["run", &mine, "--trials", "5", "--seconds", "0.1"];
    let measured = laboratory.run(&[&run[..], &store].concat());
    // On a busy machine no trial may be valid.
    assert!(
        [0, 5, 6].contains(&measured.status.code().unwrap()),
        "{}",
        measured.stderr
    );
    let kept = "SELECT count(*) > 0 FROM numalab.trials JOIN numalab.runs ON run = runs.number \
                WHERE experiment = 'mine' AND status <> 'unfinished'";
    assert_eq!(server.query(kept), "t");
    arrives(&laboratory, &url);
    laboratory.nothing_is_left();
}

/// The newest run of a database is the same in the file that pulls it; returns its id.
#[track_caller]
fn arrives(laboratory: &Laboratory, url: &str) -> String {
    let store = ["--store", url];
    let limit = ["history", "--json", "--limit", "1"];
    let newest = laboratory.document(&[&limit[..], &store].concat());
    let newest = newest["runs"][0]["id"].as_str().unwrap().to_owned();
    let pulled = laboratory.run(&["pull", &newest, "--from", url]);
    assert_eq!(pulled.with_code(0).stdout.trim(), newest);
    let shown = |more: &[&str]| laboratory.document(&[&["show", &newest, "--json"], more].concat());
    assert_eq!(shown(&[]), shown(&store));
    newest
}

#[test]
fn what_is_recorded_and_tried_arrives_in_a_database() {
    let Some(bin) = installed("what_is_recorded_and_tried_arrives_in_a_database") else {
        return;
    };
    let server = Server::start(&bin);
    let url = url(&server);
    let store = ["--store", &url];
    let laboratory = Laboratory::new();
    let counter = laboratory.file("work", "0000000000\n");
    let target = Running::start(&["/usr/bin/python3", "-c", COUNTS, &counter]);
    let pid = target.pid();
    let metric = format!("file:{counter}");
    let record = ["record", &pid, "--for", "2s", "--metric", &metric];
    let try_it = [
        "try", &pid, "--to", "current", "--for", "2s", "--metric", &metric,
    ];
    let ids = [&record[..], &try_it].map(|words| {
        laboratory.run(&[words, &store].concat());
        arrives(&laboratory, &url)
    });
    assert_ne!(ids[0], ids[1]);
    laboratory.nothing_is_left();
}

/// Makes the stores of many hosts: each has runs of its own, and one whose id all have.
fn sources(laboratory: &Laboratory) -> Vec<String> {
    let id = import(laboratory, &[]);
    let run = Store::open_existing(&laboratory.store())
        .unwrap()
        .load(&id)
        .unwrap();
    let of_writer = |writer: usize| {
        let path = laboratory.folder().join(format!("{writer}.sqlite"));
        let mut store = Store::open(&path).unwrap();
        for number in 0..RUNS {
            let id = match number {
                0 => "20261128-000000-000".to_owned(),
                number => format!("20261128-{writer:06}-{number:03}"),
            };
            let question = format!("What does {writer} ask?");
            let run = Run {
                id,
                question,
                ..run.clone()
            };
            store.insert(&run).unwrap();
        }
        path.to_str().unwrap().to_owned()
    };
    (0..WRITERS).map(of_writer).collect()
}

fn push(laboratory: &Laboratory, store: &str, url: &str) -> Child {
    let words = ["push", "--all", "--store", store, "--to", url, "--json"];
    let mut command = laboratory.command(&words);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// What a store has of each run, in one line each.
const LINES: &str = "
    SELECT uid || ' ' || question || ' ' || count(*) || ' ' || sum(length(trial))
    FROM runs JOIN trials ON run = runs.number GROUP BY uid, question ORDER BY 1";

#[test]
fn what_fifty_send_arrives_once_though_the_server_is_killed_twice() {
    let test = "what_fifty_send_arrives_once_though_the_server_is_killed_twice";
    let Some(bin) = installed(test) else {
        return;
    };
    let server = Server::start(&bin);
    let url = url(&server);
    let laboratory = Laboratory::new();
    let sources = sources(&laboratory);
    let all = WRITERS * RUNS;
    let writers: Vec<Child> = sources
        .iter()
        .map(|it| push(&laboratory, it, &url))
        .collect();
    for part in [all / 5, all / 2] {
        until("so many runs have arrived", || {
            let is_there = server.query("SELECT to_regclass('numalab.runs') IS NOT NULL");
            if is_there != "t" {
                return None;
            }
            let count = server.query("SELECT count(*) FROM numalab.runs");
            (count.parse::<usize>().unwrap() >= part).then_some(())
        });
        server.stop();
        server.start_again();
    }
    let mut said_new = 0;
    for writer in writers {
        let output = writer.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        said_new += document["new"].as_u64().unwrap() as usize;
    }
    assert_eq!(said_new, all, "each was sent once");
    let lines_there = server.query(&format!("SET search_path = numalab; {LINES}"));
    let mut there: Vec<&str> = lines_there.lines().filter(|line| *line != "SET").collect();
    let mut expected: Vec<String> = Vec::new();
    for source in &sources {
        let connection = Connection::open(source).unwrap();
        let mut statement = connection.prepare(LINES).unwrap();
        let lines = statement.query_map([], |row| row.get(0)).unwrap();
        expected.extend(lines.map(Result::<String, _>::unwrap));
    }
    there.sort_unstable();
    expected.sort_unstable();
    assert_eq!(there, expected);
    assert_eq!(
        server.query("SELECT count(DISTINCT id) FROM numalab.runs"),
        all.to_string()
    );
    assert_eq!(
        server.query("SELECT count(*) FROM numalab.claimed_ids"),
        "0"
    );
    // Whoever sends again sends nothing.
    let again = push(&laboratory, &sources[0], &url)
        .wait_with_output()
        .unwrap();
    let document: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(
        (&document["asked"], &document["new"]),
        (&RUNS.into(), &0.into())
    );
    laboratory.nothing_is_left();
}
