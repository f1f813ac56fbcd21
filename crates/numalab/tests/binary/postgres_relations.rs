//! `numalab inspect --relations` of a real PostgreSQL server, and everything that it may lack.
//!
//! Tests of postgresql.

use serde_json::Value;

use crate::laboratory::Laboratory;
use crate::postgres_server::{Server, installed};

/// Returns the relation of this name.
pub(crate) fn relation<'d>(document: &'d Value, name: &str) -> &'d Value {
    let relations = document["relations"]["relations"].as_array().unwrap();
    let found = relations.iter().find(|relation| relation["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {document:#}"))
}

#[test]
fn tables_are_found_as_the_server_counts_them_once_everything_needed_is_there() {
    let test = "tables_are_found_as_the_server_counts_them_once_everything_needed_is_there";
    let Some(bin) = installed(test) else {
        return;
    };
    let laboratory = Laboratory::new();
    let server = Server::start(&bin);
    let target = server.target();
    let look = |role: &str| laboratory.run(&["inspect", &target, "--relations", "--pg-role", role]);

    look("stranger").with_code(4).says(&[
        "as \"stranger\"",
        "role \"stranger\" does not exist",
        "--pg-role",
    ]);
    look("postgres").with_code(3).says(&[
        "extension pg_buffercache",
        "CREATE EXTENSION pg_buffercache",
    ]);
    server.query("CREATE EXTENSION pg_buffercache");
    server.query("CREATE ROLE reader LOGIN");
    look("reader")
        .with_code(4)
        .says(&["permission denied", "GRANT pg_monitor"]);
    server.query("GRANT pg_monitor TO reader");
    server.query("CREATE TABLE numbers AS SELECT generate_series(1, 50000) AS k");
    let words = [
        "inspect",
        &target,
        "--relations",
        "--pg-role",
        "reader",
        "--json",
    ];
    let document = laboratory.document(&words);
    let counted = "SELECT count(*) FROM pg_buffercache \
                   WHERE relfilenode = pg_relation_filenode('numbers')";
    let counted: u64 = server.query(counted).parse().unwrap();
    let numbers = relation(&document, "public.numbers");
    assert!(counted > 100, "{counted}");
    assert_eq!(numbers["buffers"], counted);
    assert_eq!(numbers["bytes"], counted * 8192);
    let by_node = numbers["bytes_by_node"].as_object().unwrap().values();
    let known: u64 = by_node.map(|bytes| bytes.as_u64().unwrap()).sum();
    let unknown = numbers["bytes_without_node"].as_u64().unwrap();
    assert_eq!(known + unknown, counted * 8192);
    let text = look("reader").with_code(0).stdout;
    assert!(text.contains("postgres: public.numbers"), "{text}");

    server.stop();
    look("reader").with_code(2).says(&["postmaster.pid"]);
    laboratory.nothing_is_left();
}

#[test]
fn only_a_data_directory_has_relations() {
    let laboratory = Laboratory::new();
    let own = std::process::id().to_string();
    let refused = laboratory.run(&["inspect", &own, "--relations"]);
    refused
        .with_code(2)
        .says(&["--relations", "postgres:DATADIR", &own]);
}
