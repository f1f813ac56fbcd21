//! `numalab inspect` and `numalab doctor` of a whole PostgreSQL server: root sees everything, and
//! is never told to get more privileges.
//!
//! Tests of postgresql, judgement.

use std::fs;
use std::os::unix::fs::MetadataExt;

use model::shell_word;
use serde_json::Value;

use crate::laboratory::Laboratory;
use crate::patience::until;
use crate::postgres_server::{Server, installed};
use crate::unmet_need::is_root;
use crate::user::NOBODY;

/// Returns the segments in /dev/shm.
fn in_dev_shm(residency: &Value) -> Vec<&Value> {
    let all = residency["segments"].as_array().unwrap().iter();
    all.filter(|it| it["kind"] == "dev-shm").collect()
}

fn bytes(by_node: &Value) -> u64 {
    let nodes = by_node.as_object().unwrap().values();
    nodes.map(|bytes| bytes.as_u64().unwrap()).sum()
}

/// Returns the finding that data of the server is incomplete, if there is one. Files of a machine
/// contradict each other where its hypervisor has taken memory back, whoever looks.
fn incomplete(doctor: &Value) -> Option<&Value> {
    let findings = doctor["findings"].as_array().unwrap();
    let of_machine = |it: &Value| it["source"] == "files of the machine below /proc and /sys";
    let is_of_server = |it: &&Value| {
        let evidence = it["evidence"].as_array().unwrap();
        it["id"] == "incomplete-data" && !evidence.iter().all(of_machine)
    };
    findings.iter().find(is_of_server)
}

#[test]
fn to_root_nothing_of_a_server_is_missing_and_others_learn_what_shows_more() {
    const NAME: &str = "to_root_nothing_of_a_server_is_missing_and_others_learn_what_shows_more";
    let Some(bin) = installed(NAME).filter(|_| is_root(NAME)) else {
        return;
    };
    let laboratory = Laboratory::new();
    let server = Server::start(&bin);
    let target = server.target();
    // A process of the server may come or go, or touch a page, during an inspection.
    let found = until("a look that nothing disturbs", || {
        let found = laboratory.document(&["inspect", &target, "--json"]);
        (found["complete"] == true).then_some(found)
    });
    let segments = in_dev_shm(&found);
    assert!(!segments.is_empty(), "{found:#}");
    let mut never_written = 0;
    for segment in segments {
        let name = segment["name"].as_str().unwrap();
        let exist = fs::metadata(name).unwrap().blocks() * 512;
        let of_it = segment["never_written_bytes"].as_u64().unwrap();
        assert_eq!(
            bytes(&segment["bytes_by_node"]) + of_it,
            exist,
            "{segment:#}"
        );
        never_written += of_it;
    }
    assert!(
        never_written > 0,
        "a server sets more aside than it has written"
    );
    let doctor = ["doctor", &target, "--pg-role", "postgres", "--json"];
    until("a look that nothing disturbs", || {
        let found = laboratory.document(&doctor);
        incomplete(&found).is_none().then_some(())
    });
    // By its process it is the same server, and its settings are looked at.
    let postmaster = &server.pids()[0];
    let by_process = ["doctor", postmaster, "--pg-role", "postgres", "--json"];
    let by_process = laboratory.document(&by_process);
    let not_seen = &by_process["not_seen"];
    assert!(
        not_seen["the settings of the server"].is_null(),
        "{not_seen}"
    );
    // The server's own user may inspect it, but sees no page frame numbers.
    let found = Laboratory::of(NOBODY).document(&doctor);
    let fix = incomplete(&found).unwrap()["fix"].to_string();
    assert!(
        fix.contains(&format!("sudo numalab doctor {}", shell_word(&target))),
        "{fix}"
    );
    laboratory.nothing_is_left();
}
